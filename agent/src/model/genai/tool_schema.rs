//! Schemas of tools in the form that each provider accepts.
//!
//! | keyword | sent | to | why |
//! |---|---|---|---|
//! | any other `type` or `properties` at the root | `"object"` and `{}` | all | required |
//! | `oneOf`, `anyOf`, `allOf`, `not`, `enum` at the root | properties of the branches, with the rules as text: see [`root_unions`] | all | Anthropic and OpenAI answer 400; Gemini does beside other keywords; Ollama drops them |
//! | `true` and `false` as schemas | `{}` and `{"not": {}}` | all | llama.cpp refuses the request |
//! | a list of types | one type and `nullable`, or `anyOf` of several | Gemini | "Proto field is not repeating, cannot start list" |
//! | `description` at the root | at the end of the tool's description | Ollama | it reads only the properties of a schema |

use bridge_schema::{root_unions, walk};
use serde_json::{Map, Value, json};

use crate::model::Provider;

/// The keywords at which servers accept booleans.
const BOOLEANS_ACCEPTED: [&str; 4] = [
    "additionalItems",
    "additionalProperties",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// The keywords of a schema with several types that stay beside their `anyOf`.
const ANNOTATIONS: [&str; 7] = [
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
    "$defs",
    "definitions",
];

/// Returns a schema as the provider accepts it.
pub(super) fn normalize(schema: &Value, provider: Provider) -> Value {
    let plain = root_unions::without_root_unions(schema);
    let mut schema = match plain.as_ref().unwrap_or(schema) {
        Value::Object(schema) => schema.clone(),
        _ => Map::new(),
    };
    schema.insert("type".to_owned(), "object".into());
    if !schema.get("properties").is_some_and(Value::is_object) {
        schema.insert("properties".to_owned(), json!({}));
    }
    replace_booleans_within(&mut schema);
    let mut schema = Value::Object(schema);
    if provider == Provider::Gemini {
        walk::for_each_subschema(&mut schema, &mut replace_type_list);
    }
    schema
}

/// Returns the description of a tool for the provider.
pub(super) fn describe(description: &str, schema: &Value, provider: Provider) -> String {
    match schema["description"].as_str() {
        Some(rules) if provider == Provider::Ollama => format!("{description}\n\n{rules}"),
        _ => description.to_owned(),
    }
}

/// Replaces schemas that are booleans by objects with the same meaning.
fn replace_booleans_within(schema: &mut Map<String, Value>) {
    walk::for_each_direct_subschema(schema, &mut |keyword, inner| match inner {
        Value::Object(schema) => replace_booleans_within(schema),
        Value::Bool(_) if BOOLEANS_ACCEPTED.contains(&keyword) => {}
        Value::Bool(true) => *inner = json!({}),
        Value::Bool(false) => *inner = json!({ "not": {} }),
        _ => {}
    });
}

/// Replaces a list of types as OpenAPI 3.0 has it: by one type, with `nullable` in place of
/// `"null"`, or by a schema for each.
fn replace_type_list(schema: &mut Map<String, Value>) {
    let Some(Value::Array(types)) = schema.get_mut("type") else {
        return;
    };
    let mut types = std::mem::take(types);
    let count = types.len();
    types.retain(|kind| kind != "null");
    let is_nullable = types.len() < count;
    match types.as_mut_slice() {
        [] if is_nullable => {
            schema.insert("type".to_owned(), "null".into());
            return;
        }
        [] => {
            schema.shift_remove("type");
        }
        [only] => {
            schema.insert("type".to_owned(), only.take());
        }
        several => {
            schema.shift_remove("type");
            // The branches that the schema has already name their types.
            if !["anyOf", "oneOf", "allOf"]
                .iter()
                .any(|it| schema.contains_key(*it))
            {
                let branches = several.iter_mut().map(|kind| kind.take());
                replace_by_branches(schema, branches.collect());
            }
        }
    }
    if is_nullable {
        schema.insert("nullable".to_owned(), true.into());
        if let Some(Value::Array(values)) = schema.get_mut("enum") {
            values.retain(|value| !value.is_null());
        }
    }
}

/// Moves the keywords of a schema into a branch for each of its types. The service refuses
/// constraints beside `anyOf`.
fn replace_by_branches(schema: &mut Map<String, Value>, types: Vec<Value>) {
    let (annotations, constraints): (Map<_, _>, Map<_, _>) = std::mem::take(schema)
        .into_iter()
        .partition(|(keyword, _)| ANNOTATIONS.contains(&keyword.as_str()));
    let branches = types.into_iter().map(|kind| {
        let mut branch = Map::from_iter([("type".to_owned(), kind)]);
        branch.extend(constraints.clone());
        Value::Object(branch)
    });
    let branches: Value = branches.collect();
    *schema = annotations;
    schema.insert("anyOf".to_owned(), branches);
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Provider; 5] = [
        Provider::Anthropic,
        Provider::Openai,
        Provider::Gemini,
        Provider::Ollama,
        Provider::Commands,
    ];

    #[test]
    fn a_schema_is_an_object_with_properties() {
        let empty = json!({ "type": "object", "properties": {} });
        let wrong = json!({ "type": ["object", "null"], "properties": null });
        for schema in [Value::Null, json!({}), json!(true), wrong] {
            for provider in ALL {
                assert_eq!(normalize(&schema, provider), empty, "{schema}");
            }
        }
    }

    #[test]
    fn booleans_are_replaced_where_they_are_schemas() {
        let schema = json!({
            "type": "object",
            "properties": {
                "any": true,
                "pair": { "type": "array", "prefixItems": [true, { "anyOf": [false] }], "items": false },
                "items": { "const": { "items": true } },
                "map": { "additionalProperties": { "properties": { "none": false } } },
            },
            "additionalProperties": false,
            "$defs": { "any": true },
            "default": { "properties": { "any": true } },
        });
        let expected = json!({
            "type": "object",
            "properties": {
                "any": {},
                "pair": { "type": "array", "prefixItems": [{}, { "anyOf": [{ "not": {} }] }], "items": { "not": {} } },
                "items": { "const": { "items": true } },
                "map": { "additionalProperties": { "properties": { "none": { "not": {} } } } },
            },
            "additionalProperties": false,
            "$defs": { "any": {} },
            "default": { "properties": { "any": true } },
        });
        for provider in ALL {
            assert_eq!(normalize(&schema, provider), expected);
        }
    }

    #[test]
    fn no_provider_gets_a_union_at_the_root() {
        let branch = json!({ "properties": { "a": { "type": "string" } }, "required": ["a"] });
        for (keyword, rule) in [
            ("oneOf", json!([branch])),
            ("anyOf", json!([branch, true])),
            ("allOf", json!([branch])),
            ("not", branch.clone()),
            ("enum", json!([{ "a": 1 }])),
            ("anyOf", json!("not a list")),
        ] {
            let mut schema = json!({ "type": "object", "properties": {
                "b": { "anyOf": [{ "type": "string" }] } } });
            schema[keyword] = rule.clone();
            for provider in ALL {
                let sent = normalize(&schema, provider);
                assert_eq!(sent.get(keyword), None, "{provider:?}: {sent}");
                assert!(sent["properties"]["b"]["anyOf"].is_array(), "{sent}");
                assert_eq!(
                    sent["properties"].get("a").is_some(),
                    rule.is_array() && keyword != "enum"
                );
                let told = describe("Finds", &sent, provider);
                let rules = sent["description"].as_str().unwrap();
                assert!(rules.contains(keyword), "{rules}");
                assert_eq!(told.contains(rules), provider == Provider::Ollama, "{told}");
            }
        }
    }

    #[test]
    fn gemini_gets_one_type_each() {
        let cases = [
            (json!({ "type": "string" }), json!({ "type": "string" })),
            (
                json!({ "type": ["string", "null"], "description": "d" }),
                json!({ "type": "string", "description": "d", "nullable": true }),
            ),
            (json!({ "type": ["integer"] }), json!({ "type": "integer" })),
            (json!({ "type": ["null"] }), json!({ "type": "null" })),
            (json!({ "type": [] }), json!({})),
            (
                json!({ "type": ["string", "null"], "enum": ["a", null] }),
                json!({ "type": "string", "enum": ["a"], "nullable": true }),
            ),
            (
                json!({ "type": ["string", "integer", "null"], "title": "t", "minimum": 1 }),
                json!({ "title": "t", "nullable": true, "anyOf": [
                    { "type": "string", "minimum": 1 }, { "type": "integer", "minimum": 1 }] }),
            ),
            (
                json!({ "type": ["string", "integer"], "anyOf": [{ "type": ["string", "null"] }] }),
                json!({ "anyOf": [{ "type": "string", "nullable": true }] }),
            ),
            (
                json!({ "type": ["array", "null"], "items": { "type": ["number", "null"] } }),
                json!({ "type": "array", "items": { "type": "number", "nullable": true },
                    "nullable": true }),
            ),
            (
                json!({ "const": { "type": ["a", "null"] } }),
                json!({ "const": { "type": ["a", "null"] } }),
            ),
        ];
        for (schema, expected) in cases {
            let schema = json!({ "properties": { "a": schema } });
            let sent = normalize(&schema, Provider::Gemini);
            assert_eq!(sent["properties"]["a"], expected, "{schema}");
            let others = normalize(&schema, Provider::Openai);
            assert_eq!(others["properties"], schema["properties"]);
        }
    }
}
