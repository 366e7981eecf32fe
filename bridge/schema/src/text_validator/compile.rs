//! Translates a schema into a [`Program`], or leaves it to the crate.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::member_key::MemberKey;
use super::program::{
    ALL_TYPES, ANY, ARRAY, ArrayRules, BOOLEAN, CrateRule, INTEGER, InPlace, IntegerRules, NEVER,
    NULL, NUMBER, Node, NodeId, NumberRules, OBJECT, ObjectRules, PatternProperty, Program,
    Property, STRING, StringRules, Types,
};
use crate::keyword_cost::KeywordCost;

/// The maximum nesting of subschemas, with references followed.
const MAX_NESTING: usize = 200;

/// The maximum number of required properties of an object, which are bits of one number.
const MAX_REQUIRED: usize = 64;

/// The maximum number of properties of one subschema.
const MAX_PROPERTIES: usize = u16::MAX as usize;

/// The name of the dialect, which is the only one.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// The largest divisor that is exact as a number of the crate.
const MAX_DIVISOR: i64 = 1 << 53;

/// Keywords of 2020-12 and of earlier drafts that restrict values and are left to the crate.
/// All that are neither here nor among those that are compiled have no effect on the verdict.
const OTHER_KEYWORDS: [&str; 21] = [
    "$dynamicRef",
    "$dynamicAnchor",
    "$recursiveRef",
    "$recursiveAnchor",
    "$vocabulary",
    "additionalItems",
    "contains",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "else",
    "if",
    "maxContains",
    "minContains",
    "not",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// Keywords about which the crate decides for numbers that are not short integers.
const NUMBER_KEYWORDS: [&str; 8] = [
    "type",
    "enum",
    "const",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
];

/// Compiles a schema; `None` if it has a keyword or a value that is left to the crate.
pub(super) fn compile(root: &Value) -> Option<Program> {
    if has_other_addresses(root) || !is_valid_schema(root) {
        return None;
    }
    let mut compiler = Compiler {
        root,
        ids: HashMap::new(),
        // `ANY` and `NEVER`.
        nodes: vec![
            Node::default(),
            Node {
                types: 0,
                ..Node::default()
            },
        ],
    };
    let root = compiler.node(root, 0)?;
    Some(Program {
        nodes: compiler.nodes.into(),
        root,
    })
}

/// Whether each keyword has a value of the form that the dialect prescribes.
fn is_valid_schema(schema: &Value) -> bool {
    jsonschema::draft202012::meta::validate(schema).is_ok()
}

/// Whether a schema has another dialect, or an `$id` that changes what references mean.
fn has_other_addresses(root: &Value) -> bool {
    let dialect = root.get("$schema");
    let is_known = |dialect: &Value| {
        let dialect = dialect.as_str().unwrap_or_default();
        dialect.trim_end_matches('#') == DIALECT
    };
    dialect.is_some_and(|dialect| !is_known(dialect))
        || root
            .as_object()
            .is_some_and(|members| members.values().any(has_id))
}

fn has_id(value: &Value) -> bool {
    match value {
        Value::Object(members) => {
            members.contains_key("$id")
                || members.contains_key("$schema")
                || members.values().any(has_id)
        }
        Value::Array(items) => items.iter().any(has_id),
        _ => false,
    }
}

struct Compiler<'a> {
    root: &'a Value,
    /// The nodes of the subschemas, by address.
    ids: HashMap<*const Value, NodeId>,
    nodes: Vec<Node>,
}

impl<'a> Compiler<'a> {
    /// The node of a subschema.
    fn node(&mut self, schema: &'a Value, nesting: usize) -> Option<NodeId> {
        let fields = match schema {
            Value::Bool(true) => return Some(ANY),
            Value::Bool(false) => return Some(NEVER),
            Value::Object(fields) => fields,
            _ => return None,
        };
        if nesting > MAX_NESTING {
            return None;
        }
        if let Some(known) = self.ids.get(&std::ptr::from_ref(schema)) {
            return Some(*known);
        }
        let id = NodeId::try_from(self.nodes.len()).ok()?;
        self.ids.insert(std::ptr::from_ref(schema), id);
        self.nodes.push(Node::default());
        let node = self.build_node(fields, nesting + 1)?;
        // A subschema that refers back to this one already has its index.
        let shorter = replacement(&node).unwrap_or(id);
        self.nodes[id as usize] = node;
        self.ids.insert(std::ptr::from_ref(schema), shorter);
        Some(shorter)
    }

