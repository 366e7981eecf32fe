//! References within a schema: which definitions it uses, and whether they use themselves.

use std::collections::{HashMap, HashSet};

use bridge_schema::walk;
use serde_json::{Map, Value};

use super::super::api::Api;

/// The maximum number of definitions in a schema that is converted. Providers refuse the grammars of
/// larger schemas.
const MAX_DEFINITIONS: usize = 100;

/// The keywords that may stand beside a reference at the root, and have no meaning there.
const BESIDE_ROOT_REFERENCE: [&str; 9] = [
    "$schema",
    "$id",
    "$comment",
    "$defs",
    "definitions",
    "type",
    "title",
    "description",
    "$ref",
];

/// Returns a schema whose root is not a reference to one of its definitions, as generators of schemas
/// write it. Returns `None` if it refers to anything else.
pub(super) fn without_root_reference(schema: &Value) -> Option<Value> {
    let Some(reference) = schema.get("$ref") else {
        return Some(schema.clone());
    };
    let fields = schema.as_object()?;
    let is_plain = |field: &String| BESIDE_ROOT_REFERENCE.contains(&field.as_str());
    if !fields.keys().all(is_plain) {
        return None;
    }
    let pointer = reference.as_str()?.strip_prefix('#')?;
    definition_name(reference.as_str()?)?;
    let mut root = schema.pointer(pointer)?.as_object()?.clone();
    if root.contains_key("$ref") {
        return None;
    }
    for (field, value) in fields {
        if field != "$ref" {
            root.entry(field.as_str()).or_insert_with(|| value.clone());
        }
    }
    Some(Value::Object(root))
}

/// Returns the name in a reference to a definition of the root. Names that are escaped are not read.
pub(super) fn definition_name(reference: &str) -> Option<&str> {
    let name = reference
        .strip_prefix("#/$defs/")
        .or_else(|| reference.strip_prefix("#/definitions/"))?;
    (!name.is_empty() && !name.contains(['/', '~', '%'])).then_some(name)
}

/// Whether a server of the API follows all references of a schema. llama.cpp refuses a reference to
/// the root.
pub(super) fn are_accepted(schema: &Value, api: Api) -> bool {
    let mut are_accepted = true;
    for_each_reference(&mut schema.clone(), &mut |reference| {
        are_accepted &= match reference.and_then(|it| it.strip_prefix('#')) {
            Some("") => api == Api::Responses,
            Some(pointer) => !pointer.contains(['~', '%']) && schema.pointer(pointer).is_some(),
            None => false,
        };
    });
    are_accepted
}

/// Visits the references in all subschemas; `None` is one of another kind than `$ref`.
fn for_each_reference(schema: &mut Value, visit: &mut impl FnMut(Option<&str>)) {
    walk::for_each_subschema(schema, &mut |fields| {
        if fields.contains_key("$dynamicRef") || fields.contains_key("$recursiveRef") {
            visit(None);
        }
        if let Some(reference) = fields.get("$ref") {
            visit(reference.as_str());
        }
    });
}

/// Removes the definitions of a root, and returns those that it uses, also indirectly. Returns `None`
/// if there is a reference to anything else, or a definition uses itself.
pub(super) fn take_definitions(root: &mut Map<String, Value>) -> Option<Map<String, Value>> {
    let mut all = Map::new();
    for keyword in ["$defs", "definitions"] {
        if let Some(Value::Object(definitions)) = root.shift_remove(keyword) {
            for (name, definition) in definitions {
                if all.insert(name, definition).is_some() {
                    return None;
                }
            }
        }
    }
    let mut waiting: Vec<String> = names_in(&Value::Object(root.clone()))?
        .into_iter()
        .collect();
    let mut uses: HashMap<String, HashSet<String>> = HashMap::new();
    while let Some(name) = waiting.pop() {
        if uses.contains_key(&name) {
            continue;
        }
        let names = names_in(all.get(&name)?)?;
        waiting.extend(names.iter().cloned());
        uses.insert(name, names);
        if uses.len() > MAX_DEFINITIONS {
            return None;
        }
    }
    // In their order, so that the request begins as the one before.
    all.retain(|name, _| uses.contains_key(name));
    // Removes definitions that use none of the others, until only a circle remains.
    while !uses.is_empty() {
        let open: HashSet<String> = uses.keys().cloned().collect();
        uses.retain(|_, names| !names.is_disjoint(&open));
        if uses.len() == open.len() {
            return None;
        }
    }
    Some(all)
}

fn names_in(schema: &Value) -> Option<HashSet<String>> {
    let mut names = Some(HashSet::new());
    for_each_reference(&mut schema.clone(), &mut |reference| {
        let name = reference.and_then(definition_name);
        match (name, &mut names) {
            (Some(name), Some(names)) => {
                names.insert(name.to_owned());
            }
            _ => names = None,
        }
    });
    names
}
