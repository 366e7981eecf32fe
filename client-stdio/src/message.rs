//! JSON-RPC messages. A message stores its text, so that it is forwarded byte for byte; only the
//! fields that the proxy needs are parsed.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use indexmap::IndexMap;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::oversized::OversizedMessage;
use crate::request_id::RequestId;
use crate::shared_text::SharedText;

/// The error code of a message that is not JSON (JSON-RPC 2.0, section 5.1).
pub(crate) const PARSE_ERROR: i64 = -32700;
/// The error code of a message that is JSON and cannot be accepted.
pub(crate) const INVALID_REQUEST: i64 = -32600;
/// The error code of a request that the proxy could not complete.
pub(crate) const INTERNAL_ERROR: i64 = -32603;
/// The error code of a request whose headers do not match its body. It was not executed.
pub(crate) const HEADER_MISMATCH: i64 = -32020;
/// The error code of a request that names a version of MCP that is not supported.
pub(crate) const UNSUPPORTED_VERSION: i64 = -32022;

/// A JSON object whose values are not parsed. Fields can be replaced while all others stay
/// unchanged.
pub(crate) type RawObject = IndexMap<String, Box<RawValue>>;

/// A request of the client or of the bridge.
#[derive(Debug, Clone)]
pub(crate) struct JsonRpcRequest {
    pub(crate) id: RequestId,
    pub(crate) method: Arc<str>,
    /// The whole message.
    pub(crate) text: SharedText,
}

/// A message of the client or of the bridge.
#[derive(Debug, Clone)]
pub(crate) enum JsonRpcMessage {
    Request(JsonRpcRequest),
    Notification {
        method: Arc<str>,
        text: SharedText,
    },
    /// The result or the error of a request. An error without an id answers a message that the
    /// other side could not parse.
    Response {
        id: Option<RequestId>,
        is_error: bool,
        text: SharedText,
    },
}

/// The fields that distinguish the kinds of messages.
#[derive(Deserialize)]
struct MessageHead<'a> {
    #[serde(default)]
    id: Option<Value>,
    #[serde(default, borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(default)]
    error: Option<IgnoredAny>,
}

impl JsonRpcRequest {
    /// Creates a request of our own. `params` is JSON.
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

    /// Parses the parameters; `None` if they do not have the form of `T`.
    pub(crate) fn params<'a, T: Deserialize<'a>>(&'a self) -> Option<T> {
        params(&self.text)
    }

    /// Copies the method and the parameters into a request with another id; `None` if there are no
    /// parameters.
    pub(crate) fn with_id(&self, id: &str) -> Option<Self> {
        let params: Box<RawValue> = self.params()?;
        Some(Self::new(id, &self.method, params.get()))
    }

    /// Returns whether this is a request for a list, which depends on the pages of the bridge.
    pub(crate) fn is_list(&self) -> bool {
        self.method.ends_with("/list")
    }

    /// Returns whether this is a `subscriptions/listen`, which stays open until it is cancelled.
    pub(crate) fn is_listen(&self) -> bool {
        &*self.method == "subscriptions/listen"
    }
}

impl JsonRpcMessage {
    /// Parses a message.
    ///
    /// # Errors
    /// Returns an error when the text is not one JSON-RPC message.
    pub(crate) fn parse(text: impl Into<String>) -> Result<Self, ParseError> {
        let text = to_single_line(text.into());
        // serde would also accept an array as the fields of a struct.
        if text.trim_start().starts_with('[') {
            return Err(ParseError::Batch);
        }
        let head: MessageHead<'_> =
            serde_json::from_str(&text).map_err(|error| ParseError::from_json_error(&error))?;
        let id = head.id.as_ref().map(RequestId::from_json);
        let method = head.method.map(|method| Arc::from(method.as_ref()));
        let is_error = head.error.is_some();
        let text = SharedText::from(text);
        Ok(match (id, method) {
            (Some(id), Some(method)) => Self::Request(JsonRpcRequest { id, method, text }),
            (None, Some(method)) => Self::Notification { method, text },
            (None, None) if !is_error => return Err(ParseError::NotAMessage),
            (id, None) => Self::Response { id, is_error, text },
        })
    }

    /// Returns the whole message, on one line.
    pub(crate) fn text(&self) -> &SharedText {
        match self {
            Self::Request(JsonRpcRequest { text, .. })
            | Self::Notification { text, .. }
            | Self::Response { text, .. } => text,
        }
    }
}

/// The reason why a text is not a message that can be forwarded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ParseError {
    #[error("not JSON: each line must be one message")]
    NotJson,
    #[error("not a JSON-RPC message: it needs a method, or an id with a result or an error")]
    NotAMessage,
    #[error("batches are not supported: send each message on a separate line")]
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
    fn from_json_error(error: &serde_json::Error) -> Self {
        if error.is_data() {
            Self::NotAMessage
        } else {
            Self::NotJson
        }
    }

    /// Returns the error response to the text.
    pub(crate) fn to_response(&self) -> JsonRpcMessage {
        let (code, id) = match self {
            Self::NotJson => (PARSE_ERROR, None),
            Self::NotAMessage | Self::Batch => (INVALID_REQUEST, None),
            Self::TooLong(message) => (INVALID_REQUEST, message.id.as_ref()),
        };
        error_response(id, code, &self.to_string(), None)
    }
}

