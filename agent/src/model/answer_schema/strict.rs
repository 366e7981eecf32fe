//! The strict dialect of OpenAI: <https://developers.openai.com/api/docs/guides/structured-outputs>.

use bridge_schema::walk;
use serde_json::{Map, Value};

use super::keywords::{required, types};
use super::references::definition_name;

const KEYWORDS: [&str; 23] = [
    "$schema",
    "$defs",
    "definitions",
    "$ref",
    "type",
    "title",
    "description",
    "enum",
    "const",
    "anyOf",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "minItems",
    "maxItems",
    "pattern",
    "format",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
];

const FORMATS: [&str; 9] = [
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

const MAX_PROPERTIES: usize = 5_000;

const MAX_ENUM_VALUES: usize = 1_000;

/// The number of values from which on the text of one `enum` is limited.
const LARGE_ENUM_VALUES: usize = 250;

/// The maximum number of characters of all values of a large `enum`.
const MAX_LARGE_ENUM_CHARS: usize = 15_000;

/// The maximum number of objects and arrays within each other.
const MAX_NESTING: usize = 10;

/// Whether OpenAI accepts a schema as strict without a change.
pub(super) fn is_strict(schema: &Value) -> bool {
    let mut are_all_strict = true;
    let mut properties = 0;
    let mut values = 0;
    // The walk could change it.
    let mut schema = schema.clone();
    walk::for_each_subschema(&mut schema, &mut |fields| {
        are_all_strict &= is_strict_alone(fields) && is_enum_short(fields);
        properties += fields
            .get("properties")
            .and_then(Value::as_object)
            .map_or(0, Map::len);
        values += fields
            .get("enum")
            .and_then(Value::as_array)
            .map_or(0, Vec::len);
    });
    are_all_strict
        && properties <= MAX_PROPERTIES
        && values <= MAX_ENUM_VALUES
        && nesting(&mut schema) <= MAX_NESTING
}

/// Whether the `enum` of a schema is within the limits of a single one.
fn is_enum_short(fields: &Map<String, Value>) -> bool {
    let values = fields.get("enum").and_then(Value::as_array);
    values.is_none_or(|values| {
        let texts = values.iter().filter_map(Value::as_str);
        let chars: usize = texts.map(|text| text.chars().count()).sum();
        values.len() <= LARGE_ENUM_VALUES || chars <= MAX_LARGE_ENUM_CHARS
    })
}

/// Whether a schema is strict, apart from the schemas in it.
fn is_strict_alone(fields: &Map<String, Value>) -> bool {
    let has = |keyword: &str| fields.contains_key(keyword);
    if has("$ref") {
        let is_known = |it: &str| it == "#" || definition_name(it).is_some();
        return fields.len() == 1 && fields["$ref"].as_str().is_some_and(is_known);
    }
    if has("anyOf") {
        let mut keywords = fields.keys();
        return keywords.all(|it| ["anyOf", "title", "description"].contains(&it.as_str()));
    }
    let types = types(fields);
    let text = |keyword: &str| fields.get(keyword).and_then(Value::as_str);
    let are_known = fields.keys().all(|it| KEYWORDS.contains(&it.as_str()));
    let is_object_strict = || {
        let properties = fields.get("properties").and_then(Value::as_object);
        let names = properties.into_iter().flat_map(Map::keys);
        let required = required(fields);
        fields.get("additionalProperties") == Some(&Value::Bool(false))
            && properties.is_some_and(|it| it.len() == required.len())
            && names.map(String::as_str).all(|it| required.contains(it))
    };
    are_known
        && !types.is_empty()
        && (!(types.contains(&"object") || has("properties")) || is_object_strict())
        && (!types.contains(&"array") || fields.get("items").is_some_and(Value::is_object))
        && (!has("format") || text("format").is_some_and(|it| FORMATS.contains(&it)))
        // No group of a pattern may look ahead or behind.
        && (!has("pattern") || text("pattern").is_some_and(|it| !it.contains("(?")))
}

/// Returns how many objects and arrays are within each other. Definitions are counted from their own
/// root.
fn nesting(schema: &mut Value) -> usize {
    let Some(fields) = schema.as_object_mut() else {
        return 0;
    };
    let own = usize::from(
        types(fields)
            .iter()
            .any(|it| ["object", "array"].contains(it)),
    );
    let mut inner = 0;
    let mut definitions = 0;
    walk::for_each_direct_subschema(fields, &mut |keyword, schema| {
        let deepest = match keyword {
            "$defs" | "definitions" => &mut definitions,
            _ => &mut inner,
        };
        *deepest = nesting(schema).max(*deepest);
    });
    definitions.max(own + inner)
}
