//! Compares what came with what a guide shows, which leaves out what does not matter.
//!
//! - An object may have more fields than are shown.
//! - `…` in a string stands for any text; the string `"…"` alone for any value.
//! - An array whose last item is `"…"` may have other items, before, between and after those that are shown.
//! - A string `"$name"` is remembered when it comes, and put in where the client sends it.

use std::collections::HashMap;

use serde_json::Value;

/// What `"$name"` stands for.
pub(super) type Bindings = HashMap<String, Value>;

/// Why `actual` is not what is shown, if it is not.
pub(super) fn difference(
    shown: &Value,
    actual: &Value,
    remembered: &mut Bindings,
) -> Option<String> {
    match (shown, actual) {
        (Value::String(shown), actual) => string_difference(shown, actual, remembered),
        (Value::Object(shown), Value::Object(actual)) => shown.iter().find_map(|(key, shown)| {
            let Some(value) = actual.get(key) else {
                return Some(format!("there is no {key:?}"));
            };
            difference(shown, value, remembered).map(|why| format!("{key}: {why}"))
        }),
        (Value::Array(shown), Value::Array(actual)) => array_difference(shown, actual, remembered),
        _ if same(shown, actual) => None,
        _ => Some(format!("{actual} is not {shown}")),
    }
}

/// Numbers are the same whatever their type: 1 is 1.0.
fn same(shown: &Value, actual: &Value) -> bool {
    shown == actual
        || shown
            .as_f64()
            .is_some_and(|number| actual.as_f64() == Some(number))
}

fn string_difference(shown: &str, actual: &Value, remembered: &mut Bindings) -> Option<String> {
    if let Some(name) = shown.strip_prefix('$') {
        remembered.insert(name.to_owned(), actual.clone());
        return None;
    }
    if shown == "…" {
        return None;
    }
    let fits = actual
        .as_str()
        .is_some_and(|actual| matches_pattern(shown, actual));
    (!fits).then(|| format!("{actual} is not {shown:?}"))
}

/// Whether `actual` has the parts of `shown` between its `…`, in order.
fn matches_pattern(shown: &str, actual: &str) -> bool {
    let mut parts = shown.split('…');
    let Some(mut rest) = parts.next().and_then(|first| actual.strip_prefix(first)) else {
        return false;
    };
    let mut ends = false;
    for part in parts {
        ends = part.is_empty();
        let Some(at) = (if shown.ends_with(part) && !ends {
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
    shown: &[Value],
    actual: &[Value],
    remembered: &mut Bindings,
) -> Option<String> {
    let Some((last, shown_items)) = shown.split_last().filter(|(last, _)| *last == "…") else {
        if shown.len() != actual.len() {
            return Some(format!(
                "{} items, not {}: {actual:?}",
                actual.len(),
                shown.len()
            ));
        }
        let mut pairs = shown.iter().zip(actual).enumerate();
        return pairs.find_map(|(index, (shown, actual))| {
            difference(shown, actual, remembered).map(|why| format!("[{index}] {why}"))
        });
    };
    debug_assert_eq!(last, "…");
    let mut rest = actual.iter();
    shown_items.iter().find_map(|shown| {
        let found = rest
            .by_ref()
            .any(|actual| difference(shown, actual, remembered).is_none());
        (!found).then(|| format!("no item is {shown}"))
    })
}

/// Puts in what is remembered.
pub(super) fn substitute(value: &Value, remembered: &Bindings) -> Value {
    match value {
        Value::String(text) => match text.strip_prefix('$') {
            Some(name) => remembered
                .get(name)
                .unwrap_or_else(|| panic!("${name} has not come yet"))
                .clone(),
            None => value.clone(),
        },
        Value::Array(items) => items
            .iter()
            .map(|item| substitute(item, remembered))
            .collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| (key.clone(), substitute(value, remembered)))
            .collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn matches(shown: Value, actual: Value) -> bool {
        difference(&shown, &actual, &mut Bindings::new()).is_none()
    }

    #[test]
    fn what_is_shown_must_be_there() {
        assert!(matches(json!({ "a": 1 }), json!({ "a": 1.0, "b": 2 })));
        assert!(!matches(json!({ "a": 1 }), json!({ "a": 2 })));
        assert!(!matches(json!({ "a": 1 }), json!({ "b": 1 })));
        assert!(!matches(json!({ "a": null }), json!({})));
        assert!(!matches(json!({}), json!([])));
    }

    #[test]
    fn dots_stand_for_text() {
        for shown in ["…", "data…", "…end", "data…end", "data", "d…t…d"] {
            let actual = if shown == "data" {
                "data"
            } else {
                "data: the end"
            };
            assert!(matches(json!(shown), json!(actual)), "{shown}");
        }
        for shown in ["data", "…data", "the…", "data…middle…end"] {
            assert!(!matches(json!(shown), json!("data: the end")), "{shown}");
        }
        assert!(matches(json!("…"), json!({ "any": "value" })));
        assert!(matches(json!("a…b"), json!("ab and b")));
    }

    #[test]
    fn arrays_are_whole_unless_they_end_in_dots() {
        assert!(matches(json!([1, 2]), json!([1, 2])));
        assert!(!matches(json!([1]), json!([1, 2])));
        assert!(matches(json!([2, "…"]), json!([1, 2, 3])));
        assert!(!matches(json!([2, 1, "…"]), json!([1, 2, 3])));
    }

    #[test]
    fn names_are_remembered_and_put_in() {
        let mut remembered = Bindings::new();
        assert!(
            difference(
                &json!({ "state": "$state" }),
                &json!({ "state": "xyz" }),
                &mut remembered
            )
            .is_none()
        );
        assert_eq!(
            substitute(&json!(["$state", 1]), &remembered),
            json!(["xyz", 1])
        );
    }
}
