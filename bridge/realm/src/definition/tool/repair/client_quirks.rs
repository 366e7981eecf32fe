//! Repairs and checks for what JSON Schema allows and some clients refuse.

use serde_json::{Value, json};

use bridge_schema::root_unions::{MAX_ARGUMENT_NAME_CHARS, is_argument_name};
use bridge_schema::walk;

/// Adds `items` to arrays without it. VS Code fails with "tool parameters array type must have
/// items".
pub(super) fn add_missing_items(schema: &mut Value) {
    walk::for_each_subschema(schema, &mut |fields| {
        let is_array = match fields.get("type") {
            Some(Value::String(kind)) => kind == "array",
            Some(Value::Array(kinds)) => kinds.contains(&json!("array")),
            _ => false,
        };
        if is_array && !fields.contains_key("items") {
            fields.insert("items".to_owned(), json!({}));
        }
    });
}

/// Refuses argument names that some clients refuse. A repaired name would have to be translated
/// back in each call, so the page gets an error instead.
pub(super) fn check_argument_names(schema: &Value) -> Result<(), String> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let mut names = properties
        .into_iter()
        .flat_map(|properties| properties.keys());
    match names.find(|name| !is_argument_name(name)) {
        None => Ok(()),
        Some(name) => Err(format!(
            "some clients refuse every tool if an argument is called {name:?}: use up to \
             {MAX_ARGUMENT_NAME_CHARS} letters, digits, `_`, `.` and `-`"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_gets_items_and_nothing_else_does() {
        let mut schema = json!({"properties": {"a": {"type": "array"},
            "b": {"type": ["array", "null"], "minItems": 1}, "c": {"type": "array", "items": false},
            "d": {"const": {"type": "array"}}, "type": {"anyOf": [{"type": "array"}]}}});
        add_missing_items(&mut schema);
        assert_eq!(
            schema,
            json!({"properties": {"a": {"type": "array", "items": {}},
            "b": {"type": ["array", "null"], "minItems": 1, "items": {}},
            "c": {"type": "array", "items": false}, "d": {"const": {"type": "array"}},
            "type": {"anyOf": [{"type": "array", "items": {}}]}}})
        );
    }

    #[test]
    fn argument_names_that_clients_reject_are_refused() {
        for name in ["uids[]", "", "größe", "a b", &"x".repeat(65)] {
            let schema = json!({"properties": {"fine": {}, name: {}}});
            let error = check_argument_names(&schema).unwrap_err();
            assert!(error.contains(&format!("{name:?}")), "{error}");
        }
        let nested = json!({"properties": {"a.b-c_1": {"properties": {"größe": {}}}}});
        assert_eq!(check_argument_names(&nested), Ok(()));
    }
}
