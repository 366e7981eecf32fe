//! The fields of MCP's objects other than names and schemas: those of the definitions of pages, and
//! those of the content of their results.
//!
//! A client parses a list or a result as a whole, so one `title` that is not a string would cost it
//! everything. The tables below are as strict as the strictest client. A value whose meaning is
//! certain is repaired, and any other one is refused with the reason.

mod timestamp;

use serde_json::{Map, Value, json};

/// The fields of one kind of object.
pub type FieldTable = &'static [McpField];

/// A field that MCP defines. Other fields are left unchanged.
#[derive(Debug)]
pub struct McpField {
    name: &'static str,
    form: Form,
    is_required: bool,
}

/// The form of the value of a field.
#[derive(Debug)]
enum Form {
    Text,
    Boolean,
    Object,
    /// One of these texts.
    OneOf(&'static [&'static str]),
    /// An array of texts, which must be among these unless there are none.
    Texts(&'static [&'static str]),
    /// A whole number from zero.
    Count,
    /// A number from 0 to 1. Numbers outside are clamped.
    Share,
    /// A date and time of RFC 3339. Dates and times of a similar form are rewritten.
    Timestamp,
    /// An object with these fields.
    Fields(FieldTable),
    /// An array of objects with these fields.
    Each(FieldTable),
    /// The bridge does not support the field, so it is not published.
    LeftOut,
    /// Checked elsewhere.
    Unchecked,
}

const fn optional(name: &'static str, form: Form) -> McpField {
    let is_required = false;
    McpField {
        name,
        form,
        is_required,
    }
}

const fn required(name: &'static str, form: Form) -> McpField {
    let is_required = true;
    McpField {
        name,
        form,
        is_required,
    }
}

/// The fields of a tool.
pub const TOOL: FieldTable = &[
    optional("title", Form::Text),
    optional("description", Form::Text),
    optional("annotations", Form::Fields(TOOL_ANNOTATIONS)),
    // The bridge has no tasks, and a client does not call a tool that requires one.
    optional("execution", Form::LeftOut),
    optional("outputSchema", Form::Unchecked),
    optional("icons", Form::Each(ICON)),
    optional("_meta", Form::Object),
];

/// The fields of a prompt.
pub const PROMPT: FieldTable = &[
    optional("title", Form::Text),
    optional("description", Form::Text),
    optional("arguments", Form::Each(PROMPT_ARGUMENT)),
    optional("icons", Form::Each(ICON)),
    optional("_meta", Form::Object),
];

/// The fields of a resource, and of a link to one.
pub const RESOURCE: FieldTable = &[
    optional("title", Form::Text),
    optional("description", Form::Text),
    optional("mimeType", Form::Text),
    optional("size", Form::Count),
    optional("annotations", Form::Fields(ANNOTATIONS)),
    optional("icons", Form::Each(ICON)),
    optional("_meta", Form::Object),
];

/// The fields of a resource template.
pub const RESOURCE_TEMPLATE: FieldTable = &[
    optional("title", Form::Text),
    optional("description", Form::Text),
    optional("mimeType", Form::Text),
    optional("annotations", Form::Fields(ANNOTATIONS)),
    optional("icons", Form::Each(ICON)),
    optional("_meta", Form::Object),
];

/// The fields of a content block that is not a link.
pub const CONTENT_BLOCK: FieldTable = &[
    optional("annotations", Form::Fields(ANNOTATIONS)),
    optional("_meta", Form::Object),
];

/// The fields of the contents of a resource.
pub const RESOURCE_CONTENTS: FieldTable = &[
    optional("text", Form::Text),
    optional("blob", Form::Text),
    optional("mimeType", Form::Text),
    optional("_meta", Form::Object),
];

/// The fields of the result of a request for a prompt or for contents.
pub const RESULT: FieldTable = &[
    optional("description", Form::Text),
    optional("_meta", Form::Object),
];

const TOOL_ANNOTATIONS: FieldTable = &[
    optional("title", Form::Text),
    optional("readOnlyHint", Form::Boolean),
    optional("destructiveHint", Form::Boolean),
    optional("idempotentHint", Form::Boolean),
    optional("openWorldHint", Form::Boolean),
];

const ANNOTATIONS: FieldTable = &[
    optional("audience", Form::Texts(&["user", "assistant"])),
    optional("priority", Form::Share),
    optional("lastModified", Form::Timestamp),
];

const PROMPT_ARGUMENT: FieldTable = &[
    required("name", Form::Text),
    optional("title", Form::Text),
    optional("description", Form::Text),
    optional("required", Form::Boolean),
];

const ICON: FieldTable = &[
    required("src", Form::Text),
    optional("mimeType", Form::Text),
    optional("sizes", Form::Texts(&[])),
    optional("theme", Form::OneOf(&["light", "dark"])),
];