    fn nodes(&mut self, schemas: &'a Value, nesting: usize) -> Option<Box<[NodeId]>> {
        let schemas = schemas.as_array()?.iter();
        schemas.map(|schema| self.node(schema, nesting)).collect()
    }

    fn build_node(&mut self, fields: &'a Map<String, Value>, nesting: usize) -> Option<Node> {
        let is_other = |keyword: &String| OTHER_KEYWORDS.contains(&keyword.as_str());
        if fields.keys().any(is_other) {
            return None;
        }
        let cost = KeywordCost::new(fields)?;
        let mut node = Node {
            types: types(fields.get("type"))?,
            cost: cost.per_value(),
            ..Node::default()
        };
        let choices = choices(fields)?;
        if let Some(choices) = &choices {
            node.types &= choices.types;
            node.booleans = choices.booleans;
        }
        node.string = string_rules(fields, choices.as_ref(), cost)?.map(Box::new);
        node.number = number_rules(fields, choices.as_ref(), node.types)?.map(Box::new);
        node.array = self.array_rules(fields, nesting)?.map(Box::new);
        node.object = self.object_rules(fields, cost, nesting)?.map(Box::new);
        node.in_place = self.in_place(fields, nesting)?.map(Box::new);
        Some(node)
    }

    fn array_rules(
        &mut self,
        fields: &'a Map<String, Value>,
        nesting: usize,
    ) -> Option<Option<ArrayRules>> {
        let rules = ArrayRules {
            prefix: match fields.get("prefixItems") {
                Some(schemas) => self.nodes(schemas, nesting)?,
                None => Box::default(),
            },
            items: match fields.get("items") {
                Some(schema) => self.node(schema, nesting)?,
                None => ANY,
            },
            min_items: size(fields, "minItems", 0)?,
            max_items: size(fields, "maxItems", usize::MAX)?,
            unique_items: match fields.get("uniqueItems") {
                Some(unique) => unique.as_bool()?,
                None => false,
            },
        };
        let has_rules = !rules.prefix.is_empty()
            || rules.items != ANY
            || rules.min_items > 0
            || rules.max_items < usize::MAX
            || rules.unique_items;
        Some(has_rules.then_some(rules))
    }

    fn object_rules(
        &mut self,
        fields: &'a Map<String, Value>,
        cost: KeywordCost,
        nesting: usize,
    ) -> Option<Option<ObjectRules>> {
        let (properties, required) = self.properties(fields, nesting)?;
        let mut sorted: Vec<u16> = (0..u16::try_from(properties.len()).ok()?).collect();
        sorted.sort_unstable_by_key(|index| {
            let name = &*properties[usize::from(*index)].name;
            (name.len(), name)
        });
        let rules = ObjectRules {
            patterns: self.patterns(fields, nesting)?,
            additional: match fields.get("additionalProperties") {
                Some(schema) => self.node(schema, nesting)?,
                None => ANY,
            },
            names: match fields.get("propertyNames") {
                Some(schema) => self.node(schema, nesting)?,
                None => ANY,
            },
            required,
            min_properties: size(fields, "minProperties", 0)?,
            max_properties: size(fields, "maxProperties", usize::MAX)?,
            sorted: sorted.into(),
            properties: properties.into(),
            cost,
        };
        let has_rules = !rules.properties.is_empty()
            || !rules.patterns.is_empty()
            || rules.additional != ANY
            || rules.names != ANY
            || rules.min_properties > 0
            || rules.max_properties < usize::MAX;
        Some(has_rules.then_some(rules))
    }

    /// The names in `properties` and `required`, and the bits of those in `required`.
    fn properties(
        &mut self,
        fields: &'a Map<String, Value>,
        nesting: usize,
    ) -> Option<(Vec<Property>, u64)> {
        let mut properties = Vec::new();
        let mut indices = HashMap::new();
        if let Some(named) = fields.get("properties") {
            for (name, schema) in named.as_object()? {
                let node = self.node(schema, nesting)?;
                indices.insert(name.as_str(), properties.len());
                properties.push(Property::new(name, Some(node)));
            }
        }
        let mut required_count = 0;
        if let Some(names) = fields.get("required") {
            for name in names.as_array()? {
                let name = name.as_str()?;
                let index = *indices.entry(name).or_insert_with(|| {
                    properties.push(Property::new(name, None));
                    properties.len() - 1
                });
                if properties[index].required == 0 {
                    if required_count == MAX_REQUIRED {
                        return None;
                    }
                    properties[index].required = 1 << required_count;
                    required_count += 1;
                }
            }
        }
        if properties.len() > MAX_PROPERTIES {
            return None;
        }
        let required = properties.iter().map(|property| property.required);
        let required = required.fold(0, |all, bit| all | bit);
        Some((properties, required))
    }

