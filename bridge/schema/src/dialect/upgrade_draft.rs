//! Converts keywords of older drafts to those of 2020-12.

use serde_json::{Map, Value, json};

use crate::walk;

/// The `$schema` of 2020-12.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// The name of the anchor that replaces `$recursiveAnchor: true` of 2019-09.
const RECURSIVE_ANCHOR: &str = "recursive";

/// The keywords that are not removed beside `$ref` in a draft that ignores the other keywords.
const KEPT_BESIDE_REF: [&str; 11] = [
    "$ref",
    "$schema",
    "$defs",
    "definitions",
    "$comment",
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
    "readOnly",
];

/// The rules of the draft that the root declares.
#[derive(Clone, Copy, Default)]
struct DraftRules {
    /// `id` is the identifier of a schema (draft-03 and draft-04).
    has_plain_id: bool,
    /// Keywords beside `$ref` are ignored (draft-03 to draft-07).
    ignores_ref_siblings: bool,
}

/// Converts each keyword to its form in 2020-12.
pub(super) fn upgrade(schema: &mut Value) -> Result<(), String> {
    let rules = replace_dialect(schema)?;
    let recursive = has_recursive_anchor(schema);
    walk::for_each_subschema(schema, &mut |fields| {
        if rules.ignores_ref_siblings && fields.get("$ref").is_some_and(Value::is_string) {
            fields.retain(|keyword, _| KEPT_BESIDE_REF.contains(&keyword.as_str()));
        }
        upgrade_ids(fields, rules);
        upgrade_tuples(fields);
        upgrade_dependencies(fields);
        upgrade_exclusive_bound(fields, "exclusiveMinimum", "minimum");
        upgrade_exclusive_bound(fields, "exclusiveMaximum", "maximum");
        upgrade_recursion(fields, recursive);
        upgrade_nullable(fields);
    });
    // The root of an MCP schema is an object even if the draft ignores `type` beside `$ref`.
    if let Value::Object(root) = schema
        && !root.contains_key("type")
    {
        root.shift_insert(0, "type".to_owned(), json!("object"));
    }
    Ok(())
}

fn replace_dialect(schema: &mut Value) -> Result<DraftRules, String> {
    let Some(uri) = schema.get("$schema") else {
        return Ok(DraftRules::default());
    };
    let uri = uri.as_str().unwrap_or_default();
    let name = uri
        .trim_end_matches('#')
        .trim_start_matches("https://")
        .trim_start_matches("http://");
    let declared = match name {
        "json-schema.org/draft-04/schema" | "json-schema.org/draft-03/schema" => DraftRules {
            has_plain_id: true,
            ignores_ref_siblings: true,
        },
        "json-schema.org/draft-06/schema" | "json-schema.org/draft-07/schema" => DraftRules {
            has_plain_id: false,
            ignores_ref_siblings: true,
        },
        "json-schema.org/schema"
        | "json-schema.org/draft/2019-09/schema"
        | "json-schema.org/draft/2020-12/schema" => DraftRules::default(),
        _ => {
            return Err(format!(
                "`$schema` {uri:?} is not a dialect that clients know: leave it out, or use \
                 {DIALECT:?}"
            ));
        }
    };
    schema["$schema"] = json!(DIALECT);
    Ok(declared)
}

fn upgrade_ids(fields: &mut Map<String, Value>, declared: DraftRules) {
    if declared.has_plain_id && !fields.contains_key("$id") {
        rename_keyword(fields, "id", "$id");
    }
    let anchor = fields
        .get("$id")
        .and_then(Value::as_str)
        .and_then(|id| id.strip_prefix('#'))
        .filter(|anchor| !anchor.is_empty())
        .map(str::to_owned);
    if let Some(anchor) = anchor
        && !fields.contains_key("$anchor")
    {
        rename_keyword(fields, "$id", "$anchor");
        fields["$anchor"] = json!(anchor);
    }
}

fn upgrade_tuples(fields: &mut Map<String, Value>) {
    if fields.get("items").is_some_and(Value::is_array) && !fields.contains_key("prefixItems") {
        rename_keyword(fields, "items", "prefixItems");
        // An empty tuple has no effect, and 2020-12 does not allow it.
        if fields["prefixItems"] == json!([]) {
            fields.shift_remove("prefixItems");
        }
        rename_keyword(fields, "additionalItems", "items");
    }
}

