//! A compiled schema: a list of nodes, one for each subschema.

use std::sync::OnceLock;

use serde_json::Value;

use super::member_key::MemberKey;
use crate::compiled;
use crate::keyword_cost::KeywordCost;

/// The index of a node.
pub(super) type NodeId = u32;

/// The node that accepts every value.
pub(super) const ANY: NodeId = 0;

/// The node that accepts no value.
pub(super) const NEVER: NodeId = 1;

/// A compiled schema.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) nodes: Box<[Node]>,
    pub(super) root: NodeId,
}

/// A set of types, one bit each.
pub(super) type Types = u8;

pub(super) const NULL: Types = 1;
pub(super) const BOOLEAN: Types = 2;
pub(super) const STRING: Types = 4;
pub(super) const ARRAY: Types = 8;
pub(super) const OBJECT: Types = 16;
/// A number without a fraction.
pub(super) const INTEGER: Types = 32;
/// A number with a fraction.
pub(super) const FRACTION: Types = 64;
pub(super) const NUMBER: Types = INTEGER | FRACTION;
pub(super) const ALL_TYPES: Types = 127;

/// A subschema. Rules for values of other types do not apply.
#[derive(Debug)]
pub(super) struct Node {
    /// The types of values that may be valid.
    pub(super) types: Types,
    /// Whether `true` is valid, and whether `false` is.
    pub(super) booleans: [bool; 2],
    /// The steps to apply this subschema to a value, without strings and members.
    pub(super) cost: u64,
    pub(super) string: Option<Box<StringRules>>,
    pub(super) number: Option<Box<NumberRules>>,
    pub(super) array: Option<Box<ArrayRules>>,
    pub(super) object: Option<Box<ObjectRules>>,
    /// The subschemas that apply to the value itself.
    pub(super) in_place: Option<Box<InPlace>>,
}

impl Default for Node {
    fn default() -> Self {
        Self {
            types: ALL_TYPES,
            booleans: [true; 2],
            cost: 1,
            string: None,
            number: None,
            array: None,
            object: None,
            in_place: None,
        }
    }
}

impl Node {
    /// Whether the node has no rules but those of subschemas that apply to the value itself.
    pub(super) fn has_only_in_place(&self) -> bool {
        self.types == ALL_TYPES
            && self.booleans == [true; 2]
            && self.string.is_none()
            && self.number.is_none()
            && self.array.is_none()
            && self.object.is_none()
    }
}

#[derive(Debug)]
pub(super) struct StringRules {
    /// The length in code points.
    pub(super) min_length: usize,
    pub(super) max_length: usize,
    /// The valid strings, sorted.
    pub(super) choices: Option<Box<[Box<str>]>>,
    /// `pattern` and `format`.
    pub(super) by_crate: Option<CrateRule>,
    pub(super) cost: KeywordCost,
}

#[derive(Debug)]
pub(super) struct NumberRules {
    /// The rules for a number of at most 18 digits without fraction and exponent; `None` if the
    /// crate also decides about these.
    pub(super) integers: Option<IntegerRules>,
    /// All keywords for numbers.
    pub(super) by_crate: CrateRule,
}

#[derive(Debug)]
pub(super) struct IntegerRules {
    pub(super) minimum: i64,
    pub(super) maximum: i64,
    pub(super) multiple_of: i64,
    pub(super) choices: Option<Box<[i64]>>,
}

impl IntegerRules {
    /// Whether all integers are valid, as where only the type is stated.
    #[inline(always)]
    pub(super) fn accept_all(&self) -> bool {
        self.minimum == i64::MIN
            && self.maximum == i64::MAX
            && self.multiple_of == 1
            && self.choices.is_none()
    }
}

#[derive(Debug)]
pub(super) struct ArrayRules {
    pub(super) prefix: Box<[NodeId]>,
    /// For the items after the prefix.
    pub(super) items: NodeId,
    pub(super) min_items: usize,
    pub(super) max_items: usize,
    pub(super) unique_items: bool,
}

#[derive(Debug)]
pub(super) struct ObjectRules {
    /// In the order of the schema, in which members often come.
    pub(super) properties: Box<[Property]>,
    /// The indices of the properties, sorted by the length of the name and then by the name.
    pub(super) sorted: Box<[u16]>,
    pub(super) patterns: Box<[PatternProperty]>,
    /// For members that no property and no pattern names.
    pub(super) additional: NodeId,
    /// For the names.
    pub(super) names: NodeId,
    /// One bit for each required property.
    pub(super) required: u64,
    pub(super) min_properties: usize,
    pub(super) max_properties: usize,
    /// The steps for the patterns and 16 bytes of a name.
    pub(super) cost: KeywordCost,
}

/// A name in `properties` or `required`.
#[derive(Debug)]
pub(super) struct Property {
    pub(super) name: Box<str>,
    /// `None` if the name has characters that must be escaped.
    pub(super) key: Option<MemberKey>,
    /// `None` if the name is only required.
    pub(super) node: Option<NodeId>,
    /// The bit in [`ObjectRules::required`], or 0.
    pub(super) required: u64,
}

#[derive(Debug)]
pub(super) struct PatternProperty {
    pub(super) pattern: CrateRule,
    pub(super) node: NodeId,
}

/// The subschemas that apply to the value itself.
#[derive(Debug, Default)]
pub(super) struct InPlace {
    /// `allOf` and `$ref`.
    pub(super) all: Box<[NodeId]>,
    pub(super) any: Option<Box<[NodeId]>>,
    pub(super) one: Option<Box<[NodeId]>>,
}

impl ObjectRules {
    /// Whether rules other than those of properties depend on the name of a member.
    pub(super) fn has_name_rules(&self) -> bool {
        !self.patterns.is_empty() || self.names != ANY
    }

    /// The index of the property of this name.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        let key = |index: &u16| {
            let known = &*self.properties[usize::from(*index)].name;
            (known.len(), known)
        };
        let found = self
            .sorted
            .binary_search_by(|index| key(index).cmp(&(name.len(), name)));
        found.ok().map(|at| usize::from(self.sorted[at]))
    }
}

/// Some keywords of a subschema, about which the `jsonschema` crate decides.
#[derive(Debug)]
pub(super) struct CrateRule {
    keywords: Value,
    compiled: OnceLock<Option<jsonschema::Validator>>,
}

impl CrateRule {
    /// The keywords are compiled on first use.
    pub(super) fn lazy(keywords: Value) -> Self {
        Self {
            keywords,
            compiled: OnceLock::new(),
        }
    }

    /// Compiles the keywords; `None` if that fails.
    pub(super) fn compiled(keywords: Value) -> Option<Self> {
        let rule = Self::lazy(keywords);
        rule.validator()?;
        Some(rule)
    }

    /// Whether a value is valid; `None` if the keywords cannot be compiled.
    pub(super) fn is_valid(&self, value: &Value) -> Option<bool> {
        Some(self.validator()?.is_valid(value))
    }

    fn validator(&self) -> Option<&jsonschema::Validator> {
        let compiled = self
            .compiled
            .get_or_init(|| compiled::compile(&self.keywords).ok());
        compiled.as_ref()
    }
}
