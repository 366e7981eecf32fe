//! The timeout that a tool's definition may set.

use std::time::Duration;

use serde_json::{Map, Value};

/// The key in a tool's `_meta` with its timeout in whole milliseconds.
pub(crate) const TIMEOUT_KEY: &str = "mcp-web/timeout";

/// The timeout in a definition, which replaces the bridge's `call_timeout`.
pub(super) fn parse_timeout(definition: &Map<String, Value>) -> Result<Option<Duration>, String> {
    let Some(value) = definition
        .get("_meta")
        .and_then(|meta| meta.get(TIMEOUT_KEY))
    else {
        return Ok(None);
    };
    match whole_milliseconds(value) {
        Some(milliseconds) => Ok(Some(Duration::from_millis(milliseconds))),
        None => Err(format!(
            "`_meta[\"{TIMEOUT_KEY}\"]` must be a whole number of milliseconds from 1 up"
        )),
    }
}

/// Accepts any spelling of a whole number from 1 up, such as `3e5`, because JavaScript has one
/// number type.
fn whole_milliseconds(value: &Value) -> Option<u64> {
    let whole = |number: f64| {
        let is_valid = number.fract() == 0.0 && (1.0..=u64::MAX as f64).contains(&number);
        is_valid.then_some(number as u64)
    };
    let number = value.as_u64().or_else(|| value.as_f64().and_then(whole))?;
    (number > 0).then_some(number)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn timeout_from(value: Value) -> Result<Option<Duration>, String> {
        let definition = json!({ "_meta": { TIMEOUT_KEY: value } });
        parse_timeout(definition.as_object().unwrap())
    }

    #[test]
    fn whole_milliseconds_are_accepted() {
        for (value, expected) in [
            (json!(1), 1),
            (json!(300_000), 300_000),
            (json!(3e5), 300_000),
        ] {
            assert_eq!(
                timeout_from(value),
                Ok(Some(Duration::from_millis(expected)))
            );
        }
        assert_eq!(parse_timeout(&Map::new()), Ok(None));
    }

    #[test]
    fn anything_else_is_refused_with_the_reason() {
        for value in [
            json!(0),
            json!(-5),
            json!(1.5),
            json!("5s"),
            json!(null),
            json!(true),
            json!({}),
        ] {
            let error = timeout_from(value.clone()).unwrap_err();
            assert!(error.contains("mcp-web/timeout"), "{value}: {error}");
            assert!(error.contains("milliseconds"), "{value}: {error}");
        }
    }
}