    fn patterns(
        &mut self,
        fields: &'a Map<String, Value>,
        nesting: usize,
    ) -> Option<Box<[PatternProperty]>> {
        let Some(patterns) = fields.get("patternProperties") else {
            return Some(Box::default());
        };
        let patterns = patterns.as_object()?.iter();
        let compiled = patterns.map(|(pattern, schema)| {
            let keywords = Map::from_iter([("pattern".to_owned(), pattern.as_str().into())]);
            Some(PatternProperty {
                pattern: CrateRule::compiled(keywords.into())?,
                node: self.node(schema, nesting)?,
            })
        });
        compiled.collect()
    }

    fn in_place(
        &mut self,
        fields: &'a Map<String, Value>,
        nesting: usize,
    ) -> Option<Option<InPlace>> {
        let mut all = Vec::new();
        if let Some(reference) = fields.get("$ref") {
            let target = self.target(reference.as_str()?)?;
            all.push(self.node(target, nesting)?);
        }
        if let Some(schemas) = fields.get("allOf") {
            all.extend(self.nodes(schemas, nesting)?);
        }
        all.retain(|node| *node != ANY);
        let mut in_place = InPlace::default();
        for (keyword, slot) in [("anyOf", &mut in_place.any), ("oneOf", &mut in_place.one)] {
            if let Some(schemas) = fields.get(keyword) {
                match *self.nodes(schemas, nesting)? {
                    [] => return None,
                    [only] => all.push(only),
                    ref nodes => *slot = Some(nodes.into()),
                }
            }
        }
        in_place.all = all.into();
        let has_rules =
            !in_place.all.is_empty() || in_place.any.is_some() || in_place.one.is_some();
        Some(has_rules.then_some(in_place))
    }

    /// The target of a reference by JSON pointer. Others are left to the crate.
    fn target(&self, reference: &str) -> Option<&'a Value> {
        let pointer = reference.strip_prefix('#')?;
        let is_plain = pointer.is_empty() || pointer.starts_with('/');
        if !is_plain || pointer.contains('%') {
            return None;
        }
        let target = self.root.pointer(pointer)?;
        // Definitions are valid if the root is. Other references may point into data.
        let name = ["/$defs/", "/definitions/"]
            .iter()
            .find_map(|place| pointer.strip_prefix(place));
        let is_definition = name.is_some_and(|name| !name.contains('/'));
        let is_valid = pointer.is_empty() || is_definition || is_valid_schema(target);
        is_valid.then_some(target)
    }
}

/// The node that has the same rules as this one.
fn replacement(node: &Node) -> Option<NodeId> {
    if !node.has_only_in_place() {
        return None;
    }
    match node.in_place.as_deref() {
        None => Some(ANY),
        Some(InPlace {
            all,
            any: None,
            one: None,
        }) => match **all {
            [only] => Some(only),
            _ => None,
        },
        Some(_) => None,
    }
}

impl Property {
    fn new(name: &str, node: Option<NodeId>) -> Self {
        Self {
            name: name.into(),
            key: MemberKey::new(name),
            node,
            required: 0,
        }
    }
}

/// The types that `type` allows.
fn types(keyword: Option<&Value>) -> Option<Types> {
    let named = |name: &Value| {
        Some(match name.as_str()? {
            "null" => NULL,
            "boolean" => BOOLEAN,
            "string" => STRING,
            "array" => ARRAY,
            "object" => OBJECT,
            "integer" => INTEGER,
            "number" => NUMBER,
            _ => return None,
        })
    };
    match keyword {
        None => Some(ALL_TYPES),
        Some(Value::Array(names)) => names
            .iter()
            .try_fold(0, |types, name| Some(types | named(name)?)),
        Some(name) => named(name),
    }
}

/// The values in `enum` or `const`.
struct Choices {
    types: Types,
    booleans: [bool; 2],
    /// Sorted.
    strings: Box<[Box<str>]>,
    /// `None` if a number is not an integer of the range of an `i64`.
    integers: Option<Box<[i64]>>,
}