/// Parses the parameters of a message; `None` if they do not have the form of `T`.
pub(crate) fn params<'a, T: Deserialize<'a>>(text: &'a str) -> Option<T> {
    #[derive(Deserialize)]
    struct WithParams<T> {
        params: Option<T>,
    }
    serde_json::from_str::<WithParams<T>>(text).ok()?.params
}

/// Returns the unparsed result of a response.
pub(crate) fn parse_result(text: &str) -> Option<Box<RawValue>> {
    #[derive(Deserialize)]
    struct WithResult {
        result: Box<RawValue>,
    }
    let response: WithResult = serde_json::from_str(text).ok()?;
    Some(response.result)
}

/// Returns the code of an error response, or `None` if the text is anything else.
pub(crate) fn error_code(text: &str) -> Option<i64> {
    #[derive(Deserialize)]
    struct WithError {
        error: ErrorObject,
    }
    #[derive(Deserialize)]
    struct ErrorObject {
        code: i64,
    }
    let response: WithError = serde_json::from_str(text).ok()?;
    Some(response.error.code)
}

/// Creates a successful response. `result` is written as JSON.
pub(crate) fn success_response(
    id: &RequestId,
    result: &(impl fmt::Display + ?Sized),
) -> JsonRpcMessage {
    JsonRpcMessage::Response {
        id: Some(id.clone()),
        is_error: false,
        text: format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#).into(),
    }
}

/// Creates an error response. Without an id it has the id null.
pub(crate) fn error_response(
    id: Option<&RequestId>,
    code: i64,
    message: &str,
    data: Option<Value>,
) -> JsonRpcMessage {
    let mut error = serde_json::json!({ "code": code, "message": message });
    if let Some(data) = data {
        error["data"] = data;
    }
    let text = match id {
        Some(id) => format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#),
        None => format!(r#"{{"jsonrpc":"2.0","id":null,"error":{error}}}"#),
    };
    JsonRpcMessage::Response {
        id: id.cloned(),
        is_error: true,
        text: text.into(),
    }
}

/// Creates a notification.
pub(crate) fn notification(method: &str, params: &Value) -> JsonRpcMessage {
    let message = serde_json::json!({ "jsonrpc": "2.0", "method": method, "params": params });
    JsonRpcMessage::Notification {
        method: method.into(),
        text: message.to_string().into(),
    }
}

/// Creates a `notifications/cancelled` for a request.
pub(crate) fn cancel_notification(id: &RequestId, reason: &str) -> JsonRpcMessage {
    let method = "notifications/cancelled";
    let reason = Value::from(reason);
    let text = format!(
        r#"{{"jsonrpc":"2.0","method":"{method}","params":{{"requestId":{id},"reason":{reason}}}}}"#
    );
    JsonRpcMessage::Notification {
        method: method.into(),
        text: text.into(),
    }
}

/// Replaces the id of an error response. The text stays unchanged if it cannot be parsed.
pub(crate) fn response_with_id(text: SharedText, id: &RequestId) -> JsonRpcMessage {
    let parsed = serde_json::from_str::<RawObject>(&text);
    let text = match (parsed, RawValue::from_string(id.to_string())) {
        (Ok(mut response), Ok(id)) => {
            response.insert("id".to_owned(), id);
            serde_json::to_string(&response).unwrap_or_default().into()
        }
        _ => text,
    };
    JsonRpcMessage::Response {
        id: Some(id.clone()),
        is_error: true,
        text,
    }
}

/// Replaces line ends by spaces. Both can only be between the tokens of JSON, where they are
/// equivalent.
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
    fn the_text_of_a_message_is_unchanged() {
        let text = r#"{"jsonrpc":"2.0","extra":[1.50,12345678901234567890123],"id":"a","method":"x","params":{"b":"\ud800","a":1}}"#;
        let Ok(JsonRpcMessage::Request(request)) = JsonRpcMessage::parse(text) else {
            panic!("a request")
        };
        assert_eq!(&*request.text, text);
        assert_eq!(&*request.method, "x");
        assert_eq!(request.id.to_string(), r#""a""#);
    }

    #[test]
    fn the_fields_decide_the_kind_of_a_message() {
        let kind = |text: &str| match JsonRpcMessage::parse(text) {
            Ok(JsonRpcMessage::Request(_)) => "request",
            Ok(JsonRpcMessage::Notification { .. }) => "notification",
            Ok(JsonRpcMessage::Response { is_error: true, .. }) => "error",
            Ok(JsonRpcMessage::Response { .. }) => "result",
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
    fn the_id_of_an_error_response_is_replaced() {
        let id = RequestId::from_json(&7.into());
        let text = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-1}}"#.to_owned();
        let response = response_with_id(text.into(), &id);
        assert_eq!(
            &**response.text(),
            r#"{"jsonrpc":"2.0","id":7,"error":{"code":-1}}"#
        );
    }
}
