//! Parsing of JSON with comments and trailing commas into values.

use jsonc_parser::ast::{ObjectProp, ObjectPropName, Value as AstValue};
use jsonc_parser::common::Ranged;
use jsonc_parser::errors::{ParseError, ParseErrorKind};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::{Map, Number, Value};

use crate::excerpt::excerpt;
use crate::text_lines::error_at;

/// The extensions of JSON that a file may use: comments and trailing commas.
pub(super) const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// Parses a text. A text without a value, which may have comments, is `None`. An object with two
/// values of one key is an error: one of two servers with the same name would not be used.
///
/// # Examples
///
/// ```
/// use bridge_shared_files::jsonc::parse;
///
/// let servers = parse("{ \"servers\": {}, /* empty */ }").unwrap();
/// assert_eq!(servers, Some(serde_json::json!({ "servers": {} })));
/// ```
///
/// # Errors
///
/// The error has the line and the column, and quotes no values.
pub fn parse(text: &str) -> Result<Option<Value>, String> {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &OPTIONS);
    let value = parsed.map_err(|error| parse_error(&error))?.value;
    value.map(|value| to_value(text, value)).transpose()
}

pub(super) fn parse_error(error: &ParseError) -> String {
    let problem = match error.kind() {
        ParseErrorKind::NestingDepthExceeded => "it is nested too deeply".to_owned(),
        kind => format!("this is not JSON: {kind}"),
    };
    let (line, column) = (error.line_display(), error.column_display());
    format!("line {line}, column {column}: {problem}")
}

fn to_value(text: &str, value: AstValue<'_>) -> Result<Value, String> {
    Ok(match value {
        AstValue::StringLit(string) => Value::String(string.value.into_owned()),
        AstValue::BooleanLit(boolean) => Value::Bool(boolean.value),
        AstValue::NullKeyword(_) => Value::Null,
        AstValue::NumberLit(number) => {
            let parsed = number.value.parse::<Number>();
            let invalid =
                |_| error_at(text, number.range.start, "this is not JSON: no such number");
            Value::Number(parsed.map_err(invalid)?)
        }
        AstValue::Array(array) => {
            let items = array.elements.into_iter();
            let items = items.map(|item| to_value(text, item));
            Value::Array(items.collect::<Result<_, _>>()?)
        }
        AstValue::Object(object) => {
            let mut entries = Map::new();
            for property in object.properties {
                insert_unique(text, &mut entries, property)?;
            }
            Value::Object(entries)
        }
    })
}

fn insert_unique(
    text: &str,
    entries: &mut Map<String, Value>,
    property: ObjectProp<'_>,
) -> Result<(), String> {
    let start = match &property.name {
        ObjectPropName::String(name) => name.start(),
        ObjectPropName::Word(name) => name.start(),
    };
    let key = property.name.into_string();
    if entries.contains_key(&key) {
        let key = excerpt(&key);
        let problem = format!("the key `{key}` is there twice: rename or remove one of them");
        return Err(error_at(text, start, &problem));
    }
    entries.insert(key, to_value(text, property.value)?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_key_that_an_object_has_twice_is_an_error_with_its_line() {
        let error = parse("{\"a\": {\"b\": [1, -1, 0.5, true, null, \"hush\"],\n \"b\": 2}}");
        let error = error.unwrap_err();
        assert!(
            error.starts_with("line 2, column 2: the key `b` is there twice"),
            "{error}"
        );
        assert!(parse(r#"{"a": {"b": 1}, "c": {"b": 1}}"#).is_ok());
    }

    #[test]
    fn comments_and_trailing_commas_are_read() {
        for text in [
            "{\n  // a comment\n  \"a\": [1]\n}",
            "{\"a\": [1,\n]}",
            "{\"a\": [1],}",
            "/* a */ {\"a\": /* b */ [1] /* c */} // d",
        ] {
            assert_eq!(parse(text), Ok(Some(json!({ "a": [1] }))), "{text}");
        }
        let text = r#"{"a": "http://a/*,}", "b": [-1.5e3, 0.25, null, "ä\n\u00e4"]}"#;
        assert_eq!(
            parse(text).unwrap(),
            Some(serde_json::from_str::<Value>(text).unwrap())
        );
    }

    #[test]
    fn invalid_json_is_an_error_with_its_place() {
        let not_json = |(line, column): (usize, usize)| {
            format!("line {line}, column {column}: this is not JSON: ")
        };
        for (text, place) in [
            ("{\"a\": 1 \"b\": 2}", (1, 8)),
            ("{\"a\":\n  \"//\"", (1, 1)),
            ("{a: \"hush\"}", (1, 2)),
            ("{\"a\": [1, 2}", (1, 12)),
            ("{\"ä\": ü}", (1, 7)),
            ("{'a': 'hush'}", (1, 2)),
            ("{\"a\": 0x10}", (1, 7)),
            ("{\"a\": 01}", (1, 8)),
            ("{} {}", (1, 4)),
            ("{\"a\": /* hush", (1, 7)),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.starts_with(&not_json(place)), "{text}: {error}");
            assert!(!error.contains("hush"), "{error}");
        }
        for text in ["", "// hush\n"] {
            assert_eq!(parse(text), Ok(None));
        }
        let nested = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let error = parse(&nested).unwrap_err();
        assert!(error.ends_with("it is nested too deeply"), "{error}");
    }
}
