//! Converts schemas into the dialects of Messages and Gemini.
//!
//! | keyword | Messages | Gemini |
//! |---|---|---|
//! | `additionalProperties` | `false` in every object | unchanged |
//! | `oneOf` | `anyOf` | `anyOf` |
//! | `const` | unchanged | `enum` |
//! | `enum` | if its values are scalars | if its values are texts and numbers |
//! | `format` | formats that the API knows | formats that the API knows |
//! | `minItems` | 0 and 1 | unchanged |
//! | `minimum`, `maximum`, `prefixItems` | words, no format | unchanged |
//! | `$ref` | to definitions that do not use themselves | the same |
//! | a list of types | unchanged | `anyOf` |
//! | any other keyword | words of the description | the same |
//!
//! A schema has no format if an object or array in it can have members that the schema does not list,
//! or if a union or a condition adds properties to those beside it.
//!
//! Sources: <https://platform.claude.com/docs/en/build-with-claude/structured-outputs> and the
//! `transform-json-schema` of the SDK; `responseJsonSchema` in the types of `@google/genai`. Gemini
//! refuses schemas whose `maxItems` add up to about 960, so that it gets them as words.

use serde_json::{Map, Value, json};

use super::super::api::Api;
use super::super::tool_schema;
use super::keywords::{required, types};
use super::references::{definition_name, take_definitions};

/// The maximum number of properties in a format of Messages that are not required.
const MAX_OPTIONAL: usize = 24;

/// The maximum number of unions in a format of Messages: of `anyOf` and lists of types.
const MAX_UNIONS: usize = 16;

const FORMATS_OF_MESSAGES: [&str; 10] = [
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

const FORMATS_OF_GEMINI: [&str; 3] = ["date-time", "date", "time"];

/// The keywords that have no meaning for a value.
const WITHOUT_MEANING: [&str; 4] = ["$schema", "$id", "$anchor", "$comment"];

/// The keywords that add members which only they describe.
const INEXPRESSIBLE: [&str; 8] = [
    "patternProperties",
    "if",
    "then",
    "else",
    "dependentSchemas",
    "dependencies",
    "$dynamicRef",
    "$recursiveRef",
];

/// The keywords by which a schema describes members.
const MEMBERS: [&str; 9] = [
    "properties",
    "additionalProperties",
    "items",
    "prefixItems",
    "anyOf",
    "oneOf",
    "allOf",
    "$ref",
    "unevaluatedProperties",
];

/// Converts the schema of an object.
pub(super) fn convert(root: &Value, api: Api) -> Option<Value> {
    for keyword in ["anyOf", "oneOf", "allOf"] {
        if branches(root, keyword).any(describes_members) {
            return None;
        }
    }
    // Lists of types are divided at the end, when all that is in them is converted.
    let Value::Object(mut root) = tool_schema::normalize(root, Api::Messages) else {
        return None;
    };
    let definitions = take_definitions(&mut root)?;
    let mut converter = Converter {
        api,
        optional: 0,
        unions: 0,
    };
    let mut converted = converter.schema(&root)?;
    let mut converted_definitions = Map::new();
    for (name, definition) in &definitions {
        let definition = converter.schema(definition.as_object()?)?;
        converted_definitions.insert(name.clone(), definition.into());
    }
    if !converted_definitions.is_empty() {
        converted.insert("$defs".to_owned(), converted_definitions.into());
    }
    let converted = Value::Object(converted);
    match api {
        Api::Gemini => Some(tool_schema::normalize(&converted, api)),
        _ if converter.optional > MAX_OPTIONAL || converter.unions > MAX_UNIONS => None,
        _ => Some(converted),
    }
}

fn branches<'a>(schema: &'a Value, keyword: &str) -> impl Iterator<Item = &'a Value> {
    let branches = schema.get(keyword).and_then(Value::as_array);
    branches.into_iter().flatten()
}

/// Whether a branch describes members, and not only conditions such as `required`.
fn describes_members(branch: &Value) -> bool {
    let mut keywords = MEMBERS.iter().chain(&INEXPRESSIBLE);
    keywords.any(|keyword| branch.get(keyword).is_some())
}

struct Converter {
    api: Api,
    /// The number of properties that are not required.
    optional: usize,
    unions: usize,
}

impl Converter {
    fn schema(&mut self, schema: &Map<String, Value>) -> Option<Map<String, Value>> {
        let mut inexpressible = INEXPRESSIBLE.iter();
        if inexpressible.any(|keyword| schema.contains_key(*keyword)) {
            return None;
        }
        if schema.contains_key("$ref") {
            return reference(schema);
        }
        if schema.contains_key("allOf") {
            return self.schema(&merge_only_branch(schema)?);
        }
        match (schema.get("anyOf"), schema.get("oneOf")) {
            (Some(_), Some(_)) => None,
            (Some(union), None) => self.union(schema, "anyOf", union.as_array()?),
            (None, Some(union)) => self.union(schema, "oneOf", union.as_array()?),
            (None, None) => self.value(schema),
        }
    }

