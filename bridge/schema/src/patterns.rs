//! Regular expressions of a schema. Only patterns that run in linear time and bounded memory are
//! used.

use regex_syntax::ast::ErrorKind;
use regex_syntax::hir::{Class, Hir, HirKind};
use serde_json::Value;

use super::walk;

/// The maximum number of states of all automata of one schema. That many need about 25 MB once they
/// have run, whereas 1,000 patterns like `\w{100}` would need about 100 MB.
pub const MAX_STATES: u64 = 50_000;

/// The memory of a pattern besides its states, expressed in states. Most of it is the cache that is
/// filled when the pattern runs.
const STATES_PER_PATTERN: u64 = 64;

/// Removes the patterns that a linear-time engine cannot run, and returns an error if a pattern is
/// not valid or if the patterns together are too large.
pub fn retain_linear(schema: &mut Value) -> Result<(), String> {
    let mut total = 0_u64;
    let mut refused = None;
    walk::for_each_subschema(schema, &mut |fields| {
        if let Some(Value::String(pattern)) = fields.get("pattern") {
            match Pattern::parse(pattern) {
                Pattern::Linear(states) => {
                    total = total.saturating_add(STATES_PER_PATTERN + states);
                }
                Pattern::Backtracking => {
                    fields.shift_remove("pattern");
                }
                Pattern::Invalid => {
                    refused = Some(format!("`pattern` {pattern:?} {INVALID_PATTERN}"))
                }
            }
        }
        let named = fields.get("patternProperties").and_then(Value::as_object);
        for pattern in named.into_iter().flat_map(|named| named.keys()) {
            match Pattern::parse(pattern) {
                Pattern::Linear(states) => {
                    total = total.saturating_add(STATES_PER_PATTERN + states);
                }
                // The set of additional properties depends on the pattern, so it cannot be removed.
                Pattern::Backtracking => {
                    refused = Some(format!(
                        "`patternProperties` {pattern:?} has look-around or back-references: \
                         write it without"
                    ));
                }
                Pattern::Invalid => {
                    refused = Some(format!("`patternProperties` {pattern:?} {INVALID_PATTERN}"));
                }
            }
        }
    });
    match refused {
        Some(error) => Err(error),
        None if total > MAX_STATES => Err(format!(
            "its patterns have more than {MAX_STATES} states together: repeat less in them, or \
             use `maxLength`"
        )),
        None => Ok(()),
    }
}

const INVALID_PATTERN: &str = "is not a regular expression (ECMA-262)";

/// The number of states of a pattern that can run in linear time, and 0 for others.
pub fn state_count(pattern: &str) -> u64 {
    match Pattern::parse(pattern) {
        Pattern::Linear(states) => states,
        Pattern::Backtracking | Pattern::Invalid => 0,
    }
}

enum Pattern {
    /// The pattern runs in linear time and has approximately this many states.
    Linear(u64),
    /// The pattern has look-around or back-references.
    Backtracking,
    Invalid,
}

impl Pattern {
    fn parse(pattern: &str) -> Self {
        let Ok(translated) = jsonschema_regex::to_rust_regex(pattern) else {
            return Pattern::Invalid;
        };
        match regex_syntax::parse(&translated) {
            Ok(hir) => Pattern::Linear(estimate_states(&hir)),
            Err(regex_syntax::Error::Parse(error)) => match error.kind() {
                ErrorKind::UnsupportedLookAround | ErrorKind::UnsupportedBackreference => {
                    Pattern::Backtracking
                }
                _ => Pattern::Invalid,
            },
            Err(_) => Pattern::Invalid,
        }
    }
}

/// Estimates the number of states of the automaton, with all repetitions expanded.
fn estimate_states(hir: &Hir) -> u64 {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 1,
        HirKind::Literal(literal) => literal.0.len() as u64,
        HirKind::Class(Class::Unicode(class)) => 1 + class.ranges().len() as u64,
        HirKind::Class(Class::Bytes(_)) => 1,
        HirKind::Repetition(repetition) => {
            let times = repetition.max.unwrap_or(repetition.min).max(1);
            estimate_states(&repetition.sub)
                .saturating_mul(u64::from(times))
                .saturating_add(u64::from(times))
        }
        HirKind::Capture(capture) => estimate_states(&capture.sub).saturating_add(2),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts
            .iter()
            .map(estimate_states)
            .fold(1, |sum, part| sum.saturating_add(part)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn repetitions_in_repetitions_are_counted_and_capped() {
        assert!(state_count("^[a-z]{1,64}$") < 300);
        assert!(state_count("(?:(?:a{100}){100}){100}") > 1_000_000);
        let mut schema = json!({"properties": {"a": {"pattern": "(?:(?:a{100}){100}){100}"}}});
        let error = retain_linear(&mut schema).unwrap_err();
        assert!(error.contains("50000"), "{error}");
        let many: serde_json::Map<_, _> = (0..1_000)
            .map(|n| (format!("p{n}"), json!({"pattern": format!(r"\w{{{n}}}")})))
            .collect();
        assert!(retain_linear(&mut json!({ "properties": many })).is_err());
    }

    #[test]
    fn look_around_is_left_to_the_page() {
        let mut schema = json!({"properties": {"a": {"pattern": r"^(?=.*\d).{8,}$", "minLength": 8},
            "b": {"pattern": r"^(a)\1$"}, "c": {"pattern": r"^\d+$"}}});
        assert_eq!(retain_linear(&mut schema), Ok(()));
        assert_eq!(
            schema,
            json!({"properties": {"a": {"minLength": 8}, "b": {}, "c": {"pattern": r"^\d+$"}}})
        );
        let named = |pattern: &str| retain_linear(&mut json!({"patternProperties": {pattern: {}}}));
        assert!(named("^(?!x)").unwrap_err().contains("look-around"));
        assert!(named("(").unwrap_err().contains("ECMA-262"));
        assert_eq!(named("^x-"), Ok(()));
    }
}
