//! The subschemas of a schema, and which of them look at the same value.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::price;

/// Keywords whose subschemas look at the value itself.
const IN_PLACE: [&str; 10] = [
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

/// Keywords whose subschemas look at the values in it.
const BELOW: [&str; 7] = [
    "patternProperties",
    "additionalProperties",
    "items",
    "additionalItems",
    "contains",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// Keywords that ask every other subschema once more what it has looked at.
const LEFT_OVER: [&str; 2] = ["unevaluatedItems", "unevaluatedProperties"];

const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// The meta schemas that the validator brings along.
const META_SCHEMAS: &str = "https://json-schema.org/draft/";

/// One subschema: which others it applies, by index.
#[derive(Debug, Default)]
pub(super) struct Node {
    pub(super) in_place: Vec<usize>,
    pub(super) below: Vec<usize>,
    /// One for each name (`properties`) or place (`prefixItems`): a value meets only one.
    /// With the name, as a number.
    pub(super) apart: Vec<(usize, usize)>,
    /// Those of `below` that look at what the others have left over.
    pub(super) left_over: Vec<usize>,
    /// What the keywords themselves cost, in looks at one value.
    pub(super) price: u64,
    /// Whether an error tells what is wrong with each of its branches.
    pub(super) is_union: bool,
}

/// Every subschema that validation can reach; the root is the first.
pub(super) fn nodes(root: &Value) -> Result<Vec<Node>, String> {
    let mut walk = Walk {
        names: Names::of(root)?,
        places: HashMap::new(),
        property_names: HashMap::new(),
        open: Vec::new(),
    };
    walk.place(At {
        schema: root,
        base: root,
    });
    let mut nodes = Vec::new();
    while let Some(at) = walk.open.get(nodes.len()).copied() {
        nodes.push(walk.node(at)?);
    }
    Ok(nodes)
}

/// A subschema and the resource (the root, or the nearest `$id` around it) that it belongs to.
#[derive(Clone, Copy)]
struct At<'a> {
    schema: &'a Value,
    base: &'a Value,
}

impl<'a> At<'a> {
    fn child(self, schema: &'a Value) -> Self {
        let base = if schema.get("$id").is_some_and(Value::is_string) {
            schema
        } else {
            self.base
        };
        At { schema, base }
    }
}

struct Walk<'a> {
    names: Names<'a>,
    places: HashMap<*const Value, usize>,
    property_names: HashMap<&'a str, usize>,
    open: Vec<At<'a>>,
}

impl<'a> Walk<'a> {
    fn place(&mut self, at: At<'a>) -> usize {
        *self
            .places
            .entry(std::ptr::from_ref(at.schema))
            .or_insert_with(|| {
                self.open.push(at);
                self.open.len() - 1
            })
    }

    fn node(&mut self, at: At<'a>) -> Result<Node, String> {
        let mut node = Node::default();
        let Some(fields) = at.schema.as_object() else {
            return Ok(node);
        };
        let nested = !std::ptr::eq(at.schema, self.open[0].schema);
        if nested && fields.contains_key("$schema") {
            return Err("`$schema` belongs at its root".to_owned());
        }
        node.in_place = self.subschemas(at, fields, &IN_PLACE);
        node.below = self.subschemas(at, fields, &BELOW);
        node.apart = self.apart(at, fields);
        node.left_over = self.subschemas(at, fields, &LEFT_OVER);
        node.price = price::of(fields);
        node.is_union = fields.contains_key("anyOf") || fields.contains_key("oneOf");
        for keyword in REFERENCES {
            if let Some(reference) = fields.get(keyword).and_then(Value::as_str)
                && !reference.starts_with(META_SCHEMAS)
            {
                let target = self.names.resolve(at, reference).ok_or_else(|| {
                    format!("`{keyword}` {reference:?} is not found in it: refer to `#/$defs/…`")
                })?;
                node.in_place.push(self.place(target));
            }
        }
        Ok(node)
    }

    fn apart(&mut self, at: At<'a>, fields: &'a Map<String, Value>) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        if let Some(Value::Object(named)) = fields.get("properties") {
            for (name, schema) in named {
                let fresh = self.property_names.len();
                let name = *self.property_names.entry(name).or_insert(fresh);
                // Even numbers are names, odd ones places.
                found.push((2 * name, self.place(at.child(schema))));
            }
        }
        if let Some(Value::Array(listed)) = fields.get("prefixItems") {
            for (index, schema) in listed.iter().enumerate() {
                found.push((2 * index + 1, self.place(at.child(schema))));
            }
        }
        found
    }

    fn subschemas(
        &mut self,
        at: At<'a>,
        fields: &'a Map<String, Value>,
        keywords: &[&str],
    ) -> Vec<usize> {
        let mut found = Vec::new();
        for keyword in keywords {
            match fields.get(*keyword) {
                Some(Value::Object(named)) if holds_names(keyword) => {
                    found.extend(named.values().map(|schema| self.place(at.child(schema))));
                }
                Some(Value::Array(listed)) => {
                    found.extend(listed.iter().map(|schema| self.place(at.child(schema))));
                }
                Some(schema @ Value::Object(_)) => found.push(self.place(at.child(schema))),
                _ => {}
            }
        }
        found
    }
}

/// Whether the keyword's object has names as keys, and is no schema itself.
fn holds_names(keyword: &str) -> bool {
    matches!(
        keyword,
        "patternProperties" | "dependentSchemas" | "dependencies"
    )
}

/// What references can name, beside places.
struct Names<'a> {
    ids: HashMap<&'a str, At<'a>>,
    anchors: HashMap<&'a str, At<'a>>,
}

impl<'a> Names<'a> {
    fn of(root: &'a Value) -> Result<Self, String> {
        let mut names = Self {
            ids: HashMap::new(),
            anchors: HashMap::new(),
        };
        let mut open = vec![At {
            schema: root,
            base: root,
        }];
        while let Some(at) = open.pop() {
            match at.schema {
                Value::Object(fields) => {
                    names.note(at, fields)?;
                    open.extend(fields.values().map(|value| at.child(value)));
                }
                Value::Array(items) => open.extend(items.iter().map(|value| at.child(value))),
                _ => {}
            }
        }
        Ok(names)
    }

    fn note(&mut self, at: At<'a>, fields: &'a Map<String, Value>) -> Result<(), String> {
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

    /// `None` when the schema does not contain what the reference names.
    fn resolve(&self, from: At<'a>, reference: &str) -> Option<At<'a>> {
        let (resource, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let base = match resource {
            "" => At {
                schema: from.base,
                base: from.base,
            },
            id => *self.ids.get(id)?,
        };
        let fragment = percent_decoded(fragment)?;
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

/// RFC 3986 section 2.1; `None` for a broken escape.
fn percent_decoded(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(part.get(..2)?, 16).ok()?);
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    String::from_utf8(bytes).ok()
}