    fn union(
        &mut self,
        schema: &Map<String, Value>,
        keyword: &str,
        branches: &[Value],
    ) -> Option<Map<String, Value>> {
        let mut others = MEMBERS.iter().filter(|other| **other != keyword);
        if others.any(|other| schema.contains_key(*other)) {
            if branches.iter().any(describes_members) {
                return None;
            }
            // The conditions become words.
            return self.value(schema);
        }
        let kind = schema.get("type");
        let mut converted = Vec::with_capacity(branches.len());
        for branch in branches {
            let mut branch = branch.as_object()?.clone();
            let names_type = ["type", "$ref", "anyOf", "oneOf", "allOf"]
                .iter()
                .any(|keyword| branch.contains_key(*keyword));
            if let Some(kind) = kind.filter(|_| !names_type) {
                branch.insert("type".to_owned(), kind.clone());
            }
            converted.push(Value::Object(self.schema(&branch)?));
        }
        self.unions += 1;
        let mut words = Vec::new();
        let mut result = Map::new();
        for (other, value) in schema {
            match other.as_str() {
                "title" => {
                    result.insert(other.clone(), value.clone());
                }
                "type" | "description" | "$defs" | "definitions" => {}
                it if it == keyword || WITHOUT_MEANING.contains(&it) => {}
                _ => words.push((other.as_str(), value)),
            }
        }
        describe(&mut result, schema.get("description"), &words);
        result.insert("anyOf".to_owned(), converted.into());
        Some(result)
    }

    /// Converts a schema without references and branches. Branches that are conditions become words.
    fn value(&mut self, schema: &Map<String, Value>) -> Option<Map<String, Value>> {
        let mut words = Vec::new();
        let mut result = Map::new();
        for (keyword, value) in schema {
            let keyword = keyword.as_str();
            let sent = match keyword {
                "description" | "additionalProperties" | "$defs" | "definitions" => continue,
                _ if WITHOUT_MEANING.contains(&keyword) => continue,
                "type" | "title" => Some(value.clone()),
                "properties" => Some(self.properties(value)?.into()),
                "required" => Some(value.clone()),
                "items" if is_false(value) && schema.contains_key("prefixItems") => continue,
                "items" => Some(self.schema(value.as_object()?)?.into()),
                "prefixItems" => Some(self.prefix_items(value)?),
                "enum" | "const" => {
                    if !self.insert_values(&mut result, schema, keyword, value)? {
                        words.push((keyword, value));
                    }
                    continue;
                }
                _ => self.accepts(keyword, value).then(|| value.clone()),
            };
            match sent {
                Some(sent) => {
                    result.insert(keyword.to_owned(), sent);
                }
                None => words.push((keyword, value)),
            }
        }
        let types = types(schema);
        if types.contains(&"object") || schema.contains_key("properties") {
            self.close(schema, &mut result)?;
        }
        let has_items = result.contains_key("items") || result.contains_key("prefixItems");
        if types.contains(&"array") && !has_items {
            return None;
        }
        let has_values = result.contains_key("enum") || result.contains_key("const");
        if self.api != Api::Gemini && has_values {
            // A type beside values adds nothing, and the SDK leaves it out.
            result.shift_remove("type");
        }
        if result.get("type").is_some_and(Value::is_array) {
            self.unions += 1;
        }
        let mut kinds = ["type", "enum", "const", "anyOf"].into_iter();
        if !kinds.any(|keyword| result.contains_key(keyword)) {
            return None;
        }
        describe(&mut result, schema.get("description"), &words);
        Some(result)
    }

    fn properties(&mut self, properties: &Value) -> Option<Map<String, Value>> {
        let mut converted = Map::new();
        for (name, property) in properties.as_object()? {
            let property = self.schema(property.as_object()?)?;
            converted.insert(name.clone(), property.into());
        }
        Some(converted)
    }

    fn prefix_items(&mut self, items: &Value) -> Option<Value> {
        if self.api != Api::Gemini {
            return None;
        }
        let items = items.as_array()?.iter();
        let items = items.map(|item| Some(Value::Object(self.schema(item.as_object()?)?)));
        items.collect::<Option<Vec<_>>>().map(Value::Array)
    }

    /// Whether the API knows a keyword with this value.
    fn accepts(&self, keyword: &str, value: &Value) -> bool {
        let format = value.as_str().unwrap_or_default();
        match (self.api, keyword) {
            (Api::Gemini, "minItems" | "minimum" | "maximum") => true,
            (Api::Gemini, "format") => FORMATS_OF_GEMINI.contains(&format),
            (_, "minItems") => value.as_u64().is_some_and(|it| it <= 1),
            (_, "format") => FORMATS_OF_MESSAGES.contains(&format),
            _ => false,
        }
    }

