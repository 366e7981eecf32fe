//! The definition of one server: its entry in the file, parsed.
//!
//! Entries are parsed by hand, because the errors of derived parsers quote the values that they
//! refuse, and those may be secrets.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use serde_json::{Map, Value};

use super::expansion::{ExpansionError, expand_text};
use super::names::{check_name, server_location};
use super::policy::ServerPolicy;
use super::template::{Part, parse};
use super::transport::{Field, ServerTransport};
use super::variables::Variables;

/// The definition of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerDefinition {
    /// How the server is reached. The texts still have their variables, such as `${TOKEN}`.
    pub transport: ServerTransport,
    /// How the agent may use the server.
    pub policy: ServerPolicy,
    /// The words with which messages refer to the server.
    location: String,
}

impl ServerDefinition {
    /// Parses the entry of a server. The error is a message for the operator.
    pub(super) fn parse(path: &Path, name: &str, entry: &Value) -> Result<Self, String> {
        let location = server_location(path, name);
        let message = |problem| format!("{location}: {problem}");
        check_name(name).map_err(message)?;
        let (transport, policy) = parse_entry(entry).map_err(message)?;
        Ok(Self {
            transport,
            policy,
            location,
        })
    }

    /// Returns the transport with all variables replaced by their values. The values themselves are
    /// not searched for variables.
    ///
    /// # Errors
    ///
    /// [`ExpansionError`] for the first variable without a value, the first file that cannot be
    /// used, or the first text that its values make invalid.
    pub(crate) fn expand(
        &self,
        variables: &dyn Variables,
    ) -> Result<ServerTransport, ExpansionError> {
        let mut transport = self.transport.clone();
        for (field, text) in transport.texts_mut() {
            *text = expand_text(field, text, variables).map_err(|problem| ExpansionError {
                location: self.location.clone(),
                field: field.to_string(),
                problem,
            })?;
        }
        Ok(transport)
    }
}

fn parse_entry(entry: &Value) -> Result<(ServerTransport, ServerPolicy), String> {
    let entry = entry.as_object().ok_or(
        "it must be an object with `command` for a program to start, or with `url` for an HTTP \
         endpoint",
    )?;
    let mut transport = parse_transport(entry)?;
    for (field, text) in transport.texts_mut() {
        check_text(field, text).map_err(|problem| format!("`{field}` {problem}"))?;
    }
    Ok((transport, ServerPolicy::parse(entry)?))
}

/// Checks the variables in a text, and if it has none, the text itself.
fn check_text(field: Field<'_>, text: &str) -> Result<(), String> {
    let parts = parse(text)?;
    if parts.iter().all(|part| matches!(part, Part::Text(_))) {
        field.check(text)?;
    }
    Ok(())
}

fn parse_transport(entry: &Map<String, Value>) -> Result<ServerTransport, String> {
    let declared = parse_text(entry, "type")?;
    let (command, url) = (parse_text(entry, "command")?, parse_text(entry, "url")?);
    let problem = match (declared.as_deref(), command, url) {
        (None | Some("stdio"), Some(command), None) => {
            return Ok(ServerTransport::Stdio {
                command,
                args: parse_args(entry)?,
                env: parse_texts(entry, "env", is_environment_name, "as `API_KEY`")?,
                cwd: parse_text(entry, "cwd")?,
            });
        }
        (None | Some("http" | "streamable-http" | "streamableHttp"), None, Some(url)) => {
            return Ok(ServerTransport::Http {
                url,
                headers: parse_texts(entry, "headers", is_header_name, "as `X-Api-Key`")?,
            });
        }
        (Some("sse"), ..) => {
            "its `type` is \"sse\", a transport that is deprecated since MCP 2025-03-26 and not \
             supported: write \"http\", and as `url` the server's URL for Streamable HTTP, which \
             often ends with /mcp in place of /sse"
        }
        (_, Some(_), Some(_)) => {
            "it has both `command` and `url`: keep `command` for a program to start, or `url` for \
             an HTTP endpoint"
        }
        (_, None, None) => {
            "it has neither `command` nor `url`: write `command` and `args` for a program to start, \
             or `url` for an HTTP endpoint"
        }
        (_, Some(_), None) => "its `type` must be \"stdio\", as it has `command`, or be absent",
        (_, None, Some(_)) => "its `type` must be \"http\", as it has `url`, or be absent",
    };
    Err(problem.to_owned())
}

/// Returns the value of a key. A value of `null`, which programs write for one that is absent, is
/// absent.
fn value_of<'a>(entry: &'a Map<String, Value>, key: &str) -> Option<&'a Value> {
    entry.get(key).filter(|value| !value.is_null())
}

fn parse_text(entry: &Map<String, Value>, key: &str) -> Result<Option<String>, String> {
    let value = value_of(entry, key);
    value.map(|value| string(value, key)).transpose()
}

fn parse_args(entry: &Map<String, Value>) -> Result<Vec<String>, String> {
    let Some(value) = value_of(entry, "args") else {
        return Ok(Vec::new());
    };
    let args = value.as_array();
    let args = args.ok_or("`args` must be a list of strings such as [\"-y\", \"some-server\"]")?;
    let args = args.iter().enumerate();
    args.map(|(index, value)| string(value, Field::Argument(index)))
        .collect()
}

fn parse_texts(
    entry: &Map<String, Value>,
    key: &str,
    is_name: fn(&str) -> bool,
    example: &str,
) -> Result<BTreeMap<String, String>, String> {
    let Some(value) = value_of(entry, key) else {
        return Ok(BTreeMap::new());
    };
    let texts = value.as_object();
    let texts = texts.ok_or_else(|| format!("`{key}` must be an object with strings"))?;
    let texts = texts.iter().map(|(name, value)| {
        if !is_name(name) {
            return Err(format!(
                "`{key}` has a name that is not allowed there: write one such {example}"
            ));
        }
        let text = string(value, format_args!("{key}.{name}"))?;
        Ok((name.clone(), text))
    });
    texts.collect()
}

fn string(value: &Value, field: impl fmt::Display) -> Result<String, String> {
    let text = value.as_str().map(str::to_owned);
    text.ok_or_else(|| format!("`{field}` must be a string: write it in quotes"))
}

/// Returns whether a process can have an environment variable of this name, and a message can show
/// it.
fn is_environment_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(|char: char| char == '=' || char.is_control())
}

/// Returns whether a name is a token, as the names of headers are (RFC 9110, section 5.6.2).
fn is_header_name(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(is_allowed)
}

#[cfg(test)]
mod tests;
