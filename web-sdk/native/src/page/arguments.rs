//! The arguments of page tools. Their schemas have types only: ranges and combinations are checked
//! here.

use bridge_protocol::ErrorCode;
use page_tools::page_text::{Format, View};
use page_tools::{Find, OnError};
use serde_json::{Value, json};

use crate::error::CallError;

/// The values of `view` that are not views of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WantedView {
    Shown(View),
    None,
}

/// Creates the error for a call with invalid arguments. No action has run.
pub(super) fn invalid(reason: &str, message: impl Into<String>) -> CallError {
    CallError::with_code(ErrorCode::InvalidArguments, message).data(json!({ "reason": reason }))
}

pub(super) fn view(arguments: &Value) -> Result<WantedView, CallError> {
    match arguments.get("view").map(Value::as_str) {
        None | Some(Some("auto")) => Ok(WantedView::Shown(View::Auto)),
        Some(Some("page")) => Ok(WantedView::Shown(View::Page)),
        Some(Some("changes")) => Ok(WantedView::Shown(View::Changes)),
        Some(Some("none")) => Ok(WantedView::None),
        Some(_) => Err(invalid(
            "ArgumentInvalid",
            "view must be one of auto, page, changes, none",
        )),
    }
}

pub(super) fn format(arguments: &Value, standard: Format) -> Result<Format, CallError> {
    match arguments.get("format") {
        None | Some(Value::Null) => Ok(standard),
        Some(format) if format == "outline" => Ok(Format::Outline),
        Some(format) if format == "markdown" => Ok(Format::Markdown),
        Some(_) => Err(invalid(
            "ArgumentInvalid",
            "format must be one of outline, markdown",
        )),
    }
}

/// Returns whether the list continues after a failed action.
pub(super) fn on_error(arguments: &Value) -> Result<OnError, CallError> {
    match arguments.get("onError").map(Value::as_str) {
        None | Some(Some("stop")) => Ok(OnError::Stop),
        Some(Some("continue")) => Ok(OnError::Continue),
        Some(_) => Err(invalid(
            "ArgumentInvalid",
            "onError must be one of stop, continue",
        )),
    }
}

/// Returns a number of elements.
pub(super) fn count(
    arguments: &Value,
    name: &str,
    standard: usize,
    most: usize,
) -> Result<usize, CallError> {
    let Some(given) = arguments.get(name).filter(|given| !given.is_null()) else {
        return Ok(standard);
    };
    // A client may write a whole number with a fraction of 0.
    let whole = given.as_f64().filter(|number| number.fract() == 0.0);
    let in_range = whole.filter(|number| (1.0..=most as f64).contains(number));
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the number is whole and in the range"
    )]
    let count = in_range.map(|number| number as usize);
    count.ok_or_else(|| {
        let message = format!("{name} must be a whole number from 1 to {most}");
        invalid("ArgumentInvalid", message)
    })
}

pub(super) fn find(arguments: &Value) -> Result<Find, CallError> {
    let find = Find::from_value(&super::values::to_page(arguments));
    let is_given = |field: &Option<String>| field.as_ref().is_some_and(|text| !text.is_empty());
    let fields = [&find.role, &find.name, &find.text, &find.id, &find.test_id];
    if fields.into_iter().any(is_given) {
        return Ok(find);
    }
    Err(invalid(
        "ArgumentInvalid",
        "page_query needs at least one of role, name, text, id, testId",
    ))
}

/// Returns a handle, if one is given.
pub(super) fn reference<'a>(arguments: &'a Value, name: &str) -> Option<&'a str> {
    let reference = arguments.get(name).and_then(Value::as_str);
    reference.filter(|reference| !reference.is_empty())
}
