//! The graph of the subschemas of a schema, and which of them apply to the same value.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::keyword_cost::KeywordCost;
use super::patterns;
use super::resources::Resources;

/// The maximum number of steps that building the graph may take. A step is a subschema, a use of
/// one, a value in `enum` and `const`, or a state of a pattern. They are fewer than the bytes of a
/// schema, unless references point into the same data again and again.
pub const MAX_BUILD_STEPS: u64 = 2_000_000;

/// Keywords whose subschemas apply to the value itself (JSON Schema: in-place applicators).
const IN_PLACE_APPLICATORS: [&str; 9] = [
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "dependentSchemas",
    "dependencies",
];

/// Keywords whose subschemas apply to each item of an array.
const ITEM_APPLICATORS: [&str; 4] = ["items", "additionalItems", "contains", "unevaluatedItems"];

/// Keywords whose subschemas apply to each member of an object.
const MEMBER_APPLICATORS: [&str; 2] = ["patternProperties", "unevaluatedProperties"];

const REFERENCE_KEYWORDS: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// The beginning of the addresses of the meta-schemas that the validator includes.
pub const META_SCHEMA_PREFIX: &str = "https://json-schema.org/draft/";

/// The subschemas that validation can reach. The root is the first.
#[derive(Debug)]
pub struct SchemaGraph {
    pub nodes: Vec<Subschema>,
    /// The steps that building the graph took, at most [`MAX_BUILD_STEPS`].
    pub build_steps: u64,
    /// The number of subschemas that the validator compiles.
    pub compiled_subschemas: usize,
}

/// One subschema.
#[derive(Debug)]
pub struct Subschema {
    pub keyword_cost: KeywordCost,
    /// The subschemas that it applies; `None` if there are none.
    pub applicators: Option<Box<Applicators>>,
}

/// The subschemas that a subschema applies, as indices of nodes.
#[derive(Debug, Default)]
pub struct Applicators {
    /// Those that apply to the value itself.
    pub in_place: Box<[u32]>,
    /// Those that apply to each item.
    pub items: Box<[u32]>,
    /// Those that apply to the item at their position.
    pub prefix_items: Box<[u32]>,
    /// Those that apply to each member.
    pub members: Box<[u32]>,
    /// Those that apply to the member of their name, sorted by name.
    pub properties: Box<[(Box<str>, u32)]>,
    /// The one that applies to the members without a name in `properties`.
    pub additional: Option<u32>,
    /// The one that applies to the name of each member.
    pub names: Option<u32>,
    /// Whether the others are applied once more to find the items or members that they have not
    /// evaluated.
    pub is_unevaluated: bool,
    /// Whether an error contains the violations of each branch (`anyOf`, `oneOf`).
    pub is_union: bool,
}

impl Applicators {
    /// The subschema for the member of this name.
    pub fn property(&self, name: &str) -> Option<u32> {
        let found = self
            .properties
            .binary_search_by(|(known, _)| (**known).cmp(name));
        found.ok().map(|index| self.properties[index].1)
    }

    /// Whether any subschema applies to members of objects.
    pub fn applies_to_members(&self) -> bool {
        !self.members.is_empty()
            || !self.properties.is_empty()
            || self.additional.is_some()
            || self.names.is_some()
    }

    fn is_empty(&self) -> bool {
        self.in_place.is_empty()
            && self.items.is_empty()
            && self.prefix_items.is_empty()
            && !self.applies_to_members()
            && !self.is_unevaluated
    }
}

impl SchemaGraph {
    /// Collects every subschema that validation can reach. The error describes why the schema is
    /// refused.
    pub fn new(root: &Value) -> Result<Self, String> {
        let mut builder = GraphBuilder {
            targets: ReferenceTargets::new(root)?,
            node_indices: HashMap::new(),
            queue: Vec::new(),
            resources: Resources::default(),
            steps: 0,
        };
        builder.node_index(SchemaLocation {
            schema: root,
            base: root,
        });
        let mut nodes = Vec::new();
        while let Some(at) = builder.queue.get(nodes.len()).copied() {
            nodes.push(builder.build_node(at)?);
        }
        Ok(Self {
            nodes,
            compiled_subschemas: builder.resources.compiled_subschemas()?,
            build_steps: builder.steps,
        })
    }
}