fn upgrade_dependencies(fields: &mut Map<String, Value>) {
    let (required, schemas) = ("dependentRequired", "dependentSchemas");
    let Some(Value::Object(all)) = fields.get("dependencies") else {
        return;
    };
    if fields.contains_key(required) || fields.contains_key(schemas) {
        return;
    }
    let (lists, rest): (Map<_, _>, Map<_, _>) = all
        .clone()
        .into_iter()
        .map(|(name, dependency)| match dependency {
            // Draft-03 allows a single name in place of a list.
            Value::String(one) => (name, json!([one])),
            other => (name, other),
        })
        .partition(|(_, dependency)| dependency.is_array());
    let place = keyword_index(fields, "dependencies").unwrap_or(fields.len());
    fields.shift_remove("dependencies");
    if !rest.is_empty() {
        fields.shift_insert(place, schemas.to_owned(), Value::Object(rest));
    }
    if !lists.is_empty() {
        fields.shift_insert(place, required.to_owned(), Value::Object(lists));
    }
}

fn upgrade_exclusive_bound(fields: &mut Map<String, Value>, exclusive: &str, bound: &str) {
    match fields.get(exclusive) {
        Some(Value::Bool(true)) => match fields.shift_remove(bound) {
            Some(limit) => fields[exclusive] = limit,
            None => {
                fields.shift_remove(exclusive);
            }
        },
        Some(Value::Bool(false)) => {
            fields.shift_remove(exclusive);
        }
        _ => {}
    }
}

fn upgrade_recursion(fields: &mut Map<String, Value>, anchored: bool) {
    if fields.get("$recursiveRef") == Some(&json!("#")) {
        // Without anchors, both keywords refer to the root.
        let is_ref_free = !anchored && !fields.contains_key("$ref");
        let keyword = if is_ref_free { "$ref" } else { "$dynamicRef" };
        if !fields.contains_key(keyword) {
            rename_keyword(fields, "$recursiveRef", keyword);
            if anchored {
                fields[keyword] = json!(format!("#{RECURSIVE_ANCHOR}"));
            }
        }
    }
    match fields.get("$recursiveAnchor") {
        Some(Value::Bool(true)) if !fields.contains_key("$dynamicAnchor") => {
            rename_keyword(fields, "$recursiveAnchor", "$dynamicAnchor");
            fields["$dynamicAnchor"] = json!(RECURSIVE_ANCHOR);
        }
        Some(Value::Bool(false)) => {
            fields.shift_remove("$recursiveAnchor");
        }
        _ => {}
    }
}

fn has_recursive_anchor(schema: &mut Value) -> bool {
    let mut found = false;
    walk::for_each_subschema(schema, &mut |fields| {
        found |= fields.get("$recursiveAnchor") == Some(&json!(true));
    });
    found
}

fn upgrade_nullable(fields: &mut Map<String, Value>) {
    let Some(nullable) = fields.get("nullable").and_then(Value::as_bool) else {
        return;
    };
    match fields.get_mut("type") {
        Some(kind @ Value::String(_)) if nullable => *kind = json!([kind.clone(), "null"]),
        Some(Value::Array(kinds)) if nullable => {
            if !kinds.contains(&json!("null")) {
                kinds.push(json!("null"));
            }
        }
        Some(_) if !nullable => {}
        _ => return,
    }
    fields.shift_remove("nullable");
    if nullable
        && let Some(Value::Array(values)) = fields.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
}

/// Renames a keyword and leaves it at its position.
fn rename_keyword(fields: &mut Map<String, Value>, from: &str, to: &str) {
    if let Some(place) = keyword_index(fields, from)
        && let Some(value) = fields.shift_remove(from)
    {
        fields.shift_insert(place, to.to_owned(), value);
    }
}

