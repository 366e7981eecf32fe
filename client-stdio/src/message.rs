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

use crate::oversized::OversizedMessage;
use crate::shared_text::SharedText;

/// The id of a request, as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct RequestId(Arc<str>);

impl RequestId {
    pub(crate) fn from_json(value: &Value) -> Self {
        Self(value.to_string().into())
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// An object of which some fields are changed; the others stay as they were written.
pub(crate) type RawObject = IndexMap<String, Box<RawValue>>;

/// A request of either side.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) id: RequestId,
    pub(crate) method: Arc<str>,
    pub(crate) text: SharedText,
}

/// A message of either side.
#[derive(Debug, Clone)]
pub(crate) enum Message {
    Request(Request),
    Notification {
        method: Arc<str>,
        text: SharedText,
    },
    /// The end of a request. Without an id it answers something that could not be read.
    Response {
        id: Option<RequestId>,
        is_error: bool,
        text: SharedText,
    },
}

#[derive(Deserialize)]
struct MessageHead<'a> {
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
        let id = RequestId::from_json(&id.into());
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
    pub(crate) fn with_id(&self, id: &str) -> Option<Self> {
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
    pub(crate) fn parse(text: impl Into<String>) -> Result<Self, ParseError> {
        let text = to_single_line(text.into());
        // An array would do for the fields of a struct.
        if text.trim_start().starts_with('[') {
            return Err(ParseError::Batch);
        }
        let head: MessageHead<'_> =
            serde_json::from_str(&text).map_err(|error| parse_error(&error))?;
        let id = head.id.as_ref().map(RequestId::from_json);
        let method = head.method.map(|method| Arc::from(method.as_ref()));
        let is_error = head.error.is_some();
        let text = SharedText::from(text);
        Ok(match (id, method) {
            (Some(id), Some(method)) => Self::Request(Request { id, method, text }),
            (None, Some(method)) => Self::Notification { method, text },
            (None, None) if !is_error => return Err(ParseError::NotAMessage),
            (id, None) => Self::Response { id, is_error, text },
        })
    }

    /// Its text, on one line.
    pub(crate) fn text(&self) -> &SharedText {
        match self {
            Self::Request(Request { text, .. })
            | Self::Notification { text, .. }
            | Self::Response { text, .. } => text,
        }
    }

    /// The same, and the rest is not needed any more.
    pub(crate) fn into_text(self) -> SharedText {
        match self {
            Self::Request(Request { text, .. })
            | Self::Notification { text, .. }
            | Self::Response { text, .. } => text,
        }
    }
}

/// Text that is no message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ParseError {
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
    TooLong(OversizedMessage),
}

impl ParseError {
    /// The answer to it.
    pub(crate) fn to_response(&self) -> Message {
        let (code, id) = match self {
            Self::NotJson => (PARSE_ERROR, None),
            Self::NotAMessage | Self::Batch => (INVALID_REQUEST, None),
            Self::TooLong(message) => (INVALID_REQUEST, message.id.as_ref()),
        };
        error_response(id, code, &self.to_string(), None)
    }
}

fn parse_error(error: &serde_json::Error) -> ParseError {
    if error.is_data() {
        ParseError::NotAMessage
    } else {
        ParseError::NotJson
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
pub(crate) fn parse_result(text: &str) -> Option<Box<RawValue>> {
    let answer: WithResult = serde_json::from_str(text).ok()?;
    Some(answer.result)
}

/// A successful answer.
pub(crate) fn success_response(id: &RequestId, result: &(impl fmt::Display + ?Sized)) -> Message {
    Message::Response {
        id: Some(id.clone()),
        is_error: false,
        text: format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#).into(),
    }
}

/// A failed answer.
pub(crate) fn error_response(
    id: Option<&RequestId>,
    code: i64,
    message: &str,
    data: Option<Value>,
) -> Message {
    let mut error = serde_json::json!({ "code": code, "message": message });
    if let Some(data) = data {
        error["data"] = data;
    }
    let text = match id {
        Some(id) => format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#),
        None => format!(r#"{{"jsonrpc":"2.0","id":null,"error":{error}}}"#),
    };
    Message::Response {
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
pub(crate) fn response_with_id(text: SharedText, id: &RequestId) -> Message {
    let parsed = serde_json::from_str::<RawObject>(&text);
    let text = match (parsed, RawValue::from_string(id.to_string())) {
        (Ok(mut answer), Ok(id)) => {
            answer.insert("id".to_owned(), id);
            serde_json::to_string(&answer).unwrap_or_default().into()
        }
        _ => text,
    };
    Message::Response {
        id: Some(id.clone()),
        is_error: true,
        text,
    }
}

/// In JSON a line end stands between tokens only, where a space does as well.
fn to_single_line(text: String) -> String {
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
    fn the_fields_decide_the_kind_of_a_message() {
        let kind = |text: &str| match Message::parse(text) {
            Ok(Message::Request(_)) => "request",
            Ok(Message::Notification { .. }) => "notification",
            Ok(Message::Response { is_error: true, .. }) => "error",
            Ok(Message::Response { .. }) => "result",
            Err(ParseError::NotJson) => "not JSON",
            Err(ParseError::NotAMessage) => "not a message",
            Err(ParseError::Batch) => "batch",
            Err(ParseError::TooLong(_)) => "too long",
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
    fn a_response_can_get_another_id() {
        let id = RequestId::from_json(&7.into());
        let answer = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-1}}"#.to_owned();
        let answer = response_with_id(answer.into(), &id);
        assert_eq!(
            &**answer.text(),
            r#"{"jsonrpc":"2.0","id":7,"error":{"code":-1}}"#
        );
    }
}