/// A subschema and the resource (the root, or the nearest `$id` around it) that it belongs to.
#[derive(Clone, Copy)]
struct SchemaLocation<'a> {
    schema: &'a Value,
    base: &'a Value,
}

impl<'a> SchemaLocation<'a> {
    fn child(self, schema: &'a Value) -> Self {
        let base = if schema.get("$id").is_some_and(Value::is_string) {
            schema
        } else {
            self.base
        };
        SchemaLocation { schema, base }
    }
}

struct GraphBuilder<'a> {
    targets: ReferenceTargets<'a>,
    node_indices: HashMap<*const Value, u32>,
    queue: Vec<SchemaLocation<'a>>,
    resources: Resources,
    steps: u64,
}

impl<'a> GraphBuilder<'a> {
    fn node_index(&mut self, at: SchemaLocation<'a>) -> u32 {
        *self
            .node_indices
            .entry(std::ptr::from_ref(at.schema))
            .or_insert_with(|| {
                self.queue.push(at);
                // The number of steps limits that of the nodes.
                u32::try_from(self.queue.len() - 1).unwrap_or(u32::MAX)
            })
    }

    /// The index of a subschema that another one applies.
    fn applied(&mut self, by: SchemaLocation<'a>, at: SchemaLocation<'a>) -> u32 {
        self.steps += 1;
        self.resources.add_use(by.base, at.base);
        self.node_index(at)
    }

    fn build_node(&mut self, at: SchemaLocation<'a>) -> Result<Subschema, String> {
        let Some(fields) = at.schema.as_object() else {
            return Ok(Subschema {
                keyword_cost: KeywordCost::BOOLEAN,
                applicators: None,
            });
        };
        let nested = !std::ptr::eq(at.schema, self.queue[0].schema);
        if nested && fields.contains_key("$schema") {
            return Err("`$schema` belongs at its root".to_owned());
        }
        self.resources.add_subschema(at.base);
        let keyword_cost = KeywordCost::new(fields).ok_or_else(patterns::too_many_states)?;
        let applicators = Applicators {
            in_place: self.in_place(at, fields)?,
            items: self.subschemas(at, fields, &ITEM_APPLICATORS).into(),
            prefix_items: self.subschemas(at, fields, &["prefixItems"]).into(),
            members: self.subschemas(at, fields, &MEMBER_APPLICATORS).into(),
            properties: self.properties(at, fields),
            additional: self.subschema(at, fields, "additionalProperties"),
            names: self.subschema(at, fields, "propertyNames"),
            is_unevaluated: fields.contains_key("unevaluatedItems")
                || fields.contains_key("unevaluatedProperties"),
            is_union: fields.contains_key("anyOf") || fields.contains_key("oneOf"),
        };
        self.steps += keyword_cost.size();
        if self.steps > MAX_BUILD_STEPS {
            return Err(format!(
                "its subschemas and the values in them, with references followed, are more than \
                 {MAX_BUILD_STEPS}: simplify it"
            ));
        }
        Ok(Subschema {
            keyword_cost,
            applicators: (!applicators.is_empty()).then(|| Box::new(applicators)),
        })
    }

    /// The subschemas that apply to the value itself, references included.
    fn in_place(
        &mut self,
        at: SchemaLocation<'a>,
        fields: &'a Map<String, Value>,
    ) -> Result<Box<[u32]>, String> {
        let mut applied = self.subschemas(at, fields, &IN_PLACE_APPLICATORS);
        for keyword in REFERENCE_KEYWORDS {
            if let Some(reference) = fields.get(keyword).and_then(Value::as_str)
                && !reference.starts_with(META_SCHEMA_PREFIX)
            {
                let target = self.targets.resolve(at, reference).ok_or_else(|| {
                    format!("`{keyword}` {reference:?} is not found in it: refer to `#/$defs/…`")
                })?;
                applied.push(self.applied(at, target));
            }
        }
        Ok(applied.into())
    }

    fn properties(
        &mut self,
        at: SchemaLocation<'a>,
        fields: &'a Map<String, Value>,
    ) -> Box<[(Box<str>, u32)]> {
        let Some(Value::Object(named)) = fields.get("properties") else {
            return Box::default();
        };
        let mut properties: Box<[_]> = named
            .iter()
            .map(|(name, schema)| (name.as_str().into(), self.applied(at, at.child(schema))))
            .collect();
        properties.sort_unstable();
        properties
    }

