//! Compares values with what a guide shows, which leaves out what does not matter.
//!
//! - An object may have more fields than the guide shows.
//! - `…` in a string matches any text; the string `"…"` matches any value.
//! - An array whose last item is `"…"` may have other items, before, between and after the others.
//! - A string `"$name"` binds the value that arrives, and is replaced by it in what the client
//!   sends.

use std::collections::HashMap;

use serde_json::Value;

/// The values of `"$name"` variables.
pub(super) type Bindings = HashMap<String, Value>;

/// Returns why `actual` does not match, if it does not.
pub(super) fn difference(
    expected: &Value,
    actual: &Value,
    bindings: &mut Bindings,
) -> Option<String> {
    match (expected, actual) {
        (Value::String(expected), actual) => string_difference(expected, actual, bindings),
        (Value::Object(expected), Value::Object(actual)) => {
            expected.iter().find_map(|(key, expected)| {
                let Some(value) = actual.get(key) else {
                    return Some(format!("there is no {key:?}"));
                };
                difference(expected, value, bindings).map(|why| format!("{key}: {why}"))
            })
        }
        (Value::Array(expected), Value::Array(actual)) => {
            array_difference(expected, actual, bindings)
        }
        _ if same(expected, actual) => None,
        _ => Some(format!("{actual} is not {expected}")),
    }
}

/// Returns whether two values are equal; numbers are compared regardless of their type: 1 is 1.0.
fn same(expected: &Value, actual: &Value) -> bool {
    expected == actual
        || expected
            .as_f64()
            .is_some_and(|number| actual.as_f64() == Some(number))
}

fn string_difference(expected: &str, actual: &Value, bindings: &mut Bindings) -> Option<String> {
    if let Some(name) = expected.strip_prefix('$') {
        bindings.insert(name.to_owned(), actual.clone());
        return None;
    }
    if expected == "…" {
        return None;
    }
    let matches = actual
        .as_str()
        .is_some_and(|actual| matches_pattern(expected, actual));
    (!matches).then(|| format!("{actual} is not {expected:?}"))
}

/// Returns whether `actual` contains the parts of `expected` between its `…`, in order.
fn matches_pattern(expected: &str, actual: &str) -> bool {
    let mut parts = expected.split('…');
    let Some(mut rest) = parts.next().and_then(|first| actual.strip_prefix(first)) else {
        return false;
    };
    let mut ends = false;
    for part in parts {
        ends = part.is_empty();
        let Some(at) = (if expected.ends_with(part) && !ends {
            rest.rfind(part)
        } else {
            rest.find(part)
        }) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    ends || rest.is_empty()
}

fn array_difference(
    expected: &[Value],
    actual: &[Value],
    bindings: &mut Bindings,
) -> Option<String> {
    let Some((last, expected_items)) = expected.split_last().filter(|(last, _)| *last == "…")
    else {
        if expected.len() != actual.len() {
            return Some(format!(
                "{} items, not {}: {actual:?}",
                actual.len(),
                expected.len()
            ));
        }
        let mut pairs = expected.iter().zip(actual).enumerate();
        return pairs.find_map(|(index, (expected, actual))| {
            difference(expected, actual, bindings).map(|why| format!("[{index}] {why}"))
        });
    };
    debug_assert_eq!(last, "…");
    let mut rest = actual.iter();
    expected_items.iter().find_map(|expected| {
        let found = rest
            .by_ref()
            .any(|actual| difference(expected, actual, bindings).is_none());
        (!found).then(|| format!("no item is {expected}"))
    })
}

/// Replaces variables by their values.
pub(super) fn substitute(value: &Value, bindings: &Bindings) -> Value {
    match value {
        Value::String(text) => match text.strip_prefix('$') {
            Some(name) => bindings
                .get(name)
                .unwrap_or_else(|| panic!("${name} is not bound yet"))
                .clone(),
            None => value.clone(),
        },
        Value::Array(items) => items
            .iter()
            .map(|item| substitute(item, bindings))
            .collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| (key.clone(), substitute(value, bindings)))
            .collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn matches(expected: Value, actual: Value) -> bool {
        difference(&expected, &actual, &mut Bindings::new()).is_none()
    }

    #[test]
    fn all_expected_fields_are_required() {
        assert!(matches(json!({ "a": 1 }), json!({ "a": 1.0, "b": 2 })));
        assert!(!matches(json!({ "a": 1 }), json!({ "a": 2 })));
        assert!(!matches(json!({ "a": 1 }), json!({ "b": 1 })));
        assert!(!matches(json!({ "a": null }), json!({})));
        assert!(!matches(json!({}), json!([])));
    }

    #[test]
    fn an_ellipsis_matches_any_text() {
        for expected in ["…", "data…", "…end", "data…end", "data", "d…t…d"] {
            let actual = if expected == "data" {
                "data"
            } else {
                "data: the end"
            };
            assert!(matches(json!(expected), json!(actual)), "{expected}");
        }
        for expected in ["data", "…data", "the…", "data…middle…end"] {
            assert!(
                !matches(json!(expected), json!("data: the end")),
                "{expected}"
            );
        }
        assert!(matches(json!("…"), json!({ "any": "value" })));
        assert!(matches(json!("a…b"), json!("ab and b")));
    }

    #[test]
    fn arrays_are_complete_unless_they_end_with_an_ellipsis() {
        assert!(matches(json!([1, 2]), json!([1, 2])));
        assert!(!matches(json!([1]), json!([1, 2])));
        assert!(matches(json!([2, "…"]), json!([1, 2, 3])));
        assert!(!matches(json!([2, 1, "…"]), json!([1, 2, 3])));
    }

    #[test]
    fn variables_are_bound_and_substituted() {
        let mut bindings = Bindings::new();
        assert!(
            difference(
                &json!({ "state": "$state" }),
                &json!({ "state": "xyz" }),
                &mut bindings
            )
            .is_none()
        );
        assert_eq!(
            substitute(&json!(["$state", 1]), &bindings),
            json!(["xyz", 1])
        );
    }
}
