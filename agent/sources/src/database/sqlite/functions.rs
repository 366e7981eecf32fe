//! Functions that take the place of those of SQLite whose time grows with the product of two lengths.
//!
//! Nothing stops SQLite within a function: `trim(x, y)` of two texts of 1 MiB would take an hour.

use std::borrow::Cow;
use std::collections::HashSet;

use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error, Result, ffi};

use super::connection::MAX_VALUE_BYTES;

/// Replaces `instr`, `replace`, and `trim` and `unhex` with two arguments.
pub(super) fn replace_quadratic(connection: &Connection) -> Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8
        | FunctionFlags::SQLITE_DETERMINISTIC
        | FunctionFlags::SQLITE_INNOCUOUS;
    connection.create_scalar_function("instr", 2, flags, |it| instr(it))?;
    connection.create_scalar_function("replace", 3, flags, |it| replace(it))?;
    connection.create_scalar_function("trim", 2, flags, |it| trim(it, true, true))?;
    connection.create_scalar_function("ltrim", 2, flags, |it| trim(it, true, false))?;
    connection.create_scalar_function("rtrim", 2, flags, |it| trim(it, false, true))?;
    connection.create_scalar_function("unhex", 2, flags, |it| unhex(it))
}

/// Returns the position of the second argument in the first, from 1: in characters, or in bytes if both
/// are BLOBs.
fn instr(context: &Context<'_>) -> Result<Option<usize>> {
    let is_blob = |index| matches!(context.get_raw(index), ValueRef::Blob(_));
    let text = if is_blob(0) && is_blob(1) {
        latin1
    } else {
        text
    };
    let (Some(text), Some(part)) = (text(context, 0), text(context, 1)) else {
        return Ok(None);
    };
    let position = text.find(&*part);
    Ok(Some(
        position.map_or(0, |at| text[..at].chars().count() + 1),
    ))
}

fn replace(context: &Context<'_>) -> Result<Option<String>> {
    let [text, from, to] = [text(context, 0), text(context, 1), text(context, 2)];
    let (Some(text), Some(from), Some(to)) = (text, from, to) else {
        return Ok(None);
    };
    if from.is_empty() {
        return Ok(Some(text.into_owned()));
    }
    let count = text.matches(&*from).count();
    let size = text.len() - count * from.len() + count * to.len();
    if size > MAX_VALUE_BYTES {
        return Err(Error::SqliteFailure(
            ffi::Error::new(ffi::SQLITE_TOOBIG),
            None,
        ));
    }
    Ok(Some(text.replace(&*from, &to)))
}

/// Removes the characters of the second argument from the start and the end of the first.
fn trim(context: &Context<'_>, start: bool, end: bool) -> Result<Option<String>> {
    let (Some(text), Some(set)) = (text(context, 0), text(context, 1)) else {
        return Ok(None);
    };
    let set: HashSet<char> = set.chars().collect();
    let mut rest: &str = &text;
    if start {
        rest = rest.trim_start_matches(|it| set.contains(&it));
    }
    if end {
        rest = rest.trim_end_matches(|it| set.contains(&it));
    }
    Ok(Some(rest.to_owned()))
}

fn unhex(_: &Context<'_>) -> Result<Option<String>> {
    let reason = "unhex() is only available with one argument";
    Err(Error::UserFunctionError(reason.into()))
}

/// Returns an argument as text, as SQLite does.
fn text<'a>(context: &'a Context<'_>, index: usize) -> Option<Cow<'a, str>> {
    match context.get_raw(index) {
        ValueRef::Null => None,
        ValueRef::Integer(integer) => Some(integer.to_string().into()),
        ValueRef::Real(real) => Some(real_text(real).into()),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(String::from_utf8_lossy(bytes)),
    }
}

/// Returns the bytes of a BLOB as one character each.
fn latin1<'a>(context: &'a Context<'_>, index: usize) -> Option<Cow<'a, str>> {
    let bytes = context.get_raw(index).as_blob().ok()?;
    Some(bytes.iter().map(|byte| char::from(*byte)).collect())
}

/// Returns the text of a number: `1.5`, `1.0e+20`. SQLite may write a last digit more.
fn real_text(real: f64) -> String {
    if real.is_infinite() {
        return if real > 0.0 { "Inf" } else { "-Inf" }.to_owned();
    }
    let text = format!("{real:?}");
    let Some((digits, exponent)) = text.split_once('e') else {
        return text;
    };
    let point = if digits.contains('.') { "" } else { ".0" };
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(exponent) => ('-', exponent),
        None => ('+', exponent),
    };
    format!("{digits}{point}e{sign}{exponent:0>2}")
}
