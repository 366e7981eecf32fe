//! JSON Schema 2020-12 validation: compiled on first use, no remote references, no backtracking.

use std::fmt;
use std::sync::OnceLock;

use jsonschema::{Draft, PatternOptions};
use serde_json::Value;

/// A schema whose worst case visits more nodes than this is refused: validation has no time
/// budget of its own, and doubled references grow exponentially.
const MAX_EXPANDED_NODES: usize = 50_000;

/// A schema and, once it was needed, its compiled form.
pub(crate) struct Validator {
    schema: Value,
    compiled: OnceLock<Result<jsonschema::Validator, String>>,
}

impl Validator {
    /// Takes a schema whose worst-case expansion is bearable.
    pub(crate) fn new(schema: Value) -> Result<Self, String> {
        let nodes = expansion::nodes(&schema, MAX_EXPANDED_NODES);
        if nodes > MAX_EXPANDED_NODES {
            return Err(format!(
                "with its references written out the schema has more than {MAX_EXPANDED_NODES} \
                 nodes: simplify it"
            ));
        }
        Ok(Self {
            schema,
            compiled: OnceLock::new(),
        })
    }

    pub(crate) fn schema(&self) -> &Value {
        &self.schema
    }

    /// The first thing that does not fit: where, which rule, and why.
    pub(crate) fn check(&self, value: &Value) -> Result<(), Misfit> {
        let compiled = self.compiled.get_or_init(|| compile(&self.schema));
        match compiled {
            Err(error) => Err(Misfit::BadSchema(error.clone())),
            Ok(validator) => validator.validate(value).map_err(|error| Misfit::Value {
                path: root_or(&error.instance_path().to_string()),
                rule: error.schema_path().to_string(),
                message: error.masked_with("the value").to_string(),
            }),
        }
    }
}

impl fmt::Debug for Validator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Validator").field(&self.schema).finish()
    }
}

/// Why a value does not fit a schema.
#[derive(Debug)]
pub(crate) enum Misfit {
    /// The schema itself is wrong.
    BadSchema(String),
    /// The value at `path` breaks `rule` (both JSON pointers).
    Value {
        path: String,
        rule: String,
        message: String,
    },
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Misfit::BadSchema(error) => write!(f, "the tool's schema is not valid: {error}"),
            Misfit::Value {
                path,
                rule,
                message,
            } => write!(f, "at {path}: {message} (rule {rule})"),
        }
    }
}

fn compile(schema: &Value) -> Result<jsonschema::Validator, String> {
    jsonschema::options()
        .with_draft(Draft::Draft202012)
        .with_pattern_options(PatternOptions::regex())
        .build(schema)
        .map_err(|error| error.to_string())
}

fn root_or(pointer: &str) -> String {
    if pointer.is_empty() {
        "/".to_owned()
    } else {
        pointer.to_owned()
    }
}

/// How large a schema is with its references written out.
mod expansion {
    use std::collections::HashMap;

    use serde_json::Value;

    enum Size {
        /// Being computed: a reference back to it is recursion, which data bounds, not the schema.
        Open,
        Known(usize),
    }

    pub(super) fn nodes(schema: &Value, cap: usize) -> usize {
        count(schema, schema, cap, &mut HashMap::new())
    }

    fn count<'a>(
        root: &'a Value,
        node: &'a Value,
        cap: usize,
        sizes: &mut HashMap<*const Value, Size>,
    ) -> usize {
        let key = std::ptr::from_ref(node);
        match sizes.get(&key) {
            Some(Size::Open) => return 1,
            Some(Size::Known(size)) => return *size,
            None => {}
        }
        sizes.insert(key, Size::Open);
        let mut total = 1usize;
        let mut add = |size: usize| total = total.saturating_add(size).min(cap + 1);
        match node {
            Value::Object(fields) => {
                for child in fields
                    .values()
                    .filter(|child| child.is_object() || child.is_array())
                {
                    add(count(root, child, cap, sizes));
                }
                for keyword in ["$ref", "$dynamicRef"] {
                    let target = fields
                        .get(keyword)
                        .and_then(Value::as_str)
                        .and_then(|reference| reference.strip_prefix('#'))
                        .and_then(|pointer| root.pointer(pointer));
                    if let Some(target) = target {
                        add(count(root, target, cap, sizes));
                    }
                }
            }
            Value::Array(items) => {
                for child in items
                    .iter()
                    .filter(|child| child.is_object() || child.is_array())
                {
                    add(count(root, child, cap, sizes));
                }
            }
            _ => {}
        }
        sizes.insert(key, Size::Known(total));
        total
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(schema: Value, value: Value) -> Result<(), String> {
        Validator::new(schema)?
            .check(&value)
            .map_err(|misfit| misfit.to_string())
    }

    #[test]
    fn the_error_names_path_and_rule() {
        let schema = json!({"type": "object", "properties": {"cards": {"type": "array",
            "items": {"type": "object", "properties": {"id": {"type": "integer"}}}}}});
        let error = check(schema, json!({"cards": [{"id": 1}, {"id": "x"}]})).unwrap_err();
        assert!(error.contains("/cards/1/id"), "{error}");
        assert!(
            error.contains("/properties/cards/items/properties/id/type"),
            "{error}"
        );
    }

    #[test]
    fn a_value_that_is_secret_to_the_caller_is_not_repeated() {
        let error = check(
            json!({"type": "object", "properties": {"n": {"type": "integer"}}}),
            json!({"n": "hunter2"}),
        )
        .unwrap_err();
        assert!(!error.contains("hunter2"), "{error}");
    }

    #[test]
    fn recursion_is_allowed_and_doubling_is_not() {
        let list = json!({"$ref": "#/$defs/list", "$defs": {"list": {"type": "object",
            "properties": {"next": {"$ref": "#/$defs/list"}}}}});
        assert_eq!(check(list, json!({"next": {"next": {}}})), Ok(()));
        let mut definitions = serde_json::Map::new();
        for n in 0..28 {
            let next = format!("#/$defs/d{}", n + 1);
            definitions.insert(
                format!("d{n}"),
                json!({"allOf": [{"$ref": next}, {"$ref": next}]}),
            );
        }
        definitions.insert("d28".to_owned(), json!({"type": "object"}));
        let error =
            Validator::new(json!({"$ref": "#/$defs/d0", "$defs": definitions})).unwrap_err();
        assert!(error.contains("50000"), "{error}");
    }

    #[test]
    fn a_remote_reference_is_an_error_and_no_request() {
        let error = check(
            json!({"type": "object", "$ref": "https://example.com/schema.json"}),
            json!({}),
        )
        .unwrap_err();
        assert!(error.contains("schema is not valid"), "{error}");
    }

    #[test]
    fn a_pattern_that_would_backtrack_is_linear_or_refused() {
        let schema = json!({"type": "object", "properties": {"s": {"type": "string", "pattern": "^(a+)+$"}}});
        let long = "a".repeat(50_000) + "b";
        assert!(check(schema, json!({"s": long})).is_err());
        let look =
            json!({"type": "object", "properties": {"s": {"type": "string", "pattern": "(?=a)b"}}});
        assert!(
            check(look, json!({"s": "b"}))
                .unwrap_err()
                .contains("schema is not valid")
        );
    }
}