/// Checks the fields of an object, repairs those whose meaning is certain, and removes optional ones
/// that are null, which MCP does not allow.
///
/// # Errors
///
/// Names the first field that cannot be repaired, and the form that it must have.
pub fn repair_fields(object: &mut Map<String, Value>, table: FieldTable) -> Result<(), String> {
    repair_fields_at("", object, table)
}

/// Whether the fields of an object need no repair.
pub fn are_fields_valid(object: &Map<String, Value>, table: FieldTable) -> bool {
    let mut repaired = object.clone();
    repair_fields(&mut repaired, table).is_ok() && repaired == *object
}

fn repair_fields_at(
    path: &str,
    object: &mut Map<String, Value>,
    table: FieldTable,
) -> Result<(), String> {
    for field in table {
        let path = format!("{path}{}", field.name);
        let is_left_out = matches!(field.form, Form::LeftOut);
        match object.get_mut(field.name) {
            None if field.is_required => {
                return Err(format!(
                    "`{path}` is missing: it must be {}",
                    field.form.noun()
                ));
            }
            None => {}
            Some(value) if is_left_out || value.is_null() && !field.is_required => {
                object.shift_remove(field.name);
            }
            Some(value) => repair(&path, value, &field.form)?,
        }
    }
    Ok(())
}

fn repair(path: &str, value: &mut Value, form: &Form) -> Result<(), String> {
    let is_valid = match (form, &mut *value) {
        (Form::Unchecked | Form::LeftOut, _)
        | (Form::Text, Value::String(_))
        | (Form::Boolean, Value::Bool(_))
        | (Form::Object, Value::Object(_)) => true,
        (Form::OneOf(texts), Value::String(text)) => texts.contains(&text.as_str()),
        (Form::Texts(allowed), Value::Array(texts)) => texts.iter().all(|text| {
            let text = text.as_str();
            text.is_some_and(|text| allowed.is_empty() || allowed.contains(&text))
        }),
        (Form::Count, count) => repair_count(count),
        (Form::Share, share) => clamp_share(share),
        (Form::Timestamp, Value::String(text)) => match timestamp::repair(text) {
            Some(repaired) => {
                *text = repaired;
                true
            }
            None => false,
        },
        (Form::Fields(table), Value::Object(fields)) => {
            repair_fields_at(&format!("{path}."), fields, table)?;
            true
        }
        (Form::Each(table), Value::Array(items)) => {
            for (index, item) in items.iter_mut().enumerate() {
                let path = format!("{path}[{index}]");
                let Value::Object(fields) = item else {
                    return Err(format!("`{path}` must be an object"));
                };
                repair_fields_at(&format!("{path}."), fields, table)?;
            }
            true
        }
        _ => false,
    };
    if is_valid {
        Ok(())
    } else {
        Err(format!("`{path}` must be {}", form.noun()))
    }
}

/// Writes a whole number without a fraction, as some clients require.
fn repair_count(value: &mut Value) -> bool {
    if value.is_u64() {
        return true;
    }
    let whole = |number: &f64| number.fract() == 0.0 && (0.0..=MAX_SAFE_INTEGER).contains(number);
    match value.as_f64().filter(whole) {
        Some(number) => {
            *value = json!(number as u64);
            true
        }
        None => false,
    }
}

/// The largest whole number that JavaScript represents exactly.
const MAX_SAFE_INTEGER: f64 = 9_007_199_254_740_991.0;

fn clamp_share(value: &mut Value) -> bool {
    let Some(share) = value.as_f64() else {
        return false;
    };
    if !(0.0..=1.0).contains(&share) {
        *value = json!(if share > 1.0 { 1 } else { 0 });
    }
    true
}

