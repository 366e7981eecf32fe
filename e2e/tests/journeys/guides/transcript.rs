//! Conversations of an MCP client with the bridge, as they are written in guides.
//!
//! ```text
//! → tools/call {"name": "ask"}                   the client sends a request
//! ← elicitation/create {"message": "Sure?"}      it receives a request or a notification of the server
//! → {"action": "accept"}                         its answer to the server's request
//! ← {"content": [{"type": "text", "text": "…"}]} the answer to its own request
//! ← error {"code": -32602}                       or a JSON-RPC error
//! → notifications/cancelled                      it cancels its request
//! page document.title === "done"                 runs in the page; repeated while it is `false`
//! person fills "Name" with "Ada"                 the person at the page writes into a field
//! person presses "Send"                          or presses a button
//! ```
//!
//! Lines that begin with a space continue the previous line. [`super::matching`] describes how
//! answers are compared. After `mcp`, a block may have a protocol version (by default 2025-11-25)
//! and `without capabilities`, for a client that can only call tools.

use std::fmt;

use e2e::Era;
use serde_json::Value;

/// A conversation.
pub(super) struct Transcript {
    pub(super) era: Era,
    /// Whether the client supports requests of the server.
    pub(super) capable: bool,
    pub(super) lines: Vec<Line>,
}

/// A line of a conversation.
pub(super) enum Line {
    Request(String, Value),
    Cancel(Value),
    Reply(Answer),
    ServerMessage(String, Option<Value>),
    ExpectedAnswer(Answer),
    Page(String),
    PersonFills(String, String),
    PersonPresses(String),
}

/// A result or a JSON-RPC error object.
pub(super) type Answer = Result<Value, Value>;

impl Transcript {
    /// Parses a block; `details` is what follows its language.
    pub(super) fn parse(details: &str, body: &str) -> Self {
        let (details, capable) = match details.strip_suffix("without capabilities") {
            Some(rest) => (rest.trim(), false),
            None => (details, true),
        };
        let era = match details {
            "" | "2025-11-25" => Era::Initialize,
            "2026-07-28" => Era::Discover,
            other => panic!("unknown details of a conversation: {other:?}"),
        };
        let lines = join_continued_lines(body)
            .iter()
            .map(|line| Line::parse(line))
            .collect();
        Self {
            era,
            capable,
            lines,
        }
    }
}

/// Joins continued lines with the line that they continue.
fn join_continued_lines(body: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in body.lines().filter(|line| !line.trim().is_empty()) {
        match lines.last_mut() {
            Some(last) if line.starts_with(' ') => {
                last.push('\n');
                last.push_str(line);
            }
            _ => lines.push(line.to_owned()),
        }
    }
    lines
}

impl Line {
    fn parse(line: &str) -> Self {
        let (direction, rest) = line
            .split_once(' ')
            .unwrap_or_else(|| panic!("invalid line: {line:?}"));
        let rest = rest.trim();
        match direction {
            "page" => Self::Page(rest.to_owned()),
            "person" => match rest.split('"').collect::<Vec<_>>()[..] {
                ["presses ", name, ""] => Self::PersonPresses(name.to_owned()),
                ["fills ", label, " with ", text, ""] => {
                    Self::PersonFills(label.to_owned(), text.to_owned())
                }
                _ => panic!("invalid line: {line:?}"),
            },
            "→" if rest.starts_with('{') => Self::Reply(Ok(json(rest))),
            "→" => match method_and_params(rest) {
                ("error", Some(error)) => Self::Reply(Err(error)),
                ("notifications/cancelled", params) => Self::Cancel(params.unwrap_or_default()),
                (method, params) => Self::Request(method.to_owned(), params.unwrap_or_default()),
            },
            "←" if rest.starts_with('{') => Self::ExpectedAnswer(Ok(json(rest))),
            "←" => match method_and_params(rest) {
                ("error", Some(error)) => Self::ExpectedAnswer(Err(error)),
                (method, params) => Self::ServerMessage(method.to_owned(), params),
            },
            _ => panic!("invalid line: {line:?}"),
        }
    }
}

fn method_and_params(text: &str) -> (&str, Option<Value>) {
    match text.split_once(char::is_whitespace) {
        Some((method, params)) => (method, Some(json(params))),
        None => (text, None),
    }
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in the guide: {text}"))
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request(method, params) => write!(f, "→ {method} {params}"),
            Self::Cancel(params) => write!(f, "→ notifications/cancelled {params}"),
            Self::Reply(answer) => write!(f, "→ {answer:?}"),
            Self::ServerMessage(method, params) => {
                write!(f, "← {method} {}", params.clone().unwrap_or_default())
            }
            Self::ExpectedAnswer(answer) => write!(f, "← {answer:?}"),
            Self::Page(script) => write!(f, "page {script}"),
            Self::PersonFills(label, text) => {
                write!(f, "person fills {label:?} with {text:?}")
            }
            Self::PersonPresses(name) => write!(f, "person presses {name:?}"),
        }
    }
}
