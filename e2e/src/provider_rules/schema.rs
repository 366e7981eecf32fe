//! The dialects of JSON Schema that the providers accept. Each check returns what is wrong.

use serde_json::{Map, Value};

use super::fields::{has, items, unknown_field};

/// The schemas of one request to Anthropic that must be compiled, and their limits.
#[derive(Debug, Default)]
pub(crate) struct Grammars {
    pub(crate) strict_tools: usize,
    optional: usize,
    unions: usize,
}

impl Grammars {
    /// Returns whether the request has too many of something.
    pub(crate) fn are_too_complex(&self) -> bool {
        self.strict_tools > 20 || self.optional > 24 || self.unions > 16
    }

    /// Checks a schema as strict tools and formats of Anthropic require.
    pub(crate) fn add(&mut self, schema: &Value) -> Result<(), String> {
        self.add_at(schema, schema, &mut Vec::new())
    }

    fn add_at(
        &mut self,
        root: &Value,
        schema: &Value,
        open: &mut Vec<String>,
    ) -> Result<(), String> {
        const KNOWN: &[&str] = &[
            "type",
            "properties",
            "required",
            "additionalProperties",
            "items",
            "enum",
            "const",
            "anyOf",
            "allOf",
            "$ref",
            "$defs",
            "definitions",
            "default",
            "format",
            "minItems",
            "pattern",
            "description",
            "title",
            "$schema",
            "$id",
            "$comment",
            "examples",
        ];
        const FORMATS: &[&str] = &[
            "date-time",
            "time",
            "date",
            "duration",
            "email",
            "hostname",
            "uri",
            "ipv4",
            "ipv6",
            "uuid",
        ];
        let Some(object) = schema.as_object() else {
            return Err("a schema must be an object".to_owned());
        };
        if let Some(field) = unknown_field(schema, KNOWN) {
            return Err(format!("'{field}' is not supported"));
        }
        if has(schema, "minItems") && !["0", "1"].contains(&&*schema["minItems"].to_string()) {
            return Err("'minItems' values other than 0 or 1 are not supported".to_owned());
        }
        if let Some(format) = schema["format"].as_str()
            && !FORMATS.contains(&format)
        {
            return Err(format!("format '{format}' is not supported"));
        }
        if let Some(pattern) = schema["pattern"].as_str()
            && ["(?", "\\b", "\\1"]
                .iter()
                .any(|part| pattern.contains(part))
        {
            return Err("'pattern' has an unsupported feature".to_owned());
        }
        if items(&schema["enum"])
            .iter()
            .any(|item| item.is_object() || item.is_array())
        {
            return Err("'enum' values must be scalars".to_owned());
        }
        if has(schema, "anyOf") || schema["type"].is_array() {
            self.unions += 1;
        }
        let is_object = schema["type"] == "object" || has(schema, "properties");
        if is_object && schema["additionalProperties"] != false {
            return Err(
                "For 'object' type, 'additionalProperties' must be explicitly set to false"
                    .to_owned(),
            );
        }
        if let Some(reference) = schema["$ref"].as_str() {
            let pointer = reference
                .strip_prefix('#')
                .ok_or("external '$ref' is not supported")?;
            if open.iter().any(|name| name == reference) {
                return Err("recursive schemas are not supported".to_owned());
            }
            let target = root.pointer(pointer).ok_or("'$ref' has no target")?;
            open.push(reference.to_owned());
            self.add_at(root, target, open)?;
            open.pop();
        }
        if let Some(properties) = schema["properties"].as_object() {
            let required = items(&schema["required"]);
            let is_optional = |name: &&String| !required.iter().any(|item| item == name.as_str());
            self.optional += properties.keys().filter(is_optional).count();
        }
        for child in children(object) {
            self.add_at(root, child, open)?;
        }
        Ok(())
    }
}

/// Checks a schema as OpenAI's strict mode requires.
pub(crate) fn openai_strict(schema: &Value) -> Result<(), String> {
    if schema["type"] != "object" || has(schema, "anyOf") {
        return Err(format!(
            "schema must be a JSON Schema of 'type: \"object\"', got 'type: {}'.",
            schema["type"]
        ));
    }
    openai_strict_at(schema, 1)
}

fn openai_strict_at(schema: &Value, depth: usize) -> Result<(), String> {
    const KNOWN: &[&str] = &[
        "type",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "enum",
        "const",
        "anyOf",
        "$ref",
        "$defs",
        "definitions",
        "format",
        "pattern",
        "multipleOf",
        "maximum",
        "exclusiveMaximum",
        "minimum",
        "exclusiveMinimum",
        "minItems",
        "maxItems",
        "description",
        "title",
        "$schema",
        "$id",
    ];
    const FORMATS: &[&str] = &[
        "date-time",
        "time",
        "date",
        "duration",
        "email",
        "hostname",
        "ipv4",
        "ipv6",
        "uuid",
    ];
    let Some(object) = schema.as_object() else {
        return Err("schema must be an object.".to_owned());
    };
    if let Some(field) = unknown_field(schema, KNOWN) {
        return Err(format!("'{field}' is not permitted."));
    }
    if depth > 10 {
        return Err("levels of nesting exceed limit of 10.".to_owned());
    }
    if let Some(format) = schema["format"].as_str()
        && !FORMATS.contains(&format)
    {
        return Err(format!("'{format}' is not a valid format."));
    }
    if schema["pattern"]
        .as_str()
        .is_some_and(|pattern| pattern.contains("(?"))
    {
        return Err("lookaround is not supported in 'pattern'.".to_owned());
    }
    if has(schema, "$ref") && object.keys().any(|key| !key.starts_with('$')) {
        return Err("$ref cannot have keywords.".to_owned());
    }
    if schema["type"] == "array" && !has(schema, "items") {
        return Err("array schema missing items.".to_owned());
    }
    let types = schema["type"]
        .as_array()
        .map_or_else(|| vec![&schema["type"]], |list| list.iter().collect());
    if types.iter().any(|kind| *kind == "object") {
        if schema["additionalProperties"] != false {
            return Err(
                "'additionalProperties' is required to be supplied and to be false.".to_owned(),
            );
        }
        let names = schema["properties"].as_object();
        let required = items(&schema["required"]);
        let mut names = names.into_iter().flatten().map(|(name, _)| name);
        if let Some(name) = names.find(|name| !required.iter().any(|item| item == name.as_str())) {
            return Err(format!(
                "'required' is required to be supplied and to be an array including every key in properties. Missing '{name}'."
            ));
        }
    }
    children(object).try_for_each(|child| openai_strict_at(child, depth + 1))
}