    /// Inserts the values of `enum` or `const`. Returns whether the API knows them; `None` if they are
    /// not what the keyword must have.
    fn insert_values(
        &self,
        result: &mut Map<String, Value>,
        schema: &Map<String, Value>,
        keyword: &str,
        value: &Value,
    ) -> Option<bool> {
        let is_enum = keyword == "enum";
        if is_enum && schema.contains_key("const") {
            // The constant is stricter.
            return Some(true);
        }
        let values: Vec<Value> = if is_enum {
            value.as_array()?.clone()
        } else {
            vec![value.clone()]
        };
        if self.api != Api::Gemini {
            let are_scalars = !values.iter().any(|it| it.is_object() || it.is_array());
            if are_scalars {
                result.insert(keyword.to_owned(), value.clone());
            }
            return Some(are_scalars);
        }
        let is_known = |it: &Value| it.is_string() || it.is_number();
        let (nulls, others): (Vec<_>, Vec<_>) = values.into_iter().partition(Value::is_null);
        if !others.iter().all(is_known) {
            return Some(false);
        }
        let kind = schema.get("type");
        if others.is_empty() {
            result.insert("type".to_owned(), "null".into());
        } else if nulls.is_empty() || kind.is_some_and(Value::is_string) {
            result.insert("enum".to_owned(), others.into());
        } else if kind.is_some() {
            // The list of types is divided later, with the values.
            let all: Vec<Value> = others.into_iter().chain(nulls).collect();
            result.insert("enum".to_owned(), all.into());
        } else {
            let union = json!([{ "enum": others }, { "type": "null" }]);
            result.insert("anyOf".to_owned(), union);
        }
        Some(true)
    }

    /// Completes an object. Returns `None` if it can have members that are not listed.
    fn close(
        &mut self,
        schema: &Map<String, Value>,
        result: &mut Map<String, Value>,
    ) -> Option<()> {
        let additional = schema.get("additionalProperties");
        let is_closed = additional == Some(&Value::Bool(false));
        let names = schema.get("properties").and_then(Value::as_object);
        let is_empty = names.is_none_or(Map::is_empty);
        match additional {
            Some(Value::Object(additional)) if !additional.is_empty() => {
                if self.api != Api::Gemini {
                    return None;
                }
                let additional = self.schema(additional)?;
                result.insert("additionalProperties".to_owned(), additional.into());
            }
            _ if is_empty && !is_closed => return None,
            _ if self.api != Api::Gemini || is_closed => {
                result.insert("additionalProperties".to_owned(), false.into());
            }
            _ => {}
        }
        let required = required(schema);
        let is_listed = |name: &&str| names.is_some_and(|names| names.contains_key(*name));
        if !required.iter().all(is_listed) {
            return None;
        }
        self.optional += names.map_or(0, Map::len) - required.len();
        if is_empty {
            result.insert("properties".to_owned(), json!({}));
        }
        // An object is meant where properties are without a type.
        result.entry("type").or_insert_with(|| "object".into());
        Some(())
    }
}

/// Converts a reference. Beside it, only members matter: a condition that is dropped admits more.
fn reference(schema: &Map<String, Value>) -> Option<Map<String, Value>> {
    let mut others = MEMBERS.iter().filter(|keyword| **keyword != "$ref");
    if others.any(|keyword| schema.contains_key(*keyword)) {
        return None;
    }
    let name = definition_name(schema.get("$ref")?.as_str()?)?;
    let reference = format!("#/$defs/{name}");
    Some(Map::from_iter([("$ref".to_owned(), reference.into())]))
}

/// Merges the only branch of `allOf` with what is beside it. Two branches would each forbid the
/// properties of the other.
fn merge_only_branch(schema: &Map<String, Value>) -> Option<Map<String, Value>> {
    let [branch] = schema.get("allOf")?.as_array()?.as_slice() else {
        return None;
    };
    let mut merged = schema.clone();
    merged.shift_remove("allOf");
    for (keyword, value) in branch.as_object()? {
        match merged.get(keyword) {
            None => {
                merged.insert(keyword.clone(), value.clone());
            }
            Some(own) if own == value => {}
            Some(_) if matches!(keyword.as_str(), "title" | "description") => {}
            Some(_) => return None,
        }
    }
    Some(merged)
}

/// Whether a schema admits nothing, as [`tool_schema::normalize`] writes it.
fn is_false(schema: &Value) -> bool {
    *schema == json!({ "not": {} })
}

/// Writes the description of a schema, with what the API does not know as words.
fn describe(result: &mut Map<String, Value>, own: Option<&Value>, words: &[(&str, &Value)]) {
    let words: Vec<String> = words
        .iter()
        .map(|(keyword, value)| format!("{keyword}: {value}"))
        .collect();
    let words = (!words.is_empty()).then(|| format!("{{{}}}", words.join(", ")));
    let own = own.and_then(Value::as_str).map(str::to_owned);
    let parts: Vec<String> = own.into_iter().chain(words).collect();
    if !parts.is_empty() {
        result.insert("description".to_owned(), parts.join("\n\n").into());
    }
}
