//! JSON Schema 2020-12 validation: compiled on first use, without remote references and
//! backtracking, and with an upper limit for the work.
//!
//! - `format` is asserted for the formats that the validator knows, so that a model that sends
//!   "tomorrow" as a `date` gets an error. Unknown formats are ignored.
//! - The cost of a schema is known when it is registered ([`cost`]), and the cost of a value before
//!   it is validated. Values that cost too much are refused; expensive ones are validated on other
//!   threads than those that serve sockets.
//! - An error has up to [`MAX_VIOLATIONS`] paths and rules, in bounded text, and does not repeat
//!   the value.

use std::fmt;
use std::sync::OnceLock;

use jsonschema::{Draft, PatternOptions, ValidationError};
use serde_json::Value;

use crate::{cost, patterns};

/// The maximum number of violations in one error.
pub(crate) const MAX_VIOLATIONS: usize = 5;

/// The maximum length of each path, rule and message.
const MAX_TEXT_CHARS: usize = 240;

/// Up to this cost (in steps) all violations are collected. Each takes some 400 bytes.
const MAX_EXPLAIN_COST: u64 = 100_000;

/// Up to this cost (in steps) a value is validated on the thread that has received it: a few
/// milliseconds.
const MAX_INLINE_COST: u64 = 100_000;

/// Larger schemas are not compiled on the threads that serve sockets.
const MAX_INLINE_SCHEMA_NODES: usize = 1_000;

/// The maximum size of the automaton of one pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 4 * 1024 * 1024;

/// The maximum size of the cache of one pattern for each thread, in bytes.
const MAX_PATTERN_CACHE_BYTES: usize = 64 * 1024;

/// A schema and its compiled form, which is built on first use.
pub struct Validator {
    schema: Value,
    /// The schema without the patterns that cannot run in linear time; `None` if there are none.
    enforced: Option<Value>,
    compiled: OnceLock<Result<jsonschema::Validator, String>>,
    pub(crate) cost_model: cost::CostModel,
    accepts_any_object: bool,
}

impl Validator {
    /// Creates a validator.
    ///
    /// # Errors
    ///
    /// The schema would cost too much, or cannot be analysed.
    pub fn new(schema: Value) -> Result<Self, String> {
        let mut enforced = schema.clone();
        patterns::retain_linear(&mut enforced)?;
        Ok(Self {
            cost_model: cost::CostModel::new(&enforced)?,
            accepts_any_object: accepts_any_object(&schema),
            enforced: (enforced != schema).then_some(enforced),
            schema,
            compiled: OnceLock::new(),
        })
    }

    /// The schema, with all its patterns.
    pub fn schema(&self) -> &Value {
        &self.schema
    }

    /// Whether every object is valid, so that there is nothing to validate.
    pub fn accepts_any_object(&self) -> bool {
        self.accepts_any_object
    }

    /// Validates a value.
    ///
    /// # Errors
    ///
    /// The violations, or why the value was not validated.
    pub fn validate(&self, value: &Value) -> Result<(), ValidationFailure> {
        let cost = self
            .cost_model
            .cost(value)
            .ok_or(ValidationFailure::TooCostly)?;
        let validator = self.compiled().map_err(ValidationFailure::InvalidSchema)?;
        if validator.is_valid(value) {
            return Ok(());
        }
        let mut violations = Vec::new();
        let mut has_more = false;
        if cost.explain <= MAX_EXPLAIN_COST {
            let mut errors = validator.iter_errors(value);
            violations.extend(errors.by_ref().take(MAX_VIOLATIONS).map(Violation::from));
            has_more = errors.next().is_some();
        } else if cost.explain == cost.validate {
            // Without unions, the first error does not depend on the other ones.
            violations.extend(validator.validate(value).err().map(Violation::from));
        }
        Err(ValidationFailure::InvalidValue {
            violations,
            has_more,
        })
    }

