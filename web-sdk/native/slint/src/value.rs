//! Sets the values of controls, and compares them with the values that were set.

use mcp_web_sdk::page::{ActionCode, ActionFailure, ReadBack};
use serde_json::Value;

use crate::inspect::{check_usable, is_checkable, label};
use crate::item::{Item, ItemAction, Property};

/// Sets the value of an element, as assistive technologies do.
pub(crate) fn set(item: &Item, value: &Value) -> Result<(), ActionFailure> {
    check_usable(item)?;
    if is_checkable(item) && !item.can(ItemAction::SetValue) {
        return set_checked(item, value);
    }
    let Some(text) = text(value) else {
        let message = format!("{} takes one text, number or boolean", label(item));
        return Err(ActionFailure::new(ActionCode::NotEditable, message));
    };
    item.act(ItemAction::SetValue, &text);
    Ok(())
}

/// Compares the value of an element with the value that was set.
pub(crate) fn read_back(item: &Item, value: &Value) -> Option<ReadBack> {
    // A secret must not be read.
    if item.is_password() {
        return None;
    }
    let expected = text(value)?;
    let actual = if is_checkable(item) && !item.can(ItemAction::SetValue) {
        is_checked(item).to_string()
    } else {
        item.property(Property::Value)?
    };
    Some(ReadBack {
        matches: is_same(&expected, &actual),
        expected,
        actual,
    })
}

fn set_checked(item: &Item, value: &Value) -> Result<(), ActionFailure> {
    let wanted = match value {
        Value::Bool(wanted) => *wanted,
        Value::String(text) if text == "true" || text == "false" => text == "true",
        _ => {
            let message = format!("{} takes true or false", label(item));
            return Err(ActionFailure::new(ActionCode::OptionNotFound, message));
        }
    };
    if wanted != is_checked(item) {
        item.act(ItemAction::Default, "");
    }
    Ok(())
}

fn is_checked(item: &Item) -> bool {
    item.flag(Property::Checked) == Some(true)
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}

/// Returns whether two values are equal as text, or as numbers in the precision of a window.
fn is_same(left: &str, right: &str) -> bool {
    let numbers = (left.parse::<f32>(), right.parse::<f32>());
    match numbers {
        (Ok(left), Ok(right)) => (left - right).abs() <= f32::EPSILON * left.abs().max(1.0),
        _ => left == right,
    }
}

#[cfg(test)]
mod tests {
    use super::is_same;

    #[test]
    fn numbers_are_compared_as_numbers() {
        assert!(is_same("30", "30.0"));
        assert!(is_same("0.1", "0.1"));
        assert!(!is_same("30", "31"));
        assert!(!is_same("30 ", "30"));
        assert!(is_same("Ada", "Ada"));
    }
}
