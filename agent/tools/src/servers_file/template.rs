//! Texts with variables: `${VAR}`, `${VAR:-default}`, `${env:VAR}`, `${file:/path}` and
//! `${secret:NAME}`.
//!
//! A `$` that is not followed by `{` stands for itself, and nothing escapes `${`. A problem is the
//! rest of a message that names the field; it quotes nothing of the text but names of variables.

use std::path::Path;

/// A part of a text with variables.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part<'a> {
    /// Text without variables.
    Text(&'a str),
    /// A variable of the environment. The default is for a variable that is not set or is empty.
    Variable {
        name: &'a str,
        default: Option<&'a str>,
    },
    /// The content of a file.
    File(&'a Path),
    /// A stored secret.
    Secret(&'a str),
}

/// The variables of editors that have names like environment variables.
const EDITOR_VARIABLES: [&str; 5] = [
    "userHome",
    "workspaceFolder",
    "workspaceFolderBasename",
    "workspaceRoot",
    "pathSeparator",
];

const ALLOWED: &str =
    "write `${VAR}`, `${VAR:-default}`, `${env:VAR}`, `${file:/path}` or `${secret:NAME}`";

/// Parses a text with variables.
pub(super) fn parse(text: &str) -> Result<Vec<Part<'_>>, String> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (reference, after) =
            (after.split_once('}')).ok_or("has a `${` without a `}`: write `${VAR}`")?;
        push_text(&mut parts, before);
        parts.push(parse_reference(reference)?);
        rest = after;
    }
    push_text(&mut parts, rest);
    Ok(parts)
}

fn push_text<'a>(parts: &mut Vec<Part<'a>>, text: &'a str) {
    if !text.is_empty() {
        parts.push(Part::Text(text));
    }
}

/// Parses what is between `${` and `}`.
fn parse_reference(reference: &str) -> Result<Part<'_>, String> {
    if reference.contains('{') {
        return Err(
            "has a `{` inside of a `${…}`, which is not allowed: a default is plain text, and \
             cannot contain another variable. Write `${VAR}`, and set the variable to the whole text"
                .to_owned(),
        );
    }
    let Some((scheme, rest)) = reference.split_once(':') else {
        return parse_variable(reference, None);
    };
    if let Some(default) = rest.strip_prefix('-') {
        return parse_variable(scheme, Some(default));
    }
    match scheme {
        "env" => parse_variable(rest, None),
        "file" if Path::new(rest).is_absolute() => Ok(Part::File(Path::new(rest))),
        "file" => Err(
            "has a `${file:…}` whose path is not absolute: write the whole path of the file"
                .to_owned(),
        ),
        "secret" if is_secret_name(rest) => Ok(Part::Secret(rest)),
        "secret" => Err(
            "has a `${secret:…}` without the name of a secret: letters, digits, `_`, `.` and `-`"
                .to_owned(),
        ),
        "input" => Err(
            "has a `${input:…}`, for which an editor asks its user: write `${VAR}` and set that \
             environment variable, or write `${file:/path}` with the path of a file that has the \
             value"
                .to_owned(),
        ),
        _ if is_variable_name(scheme) => Err(format!(
            "has a `${{{scheme}:…}}`, which is not known: {ALLOWED}"
        )),
        _ => Err(malformed()),
    }
}

fn parse_variable<'a>(name: &'a str, default: Option<&'a str>) -> Result<Part<'a>, String> {
    if EDITOR_VARIABLES.contains(&name) {
        return Err(format!(
            "has `${{{name}}}`, which only an editor knows: write the path itself, or an environment \
             variable such as `${{HOME}}`"
        ));
    }
    if !is_variable_name(name) {
        return Err(malformed());
    }
    Ok(Part::Variable { name, default })
}

fn malformed() -> String {
    format!(
        "has a `${{…}}` that is not the name of a variable: {ALLOWED}, with letters, digits and `_` \
         in the name"
    )
}

fn is_secret_name(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    !name.is_empty() && name.bytes().all(is_allowed)
}

fn is_variable_name(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    name.bytes().all(is_allowed)
        && name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variable<'a>(name: &'a str, default: Option<&'a str>) -> Part<'a> {
        Part::Variable { name, default }
    }

    #[test]
    fn a_text_has_plain_parts_variables_and_files() {
        let file = |path| Part::File(Path::new(path));
        for (text, expected) in [
            ("", vec![]),
            ("plain", vec![Part::Text("plain")]),
            ("${A}", vec![variable("A", None)]),
            ("${_a1}", vec![variable("_a1", None)]),
            ("${env:A}", vec![variable("A", None)]),
            ("${A:-b c:d}", vec![variable("A", Some("b c:d"))]),
            ("${A:-}", vec![variable("A", Some(""))]),
            ("${A:-$5}", vec![variable("A", Some("$5"))]),
            ("${env:-b}", vec![variable("env", Some("b"))]),
            ("${file:/run/a b}", vec![file("/run/a b")]),
            ("${secret:a.b-1}", vec![Part::Secret("a.b-1")]),
            ("${A}${B}", vec![variable("A", None), variable("B", None)]),
            (
                "<${A}>",
                vec![Part::Text("<"), variable("A", None), Part::Text(">")],
            ),
            ("$ $A $$ {A} }", vec![Part::Text("$ $A $$ {A} }")]),
            ("$${A}", vec![Part::Text("$"), variable("A", None)]),
        ] {
            assert_eq!(parse(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn invalid_variables_are_refused_with_a_reason() {
        for (text, words) in [
            ("${A", "`${` without a `}`"),
            ("${A:-${B}}", "a default is plain text"),
            ("${A:-${B}", "a default is plain text"),
            ("${A:-{}}", "a default is plain text"),
            ("${}", "not the name of a variable"),
            ("${hush hush}", "not the name of a variable"),
            ("${1A}", "not the name of a variable"),
            ("${A-b}", "not the name of a variable"),
            ("${:-b}", "not the name of a variable"),
            ("${env:}", "not the name of a variable"),
            ("${env:A:-b}", "write `${VAR}`, `${VAR:-default}`"),
            ("${h-u-s-h:b}", "not the name of a variable"),
            ("${input:key}", "asks its user: write `${VAR}`"),
            ("${userHome}/a", "`${userHome}`, which only an editor knows"),
            ("${workspaceFolder:-b}", "`${workspaceFolder}`, which only"),
            (
                "${workspaceFolder:b}",
                "`${workspaceFolder:…}`, which is not known",
            ),
            ("${command:hush}", "`${command:…}`, which is not known"),
            ("${A:=hush}", "`${A:…}`, which is not known"),
            ("${file:hush}", "write the whole path"),
            ("${file:~/hush}", "write the whole path"),
            ("${file:}", "write the whole path"),
            ("${secret:}", "without the name of a secret"),
            ("${secret:hush hush}", "without the name of a secret"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(
                error.contains(words) && !error.contains("hush"),
                "{text}: {error}"
            );
        }
    }
}