    /// Whether [`validate`](Self::validate) takes a few milliseconds at most.
    pub fn is_cheap(&self, value: &Value) -> bool {
        let is_small = || remaining_nodes(&self.schema, MAX_INLINE_SCHEMA_NODES) > 0;
        (self.compiled.get().is_some() || is_small())
            && self
                .cost_model
                .cost(value)
                .is_none_or(|cost| cost.validate.max(cost.explain) <= MAX_INLINE_COST)
    }

    fn compiled(&self) -> Result<&jsonschema::Validator, String> {
        self.compiled
            .get_or_init(|| compile(self.enforced.as_ref().unwrap_or(&self.schema)))
            .as_ref()
            .map_err(Clone::clone)
    }
}

/// Whether a schema has no rules but `type: object` and annotations.
fn accepts_any_object(schema: &Value) -> bool {
    let allows_any = |(key, value): (&String, &Value)| match key.as_str() {
        "type" => value == "object",
        "properties" => value.as_object().is_some_and(serde_json::Map::is_empty),
        "additionalProperties" => *value == true,
        "$schema" | "$comment" | "title" | "description" => true,
        _ => false,
    };
    schema
        .as_object()
        .is_some_and(|rules| rules.iter().all(allows_any))
}

/// What is left of the budget after one step for each value in a value.
fn remaining_nodes(value: &Value, budget: usize) -> usize {
    let budget = budget.saturating_sub(1);
    match value {
        Value::Object(fields) => fields.values().fold(budget, |budget, inner| match budget {
            0 => 0,
            budget => remaining_nodes(inner, budget),
        }),
        Value::Array(items) => items.iter().fold(budget, |budget, inner| match budget {
            0 => 0,
            budget => remaining_nodes(inner, budget),
        }),
        _ => budget,
    }
}

impl fmt::Debug for Validator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Validator").field(&self.schema).finish()
    }
}

/// The reason why a value was not accepted.
#[derive(Debug)]
pub enum ValidationFailure {
    /// The schema itself is not valid.
    InvalidSchema(String),
    /// The value is too large or nested too deeply to be validated against this schema.
    TooCostly,
    /// The value violates the schema. The list is empty if collecting the violations would cost too
    /// much.
    InvalidValue {
        violations: Vec<Violation>,
        /// Whether there are more violations than are listed.
        has_more: bool,
    },
}

/// A violation: the value at `path` violates `rule` (both are JSON pointers).
#[derive(Debug)]
pub struct Violation {
    pub path: String,
    pub rule: String,
    pub message: String,
}

impl From<ValidationError<'_>> for Violation {
    fn from(error: ValidationError<'_>) -> Self {
        Self {
            path: truncate(&pointer_or_root(&error.instance_path().to_string())),
            rule: truncate(&error.schema_path().to_string()),
            message: truncate(&error.masked_with("the value").to_string()),
        }
    }
}

impl fmt::Display for ValidationFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ValidationFailure::InvalidSchema(error) => {
                write!(f, "the tool's schema is not valid: {error}")
            }
            ValidationFailure::TooCostly => write!(
                f,
                "the value is too large or nested too deeply to be checked against this schema \
                 (more than {} steps): make it smaller",
                cost::MAX_COST
            ),
            ValidationFailure::InvalidValue {
                violations,
                has_more,
            } => {
                if violations.is_empty() {
                    return write!(f, "it is too large to say where: try with less data");
                }
                for (n, violation) in violations.iter().enumerate() {
                    let separator = if n == 0 { "" } else { "; " };
                    write!(f, "{separator}{violation}")?;
                }
                write!(f, "{}", if *has_more { "; and more" } else { "" })
            }
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            path,
            rule,
            message,
        } = self;
        write!(f, "at {path}: {message} (rule {rule})")
    }
}

fn compile(schema: &Value) -> Result<jsonschema::Validator, String> {
    let patterns = PatternOptions::regex()
        .size_limit(MAX_PATTERN_BYTES)
        .dfa_size_limit(MAX_PATTERN_CACHE_BYTES);
    jsonschema::options()
        .with_draft(Draft::Draft202012)
        .with_pattern_options(patterns)
        .should_validate_formats(true)
        .build(schema)
        .map_err(|error| truncate(&error.masked_with("the keyword's value").to_string()))
}