fn keyword_index(fields: &Map<String, Value>, keyword: &str) -> Option<usize> {
    fields.keys().position(|key| key == keyword)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn upgraded(mut schema: Value) -> String {
        upgrade(&mut schema).unwrap();
        schema.to_string()
    }

    #[test]
    fn older_keywords_are_replaced_in_place() {
        let draft_07 = "http://json-schema.org/draft-07/schema#";
        let draft_04 = "http://json-schema.org/draft-04/schema#";
        let cases = [
            (
                json!({"$schema": draft_07, "type": "object"}),
                json!({"$schema": DIALECT, "type": "object"}),
            ),
            (
                json!({"type": "object", "properties": {"a": {"items": [{"type": "string"}],
                    "additionalItems": false, "title": "A"}}}),
                json!({"type": "object", "properties": {"a": {"prefixItems": [{"type": "string"}],
                    "items": false, "title": "A"}}}),
            ),
            (
                json!({"type": "object", "dependencies": {"a": ["b"], "c": {"required": ["d"]}, "e": "f"}}),
                json!({"type": "object", "dependentRequired": {"a": ["b"], "e": ["f"]},
                    "dependentSchemas": {"c": {"required": ["d"]}}}),
            ),
            (
                json!({"type": "object", "$defs": {"n": {"minimum": 3, "exclusiveMinimum": true,
                    "maximum": 9, "exclusiveMaximum": false}}}),
                json!({"type": "object", "$defs": {"n": {"exclusiveMinimum": 3, "maximum": 9}}}),
            ),
            (
                json!({"$schema": draft_04, "id": "https://example.com/s", "type": "object",
                    "definitions": {"n": {"id": "#n", "type": "integer"}}}),
                json!({"$schema": DIALECT, "$id": "https://example.com/s", "type": "object",
                    "definitions": {"n": {"$anchor": "n", "type": "integer"}}}),
            ),
            (
                json!({"$schema": draft_07, "type": "object", "properties": {"a": {"$ref": "#/definitions/a",
                    "minLength": 3, "description": "kept"}}, "definitions": {"a": {}}}),
                json!({"$schema": DIALECT, "type": "object", "properties": {"a": {"$ref": "#/definitions/a",
                    "description": "kept"}}, "definitions": {"a": {}}}),
            ),
            (
                json!({"type": "object", "properties": {"next": {"$recursiveRef": "#"}}}),
                json!({"type": "object", "properties": {"next": {"$ref": "#"}}}),
            ),
            (
                json!({"type": "object", "properties": {"next": {"$ref": "#/$defs/a", "$recursiveRef": "#"}}, "$defs": {"a": {}}}),
                json!({"type": "object", "properties": {"next": {"$ref": "#/$defs/a", "$dynamicRef": "#"}}, "$defs": {"a": {}}}),
            ),
            (
                json!({"$recursiveAnchor": true, "type": "object", "properties": {"next": {"$recursiveRef": "#"}}}),
                json!({"$dynamicAnchor": "recursive", "type": "object",
                    "properties": {"next": {"$dynamicRef": "#recursive"}}}),
            ),
            (
                json!({"type": "object", "properties": {"a": {"type": "string", "nullable": true, "enum": ["x"]},
                    "b": {"type": "string", "nullable": false}}}),
                json!({"type": "object", "properties": {"a": {"type": ["string", "null"], "enum": ["x", null]},
                    "b": {"type": "string"}}}),
            ),
            (
                json!({"$schema": draft_07, "$ref": "#/definitions/a", "type": "object", "definitions": {"a": {}}}),
                json!({"type": "object", "$schema": DIALECT, "$ref": "#/definitions/a", "definitions": {"a": {}}}),
            ),
        ];
        for (older, newer) in cases {
            assert_eq!(upgraded(older.clone()), newer.to_string(), "{older}");
        }
    }

    #[test]
    fn schemas_of_2020_12_are_unchanged() {
        for schema in [
            json!({"$schema": DIALECT, "z": 1, "type": "object", "properties": {"id": {"type": "string"},
                "dependencies": {"items": {}}, "nullable": {"type": "boolean"}},
                "const": {"items": [], "nullable": true, "type": "x"}, "additionalItems": false}),
            json!({"type": "object", "id": "not a draft-04 one", "definitions": {"a": {"$id": "a"}}}),
            json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/a", "minLength": 3}}, "$defs": {"a": {}}}),
        ] {
            assert_eq!(upgraded(schema.clone()), schema.to_string());
        }
    }

    #[test]
    fn unknown_dialects_are_refused() {
        let mut schema = json!({"$schema": "https://example.com/my-dialect"});
        assert!(upgrade(&mut schema).unwrap_err().contains("leave it out"));
    }
}
