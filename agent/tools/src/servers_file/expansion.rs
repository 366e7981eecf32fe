//! Replacement of the variables in a text by their values.

use std::path::PathBuf;

use super::template::{Part, parse};
use super::transport::Field;
use super::variables::Variables;

/// An error in the replacement of a server's variables by their values. The message names the server,
/// the field and the variable, and never shows a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{location}: `{field}` {problem}")]
pub(crate) struct ExpansionError {
    /// The server and its file, in words.
    pub(super) location: String,
    /// The field of the entry, such as `env.TOKEN`.
    pub(super) field: String,
    /// The problem of the variable.
    pub(crate) problem: ExpansionProblem,
}

/// Why the variables in a text cannot be replaced by their values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ExpansionProblem {
    /// An environment variable is not set, and has no default.
    #[error(
        "needs the environment variable `{0}`, which is not set: set it for this program, or write \
         a default as in `${{{0}:-default}}`"
    )]
    MissingVariable(String),
    /// A file cannot be used, for the reason in the second field.
    #[error(
        "needs the file {path}, which cannot be used: {reason}. Create it as a text file that this \
         program may read, or correct the path",
        path = .0.display(), reason = .1
    )]
    UnusableFile(PathBuf, String),
    /// No secret has this name.
    #[error("needs the secret `{0}`, which is not stored: `mcp-web agent secrets set {0}`")]
    MissingSecret(String),
    /// A secret cannot be used, for the reason in the second field.
    #[error("needs the secret `{0}`, which cannot be used: {1}")]
    UnusableSecret(String, String),
    /// The text with the values is invalid. The field describes valid texts.
    #[error("{0} (with the values of its variables)")]
    InvalidText(String),
}

/// Replaces the variables in a text by their values, and checks the result. The values are not
/// searched for variables.
pub(super) fn expand_text(
    field: Field<'_>,
    text: &str,
    variables: &dyn Variables,
) -> Result<String, ExpansionProblem> {
    let parts = parse(text).map_err(ExpansionProblem::InvalidText)?;
    let values = parts.into_iter().map(|part| part_value(part, variables));
    let expanded = values.collect::<Result<String, _>>()?;
    let checked = field.check(&expanded);
    checked.map_err(|problem| ExpansionProblem::InvalidText(problem.to_owned()))?;
    Ok(expanded)
}

fn part_value(part: Part<'_>, variables: &dyn Variables) -> Result<String, ExpansionProblem> {
    match part {
        Part::Text(text) => Ok(text.to_owned()),
        Part::Variable { name, default } => {
            let value = variables.variable(name);
            // As in shells, an empty variable has its default too.
            let value = value.filter(|value| default.is_none() || !value.is_empty());
            value
                .or_else(|| default.map(str::to_owned))
                .ok_or_else(|| ExpansionProblem::MissingVariable(name.to_owned()))
        }
        Part::Secret(name) => match variables.secret(name) {
            Ok(Some(value)) => Ok(value),
            Ok(None) => Err(ExpansionProblem::MissingSecret(name.to_owned())),
            Err(reason) => Err(ExpansionProblem::UnusableSecret(name.to_owned(), reason)),
        },
        Part::File(path) => match variables.file(path) {
            Ok(content) => Ok(without_line_end(&content).to_owned()),
            Err(reason) => Err(ExpansionProblem::UnusableFile(path.to_owned(), reason)),
        },
    }
}

/// Returns a text without the line end that editors and `echo` add.
fn without_line_end(text: &str) -> &str {
    let text = text.strip_suffix('\n').unwrap_or(text);
    text.strip_suffix('\r').unwrap_or(text)
}