    fn subschema(
        &mut self,
        at: SchemaLocation<'a>,
        fields: &'a Map<String, Value>,
        keyword: &str,
    ) -> Option<u32> {
        let schema = fields.get(keyword).filter(|schema| schema.is_object())?;
        Some(self.applied(at, at.child(schema)))
    }

    fn subschemas(
        &mut self,
        at: SchemaLocation<'a>,
        fields: &'a Map<String, Value>,
        keywords: &[&str],
    ) -> Vec<u32> {
        let mut applied = Vec::new();
        for keyword in keywords {
            match fields.get(*keyword) {
                Some(Value::Object(named)) if is_schema_map(keyword) => {
                    let schemas = named.values();
                    applied.extend(schemas.map(|schema| self.applied(at, at.child(schema))));
                }
                Some(Value::Array(listed)) => {
                    let schemas = listed.iter();
                    applied.extend(schemas.map(|schema| self.applied(at, at.child(schema))));
                }
                Some(schema @ Value::Object(_)) => {
                    applied.push(self.applied(at, at.child(schema)));
                }
                _ => {}
            }
        }
        applied
    }
}

/// Whether the value of a keyword maps names to schemas, so that the value itself is not a schema.
fn is_schema_map(keyword: &str) -> bool {
    matches!(
        keyword,
        "patternProperties" | "dependentSchemas" | "dependencies"
    )
}

/// The targets of references by id and by anchor. JSON pointers are resolved without this table.
struct ReferenceTargets<'a> {
    ids: HashMap<&'a str, SchemaLocation<'a>>,
    anchors: HashMap<&'a str, SchemaLocation<'a>>,
}

impl<'a> ReferenceTargets<'a> {
    fn new(root: &'a Value) -> Result<Self, String> {
        let mut names = Self {
            ids: HashMap::new(),
            anchors: HashMap::new(),
        };
        let mut open = vec![SchemaLocation {
            schema: root,
            base: root,
        }];
        while let Some(at) = open.pop() {
            match at.schema {
                Value::Object(fields) => {
                    names.insert(at, fields)?;
                    open.extend(fields.values().map(|value| at.child(value)));
                }
                Value::Array(items) => open.extend(items.iter().map(|value| at.child(value))),
                _ => {}
            }
        }
        Ok(names)
    }

    fn insert(
        &mut self,
        at: SchemaLocation<'a>,
        fields: &'a Map<String, Value>,
    ) -> Result<(), String> {
        let text = |keyword: &str| fields.get(keyword).and_then(Value::as_str);
        let mut anchors: Vec<_> = [text("$anchor"), text("$dynamicAnchor")]
            .into_iter()
            .flatten()
            .collect();
        anchors.dedup();
        let known_id =
            text("$id").is_some_and(|id| self.ids.insert(id.trim_end_matches('#'), at).is_some());
        let known_anchor = anchors
            .into_iter()
            .any(|anchor| self.anchors.insert(anchor, at).is_some());
        if known_id || known_anchor {
            return Err("two of its subschemas have one `$id` or `$anchor`".to_owned());
        }
        Ok(())
    }

    /// Finds the target of a reference. Returns `None` if the schema does not contain it.
    fn resolve(&self, from: SchemaLocation<'a>, reference: &str) -> Option<SchemaLocation<'a>> {
        let (resource, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let base = match resource {
            "" => SchemaLocation {
                schema: from.base,
                base: from.base,
            },
            id => *self.ids.get(id)?,
        };
        let fragment = percent_decode(fragment)?;
        match fragment.strip_prefix('/') {
            None if fragment.is_empty() => Some(base),
            None => self.anchors.get(fragment.as_str()).copied(),
            Some(pointer) => pointer.split('/').try_fold(base, |at, segment| {
                let segment = segment.replace("~1", "/").replace("~0", "~");
                let child = match at.schema {
                    Value::Array(items) => items.get(segment.parse::<usize>().ok()?)?,
                    other => other.get(&segment)?,
                };
                Some(at.child(child))
            }),
        }
    }
}

/// Decodes percent-encoding (RFC 3986 section 2.1). Returns `None` for an incomplete or invalid
/// escape.
fn percent_decode(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(part.get(..2)?, 16).ok()?);
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    String::from_utf8(bytes).ok()
}
