//! JSON-RPC as mcp-web 0.1 uses it: one message per request, and HTTP 200 for errors.

use std::borrow::Cow;

use bridge_protocol::{ErrorCode, present};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::json_text::decode_string;

/// The response to a request, which the HTTP route converts to a status and a body.
#[derive(Debug)]
pub enum Reply {
    /// Status 200 with a JSON-RPC message. `mcp_session` is the id of the MCP session that the
    /// request opened.
    Message {
        body: Bytes,
        mcp_session: Option<String>,
    },
    /// Status 200 with the JSON-RPC error of a message that is invalid, or that its sender is not
    /// allowed to send.
    Rejected { body: Bytes, code: ErrorCode },
    /// Status 202 with an empty body.
    Accepted,
    /// Status 404: the MCP session does not exist.
    NoSuchMcpSession,
}

/// A message of a client. A field of the wrong type counts as absent.
#[derive(Debug, Default)]
pub struct CompatMessage<'a> {
    /// The id as the client wrote it. It is only repeated in the response: two concurrent calls may
    /// have the same id.
    pub id: Option<&'a RawValue>,
    pub method: Cow<'a, str>,
    pub params: Params<'a>,
}

/// The parameters of a request that this bridge uses.
#[derive(Debug, Default, Deserialize)]
pub struct Params<'a> {
    #[serde(borrow, default)]
    name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    uri: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub arguments: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "_meta")]
    meta: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "clientInfo")]
    client: Option<&'a RawValue>,
}

/// The `_meta` of a request.
#[derive(Debug, Default, Deserialize)]
pub struct Meta<'a> {
    /// The session under the key of this bridge, which `/mcp` uses too.
    #[serde(borrow, default, rename = "mcp-web/sessionId")]
    pub own_session: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "sessionId")]
    bare_session: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "queryId")]
    query: Option<&'a RawValue>,
}

impl<'a> CompatMessage<'a> {
    /// Parses the body of a request. Returns `None` if the body is not JSON or is `null`.
    pub fn parse(body: &'a [u8]) -> Option<Self> {
        #[derive(Deserialize)]
        struct Sent<'a> {
            /// `null` is repeated, unlike an id that is absent.
            #[serde(borrow, default, deserialize_with = "present")]
            id: Option<&'a RawValue>,
            #[serde(borrow, default)]
            method: Option<&'a RawValue>,
            #[serde(borrow, default)]
            params: Option<&'a RawValue>,
        }
        let first = body.iter().find(|byte| !byte.is_ascii_whitespace());
        if first != Some(&b'{') {
            let value: &RawValue = serde_json::from_slice(body).ok()?;
            return (value.get() != "null").then(Self::default);
        }
        let sent: Sent<'_> = serde_json::from_slice(body).ok()?;
        Some(Self {
            id: sent.id,
            method: sent.method.and_then(raw_string).unwrap_or_default(),
            params: sent.params.and_then(parse_object).unwrap_or_default(),
        })
    }
}

impl<'a> Params<'a> {
    /// The name of the tool; `None` if it is absent or empty.
    pub fn name(&self) -> Option<Cow<'a, str>> {
        self.name
            .and_then(raw_string)
            .filter(|name| !name.is_empty())
    }

    /// The URI of the resource; `None` if it is absent or empty.
    pub fn uri(&self) -> Option<Cow<'a, str>> {
        self.uri.and_then(raw_string).filter(|uri| !uri.is_empty())
    }

    pub fn meta(&self) -> Meta<'a> {
        self.meta.and_then(parse_object).unwrap_or_default()
    }

    /// The client's `clientInfo`. Clients of mcp-web 0.1 do not send one.
    pub fn client_info<T: Deserialize<'a>>(&self) -> Option<T> {
        self.client.and_then(parse_object)
    }
}

impl<'a> Meta<'a> {
    /// The page that the request names. The key of this bridge takes precedence over `sessionId`.
    pub fn session(&self) -> Option<&'a RawValue> {
        self.own_session.or(self.bare_session)
    }

    /// The query that the request belongs to.
    pub fn query(&self) -> Option<Cow<'a, str>> {
        self.query
            .and_then(raw_string)
            .filter(|query| !query.is_empty())
    }
}

fn raw_string(raw: &RawValue) -> Option<Cow<'_, str>> {
    decode_string(raw.get())
}

/// Deserializes the fields of an object; `None` if the JSON is not an object.
fn parse_object<'a, T: Deserialize<'a>>(raw: &'a RawValue) -> Option<T> {
    raw.get().starts_with('{').then_some(())?;
    serde_json::from_str(raw.get()).ok()
}

