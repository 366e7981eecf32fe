//! JSON-RPC messages that keep their text: what is passed on is what came, byte for byte. Only what
//! the pump has to know is read from it.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use indexmap::IndexMap;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::oversized::Oversized;
use crate::text::Text;

/// The id of a request, as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Id(Arc<str>);

impl Id {
    pub(crate) fn new(value: &Value) -> Self {
        Self(value.to_string().into())
    }
}

impl fmt::Display for Id {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// An object of which some fields are changed; the others stay as they were written.
pub(crate) type Raw = IndexMap<String, Box<RawValue>>;

/// A request of either side.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) id: Id,
    pub(crate) method: Arc<str>,
    pub(crate) text: Text,
}

/// A message of either side.
#[derive(Debug, Clone)]
pub(crate) enum Message {
    Request(Request),
    Notification {
        method: Arc<str>,
        text: Text,
    },
    /// The end of a request. Without an id it answers something that could not be read.
    Answer {
        id: Option<Id>,
        is_error: bool,
        text: Text,
    },
}

#[derive(Deserialize)]
struct Head<'a> {
    #[serde(default)]
    id: Option<Value>,
    #[serde(default, borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(default)]
    error: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct WithParams<T> {
    params: Option<T>,
}

#[derive(Deserialize)]
struct WithResult {
    result: Box<RawValue>,
}

impl Request {
    /// A request of our own.
    pub(crate) fn new(id: &str, method: &str, params: &str) -> Self {
        let id = Id::new(&id.into());
        let name = Value::from(method);
        let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{name},"params":{params}}}"#);
        Self {
            id,
            method: method.into(),
            text: text.into(),
        }
    }

    /// What one wants to know of the parameters; `None` if they are not of that shape.
    pub(crate) fn params<'a, T: Deserialize<'a>>(&'a self) -> Option<T> {
        params(&self.text)
    }

    /// The same request under another id.
    pub(crate) fn under(&self, id: &str) -> Option<Self> {
        let params: Box<RawValue> = self.params()?;
        Some(Self::new(id, &self.method, params.get()))
    }

    pub(crate) fn is_listen(&self) -> bool {
        &*self.method == "subscriptions/listen"
    }
}

impl Message {
    /// Reads a message.
    ///
    /// # Errors
    /// What is wrong with the text, and the code of JSON-RPC for it.
    pub(crate) fn parse(text: impl Into<String>) -> Result<Self, Malformed> {
        let text = on_one_line(text.into());
        // An array would do for the fields of a struct.
        if text.trim_start().starts_with('[') {
            return Err(Malformed::Batch);
        }
        let head: Head<'_> = serde_json::from_str(&text).map_err(|error| malformed(&error))?;
        let id = head.id.as_ref().map(Id::new);
        let method = head.method.map(|method| Arc::from(method.as_ref()));
        let is_error = head.error.is_some();
        let text = Text::from(text);
        Ok(match (id, method) {
            (Some(id), Some(method)) => Self::Request(Request { id, method, text }),
            (None, Some(method)) => Self::Notification { method, text },
            (None, None) if !is_error => return Err(Malformed::NotAMessage),
            (id, None) => Self::Answer { id, is_error, text },
        })
    }

    /// Its text, on one line.
    pub(crate) fn text(&self) -> &Text {
        match self {
            Self::Request(Request { text, .. })
            | Self::Notification { text, .. }
            | Self::Answer { text, .. } => text,
        }
    }

    /// The same, and the rest is not needed any more.
    pub(crate) fn into_text(self) -> Text {
        match self {
            Self::Request(Request { text, .. })
            | Self::Notification { text, .. }
            | Self::Answer { text, .. } => text,
        }
    }
}

/// Text that is no message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Malformed {
    #[error("not JSON: each line must be one message")]
    NotJson,
    #[error("not a JSON-RPC message: it needs a method, or an id with a result or an error")]
    NotAMessage,
    #[error("batches are not supported: send each message on a line of its own")]
    Batch,
    #[error(
        "the message has {} bytes, and {} is the limit here: send less, or raise \
         MCP_WEB_MAX_MESSAGE_BYTES in the configuration of this MCP server",
        .0.bytes,
        .0.limit
    )]
    TooLong(Oversized),
}

impl Malformed {
    /// The answer to it.
    pub(crate) fn answer(&self) -> Message {
        let (code, id) = match self {
            Self::NotJson => (PARSE_ERROR, None),
            Self::NotAMessage | Self::Batch => (INVALID_REQUEST, None),
            Self::TooLong(message) => (INVALID_REQUEST, message.id.as_ref()),
        };
        error(id, code, &self.to_string(), None)
    }
}

fn malformed(error: &serde_json::Error) -> Malformed {
    if error.is_data() {
        Malformed::NotAMessage
    } else {
        Malformed::NotJson
    }
}

pub(crate) const PARSE_ERROR: i64 = -32700;
pub(crate) const INVALID_REQUEST: i64 = -32600;
pub(crate) const INTERNAL_ERROR: i64 = -32603;

