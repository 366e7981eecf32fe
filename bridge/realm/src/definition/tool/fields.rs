//! Checks the types of a tool's fields other than its name and schemas.
//!
//! A client parses the list as a whole, so one `title` that is not a string would cost it all
//! tools.

use serde_json::{Map, Value};

/// Fields that MCP allows a server to omit but not to set to null.
const OPTIONAL_FIELDS: [&str; 6] = [
    "title",
    "description",
    "outputSchema",
    "annotations",
    "icons",
    "_meta",
];

const ANNOTATION_HINTS: [&str; 4] = [
    "readOnlyHint",
    "destructiveHint",
    "idempotentHint",
    "openWorldHint",
];

/// Removes fields that are null, and returns an error for a field of the wrong type.
pub(super) fn check_fields(tool: &mut Map<String, Value>) -> Result<(), String> {
    for field in OPTIONAL_FIELDS {
        if tool.get(field).is_some_and(Value::is_null) {
            tool.shift_remove(field);
        }
    }
    let root = ObjectFields {
        path: "",
        fields: tool,
    };
    root.check_strings(&["title", "description"])?;
    root.nested_object("_meta")?;
    if let Some(annotations) = root.nested_object("annotations")? {
        annotations.check_strings(&["title"])?;
        annotations.check_booleans(&ANNOTATION_HINTS)?;
    }
    check_icons(tool.get("icons"))
}

/// Checks the icons of a tool or a link against MCP's schema.
pub fn check_icons(icons: Option<&Value>) -> Result<(), String> {
    let icons = match icons {
        None => return Ok(()),
        Some(Value::Array(icons)) => icons,
        Some(_) => return Err("`icons` must be an array".to_owned()),
    };
    for icon in icons {
        let Some(fields) = icon.as_object() else {
            return Err("each of `icons` must be an object with a `src`".to_owned());
        };
        let icon = ObjectFields {
            path: "icons[].",
            fields,
        };
        icon.check_strings(&["src", "mimeType", "theme"])?;
        if !fields.contains_key("src") {
            return Err("each of `icons` must have a `src`: a URL as a string".to_owned());
        }
        match fields.get("theme").and_then(Value::as_str) {
            None | Some("light" | "dark") => {}
            Some(_) => return Err("`icons[].theme` must be \"light\" or \"dark\"".to_owned()),
        }
        let sizes_fit = match fields.get("sizes") {
            None => true,
            Some(Value::Array(sizes)) => sizes.iter().all(Value::is_string),
            Some(_) => false,
        };
        if !sizes_fit {
            return Err("`icons[].sizes` must be an array of strings like \"48x48\"".to_owned());
        }
    }
    Ok(())
}

/// The fields of one object and its path, which error messages contain.
struct ObjectFields<'a> {
    path: &'static str,
    fields: &'a Map<String, Value>,
}

impl<'a> ObjectFields<'a> {
    fn check_strings(&self, names: &[&str]) -> Result<(), String> {
        self.check_each(names, Value::is_string, "a string")
    }

    fn check_booleans(&self, names: &[&str]) -> Result<(), String> {
        self.check_each(names, Value::is_boolean, "true or false")
    }

    fn check_each(
        &self,
        names: &[&str],
        fits: fn(&Value) -> bool,
        what: &str,
    ) -> Result<(), String> {
        match names
            .iter()
            .find(|name| self.fields.get(**name).is_some_and(|value| !fits(value)))
        {
            None => Ok(()),
            Some(name) => Err(format!("`{}{name}` must be {what}", self.path)),
        }
    }

    fn nested_object(&self, name: &str) -> Result<Option<ObjectFields<'a>>, String> {
        match self.fields.get(name) {
            None => Ok(None),
            Some(Value::Object(fields)) => Ok(Some(ObjectFields {
                path: "annotations.",
                fields,
            })),
            Some(_) => Err(format!("`{name}` must be an object")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn checked(tool: Value) -> Result<Value, String> {
        let mut tool = tool.as_object().unwrap().clone();
        check_fields(&mut tool).map(|()| Value::Object(tool))
    }

    #[test]
    fn null_fields_are_removed_and_the_rest_stays() {
        let tool = json!({"name": "t", "title": null, "icons": null, "annotations": {"title": "T",
            "readOnlyHint": true, "own": 7}, "_meta": {"a": null}, "own": null});
        let rest = json!({"name": "t", "annotations": {"title": "T", "readOnlyHint": true, "own": 7},
            "_meta": {"a": null}, "own": null});
        assert_eq!(checked(tool).unwrap().to_string(), rest.to_string());
    }

    #[test]
    fn errors_name_the_field_of_the_wrong_type() {
        for (tool, word) in [
            (json!({"title": 7}), "`title` must be a string"),
            (json!({"description": []}), "`description` must be a string"),
            (json!({"_meta": [1]}), "`_meta` must be an object"),
            (
                json!({"annotations": "read-only"}),
                "`annotations` must be an object",
            ),
            (
                json!({"annotations": {"readOnlyHint": "yes"}}),
                "`annotations.readOnlyHint` must be true or false",
            ),
            (
                json!({"annotations": {"title": {}}}),
                "`annotations.title` must be a string",
            ),
            (json!({"icons": {}}), "`icons` must be an array"),
            (json!({"icons": ["a.png"]}), "object with a `src`"),
            (
                json!({"icons": [{"mimeType": "image/png"}]}),
                "must have a `src`",
            ),
            (
                json!({"icons": [{"src": "a.png", "sizes": "48x48"}]}),
                "`icons[].sizes`",
            ),
            (
                json!({"icons": [{"src": "a.png", "theme": "blue"}]}),
                "`icons[].theme`",
            ),
        ] {
            let error = checked(tool.clone()).unwrap_err();
            assert!(error.contains(word), "{tool}: {error}");
        }
    }
}
