//! Schemas of tools in the form that each API accepts.
//!
//! | keyword | sent | to | why |
//! |---|---|---|---|
//! | any other `type` or `properties` at the root | `"object"` and `{}` | all | required |
//! | `oneOf`, `anyOf`, `allOf`, `not`, `enum` at the root | properties of the branches, with the rules as text: see [`root_unions`] | all | Anthropic and OpenAI answer 400; Gemini does beside other keywords; Ollama drops them |
//! | `true` and `false` as schemas | `{}` and `{"not": {}}` | all | llama.cpp refuses the request |
//! | a list of types | `anyOf` with a branch for each | Gemini | "Proto field is not repeating, cannot start list" |
//! | names in `required` that `properties` has not | without them | Gemini | "property is not defined" |
//! | `description` at the root | at the end of the tool's description | chat completions | Ollama reads only the properties of a schema |

use bridge_schema::{root_unions, walk};
use serde_json::{Map, Value, json};

use super::api::Api;

/// The keywords at which servers accept booleans.
const BOOLEANS_ACCEPTED: [&str; 4] = [
    "additionalItems",
    "additionalProperties",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// The keywords that constrain values of certain types only. Each moves to the branch of its type.
const KEYWORDS_OF_TYPES: [(&[&str], &[&str]); 4] = [
    (
        &["array"],
        &[
            "items",
            "prefixItems",
            "additionalItems",
            "unevaluatedItems",
            "contains",
            "minContains",
            "maxContains",
            "minItems",
            "maxItems",
            "uniqueItems",
        ],
    ),
    (
        &["object"],
        &[
            "properties",
            "patternProperties",
            "additionalProperties",
            "unevaluatedProperties",
            "propertyNames",
            "required",
            "minProperties",
            "maxProperties",
            "dependentRequired",
            "dependentSchemas",
        ],
    ),
    (
        &["string"],
        &["minLength", "maxLength", "pattern", "format"],
    ),
    (
        &["number", "integer"],
        &[
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "multipleOf",
        ],
    ),
];

/// Keywords beside a list of types that cannot move to a branch, and that Gemini ignores.
const IGNORED_KEYWORDS: [&str; 4] = ["not", "if", "then", "else"];

/// Returns a schema as the API accepts it.
pub(super) fn normalize(schema: &Value, api: Api) -> Value {
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
    if api == Api::Gemini {
        walk::for_each_subschema(&mut schema, &mut |schema| {
            root_unions::remove_undefined_required(schema);
            replace_type_list(schema);
        });
    }
    schema
}

/// Returns the description of a tool for the API.
pub(super) fn describe(description: &str, schema: &Value, api: Api) -> String {
    match schema["description"].as_str() {
        Some(rules) if api == Api::ChatCompletions => format!("{description}\n\n{rules}"),
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

/// Replaces a list of types by `anyOf` with a branch for each. Both forms of schemas that the
/// service reads have it; `nullable` is only in that of OpenAPI 3.0.
///
/// No subschema is copied: each copy of one with a list of types would be copied again by the
/// schema around it.
fn replace_type_list(schema: &mut Map<String, Value>) {
    let Some(Value::Array(list)) = schema.get_mut("type") else {
        return;
    };
    let mut types: Vec<Value> = Vec::new();
    for kind in std::mem::take(list) {
        if !types.contains(&kind) {
            types.push(kind);
        }
    }
    if types.iter().any(|kind| kind == "number") {
        types.retain(|kind| kind != "integer");
    }
    schema.shift_remove("type");
    if types.len() < 2 {
        let only = types.pop();
        schema.extend(only.map(|only| ("type".to_owned(), only)));
    } else if ["anyOf", "oneOf", "allOf", "$ref"]
        .iter()
        .any(|keyword| schema.contains_key(*keyword))
    {
        describe_types(schema, &types);
    } else {
        let mut branches = take_branches(schema, types);
        match branches.len() {
            0 => {}
            1 => schema.extend(branches.remove(0)),
            _ => {
                schema.insert("anyOf".to_owned(), branches.into());
            }
        }
    }
}

/// Moves the constraints of a schema into a branch for each of its types. A type that allows none
/// of the values of `enum` has no branch.
fn take_branches(schema: &mut Map<String, Value>, types: Vec<Value>) -> Vec<Map<String, Value>> {
    for keyword in IGNORED_KEYWORDS {
        schema.shift_remove(keyword);
    }
    let constant = schema.shift_remove("const").map(|value| vec![value]);
    let mut values = match schema.shift_remove("enum") {
        Some(Value::Array(values)) => constant.or(Some(values)),
        _ => constant,
    };
    let mut branches = Vec::with_capacity(types.len());
    for kind in types {
        let name = kind.as_str().unwrap_or_default();
        let mut branch = Map::new();
        if let Some(values) = &mut values {
            let own: Vec<_> = values
                .extract_if(.., |value| is_of_type(value, name))
                .collect();
            if own.is_empty() {
                continue;
            }
            if name != "null" {
                branch.insert("enum".to_owned(), Value::Array(own));
            }
        }
        let own = KEYWORDS_OF_TYPES
            .iter()
            .filter(|(owners, _)| owners.contains(&name));
        for keyword in own.flat_map(|(_, keywords)| *keywords) {
            if let Some(constraint) = schema.shift_remove(*keyword) {
                branch.insert((*keyword).to_owned(), constraint);
            }
        }
        branch.insert("type".to_owned(), kind);
        branches.push(branch);
    }
    // The constraints for types that no value may have.
    for keyword in KEYWORDS_OF_TYPES.iter().flat_map(|(_, keywords)| *keywords) {
        schema.shift_remove(*keyword);
    }
    branches
}

/// Adds the types of a schema to its description. A schema can have only one `anyOf`, and no
/// keyword beside `$ref`.
fn describe_types(schema: &mut Map<String, Value>, types: &[Value]) {
    let names: Vec<_> = types.iter().filter_map(Value::as_str).collect();
    let own = schema.get("description").and_then(Value::as_str);
    let own = own.map_or(String::new(), |own| format!("{own}\n\n"));
    let description = format!("{own}Types: {}", names.join(", "));
    schema.insert("description".to_owned(), description.into());
}

fn is_of_type(value: &Value, kind: &str) -> bool {
    match value {
        Value::Null => kind == "null",
        Value::Bool(_) => kind == "boolean",
        Value::Number(number) => {
            kind == "number"
                || kind == "integer" && number.as_f64().is_none_or(|it| it.fract() == 0.0)
        }
        Value::String(_) => kind == "string",
        Value::Array(_) => kind == "array",
        Value::Object(_) => kind == "object",
    }
}
#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Api; 4] = [
        Api::Messages,
        Api::Responses,
        Api::ChatCompletions,
        Api::Gemini,
    ];

    #[test]
    fn a_schema_is_an_object_with_properties() {
        let empty = json!({ "type": "object", "properties": {} });
        let wrong = json!({ "type": ["object", "null"], "properties": null });
        for schema in [Value::Null, json!({}), json!(true), wrong] {
            for api in ALL {
                assert_eq!(normalize(&schema, api), empty, "{schema}");
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
        for api in ALL {
            assert_eq!(normalize(&schema, api), expected);
        }
    }

    #[test]
    fn no_api_gets_a_union_at_the_root() {
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
            for api in ALL {
                let sent = normalize(&schema, api);
                assert_eq!(sent.get(keyword), None, "{api:?}: {sent}");
                assert!(sent["properties"]["b"]["anyOf"].is_array(), "{sent}");
                assert_eq!(
                    sent["properties"].get("a").is_some(),
                    rule.is_array() && keyword != "enum"
                );
                let told = describe("Finds", &sent, api);
                let rules = sent["description"].as_str().unwrap();
                assert!(rules.contains(keyword), "{rules}");
                assert_eq!(told.contains(rules), api == Api::ChatCompletions, "{told}");
            }
        }
    }

    #[test]
    fn gemini_gets_one_type_each() {
        let cases = [
            (json!({ "type": "string" }), json!({ "type": "string" })),
            (
                json!({ "type": ["string", "null"], "description": "d" }),
                json!({ "description": "d", "anyOf": [{ "type": "string" }, { "type": "null" }] }),
            ),
            (json!({ "type": ["integer"] }), json!({ "type": "integer" })),
            (
                json!({ "type": ["integer", "number", "integer"] }),
                json!({ "type": "number" }),
            ),
            (json!({ "type": ["null"] }), json!({ "type": "null" })),
            (json!({ "type": [] }), json!({})),
            (
                json!({ "type": ["string", "null"], "enum": ["a", null, 1] }),
                json!({ "anyOf": [{ "enum": ["a"], "type": "string" }, { "type": "null" }] }),
            ),
            (
                json!({ "type": ["string", "null"], "enum": ["a"] }),
                json!({ "enum": ["a"], "type": "string" }),
            ),
            (
                json!({ "type": ["integer", "null"], "const": 1 }),
                json!({ "enum": [1], "type": "integer" }),
            ),
            (
                json!({ "type": ["integer", "null"], "const": "a" }),
                json!({}),
            ),
            (
                json!({ "type": ["string", "integer", "null"], "title": "t", "minimum": 1,
                    "maxLength": 2, "minItems": 3, "not": { "const": 7 }, "x-unit": "m" }),
                json!({ "title": "t", "x-unit": "m", "anyOf": [
                    { "maxLength": 2, "type": "string" },
                    { "minimum": 1, "type": "integer" },
                    { "type": "null" }] }),
            ),
            (
                json!({ "type": ["string", "integer"], "description": "d",
                    "anyOf": [{ "type": ["string", "null"] }, { "minimum": 5 }] }),
                json!({ "description": "d\n\nTypes: string, integer", "anyOf": [
                    { "anyOf": [{ "type": "string" }, { "type": "null" }] }, { "minimum": 5 }] }),
            ),
            (
                json!({ "type": ["object", "null"], "$ref": "#/$defs/a" }),
                json!({ "$ref": "#/$defs/a", "description": "Types: object, null" }),
            ),
            (
                json!({ "type": ["array", "object"], "items": { "type": ["number", "null"] },
                    "properties": { "b": {} }, "required": ["b"] }),
                json!({ "anyOf": [
                    { "type": "array", "items": { "anyOf": [{ "type": "number" }, { "type": "null" }] } },
                    { "type": "object", "properties": { "b": {} }, "required": ["b"] }] }),
            ),
            (
                json!({ "required": ["b", "c"], "properties": { "b": { "required": ["d"] } } }),
                json!({ "properties": { "b": {} }, "required": ["b"] }),
            ),
            (
                json!({ "const": { "type": ["a", "null"], "required": ["b"] } }),
                json!({ "const": { "type": ["a", "null"], "required": ["b"] } }),
            ),
        ];
        for (schema, expected) in cases {
            let schema = json!({ "properties": { "a": schema } });
            let sent = normalize(&schema, Api::Gemini);
            assert_eq!(sent["properties"]["a"], expected, "{schema}");
            let others = normalize(&schema, Api::Responses);
            assert_eq!(others["properties"], schema["properties"]);
        }
    }

    /// A copy of the inner schema for each type would double the size at each of the levels.
    #[test]
    fn nested_lists_of_types_do_not_multiply_a_schema() {
        let nest = |keyword: &str, inner: Value| {
            let inner = match keyword {
                "prefixItems" => json!([inner]),
                "properties" | "patternProperties" => json!({ "a": inner }),
                _ => inner,
            };
            json!({ "type": ["object", "array", "string"], keyword: inner })
        };
        for keyword in [
            "items",
            "prefixItems",
            "contains",
            "properties",
            "patternProperties",
            "additionalProperties",
            "not",
            "if",
            "unknown",
        ] {
            let schema = (0..60).fold(json!({}), |inner, _| nest(keyword, inner));
            let schema = json!({ "properties": { "a": schema } });
            let sent = normalize(&schema, Api::Gemini).to_string();
            assert!(sent.len() < 4 * schema.to_string().len(), "{keyword}");
        }
    }
}
