//! The requirements of Gemini for a request.
//!
//! <https://ai.google.dev/api/generate-content>, <https://ai.google.dev/api/caching>
//! (`FunctionDeclaration`, `Schema`); JSON Schema: the same page, `GenerationConfig`,
//! `responseJsonSchema`; signatures of the model's thinking:
//! <https://ai.google.dev/gemini-api/docs/thought-signatures>. The texts of the errors are those
//! that users report.

use serde_json::{Map, Value};

use super::super::provider_request::{
    KEY, ProviderError, ProviderRequest, array, root_keyword, text,
};
use super::{SIGNATURE, error_response, unknown_key};
use crate::mock_provider::script::Script;

/// The fields of `Schema`, which `parameters` is limited to.
const SCHEMA_FIELDS: [&str; 22] = [
    "type",
    "format",
    "title",
    "description",
    "nullable",
    "enum",
    "maxItems",
    "minItems",
    "properties",
    "required",
    "minProperties",
    "maxProperties",
    "minLength",
    "maxLength",
    "pattern",
    "example",
    "anyOf",
    "propertyOrdering",
    "default",
    "items",
    "minimum",
    "maximum",
];

/// The fields of `Schema` that JSON Schema has not. The service ignores them in
/// `parametersJsonSchema`, as it does with all that it does not support; this mock refuses them, so
/// that a test notices what the model does not get.
const OPEN_API_FIELDS: [&str; 2] = ["nullable", "example"];

pub(in crate::mock_provider::formats) fn validate(
    request: &ProviderRequest<'_>,
    script: &Script,
) -> Result<(), ProviderError> {
    match request.header("x-goog-api-key") {
        None => return Err(error_response(403, None)),
        Some(key) if key != KEY => return Err(unknown_key()),
        Some(_) => {}
    }
    if !request
        .query
        .split('&')
        .any(|parameter| parameter == "alt=sse")
    {
        return bad_request("this provider only sends events: the query must have `alt=sse`");
    }
    let body = request.body;
    for group in array(&body["tools"]) {
        for declaration in array(&group["functionDeclarations"]) {
            check_declaration(declaration)?;
        }
    }
    check_contents(array(&body["contents"]))?;
    if request.model().contains("gemini-3") {
        check_signatures(array(&body["contents"]), script)?;
    }
    Ok(())
}

fn check_declaration(declaration: &Value) -> Result<(), ProviderError> {
    let name = text(&declaration["name"]).unwrap_or_default();
    let is_valid = |c: char| c.is_ascii_alphanumeric() || "_-.:".contains(c);
    let starts_well = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if !starts_well || name.len() > 64 || !name.chars().all(is_valid) {
        return bad_request(&format!(
            "Invalid function name. Must start with a letter or an underscore. Must be alphameric \
             (a-z, A-Z, 0-9), underscores (_), dots (.) or dashes (-), with a maximum length of \
             64. ({name})"
        ));
    }
    let parameters = &declaration["parameters"];
    if !parameters.is_null() && !declaration["parametersJsonSchema"].is_null() {
        return bad_request("`parameters` and `parametersJsonSchema` are mutually exclusive");
    }
    check_schema_fields(parameters)?;
    let json_schema = &declaration["parametersJsonSchema"];
    for (field, schema) in [
        ("parameters", parameters),
        ("parametersJsonSchema", json_schema),
    ] {
        if root_keyword(schema, &["anyOf", "oneOf", "allOf"]).is_some() {
            return bad_request(&format!(
                "Unable to submit request because `{name}` functionDeclaration `{field}` schema \
                 specified other fields alongside any_of. When using any_of, it must be the only \
                 field set."
            ));
        }
        // Reported of `parameters`; gateways convert the other field to it.
        if has_schema(schema, &|fields| {
            fields.get("type").is_some_and(Value::is_array)
        }) {
            return bad_request(&format!(
                "Invalid JSON payload received. Unknown name \"type\" at \
                 'tools[0].function_declarations[0].{field}': Proto field is not repeating, cannot \
                 start list."
            ));
        }
        if has_schema(schema, &requires_undefined_property) {
            return bad_request(&format!(
                "* GenerateContentRequest.tools[0].function_declarations[0].{field}.required[0]: \
                 property is not defined"
            ));
        }
    }
    let has_open_api_field =
        |fields: &Fields| OPEN_API_FIELDS.iter().any(|key| fields.contains_key(*key));
    if has_schema(json_schema, &has_open_api_field) {
        return bad_request(&format!(
            "`{name}` has a field of OpenAPI in `parametersJsonSchema`, where it has no meaning"
        ));
    }
    Ok(())
}

type Fields = Map<String, Value>;

fn requires_undefined_property(schema: &Fields) -> bool {
    let properties = schema.get("properties");
    let is_defined = |name| properties.and_then(|it| it.get(name)).is_some();
    let required = schema.get("required").map_or(&[][..], array);
    let mut required = required.iter().filter_map(Value::as_str);
    required.any(|name| !is_defined(name))
}

