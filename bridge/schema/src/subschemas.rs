//! The graph of the subschemas of a schema, and which of them apply to the same value.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::keyword_cost;

/// Keywords whose subschemas apply to the value itself (JSON Schema: in-place applicators).
const IN_PLACE_APPLICATORS: [&str; 10] = [
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "dependentSchemas",
    "dependencies",
    "propertyNames",
];

/// Keywords whose subschemas apply to the children of the value.
const CHILD_APPLICATORS: [&str; 7] = [
    "patternProperties",
    "additionalProperties",
    "items",
    "additionalItems",
    "contains",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// Keywords for which every other subschema is applied once more, to find the evaluated children.
const UNEVALUATED_KEYWORDS: [&str; 2] = ["unevaluatedItems", "unevaluatedProperties"];

const REFERENCE_KEYWORDS: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// The meta-schemas that the validator includes.
const META_SCHEMA_PREFIX: &str = "https://json-schema.org/draft/";

/// One subschema and the indices of the subschemas that it applies.
#[derive(Debug, Default)]
pub struct Node {
    pub in_place_applicators: Vec<usize>,
    pub children: Vec<usize>,
    /// The subschemas for one name (`properties`) or position (`prefixItems`), as pairs of a number
    /// for the name and an index. Only one of them applies to each child.
    pub by_property: Vec<(usize, usize)>,
    /// Those of `children` that apply to what the others have not evaluated.
    pub unevaluated: Vec<usize>,
    /// The cost of the keywords themselves for one value, in steps.
    pub cost: u64,
    /// Whether an error contains the violations of each branch (`anyOf`, `oneOf`).
    pub is_union: bool,
}

/// Collects every subschema that validation can reach. The root is the first.
pub fn collect_nodes(root: &Value) -> Result<Vec<Node>, String> {
    let mut builder = GraphBuilder {
        targets: ReferenceTargets::new(root)?,
        node_indices: HashMap::new(),
        property_ids: HashMap::new(),
        queue: Vec::new(),
    };
    builder.node_index(SchemaLocation {
        schema: root,
        base: root,
    });
    let mut nodes = Vec::new();
    while let Some(at) = builder.queue.get(nodes.len()).copied() {
        nodes.push(builder.build_node(at)?);
    }
    Ok(nodes)
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
    node_indices: HashMap<*const Value, usize>,
    property_ids: HashMap<&'a str, usize>,
    queue: Vec<SchemaLocation<'a>>,
}

impl<'a> GraphBuilder<'a> {
    fn node_index(&mut self, at: SchemaLocation<'a>) -> usize {
        *self
            .node_indices
            .entry(std::ptr::from_ref(at.schema))
            .or_insert_with(|| {
                self.queue.push(at);
                self.queue.len() - 1
            })
    }

    fn build_node(&mut self, at: SchemaLocation<'a>) -> Result<Node, String> {
        let mut node = Node::default();
        let Some(fields) = at.schema.as_object() else {
            return Ok(node);
        };
        let nested = !std::ptr::eq(at.schema, self.queue[0].schema);
        if nested && fields.contains_key("$schema") {
            return Err("`$schema` belongs at its root".to_owned());
        }
        node.in_place_applicators = self.subschemas(at, fields, &IN_PLACE_APPLICATORS);
        node.children = self.subschemas(at, fields, &CHILD_APPLICATORS);
        node.by_property = self.children_by_property(at, fields);
        node.unevaluated = self.subschemas(at, fields, &UNEVALUATED_KEYWORDS);
        node.cost = keyword_cost::subschema_cost(fields);
        node.is_union = fields.contains_key("anyOf") || fields.contains_key("oneOf");
        for keyword in REFERENCE_KEYWORDS {
            if let Some(reference) = fields.get(keyword).and_then(Value::as_str)
                && !reference.starts_with(META_SCHEMA_PREFIX)
            {
                let target = self.targets.resolve(at, reference).ok_or_else(|| {
                    format!("`{keyword}` {reference:?} is not found in it: refer to `#/$defs/…`")
                })?;
                node.in_place_applicators.push(self.node_index(target));
            }
        }
        Ok(node)
    }

    fn children_by_property(
        &mut self,
        at: SchemaLocation<'a>,
        fields: &'a Map<String, Value>,
    ) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        if let Some(Value::Object(named)) = fields.get("properties") {
            for (name, schema) in named {
                let fresh = self.property_ids.len();
                let name = *self.property_ids.entry(name).or_insert(fresh);
                // Even numbers are ids of names, odd numbers are positions.
                found.push((2 * name, self.node_index(at.child(schema))));
            }
        }
        if let Some(Value::Array(listed)) = fields.get("prefixItems") {
            for (index, schema) in listed.iter().enumerate() {
                found.push((2 * index + 1, self.node_index(at.child(schema))));
            }
        }
        found
    }

    fn subschemas(
        &mut self,
        at: SchemaLocation<'a>,
        fields: &'a Map<String, Value>,
        keywords: &[&str],
    ) -> Vec<usize> {
        let mut children = Vec::new();
        for keyword in keywords {
            match fields.get(*keyword) {
                Some(Value::Object(named)) if is_schema_map(keyword) => {
                    children.extend(
                        named
                            .values()
                            .map(|schema| self.node_index(at.child(schema))),
                    );
                }
                Some(Value::Array(listed)) => {
                    children.extend(
                        listed
                            .iter()
                            .map(|schema| self.node_index(at.child(schema))),
                    );
                }
                Some(schema @ Value::Object(_)) => children.push(self.node_index(at.child(schema))),
                _ => {}
            }
        }
        children
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
