//! Removes the keywords at the root of an input schema that model services refuse.
//!
//! MCP allows any schema of 2020-12 there since revision 2026-07-28, and most clients pass it on to
//! their model service. Anthropic's and OpenAI's then refuse the whole request, Gemini's refuses
//! other keywords beside a union, and Ollama drops the union, with all properties that only its
//! branches define.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

/// The keywords that model services refuse at the root: Claude's refuses the first three, OpenAI's
/// all five.
const REFUSED_KEYWORDS: [&str; 5] = ["oneOf", "anyOf", "allOf", "not", "enum"];

/// The maximum size in bytes of rules that are added to the description.
const MAX_RULES_BYTES: usize = 2_000;

/// The maximum number of values in the branches that are searched and the properties that are found
/// there, because branches may refer to the same properties again and again.
const MAX_MERGED_VALUES: usize = 50_000;

/// The maximum depth to which nested branches are searched for properties.
const MAX_NESTING: usize = 8;

/// The maximum length of the name of a top-level argument. Claude's service refuses every request
/// with a longer one.
pub const MAX_ARGUMENT_NAME_CHARS: usize = 64;

/// Whether every model service accepts this name of a top-level argument.
pub fn is_argument_name(name: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    !name.is_empty() && name.len() <= MAX_ARGUMENT_NAME_CHARS && name.chars().all(is_allowed)
}

/// Returns the schema without these keywords, or `None` if its root has none of them.
///
/// Properties that only branches define become optional properties of the root, so that a model
/// knows their names; those whose name a service refuses are left out. The rules themselves are
/// added to the description. Calls must still be validated against the schema as registered.
pub fn without_root_unions(schema: &Value) -> Option<Value> {
    let root = schema.as_object()?;
    if !REFUSED_KEYWORDS
        .iter()
        .any(|keyword| root.contains_key(*keyword))
    {
        return None;
    }
    let mut plain = root.clone();
    // Without the branches it would forbid properties that were left out.
    plain.shift_remove("unevaluatedProperties");
    let mut rules = Map::new();
    for keyword in REFUSED_KEYWORDS {
        if let Some(rule) = plain.shift_remove(keyword) {
            rules.insert(keyword.to_owned(), rule);
        }
    }
    let rules = Value::Object(rules);
    if !matches!(root.get("additionalProperties"), Some(Value::Bool(false))) {
        let mut branches = BranchProperties::default();
        branches.collect(schema, &rules, MAX_NESTING);
        add_properties(&mut plain, branches);
    }
    remove_undefined_required(&mut plain);
    describe_rules(&mut plain, &rules);
    Some(Value::Object(plain))
}

/// The properties that branches define, in the order in which they are found.
struct BranchProperties<'a> {
    properties: Vec<(&'a str, &'a Value)>,
    known: HashSet<(&'a str, &'a Value)>,
    /// The properties that the branches of the root's `allOf` require.
    required: Vec<&'a Value>,
    /// The number of values that may still be searched.
    remaining: usize,
}

impl Default for BranchProperties<'_> {
    fn default() -> Self {
        Self {
            properties: Vec::new(),
            known: HashSet::new(),
            required: Vec::new(),
            remaining: MAX_MERGED_VALUES,
        }
    }
}

impl<'a> BranchProperties<'a> {
    fn collect(&mut self, root: &'a Value, branch: &'a Value, nesting: usize) {
        if nesting == 0 {
            return;
        }
        for keyword in ["allOf", "anyOf", "oneOf"] {
            let inner = branch.get(keyword).and_then(Value::as_array);
            for branch in inner.into_iter().flatten() {
                if !spend(&mut self.remaining, branch, 0) {
                    return;
                }
                let branch = resolve_reference(root, branch);
                let properties = branch.get("properties").and_then(Value::as_object);
                for (name, property) in properties.into_iter().flatten() {
                    if !spend(&mut self.remaining, property, usize::MAX) {
                        return;
                    }
                    if is_argument_name(name) && self.known.insert((name, property)) {
                        self.properties.push((name, property));
                    }
                }
                if keyword == "allOf"
                    && nesting == MAX_NESTING
                    && let Some(required) = branch.get("required")
                {
                    if !spend(&mut self.remaining, required, 1) {
                        return;
                    }
                    self.required
                        .extend(required.as_array().into_iter().flatten());
                }
                self.collect(root, branch, nesting - 1);
            }
        }
    }
}

/// Subtracts the number of values in a value from `remaining`, down to this depth. Returns false
/// when nothing remains.
fn spend(remaining: &mut usize, value: &Value, depth: usize) -> bool {
    if *remaining == 0 {
        return false;
    }
    *remaining -= 1;
    match value {
        _ if depth == 0 => true,
        Value::Array(items) => items.iter().all(|item| spend(remaining, item, depth - 1)),
        Value::Object(fields) => {
            let mut values = fields.values();
            values.all(|value| spend(remaining, value, depth - 1))
        }
        _ => true,
    }
}

/// The target of a local reference, without following a second one; other schemas are returned as
/// they are.
fn resolve_reference<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    schema
        .get("$ref")
        .and_then(Value::as_str)
        .and_then(|reference| reference.strip_prefix('#'))
        .and_then(|pointer| root.pointer(pointer))
        .unwrap_or(schema)
}

/// Removes the names of properties that are not defined from `required`. Gemini refuses them.
pub fn remove_undefined_required(schema: &mut Map<String, Value>) {
    let Some(Value::Array(mut required)) = schema.shift_remove("required") else {
        return;
    };
    let properties = schema.get("properties");
    required.retain(|name| {
        let name = name.as_str();
        name.is_some_and(|name| properties.and_then(|it| it.get(name)).is_some())
    });
    if !required.is_empty() {
        schema.insert("required".to_owned(), required.into());
    }
}

