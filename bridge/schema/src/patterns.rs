//! Regular expressions of a schema. Only patterns that run in linear time and bounded memory are
//! used.

use regex_syntax::ast::ErrorKind;
use regex_syntax::hir::{Class, Hir, HirKind};
use serde_json::{Map, Value};

use super::walk;

/// The maximum number of states of all automata of one schema. That many need about 25 MB once they
/// have run, whereas 1,000 patterns like `\w{100}` would need about 100 MB.
pub const MAX_STATES: u64 = 50_000;

/// The memory of a pattern besides its states, expressed in states. Most of it is the cache that is
/// filled when the pattern runs.
const STATES_PER_PATTERN: u64 = 64;

/// The maximum length of a pattern, in bytes. A longer one is not parsed, because a class like
/// `\p{L}` takes 5 KB of memory once it is parsed.
const MAX_PATTERN_BYTES: usize = 16 * 1024;

/// Removes the patterns that a linear-time engine cannot run, and returns the number of states of
/// the others. The error states which pattern is not valid, or that the patterns together are too
/// large.
pub fn retain_linear(schema: &mut Value) -> Result<u64, String> {
    let mut total = Ok(0);
    walk::for_each_subschema(schema, &mut |fields| {
        if let Ok(states) = &total {
            total = retain_linear_in(fields, *states);
        }
    });
    total
}

/// Removes the pattern of one subschema if a linear-time engine cannot run it, and returns the
/// number of states with those of its patterns.
fn retain_linear_in(fields: &mut Map<String, Value>, mut total: u64) -> Result<u64, String> {
    if let Some(Value::String(pattern)) = fields.get("pattern") {
        match Pattern::parse(pattern) {
            Pattern::Linear(states) => total = add_states(total, states)?,
            Pattern::Backtracking => {
                fields.shift_remove("pattern");
            }
            Pattern::Invalid => return Err(format!("`pattern` {pattern:?} {INVALID_PATTERN}")),
            Pattern::TooLong => return Err(too_many_states()),
        }
    }
    let named = fields.get("patternProperties").and_then(Value::as_object);
    for pattern in named.into_iter().flat_map(|named| named.keys()) {
        match Pattern::parse(pattern) {
            Pattern::Linear(states) => total = add_states(total, states)?,
            // The set of additional properties depends on the pattern, so it cannot be removed.
            Pattern::Backtracking => {
                return Err(format!(
                    "`patternProperties` {pattern:?} has look-around or back-references: write it \
                     without"
                ));
            }
            Pattern::Invalid => {
                return Err(format!("`patternProperties` {pattern:?} {INVALID_PATTERN}"));
            }
            Pattern::TooLong => return Err(too_many_states()),
        }
    }
    Ok(total)
}

const INVALID_PATTERN: &str = "is not a regular expression (ECMA-262)";

fn add_states(total: u64, states: u64) -> Result<u64, String> {
    let total = total
        .saturating_add(STATES_PER_PATTERN)
        .saturating_add(states);
    if total > MAX_STATES {
        return Err(too_many_states());
    }
    Ok(total)
}

/// The reason why patterns are refused that are too large or too many.
pub fn too_many_states() -> String {
    format!(
        "its patterns have more than {MAX_STATES} states together, or one has more than \
         {MAX_PATTERN_BYTES} bytes: repeat less in them, or use `maxLength`"
    )
}

/// The number of states of a pattern that can run in linear time, 0 for one that cannot, and `None`
/// for one that is too long to be parsed.
pub fn state_count(pattern: &str) -> Option<u64> {
    match Pattern::parse(pattern) {
        Pattern::Linear(states) => Some(states),
        Pattern::Backtracking | Pattern::Invalid => Some(0),
        Pattern::TooLong => None,
    }
}

enum Pattern {
    /// The pattern runs in linear time and has approximately this many states.
    Linear(u64),
    /// The pattern has look-around or back-references.
    Backtracking,
    Invalid,
    /// The pattern was not parsed.
    TooLong,
}

impl Pattern {
    fn parse(pattern: &str) -> Self {
        if pattern.len() > MAX_PATTERN_BYTES {
            return Pattern::TooLong;
        }
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
        assert!(state_count("^[a-z]{1,64}$").unwrap() < 300);
        assert!(state_count("(?:(?:a{100}){100}){100}").unwrap() > 1_000_000);
        let mut schema = json!({"properties": {"a": {"pattern": "(?:(?:a{100}){100}){100}"}}});
        let error = retain_linear(&mut schema).unwrap_err();
        assert!(error.contains("50000"), "{error}");
        let many: serde_json::Map<_, _> = (0..1_000)
            .map(|n| (format!("p{n}"), json!({"pattern": format!(r"\w{{{n}}}")})))
            .collect();
        assert!(retain_linear(&mut json!({ "properties": many })).is_err());
    }

    #[test]
    fn a_long_pattern_is_refused_without_being_parsed() {
        let long = r"\p{L}".repeat(MAX_PATTERN_BYTES / 5 + 1);
        assert_eq!(state_count(&long), None);
        let error = retain_linear(&mut json!({ "pattern": long })).unwrap_err();
        assert!(error.contains("16384 bytes"), "{error}");
    }

    #[test]
    fn look_around_is_left_to_the_page() {
        let mut schema = json!({"properties": {"a": {"pattern": r"^(?=.*\d).{8,}$", "minLength": 8},
            "b": {"pattern": r"^(a)\1$"}, "c": {"pattern": r"^\d+$"}}});
        assert!(retain_linear(&mut schema).is_ok());
        assert_eq!(
            schema,
            json!({"properties": {"a": {"minLength": 8}, "b": {}, "c": {"pattern": r"^\d+$"}}})
        );
        let named = |pattern: &str| retain_linear(&mut json!({"patternProperties": {pattern: {}}}));
        assert!(named("^(?!x)").unwrap_err().contains("look-around"));
        assert!(named("(").unwrap_err().contains("ECMA-262"));
        assert!(named("^x-").is_ok());
    }
}
