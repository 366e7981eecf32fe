//! JSON Schema 2020-12 validation: compiled on first use, no remote references, no backtracking,
//! and never more work than a number says.
//!
//! - `format` is asserted where the validator knows it: a model that sends "tomorrow" as a `date`
//!   should hear so. Formats that it does not know say nothing.
//! - What a schema costs is known when it is registered ([`work`]), what a value costs before it
//!   is looked at: too much is refused, much is done away from the threads that serve sockets.
//! - An error names up to [`MAX_VIOLATIONS`] places and rules, in bounded text, and does not
//!   repeat the value.

mod graph;
#[cfg(test)]
mod hostile;
mod off_thread;
mod patterns;
mod price;
#[cfg(test)]
mod table;
pub(crate) mod walk;
mod work;

use std::fmt;
use std::sync::OnceLock;

use jsonschema::{Draft, PatternOptions, ValidationError};
use serde_json::Value;

pub(crate) use off_thread::check;

/// Violations that one error tells.
const MAX_VIOLATIONS: usize = 5;

/// Of each path, rule and message.
const MAX_TEXT_CHARS: usize = 240;

/// Up to this price (in looks) everything that is wrong is collected. Each takes some 400 bytes.
const MAX_REASONS_WORK: u64 = 100_000;

/// Up to this price a value is validated where it comes in: a few milliseconds.
const MAX_INLINE_WORK: u64 = 100_000;

/// A larger schema is compiled away from the threads that serve sockets.
const MAX_INLINE_SCHEMA_NODES: usize = 1_000;

/// The automaton of one pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 4 * 1024 * 1024;

/// What one pattern may remember while it runs, in bytes, for each thread.
const MAX_PATTERN_CACHE_BYTES: usize = 64 * 1024;

/// A schema and, once it was needed, its compiled form.
pub(crate) struct Validator {
    schema: Value,
    /// Without the patterns that cannot be run, where there are some.
    enforced: Option<Value>,
    compiled: OnceLock<Result<jsonschema::Validator, String>>,
    budget: work::Budget,
    takes_any_object: bool,
}

impl Validator {
    /// Takes a schema whose work is bearable.
    pub(crate) fn new(schema: Value) -> Result<Self, String> {
        let mut enforced = schema.clone();
        patterns::keep_linear(&mut enforced)?;
        Ok(Self {
            budget: work::Budget::of(&enforced)?,
            takes_any_object: takes_any_object(&schema),
            enforced: (enforced != schema).then_some(enforced),
            schema,
            compiled: OnceLock::new(),
        })
    }

    pub(crate) fn schema(&self) -> &Value {
        &self.schema
    }

    /// Whether every object fits: there is nothing to look for.
    pub(crate) fn takes_any_object(&self) -> bool {
        self.takes_any_object
    }

    /// What does not fit: where, which rule, and why.
    pub(crate) fn check(&self, value: &Value) -> Result<(), Misfit> {
        let price = self.budget.price(value).ok_or(Misfit::TooMuchWork)?;
        let validator = self.compiled().map_err(Misfit::BadSchema)?;
        if validator.is_valid(value) {
            return Ok(());
        }
        let mut violations = Vec::new();
        let mut more = false;
        if price.reasons <= MAX_REASONS_WORK {
            let mut errors = validator.iter_errors(value);
            violations.extend(errors.by_ref().take(MAX_VIOLATIONS).map(Violation::from));
            more = errors.next().is_some();
        } else if price.reasons == price.verdict {
            // Without unions the first error comes without the others.
            violations.extend(validator.validate(value).err().map(Violation::from));
        }
        Err(Misfit::Value { violations, more })
    }

    /// Whether [`check`](Self::check) takes a few milliseconds at most.
    fn is_quick(&self, value: &Value) -> bool {
        let is_small = || nodes_up_to(&self.schema, MAX_INLINE_SCHEMA_NODES) > 0;
        (self.compiled.get().is_some() || is_small())
            && self
                .budget
                .price(value)
                .is_none_or(|price| price.verdict.max(price.reasons) <= MAX_INLINE_WORK)
    }