/// What one wants to know of a message's parameters; `None` if they are not of that shape.
pub(crate) fn params<'a, T: Deserialize<'a>>(text: &'a str) -> Option<T> {
    serde_json::from_str::<WithParams<T>>(text).ok()?.params
}

/// The result in an answer, word for word.
pub(crate) fn result_of(text: &str) -> Option<Box<RawValue>> {
    let answer: WithResult = serde_json::from_str(text).ok()?;
    Some(answer.result)
}

/// A successful answer.
pub(crate) fn response(id: &Id, result: &(impl fmt::Display + ?Sized)) -> Message {
    Message::Answer {
        id: Some(id.clone()),
        is_error: false,
        text: format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#).into(),
    }
}

/// A failed answer.
pub(crate) fn error(id: Option<&Id>, code: i64, message: &str, data: Option<Value>) -> Message {
    let mut error = serde_json::json!({ "code": code, "message": message });
    if let Some(data) = data {
        error["data"] = data;
    }
    let text = match id {
        Some(id) => format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#),
        None => format!(r#"{{"jsonrpc":"2.0","id":null,"error":{error}}}"#),
    };
    Message::Answer {
        id: id.cloned(),
        is_error: true,
        text: text.into(),
    }
}

/// A notification of our own.
pub(crate) fn notification(method: &str, params: &Value) -> Message {
    let message = serde_json::json!({ "jsonrpc": "2.0", "method": method, "params": params });
    Message::Notification {
        method: method.into(),
        text: message.to_string().into(),
    }
}

/// The answer under another id; unchanged if it cannot be read.
pub(crate) fn readdressed(text: Text, id: &Id) -> Message {
    let parsed = serde_json::from_str::<Raw>(&text);
    let text = match (parsed, RawValue::from_string(id.to_string())) {
        (Ok(mut answer), Ok(id)) => {
            answer.insert("id".to_owned(), id);
            serde_json::to_string(&answer).unwrap_or_default().into()
        }
        _ => text,
    };
    Message::Answer {
        id: Some(id.clone()),
        is_error: true,
        text,
    }
}

/// In JSON a line end stands between tokens only, where a space does as well.
fn on_one_line(text: String) -> String {
    if text.contains(['\n', '\r']) {
        text.replace(['\n', '\r'], " ")
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_kept() {
        let text = r#"{"jsonrpc":"2.0","extra":[1.50,12345678901234567890123],"id":"a","method":"x","params":{"b":"\ud800","a":1}}"#;
        let Ok(Message::Request(request)) = Message::parse(text) else {
            panic!("a request")
        };
        assert_eq!(&*request.text, text);
        assert_eq!(&*request.method, "x");
        assert_eq!(request.id.to_string(), r#""a""#);
    }

    #[test]
    fn a_message_is_told_by_its_fields() {
        let kind = |text: &str| match Message::parse(text) {
            Ok(Message::Request(_)) => "request",
            Ok(Message::Notification { .. }) => "notification",
            Ok(Message::Answer { is_error: true, .. }) => "error",
            Ok(Message::Answer { .. }) => "result",
            Err(Malformed::NotJson) => "not JSON",
            Err(Malformed::NotAMessage) => "not a message",
            Err(Malformed::Batch) => "batch",
            Err(Malformed::TooLong(_)) => "too long",
        };
        for (text, expected) in [
            (r#"{"id":1,"method":"m"}"#, "request"),
            (r#"{"method":"m"}"#, "notification"),
            (r#"{"id":1,"result":null}"#, "result"),
            (r#"{"id":1,"error":{}}"#, "error"),
            (r#"{"id":null,"error":{}}"#, "error"),
            ("{\"id\":1,\n\"result\":{}\r\n}", "result"),
            (r#"{"jsonrpc":"2.0"}"#, "not a message"),
            (r#"{"method":7}"#, "not a message"),
            (r#"[{"method":"m"}]"#, "batch"),
            ("7", "not a message"),
            (r#"{"method":"#, "not JSON"),
            ("hello", "not JSON"),
        ] {
            assert_eq!(kind(text), expected, "{text}");
        }
    }

    #[test]
    fn ids_are_equal_however_they_are_written() {
        let id = |text: &str| match Message::parse(text) {
            Ok(Message::Request(request)) => request.id,
            other => panic!("{other:?}"),
        };
        let plain = id(r#"{"id":"ä","method":"m"}"#);
        assert_eq!(plain, id(r#"{ "method" : "m", "id" : "\u00e4" }"#));
        assert_ne!(
            id(r#"{"id":"1","method":"m"}"#),
            id(r#"{"id":1,"method":"m"}"#)
        );
    }

    #[test]
    fn an_answer_can_be_addressed_anew() {
        let id = Id::new(&7.into());
        let answer = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-1}}"#.to_owned();
        let answer = readdressed(answer.into(), &id);
        assert_eq!(
            &**answer.text(),
            r#"{"jsonrpc":"2.0","id":7,"error":{"code":-1}}"#
        );
    }
}