/// The values in `enum` or `const`. Both together, and arrays and objects, are left to the crate.
fn choices(fields: &Map<String, Value>) -> Option<Option<Choices>> {
    let values = match (fields.get("enum"), fields.get("const")) {
        (None, None) => return Some(None),
        (Some(Value::Array(values)), None) if !values.is_empty() => values,
        (None, Some(value)) => std::slice::from_ref(value),
        _ => return None,
    };
    let mut choices = Choices {
        types: 0,
        booleans: [false; 2],
        strings: Box::default(),
        integers: None,
    };
    let mut strings = Vec::new();
    let mut integers = Some(Vec::new());
    for value in values {
        choices.types |= match value {
            Value::Null => NULL,
            Value::Bool(value) => {
                choices.booleans[usize::from(*value)] = true;
                BOOLEAN
            }
            Value::String(text) => {
                strings.push(text.as_str().into());
                STRING
            }
            Value::Number(number) => {
                match (number.as_i64(), &mut integers) {
                    (Some(integer), Some(integers)) => integers.push(integer),
                    _ => integers = None,
                }
                NUMBER
            }
            Value::Array(_) | Value::Object(_) => return None,
        };
    }
    strings.sort_unstable();
    choices.strings = strings.into();
    choices.integers = integers.map(Vec::into_boxed_slice);
    Some(Some(choices))
}

fn string_rules(
    fields: &Map<String, Value>,
    choices: Option<&Choices>,
    cost: KeywordCost,
) -> Option<Option<StringRules>> {
    let by_crate = keywords(fields, &["pattern", "format"]);
    let rules = StringRules {
        min_length: size(fields, "minLength", 0)?,
        max_length: size(fields, "maxLength", usize::MAX)?,
        choices: choices.map(|choices| choices.strings.clone()),
        by_crate: match by_crate {
            Some(keywords) => Some(CrateRule::compiled(keywords)?),
            None => None,
        },
        cost,
    };
    let has_rules = rules.min_length > 0
        || rules.max_length < usize::MAX
        || rules.choices.is_some()
        || rules.by_crate.is_some();
    Some(has_rules.then_some(rules))
}

fn number_rules(
    fields: &Map<String, Value>,
    choices: Option<&Choices>,
    types: Types,
) -> Option<Option<NumberRules>> {
    let mut bounds = NUMBER_KEYWORDS[3..].iter();
    let has_rules = types & NUMBER == INTEGER
        || types & NUMBER != 0
            && (choices.is_some() || bounds.any(|keyword| fields.contains_key(*keyword)));
    let Some(keywords) = keywords(fields, &NUMBER_KEYWORDS).filter(|_| has_rules) else {
        return Some(None);
    };
    Some(Some(NumberRules {
        integers: integer_rules(fields, choices),
        by_crate: CrateRule::lazy(keywords),
    }))
}

/// The rules for short integers; `None` if a keyword has another number.
fn integer_rules(fields: &Map<String, Value>, choices: Option<&Choices>) -> Option<IntegerRules> {
    let integer = |keyword: &str| match fields.get(keyword) {
        Some(value) => value.as_i64().map(Some),
        None => Some(None),
    };
    let above = |limit: i64| limit.checked_add(1);
    let below = |limit: i64| limit.checked_sub(1);
    let mut rules = IntegerRules {
        minimum: integer("minimum")?.unwrap_or(i64::MIN),
        maximum: integer("maximum")?.unwrap_or(i64::MAX),
        multiple_of: integer("multipleOf")?.unwrap_or(1),
        choices: match choices {
            Some(choices) => Some(choices.integers.clone()?),
            None => None,
        },
    };
    if let Some(limit) = integer("exclusiveMinimum")? {
        rules.minimum = rules.minimum.max(above(limit)?);
    }
    if let Some(limit) = integer("exclusiveMaximum")? {
        rules.maximum = rules.maximum.min(below(limit)?);
    }
    (1..=MAX_DIVISOR)
        .contains(&rules.multiple_of)
        .then_some(rules)
}

/// A schema with these keywords of another one; `None` if it has none of them.
fn keywords(fields: &Map<String, Value>, keywords: &[&str]) -> Option<Value> {
    let present = keywords
        .iter()
        .filter_map(|keyword| Some(((*keyword).to_owned(), fields.get(*keyword)?.clone())));
    let schema: Map<_, _> = present.collect();
    (!schema.is_empty()).then_some(Value::Object(schema))
}

/// The value of a keyword that limits a length; `None` if it is written with a fraction.
fn size(fields: &Map<String, Value>, keyword: &str, default: usize) -> Option<usize> {
    match fields.get(keyword) {
        Some(value) => value.as_u64()?.try_into().ok(),
        None => Some(default),
    }
}