/// Adds what was found to the root.
fn add_properties(plain: &mut Map<String, Value>, found: BranchProperties<'_>) {
    if let Some(properties) = plain
        .entry("properties")
        .or_insert_with(|| json!({}))
        .as_object_mut()
    {
        let own: HashSet<String> = properties.keys().cloned().collect();
        for (name, property) in found.properties {
            if own.contains(name) {
                continue;
            }
            match properties.get_mut(name) {
                None => {
                    properties.insert(name.to_owned(), property.clone());
                }
                Some(Value::Object(union)) if union.len() == 1 && union.contains_key("anyOf") => {
                    if let Some(choices) = union.get_mut("anyOf").and_then(Value::as_array_mut) {
                        choices.push(property.clone());
                    }
                }
                Some(other) => *other = json!({ "anyOf": [other.clone(), property] }),
            }
        }
    }
    if let Some(required) = plain
        .entry("required")
        .or_insert_with(|| json!([]))
        .as_array_mut()
    {
        let mut known: HashSet<Value> = required.iter().cloned().collect();
        for name in found.required {
            if known.insert(name.clone()) {
                required.push(name.clone());
            }
        }
    }
}

fn describe_rules(plain: &mut Map<String, Value>, rules: &Value) {
    let rules = rules.to_string();
    let note = if rules.len() <= MAX_RULES_BYTES {
        format!("The arguments must also fit this JSON Schema: {rules}")
    } else {
        "Not every combination of these arguments is allowed; an error says which rule is broken."
            .to_owned()
    };
    let description = match plain.get("description").and_then(Value::as_str) {
        Some(own) => format!("{own}\n\n{note}"),
        None => note,
    };
    plain.insert("description".to_owned(), json!(description));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_without_unions_is_unchanged() {
        let schema = json!({"type": "object", "properties": {"a": {"oneOf": [{}]}}, "if": {}});
        assert_eq!(without_root_unions(&schema), None);
    }

    #[test]
    fn properties_of_branches_move_to_the_root() {
        let schema = json!({"type": "object", "properties": {"kind": {"type": "string"}},
            "oneOf": [{"$ref": "#/$defs/a"}, {"properties": {"kind": {"const": "b"}, "x": {"type": "integer"}, "y": {}}}],
            "allOf": [{"required": ["kind"]}],
            "$defs": {"a": {"properties": {"kind": {"const": "a"}, "x": {"type": "string"}}, "required": ["x"]}}});
        let plain = without_root_unions(&schema).unwrap();
        assert_eq!(
            plain["properties"].to_string(),
            json!({"kind": {"type": "string"},
                "x": {"anyOf": [{"type": "string"}, {"type": "integer"}]}, "y": {}})
            .to_string()
        );
        assert_eq!(plain["required"], json!(["kind"]));
        assert!(plain.get("oneOf").is_none() && plain.get("allOf").is_none());
        let note = plain["description"].as_str().unwrap();
        assert!(
            note.contains(r##""oneOf":[{"$ref":"#/$defs/a"}"##),
            "{note}"
        );
    }

    #[test]
    fn properties_that_are_left_out_are_not_required() {
        let deep = (0..MAX_NESTING).fold(
            json!({"properties": {"deep": {}}}),
            |inner, _| json!({"allOf": [inner]}),
        );
        let schema = |own: &str| {
            json!({"type": "object", "unevaluatedProperties": false, "required": ["größe", own],
            "allOf": [
                {"properties": {"größe": {}, "a": {}}, "required": [own, "deep", 7]},
                deep,
            ]})
        };
        let plain = without_root_unions(&schema("a")).unwrap();
        assert_eq!(plain["properties"], json!({"a": {}}));
        assert_eq!(plain["required"], json!(["a"]));
        assert_eq!(plain.get("unevaluatedProperties"), None);
        assert!(plain["description"].as_str().unwrap().contains("größe"));
        let plain = without_root_unions(&schema("deep")).unwrap();
        assert_eq!(plain.get("required"), None);
    }

    #[test]
    fn branches_that_repeat_many_properties_are_merged_up_to_a_limit() {
        let properties: Map<_, _> = (0..1_000).map(|n| (format!("p{n}"), json!({}))).collect();
        let reference = json!({"$ref": "#/$defs/all"});
        let schema = json!({"type": "object", "anyOf": vec![reference; 10_000],
            "$defs": {"all": {"properties": properties}}});
        let mut branches = BranchProperties::default();
        branches.collect(&schema, &schema, MAX_NESTING);
        assert_eq!(branches.properties.len(), 1_000);
        assert_eq!(branches.remaining, 0);

        // Each variant of a property counts with all its values.
        let variants: Vec<_> = (0..60)
            .map(|n| json!({"properties": {"kind": {"enum": vec![n; 1_000]}}}))
            .collect();
        let plain = without_root_unions(&json!({"type": "object", "oneOf": variants})).unwrap();
        let kinds = plain["properties"]["kind"]["anyOf"].as_array().unwrap();
        assert_eq!(kinds.len(), 49);
    }

    #[test]
    fn closed_objects_stay_closed_and_long_rules_are_summarized() {
        let branches: Vec<_> = (0..200)
            .map(|n| json!({"required": [format!("p{n}")]}))
            .collect();
        let schema = json!({"type": "object", "description": "Own", "properties": {"p0": {}},
            "additionalProperties": false, "anyOf": branches, "not": {"properties": {"q": {}}}});
        let plain = without_root_unions(&schema).unwrap();
        assert_eq!(plain["properties"], json!({"p0": {}}));
        let note = plain["description"].as_str().unwrap();
        assert!(note.starts_with("Own\n\nNot every combination"), "{note}");
    }
}