    fn compiled(&self) -> Result<&jsonschema::Validator, String> {
        self.compiled
            .get_or_init(|| compile(self.enforced.as_ref().unwrap_or(&self.schema)))
            .as_ref()
            .map_err(Clone::clone)
    }
}

/// A schema that says nothing, or that it wants an object, beside words for people.
fn takes_any_object(schema: &Value) -> bool {
    let says_nothing = |(key, value): (&String, &Value)| match key.as_str() {
        "type" => value == "object",
        "properties" => value.as_object().is_some_and(serde_json::Map::is_empty),
        "additionalProperties" => *value == true,
        "$schema" | "$comment" | "title" | "description" => true,
        _ => false,
    };
    schema
        .as_object()
        .is_some_and(|rules| rules.iter().all(says_nothing))
}

/// What is left of `most` after the values in a value.
fn nodes_up_to(value: &Value, most: usize) -> usize {
    let most = most.saturating_sub(1);
    match value {
        Value::Object(fields) => fields.values().fold(most, |most, inner| match most {
            0 => 0,
            most => nodes_up_to(inner, most),
        }),
        Value::Array(items) => items.iter().fold(most, |most, inner| match most {
            0 => 0,
            most => nodes_up_to(inner, most),
        }),
        _ => most,
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
    /// The value is too large or too deep for a schema of this kind.
    TooMuchWork,
    /// The value breaks these rules, or some that would be too many to look for.
    Value {
        violations: Vec<Violation>,
        more: bool,
    },
}

/// The value at `path` breaks `rule` (both JSON pointers).
#[derive(Debug)]
pub(crate) struct Violation {
    pub(crate) path: String,
    pub(crate) rule: String,
    pub(crate) message: String,
}

impl From<ValidationError<'_>> for Violation {
    fn from(error: ValidationError<'_>) -> Self {
        Self {
            path: short(&root_or(&error.instance_path().to_string())),
            rule: short(&error.schema_path().to_string()),
            message: short(&error.masked_with("the value").to_string()),
        }
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Misfit::BadSchema(error) => write!(f, "the tool's schema is not valid: {error}"),
            Misfit::TooMuchWork => write!(
                f,
                "the value is too large or nested too deeply to be checked against this schema \
                 (more than {} steps): make it smaller",
                work::MAX_WORK
            ),
            Misfit::Value { violations, more } => {
                if violations.is_empty() {
                    return write!(f, "it is too large to say where: try with less data");
                }
                for (n, violation) in violations.iter().enumerate() {
                    let separator = if n == 0 { "" } else { "; " };
                    write!(f, "{separator}{violation}")?;
                }
                write!(f, "{}", if *more { "; and more" } else { "" })
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
        .map_err(|error| short(&error.masked_with("the keyword's value").to_string()))
}

fn root_or(pointer: &str) -> String {
    if pointer.is_empty() {
        "/".to_owned()
    } else {
        pointer.to_owned()
    }
}

/// Schemas are free to have long names and lists.
fn short(text: &str) -> String {
    match text.char_indices().nth(MAX_TEXT_CHARS) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
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
    fn a_schema_without_rules_takes_any_object() {
        let takes = |schema| Validator::new(schema).unwrap().takes_any_object();
        assert!(takes(json!({})));
        assert!(takes(
            json!({"type": "object", "properties": {}, "title": "t",
            "additionalProperties": true})
        ));
        assert!(!takes(
            json!({"type": ["object", "null"], "minProperties": 1})
        ));
        assert!(!takes(json!({"type": "object", "properties": {"a": {}}})));
        assert!(!takes(
            json!({"type": "object", "additionalProperties": false})
        ));
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
        assert!(error.contains("is not found in it"), "{error}");
    }

    #[test]
    fn a_pattern_that_would_backtrack_is_linear_or_refused() {
        let schema = json!({"type": "object", "properties": {"s": {"type": "string", "pattern": "^(a+)+$"}}});
        let long = "a".repeat(50_000) + "b";
        assert!(check(schema, json!({"s": long})).is_err());
        let look =
            json!({"type": "object", "properties": {"s": {"type": "string", "pattern": "(?=a)b"}}});
        assert_eq!(check(look.clone(), json!({"s": "b"})), Ok(()));
        let error = check(look, json!({"s": 1})).unwrap_err();
        assert!(error.contains("/properties/s/type"), "{error}");
    }

    /// `names` says how the n-th definition names itself, and how others refer to it.
    fn doubled(names: fn(usize) -> (Value, String)) -> Value {
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
    fn doubling_is_seen_however_the_reference_is_written() {
        let by_anchor = doubled(|n| (json!({"$anchor": format!("a{n}")}), format!("#a{n}")));
        let by_id = doubled(|n| (json!({"$id": format!("i{n}")}), format!("i{n}")));
        let escaped = doubled(|n| (json!({}), format!("#/%24defs/d{n}")));
        let absolute = doubled(|n| (json!({}), format!("https://example.com/s#/$defs/d{n}")));
        for schema in [by_anchor, by_id, escaped, absolute] {
            let error = Validator::new(schema.clone()).unwrap_err();
            assert!(error.contains("50000"), "{error}: {schema}");
        }
        let relative = doubled(|n| {
            let id = format!("https://example.com/i{n}");
            (json!({"$id": id}), format!("i{n}"))
        });
        assert!(Validator::new(relative).unwrap_err().contains("not found"));
    }

    #[test]
    fn a_pointer_counts_from_the_subschema_that_has_an_id() {
        let inner =
            json!({"$id": "inner", "$ref": "#/$defs/x", "$defs": {"x": {"type": "string"}}});
        let schema = json!({"type": "object", "properties": {"a": inner},
            "$defs": {"x": {"type": "integer"}}});
        assert_eq!(check(schema.clone(), json!({"a": "text"})), Ok(()));
        assert!(check(schema, json!({"a": 1})).is_err());
    }

    #[test]
    fn recursion_that_doubles_with_the_depth_of_the_value_ends_in_time() {
        let twice = json!([{"$ref": "#"}, {"$ref": "#"}]);
        let schema = json!({"type": "object", "properties": {"next": {"anyOf": twice}}});
        let nested = |depth| (0..depth).fold(json!({"next": 1}), |value, _| json!({"next": value}));
        let error = check(schema.clone(), nested(60)).unwrap_err();
        assert!(error.contains("nested too deeply"), "{error}");
        let error = check(schema, nested(3)).unwrap_err();
        assert!(error.contains("at /next:"), "{error}");

        let tree = json!({"type": "object", "properties": {"left": {"$ref": "#"},
            "right": {"$ref": "#"}, "leaf": {"type": "integer"}}});
        let deep = (0..120).fold(json!({"leaf": 1}), |value, _| json!({"left": value}));
        assert_eq!(check(tree, deep), Ok(()));
    }

    #[test]
    fn a_schema_that_goes_round_in_place_is_refused() {
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
            assert_eq!(check(chain(500, order), json!({})), Ok(()));
        }
    }

    #[test]
    fn recursion_over_a_deep_value_does_not_exhaust_the_stack() {
        let list = json!({"type": "object", "properties": {"next": {"$ref": "#"}}});
        let schema = (0..60).fold(list, |schema, _| json!({"allOf": [schema]}));
        let deep = (0..120).fold(json!({}), |value, _| json!({"next": value}));
        let error = check(schema, deep).unwrap_err();
        assert!(error.contains("nested too deeply"), "{error}");
    }
}