/// Writes the beginning of a response, up to its result.
pub fn begin_response(id: Option<&RawValue>, capacity: usize) -> Vec<u8> {
    let mut body = Vec::with_capacity(capacity);
    body.extend_from_slice(b"{\"jsonrpc\":\"2.0\",");
    if let Some(id) = id {
        body.extend_from_slice(b"\"id\":");
        body.extend_from_slice(id.get().as_bytes());
        body.push(b',');
    }
    body.extend_from_slice(b"\"result\":");
    body
}

/// The response with this result.
pub fn result_reply(id: Option<&RawValue>, result: &[u8]) -> Reply {
    let mut body = begin_response(id, result.len() + 64);
    body.extend_from_slice(result);
    finish_response(body)
}

/// Writes the end of a response, after its result.
pub fn finish_response(mut body: Vec<u8>) -> Reply {
    body.push(b'}');
    Reply::Message {
        body: body.into(),
        mcp_session: None,
    }
}

/// A JSON-RPC error. Its message is one of those that clients of mcp-web 0.1 know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RpcError {
    /// The message is invalid, or its sender is not allowed to send it.
    InvalidRequest(ErrorCode),
    UnknownMethod,
    /// `_meta.sessionId` does not name a page, but must.
    NoSuchSession,
    /// The body is not valid JSON.
    InvalidBody,
}

impl RpcError {
    pub fn into_reply(self, id: Option<&RawValue>) -> Reply {
        let error = match self {
            RpcError::InvalidRequest(code) => json!({ "code": -32600, "message": code.as_str() }),
            RpcError::UnknownMethod => {
                json!({ "code": -32601, "message": ErrorCode::UnknownMethod.as_str() })
            }
            RpcError::InvalidBody => {
                json!({ "code": -32603, "message": ErrorCode::InternalError.as_str() })
            }
            RpcError::NoSuchSession => {
                let message = "No session found for the provided authentication";
                let data = json!({ "error": ErrorCode::SessionNotFound.as_str(),
                    "error_message": message, "error_is_fatal": true });
                json!({ "code": -32602, "message": message, "data": data })
            }
        };
        let id = match (self, id) {
            (RpcError::InvalidBody, _) => "\"id\":0,".to_owned(),
            (_, Some(id)) => format!("\"id\":{},", id.get()),
            (_, None) => String::new(),
        };
        let body = format!("{{\"jsonrpc\":\"2.0\",{id}\"error\":{error}}}").into();
        match self {
            RpcError::InvalidRequest(code) => Reply::Rejected { body, code },
            _ => Reply::Message {
                body,
                mcp_session: None,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_of_the_wrong_kind_count_as_absent() {
        let body = br#"{"id":[1],"method":7,"params":["echo"]}"#;
        let message = CompatMessage::parse(body).unwrap();
        assert_eq!(message.id.unwrap().get(), "[1]");
        assert_eq!(message.method, "");
        assert!(message.params.name().is_none());
        let body = br#"{"method":"tools\/call","params":{"name":"a\u0062","_meta":[],"uri":1}}"#;
        let message = CompatMessage::parse(body).unwrap();
        assert_eq!(message.method, "tools/call");
        assert_eq!(message.params.name().unwrap(), "ab");
        assert!(message.params.uri().is_none());
        assert!(message.params.meta().session().is_none());
        for nothing in ["", "{", "null", " null ", "nonsense"] {
            assert!(
                CompatMessage::parse(nothing.as_bytes()).is_none(),
                "{nothing}"
            );
        }
        for other in ["[]", "7", "\"x\""] {
            assert_eq!(
                CompatMessage::parse(other.as_bytes()).unwrap().method,
                "",
                "{other}"
            );
        }
    }

    #[test]
    fn a_key_that_occurs_twice_is_invalid_and_in_an_object_makes_it_count_as_absent() {
        assert!(CompatMessage::parse(br#"{"id":1,"id":2,"method":"tools/list"}"#).is_none());
        let body = br#"{"method":"tools/call","params":{"name":"a","name":"b"}}"#;
        assert!(CompatMessage::parse(body).unwrap().params.name().is_none());
        let body = br#"{"params":{"name":"a","_meta":{"sessionId":"s","sessionId":"t"}}}"#;
        let message = CompatMessage::parse(body).unwrap();
        assert_eq!(message.params.name().unwrap(), "a");
        assert!(message.params.meta().session().is_none());
    }
}