/// Whether a schema is such a one, or has one within it.
fn has_schema(schema: &Value, is_such: &impl Fn(&Fields) -> bool) -> bool {
    match schema {
        Value::Object(fields) => {
            let mut inner = fields.iter();
            is_such(fields)
                || inner.any(|(key, value)| match key.as_str() {
                    // Data.
                    "enum" | "const" | "default" | "examples" => false,
                    // Maps, whose names may be those of keywords.
                    "properties" | "patternProperties" | "$defs" | "definitions"
                    | "dependentSchemas" => {
                        let mut schemas = value.as_object().into_iter().flatten();
                        schemas.any(|(_, schema)| has_schema(schema, is_such))
                    }
                    _ => has_schema(value, is_such),
                })
        }
        Value::Array(schemas) => schemas.iter().any(|schema| has_schema(schema, is_such)),
        _ => false,
    }
}

/// Checks that a schema has only the fields of `Schema`.
fn check_schema_fields(schema: &Value) -> Result<(), ProviderError> {
    let Some(fields) = schema.as_object() else {
        return Ok(());
    };
    if let Some(unknown) = fields
        .keys()
        .find(|key| !SCHEMA_FIELDS.contains(&key.as_str()))
    {
        return bad_request(&format!(
            "Invalid JSON payload received. Unknown name \"{unknown}\" at \
             'tools[0].function_declarations[0].parameters': Cannot find field."
        ));
    }
    let properties = schema["properties"].as_object().into_iter().flatten();
    for (_, property) in properties {
        check_schema_fields(property)?;
    }
    check_schema_fields(&schema["items"])
}

fn check_contents(contents: &[Value]) -> Result<(), ProviderError> {
    if contents.is_empty() {
        return bad_request("* GenerateContentRequest.contents: contents is not specified\n");
    }
    let mut open_calls: Vec<&Value> = Vec::new();
    for (index, content) in contents.iter().enumerate() {
        let role = text(&content["role"]).unwrap_or_default();
        if !["user", "model"].contains(&role) {
            return bad_request("Please use a valid role: user, model.");
        }
        let parts = array(&content["parts"]);
        if parts.is_empty() {
            return bad_request(&format!(
                "* GenerateContentRequest.contents[{index}].parts: contents.parts must not be \
                 empty.\n"
            ));
        }
        let before = index.checked_sub(1).map(|before| &contents[before]["role"]);
        if role == "model" && before.is_none_or(|before| before != "user") {
            return bad_request(
                "Please ensure that function call turn comes immediately after a user turn or \
                 after a function response turn.",
            );
        }
        check_responses(index, parts, &open_calls)?;
        open_calls = field(parts, "functionCall");
    }
    if open_calls.is_empty() {
        Ok(())
    } else {
        unbalanced()
    }
}

/// Checks that a content has a response for each call of the previous content, and no others.
fn check_responses(index: usize, parts: &[Value], calls: &[&Value]) -> Result<(), ProviderError> {
    let responses = field(parts, "functionResponse");
    if responses.len() != calls.len() {
        return unbalanced();
    }
    for (position, response) in responses.iter().enumerate() {
        if text(&response["name"]).is_none() {
            return bad_request(&format!(
                "* GenerateContentRequest.contents[{index}].parts[{position}].function_response.name: \
                 Name cannot be empty.\n"
            ));
        }
        if !response["response"].is_object() {
            return bad_request(&format!(
                "Invalid value at 'contents[{index}].parts[{position}].function_response.response' \
                 (type.googleapis.com/google.protobuf.Struct)"
            ));
        }
        let has_name = |call: &&&Value| call["name"] == response["name"];
        let has_id = |call: &&&Value| response["id"].is_null() || call["id"] == response["id"];
        if !calls.iter().filter(has_name).any(|call| has_id(&call)) {
            return bad_request(&format!(
                "Function response {} answers no function call of the turn before it.",
                response["name"]
            ));
        }
    }
    Ok(())
}

/// Checks that the first call of each turn has its signature, which Gemini 3 and later require.
fn check_signatures(contents: &[Value], script: &Script) -> Result<(), ProviderError> {
    let answers = contents.iter().filter(|content| content["role"] == "model");
    for (content, turn) in answers.zip(&script.turns) {
        let parts = array(&content["parts"]);
        let first = parts.iter().find(|part| !part["functionCall"].is_null());
        let Some(part) = first.filter(|_| turn.calls() > 0) else {
            continue;
        };
        if part["thoughtSignature"] != SIGNATURE {
            let name = &part["functionCall"]["name"];
            return bad_request(&format!(
                "Function call is missing a thought_signature in functionCall parts. This is \
                 required for tools to work correctly, and missing thought_signature may lead to \
                 degraded model performance. Additional data, function call {name}."
            ));
        }
    }
    Ok(())
}

fn unbalanced() -> Result<(), ProviderError> {
    bad_request(
        "Please ensure that the number of function response parts is equal to the number of \
         function call parts of the function call turn.",
    )
}

fn field<'a>(parts: &'a [Value], name: &str) -> Vec<&'a Value> {
    let fields = parts.iter().map(|part| &part[name]);
    fields.filter(|field| !field.is_null()).collect()
}

fn bad_request(message: &str) -> Result<(), ProviderError> {
    Err(error_response(400, Some(message.to_owned())))
}