impl Form {
    /// Describes the form in errors.
    fn noun(&self) -> String {
        match self {
            Form::Text => "a string".to_owned(),
            Form::Boolean => "true or false".to_owned(),
            Form::Object | Form::Fields(_) => "an object".to_owned(),
            Form::OneOf(texts) => format!("one of {}", json!(texts)),
            Form::Texts([]) => "an array of strings".to_owned(),
            Form::Texts(texts) => format!("an array of some of {}", json!(texts)),
            Form::Count => "a whole number, without quotes and fraction".to_owned(),
            Form::Share => "a number from 0 to 1".to_owned(),
            Form::Timestamp => {
                "a date and time as `toISOString()` writes them, such as \"2026-01-31T12:00:00Z\""
                    .to_owned()
            }
            Form::Each(_) => "an array of objects".to_owned(),
            Form::LeftOut | Form::Unchecked => "absent".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repaired(mut object: Value, table: FieldTable) -> Result<Value, String> {
        let fields = object.as_object_mut().unwrap();
        let is_valid = are_fields_valid(fields, table);
        let before = fields.clone();
        repair_fields(fields, table)?;
        assert_eq!(is_valid, before == *fields, "{before:?}");
        Ok(object)
    }

    /// Each form of a field with each value of another type.
    #[test]
    fn a_field_of_the_wrong_type_is_refused_with_its_path() {
        let values = [
            json!(true),
            json!(7),
            json!(-1),
            json!(1.5),
            json!("text"),
            json!(["text"]),
            json!([7]),
            json!([{}]),
            json!({}),
        ];
        let fields: [(FieldTable, &str, &str, &[usize]); 13] = [
            (TOOL, "/title", "title", &[4]),
            (TOOL, "/_meta", "_meta", &[8]),
            (TOOL, "/icons", "icons", &[]),
            (
                TOOL,
                "/annotations/readOnlyHint",
                "annotations.readOnlyHint",
                &[0],
            ),
            (TOOL, "/annotations/title", "annotations.title", &[4]),
            (PROMPT, "/arguments", "arguments", &[]),
            (RESOURCE, "/mimeType", "mimeType", &[4]),
            (RESOURCE, "/size", "size", &[1]),
            (
                RESOURCE,
                "/annotations/priority",
                "annotations.priority",
                &[1, 2, 3],
            ),
            (
                RESOURCE,
                "/annotations/lastModified",
                "annotations.lastModified",
                &[],
            ),
            (
                RESOURCE,
                "/annotations/audience",
                "annotations.audience",
                &[],
            ),
            (CONTENT_BLOCK, "/annotations", "annotations", &[8]),
            (RESOURCE_TEMPLATE, "/description", "description", &[4]),
        ];
        for (table, pointer, path, valid) in fields {
            for (index, value) in values.iter().enumerate() {
                let mut object = json!({ "annotations": {} });
                match pointer.strip_prefix("/annotations/") {
                    Some(name) => object["annotations"][name] = value.clone(),
                    None => object[&pointer[1..]] = value.clone(),
                }
                match repaired(object, table) {
                    Ok(_) => assert!(valid.contains(&index), "{pointer} = {value}"),
                    Err(error) => {
                        assert!(!valid.contains(&index), "{pointer} = {value}: {error}");
                        assert!(error.starts_with(&format!("`{path}")), "{error}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_fields_of_icons_and_arguments_are_checked_one_by_one() {
        for (icon, why) in [
            (json!("a.png"), "`icons[1]` must be an object"),
            (
                json!({ "mimeType": "image/png" }),
                "`icons[1].src` is missing",
            ),
            (json!({ "src": null }), "`icons[1].src` must be a string"),
            (
                json!({ "src": "a", "sizes": "48x48" }),
                "`icons[1].sizes` must be",
            ),
            (
                json!({ "src": "a", "sizes": [48] }),
                "`icons[1].sizes` must be",
            ),
            (
                json!({ "src": "a", "theme": "blue" }),
                "one of [\"light\",\"dark\"]",
            ),
        ] {
            for table in [TOOL, PROMPT, RESOURCE, RESOURCE_TEMPLATE] {
                let object = json!({ "icons": [{ "src": "a.png" }, icon] });
                let error = repaired(object, table).unwrap_err();
                assert!(error.contains(why), "{error}");
            }
        }
        let arguments = json!({ "arguments": [{ "name": "a", "required": "yes" }] });
        let error = repaired(arguments, PROMPT).unwrap_err();
        assert!(
            error.contains("`arguments[0].required` must be true or false"),
            "{error}"
        );
    }

    #[test]
    fn values_with_a_certain_meaning_are_repaired() {
        for (table, object, expected) in [
            (
                TOOL,
                json!({ "name": "t", "title": null, "icons": null, "own": null,
                    "annotations": { "title": null, "readOnlyHint": true, "own": 7 },
                    "_meta": { "a": null }, "execution": { "taskSupport": "required" } }),
                json!({ "name": "t", "own": null,
                    "annotations": { "readOnlyHint": true, "own": 7 }, "_meta": { "a": null } }),
            ),
            (
                RESOURCE,
                json!({ "size": 3e3, "annotations": { "priority": 2, "lastModified": "2026-01-31" } }),
                json!({ "size": 3000,
                    "annotations": { "priority": 1, "lastModified": "2026-01-31T00:00:00Z" } }),
            ),
            (
                CONTENT_BLOCK,
                json!({ "annotations": { "priority": -0.5, "audience": null } }),
                json!({ "annotations": { "priority": 0 } }),
            ),
            (TOOL, json!({ "execution": "yes" }), json!({})),
        ] {
            assert_eq!(
                repaired(object, table).unwrap().to_string(),
                expected.to_string()
            );
        }
    }
}