fn pointer_or_root(pointer: &str) -> String {
    if pointer.is_empty() {
        "/".to_owned()
    } else {
        pointer.to_owned()
    }
}

/// Truncates a text, because schemas may have long names and lists.
fn truncate(text: &str) -> String {
    match text.char_indices().nth(MAX_TEXT_CHARS) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn validate(schema: Value, value: Value) -> Result<(), String> {
        Validator::new(schema)?
            .validate(&value)
            .map_err(|failure| failure.to_string())
    }

    #[test]
    fn a_schema_without_rules_accepts_any_object() {
        let accepts = |schema| Validator::new(schema).unwrap().accepts_any_object();
        assert!(accepts(json!({})));
        assert!(accepts(
            json!({"type": "object", "properties": {}, "title": "t",
            "additionalProperties": true})
        ));
        assert!(!accepts(
            json!({"type": ["object", "null"], "minProperties": 1})
        ));
        assert!(!accepts(json!({"type": "object", "properties": {"a": {}}})));
        assert!(!accepts(
            json!({"type": "object", "additionalProperties": false})
        ));
    }

    #[test]
    fn the_error_names_path_and_rule() {
        let schema = json!({"type": "object", "properties": {"cards": {"type": "array",
            "items": {"type": "object", "properties": {"id": {"type": "integer"}}}}}});
        let error = validate(schema, json!({"cards": [{"id": 1}, {"id": "x"}]})).unwrap_err();
        assert!(error.contains("/cards/1/id"), "{error}");
        assert!(
            error.contains("/properties/cards/items/properties/id/type"),
            "{error}"
        );
    }

    #[test]
    fn errors_do_not_repeat_the_value() {
        let error = validate(
            json!({"type": "object", "properties": {"n": {"type": "integer"}}}),
            json!({"n": "hunter2"}),
        )
        .unwrap_err();
        assert!(!error.contains("hunter2"), "{error}");
    }

    #[test]
    fn recursion_is_allowed_and_exponential_references_are_not() {
        let list = json!({"$ref": "#/$defs/list", "$defs": {"list": {"type": "object",
            "properties": {"next": {"$ref": "#/$defs/list"}}}}});
        assert_eq!(validate(list, json!({"next": {"next": {}}})), Ok(()));
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
        let error = validate(
            json!({"type": "object", "$ref": "https://example.com/schema.json"}),
            json!({}),
        )
        .unwrap_err();
        assert!(error.contains("is not found in it"), "{error}");
    }

    #[test]
    fn backtracking_patterns_run_linearly_or_are_ignored() {
        let schema = json!({"type": "object", "properties": {"s": {"type": "string", "pattern": "^(a+)+$"}}});
        let long = "a".repeat(50_000) + "b";
        assert!(validate(schema, json!({"s": long})).is_err());
        let schema =
            json!({"type": "object", "properties": {"s": {"type": "string", "pattern": "(?=a)b"}}});
        assert_eq!(validate(schema.clone(), json!({"s": "b"})), Ok(()));
        let error = validate(schema, json!({"s": 1})).unwrap_err();
        assert!(error.contains("/properties/s/type"), "{error}");
    }

    /// A schema in which each definition refers twice to the next one. `names` returns the n-th
    /// definition with its identifier, and the reference to it.
    fn doubling_schema(names: fn(usize) -> (Value, String)) -> Value {
        let definitions = (0..28).map(|n| {
            let (mut definition, next) = (names(n).0, names(n + 1).1);
            definition["allOf"] = json!([{"$ref": next}, {"$ref": next}]);
            (format!("d{n}"), definition)
        });
        let mut definitions: serde_json::Map<_, _> = definitions.collect();
        definitions.insert("d28".to_owned(), names(28).0);
        json!({"$id": "https://example.com/s", "$ref": names(0).1, "$defs": definitions})
    }

    #[test]
    fn exponential_references_are_refused_in_every_spelling() {
        let by_anchor =
            doubling_schema(|n| (json!({"$anchor": format!("a{n}")}), format!("#a{n}")));
        let by_id = doubling_schema(|n| (json!({"$id": format!("i{n}")}), format!("i{n}")));
        let escaped = doubling_schema(|n| (json!({}), format!("#/%24defs/d{n}")));
        let absolute =
            doubling_schema(|n| (json!({}), format!("https://example.com/s#/$defs/d{n}")));
        for schema in [by_anchor, by_id, escaped, absolute] {
            let error = Validator::new(schema.clone()).unwrap_err();
            assert!(error.contains("50000"), "{error}: {schema}");
        }
        let relative = doubling_schema(|n| {
            let id = format!("https://example.com/i{n}");
            (json!({"$id": id}), format!("i{n}"))
        });
        assert!(Validator::new(relative).unwrap_err().contains("not found"));
    }

    #[test]
    fn json_pointers_resolve_from_the_nearest_id() {
        let inner =
            json!({"$id": "inner", "$ref": "#/$defs/x", "$defs": {"x": {"type": "string"}}});
        let schema = json!({"type": "object", "properties": {"a": inner},
            "$defs": {"x": {"type": "integer"}}});
        assert_eq!(validate(schema.clone(), json!({"a": "text"})), Ok(()));
        assert!(validate(schema, json!({"a": 1})).is_err());
    }

    #[test]
    fn recursion_that_doubles_with_value_depth_is_refused() {
        let twice = json!([{"$ref": "#"}, {"$ref": "#"}]);
        let schema = json!({"type": "object", "properties": {"next": {"anyOf": twice}}});
        let nested = |depth| (0..depth).fold(json!({"next": 1}), |value, _| json!({"next": value}));
        let error = validate(schema.clone(), nested(60)).unwrap_err();
        assert!(error.contains("nested too deeply"), "{error}");
        let error = validate(schema, nested(3)).unwrap_err();
        assert!(error.contains("at /next:"), "{error}");

        let tree = json!({"type": "object", "properties": {"left": {"$ref": "#"},
            "right": {"$ref": "#"}, "leaf": {"type": "integer"}}});
        let deep = (0..120).fold(json!({"leaf": 1}), |value, _| json!({"left": value}));
        assert_eq!(validate(tree, deep), Ok(()));
    }

    #[test]
    fn a_schema_that_refers_to_itself_in_place_is_refused() {
        for schema in [
            json!({"$ref": "#"}),
            json!({"$ref": "#/$defs/a", "$defs": {"a": {"not": {"$ref": "#/$defs/b"}},
                "b": {"allOf": [{"$ref": "#/$defs/a"}]}}}),
        ] {
            let error = Validator::new(schema).unwrap_err();
            assert!(error.contains("refers to itself"), "{error}");
        }
    }

    #[test]
    fn a_long_chain_of_references_does_not_exhaust_the_stack() {
        let chain = |length: usize, order: fn(usize, usize) -> usize| {
            let links = (0..length).map(|n| {
                let n = order(length, n);
                let next = format!("#/$defs/d{}", n + 1);
                (format!("d{n}"), json!({"$ref": next}))
            });
            let mut definitions: serde_json::Map<_, _> = links.collect();
            definitions.insert(format!("d{length}"), json!({"type": "object"}));
            json!({"type": "object", "$ref": "#/$defs/d0", "$defs": definitions})
        };
        for order in [|_, n| n, |length: usize, n: usize| length - 1 - n] {
            let error = Validator::new(chain(20_000, order)).unwrap_err();
            assert!(error.contains("1000 inside each other"), "{error}");
            assert_eq!(validate(chain(500, order), json!({})), Ok(()));
        }
    }

    #[test]
    fn recursion_over_a_deep_value_does_not_exhaust_the_stack() {
        let list = json!({"type": "object", "properties": {"next": {"$ref": "#"}}});
        let schema = (0..60).fold(list, |schema, _| json!({"allOf": [schema]}));
        let deep = (0..120).fold(json!({}), |value, _| json!({"next": value}));
        let error = validate(schema, deep).unwrap_err();
        assert!(error.contains("nested too deeply"), "{error}");
    }
}
