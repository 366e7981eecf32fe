//! From the words of older drafts to those of 2020-12.

use serde_json::{Map, Value, json};

use super::DIALECT;
use crate::schema::walk;

/// The anchor that stands for 2019-09's `$recursiveAnchor: true`.
const RECURSIVE: &str = "recursive";

/// What counts beside `$ref` in a draft that ignores its neighbours.
const BESIDE_REF: [&str; 11] = [
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

/// What the root says of its dialect.
#[derive(Clone, Copy, Default)]
struct Declared {
    /// draft-04: `id` names a schema.
    id: bool,
    /// draft-04 to draft-07: `$ref` stands alone.
    lone_ref: bool,
}

/// Rewrites each keyword whose older form 2020-12 does not have.
pub(super) fn modernize(schema: &mut Value) -> Result<(), String> {
    let declared = dialect(schema)?;
    let recursive = has_recursive_anchor(schema);
    walk::each(schema, &mut |fields| {
        if declared.lone_ref && fields.get("$ref").is_some_and(Value::is_string) {
            fields.retain(|keyword, _| BESIDE_REF.contains(&keyword.as_str()));
        }
        names(fields, declared);
        tuples(fields);
        dependencies(fields);
        exclusive(fields, "exclusiveMinimum", "minimum");
        exclusive(fields, "exclusiveMaximum", "maximum");
        recursion(fields, recursive);
        nullable(fields);
    });
    // An MCP schema is an object also where the draft ignores what stands beside `$ref`.
    if let Value::Object(root) = schema
        && !root.contains_key("type")
    {
        root.shift_insert(0, "type".to_owned(), json!("object"));
    }
    Ok(())
}

fn dialect(schema: &mut Value) -> Result<Declared, String> {
    let Some(uri) = schema.get("$schema") else {
        return Ok(Declared::default());
    };
    let uri = uri.as_str().unwrap_or_default();
    let name = uri
        .trim_end_matches('#')
        .trim_start_matches("https://")
        .trim_start_matches("http://");
    let declared = match name {
        "json-schema.org/draft-04/schema" | "json-schema.org/draft-03/schema" => Declared {
            id: true,
            lone_ref: true,
        },
        "json-schema.org/draft-06/schema" | "json-schema.org/draft-07/schema" => Declared {
            id: false,
            lone_ref: true,
        },
        "json-schema.org/schema"
        | "json-schema.org/draft/2019-09/schema"
        | "json-schema.org/draft/2020-12/schema" => Declared::default(),
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

fn names(fields: &mut Map<String, Value>, declared: Declared) {
    if declared.id && !fields.contains_key("$id") {
        rename(fields, "id", "$id");
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
        rename(fields, "$id", "$anchor");
        fields["$anchor"] = json!(anchor);
    }
}

fn tuples(fields: &mut Map<String, Value>) {
    if fields.get("items").is_some_and(Value::is_array) && !fields.contains_key("prefixItems") {
        rename(fields, "items", "prefixItems");
        // An empty tuple says nothing, and 2020-12 does not allow it.
        if fields["prefixItems"] == json!([]) {
            fields.shift_remove("prefixItems");
        }
        rename(fields, "additionalItems", "items");
    }
}

fn dependencies(fields: &mut Map<String, Value>) {
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
            // draft-03
            Value::String(one) => (name, json!([one])),
            other => (name, other),
        })
        .partition(|(_, dependency)| dependency.is_array());
    let place = place_of(fields, "dependencies").unwrap_or(fields.len());
    fields.shift_remove("dependencies");
    if !rest.is_empty() {
        fields.shift_insert(place, schemas.to_owned(), Value::Object(rest));
    }
    if !lists.is_empty() {
        fields.shift_insert(place, required.to_owned(), Value::Object(lists));
    }
}

fn exclusive(fields: &mut Map<String, Value>, exclusive: &str, bound: &str) {
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

fn recursion(fields: &mut Map<String, Value>, anchored: bool) {
    if fields.get("$recursiveRef") == Some(&json!("#")) {
        let keyword = if anchored { "$dynamicRef" } else { "$ref" };
        if !fields.contains_key(keyword) {
            rename(fields, "$recursiveRef", keyword);
            if anchored {
                fields[keyword] = json!(format!("#{RECURSIVE}"));
            }
        }
    }
    match fields.get("$recursiveAnchor") {
        Some(Value::Bool(true)) if !fields.contains_key("$dynamicAnchor") => {
            rename(fields, "$recursiveAnchor", "$dynamicAnchor");
            fields["$dynamicAnchor"] = json!(RECURSIVE);
        }
        Some(Value::Bool(false)) => {
            fields.shift_remove("$recursiveAnchor");
        }
        _ => {}
    }
}

fn has_recursive_anchor(schema: &mut Value) -> bool {
    let mut found = false;
    walk::each(schema, &mut |fields| {
        found |= fields.get("$recursiveAnchor") == Some(&json!(true));
    });
    found
}

fn nullable(fields: &mut Map<String, Value>) {
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

/// Gives a keyword another name in its place.
fn rename(fields: &mut Map<String, Value>, from: &str, to: &str) {
    if let Some(place) = place_of(fields, from)
        && let Some(value) = fields.shift_remove(from)
    {
        fields.shift_insert(place, to.to_owned(), value);
    }
}

fn place_of(fields: &Map<String, Value>, keyword: &str) -> Option<usize> {
    fields.keys().position(|key| key == keyword)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modern(mut schema: Value) -> String {
        modernize(&mut schema).unwrap();
        schema.to_string()
    }

    #[test]
    fn each_older_word_has_its_newer_one_in_the_same_place() {
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
            assert_eq!(modern(older.clone()), newer.to_string(), "{older}");
        }
    }

    #[test]
    fn what_is_2020_12_stays_to_the_letter() {
        for schema in [
            json!({"$schema": DIALECT, "z": 1, "type": "object", "properties": {"id": {"type": "string"},
                "dependencies": {"items": {}}, "nullable": {"type": "boolean"}},
                "const": {"items": [], "nullable": true, "type": "x"}, "additionalItems": false}),
            json!({"type": "object", "id": "not a draft-04 one", "definitions": {"a": {"$id": "a"}}}),
            json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/a", "minLength": 3}}, "$defs": {"a": {}}}),
        ] {
            assert_eq!(modern(schema.clone()), schema.to_string());
        }
    }

    #[test]
    fn a_dialect_that_nobody_knows_is_refused() {
        let mut schema = json!({"$schema": "https://example.com/my-dialect"});
        assert!(modernize(&mut schema).unwrap_err().contains("leave it out"));
    }
}