/// Checks a schema in Gemini's subset of OpenAPI; returns the name and the path that is unknown.
pub(crate) fn openapi(schema: &Value, path: &str) -> Result<(), (String, String)> {
    const KNOWN: &[&str] = &[
        "type",
        "format",
        "title",
        "description",
        "nullable",
        "enum",
        "items",
        "minItems",
        "maxItems",
        "properties",
        "required",
        "propertyOrdering",
        "minProperties",
        "maxProperties",
        "minLength",
        "maxLength",
        "pattern",
        "minimum",
        "maximum",
        "anyOf",
        "default",
        "example",
    ];
    check_gemini(schema, path, Some(KNOWN))
}

/// Checks a schema in Gemini's subset of JSON Schema. Keywords outside of it are ignored.
pub(crate) fn gemini_json_schema(schema: &Value, path: &str) -> Result<(), (String, String)> {
    check_gemini(schema, path, None)
}

/// Returns whether a schema has keywords that Gemini ignores.
pub(crate) fn has_ignored_keywords(schema: &Value) -> bool {
    const KNOWN: &[&str] = &[
        "$id",
        "$defs",
        "$ref",
        "$anchor",
        "type",
        "format",
        "title",
        "description",
        "enum",
        "items",
        "prefixItems",
        "minItems",
        "maxItems",
        "minimum",
        "maximum",
        "anyOf",
        "oneOf",
        "properties",
        "additionalProperties",
        "required",
        "propertyOrdering",
    ];
    let object = schema.as_object();
    unknown_field(schema, KNOWN).is_some()
        || object
            .into_iter()
            .flat_map(children)
            .any(has_ignored_keywords)
}

fn check_gemini(
    schema: &Value,
    path: &str,
    known: Option<&[&str]>,
) -> Result<(), (String, String)> {
    let Some(object) = schema.as_object() else {
        // `additionalProperties` and `items` may be true or false.
        return Ok(());
    };
    if let Some(field) = known.and_then(|known| unknown_field(schema, known)) {
        return Err((field.to_owned(), path.to_owned()));
    }
    if has(schema, "$ref") && object.keys().any(|key| !key.starts_with('$')) {
        return Err(("$ref".to_owned(), path.to_owned()));
    }
    if schema["type"] == "array" && !has(schema, "items") && !has(schema, "prefixItems") {
        return Err(("items".to_owned(), path.to_owned()));
    }
    let properties = schema["properties"].as_object();
    let mut named = properties.into_iter().flatten();
    named.try_for_each(|(name, child)| {
        check_gemini(child, &format!("{path}.properties[{name}]"), known)
    })?;
    let mut others = unnamed_children(object);
    others.try_for_each(|child| check_gemini(child, path, known))
}

/// Returns the sum of all `maxItems`.
pub(crate) fn sum_of_max_items(schema: &Value) -> u64 {
    let own = schema["maxItems"].as_u64().unwrap_or_default();
    let object = schema.as_object();
    let children = object.into_iter().flat_map(children);
    own + children.map(sum_of_max_items).sum::<u64>()
}

/// Returns whether the root of a schema has one of these keywords.
pub(super) fn root_keyword(schema: &Value, keywords: &[&str]) -> bool {
    keywords.iter().any(|keyword| has(schema, keyword))
}

/// Returns the names of the properties of a schema.
pub(super) fn property_names(schema: &Value) -> impl Iterator<Item = &str> {
    let properties = schema["properties"].as_object();
    properties
        .into_iter()
        .flat_map(Map::keys)
        .map(String::as_str)
}

/// Returns whether a condition is met by a schema, or by one within it.
pub(super) fn any_schema(schema: &Value, condition: &dyn Fn(&Value) -> bool) -> bool {
    let within = schema.as_object().into_iter().flat_map(children);
    condition(schema) || within.into_iter().any(|child| any_schema(child, condition))
}

/// Returns the schemas within a schema.
fn children(schema: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let properties = properties.into_iter().flat_map(Map::values);
    properties.chain(unnamed_children(schema))
}

/// Returns the schemas within a schema except those of properties.
fn unnamed_children(schema: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    let named = ["$defs", "definitions"].into_iter();
    let named = named.filter_map(|field| schema.get(field)?.as_object());
    let listed = ["anyOf", "allOf", "oneOf", "prefixItems"].into_iter();
    let listed = listed.filter_map(|field| schema.get(field)?.as_array());
    let single = ["items", "additionalProperties"].into_iter();
    let single = single.filter_map(|field| schema.get(field));
    let single = single.filter(|value| value.is_object());
    named
        .flat_map(Map::values)
        .chain(listed.flatten())
        .chain(single)
}
