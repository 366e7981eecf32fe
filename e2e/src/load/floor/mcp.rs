//! Writes the bytes that the bridge answers, and does nothing else that the bridge does.

use bridge::in_memory::escape;
use bytes::Bytes;
use http::request;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::page::Page;
use super::wire;

#[derive(Deserialize)]
struct PlainCall<'a> {
    #[serde(borrow, rename = "toolName")]
    name: &'a RawValue,
    #[serde(borrow, rename = "toolInput")]
    arguments: &'a RawValue,
}

#[derive(Deserialize)]
struct RpcCall<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
    #[serde(borrow)]
    params: Params<'a>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow)]
    name: &'a RawValue,
    #[serde(borrow)]
    arguments: &'a RawValue,
}

const PROTOCOL: &str = "mcp-protocol-version";
const STATELESS: &str = "2026-07-28";

/// Makes one tool call, on any route, and returns the body of the answer.
pub(super) async fn call(page: &Page, parts: &request::Parts, body: &[u8]) -> Option<Bytes> {
    if parts.uri.path() == "/tool-call" {
        let call: PlainCall = serde_json::from_slice(body).ok()?;
        let result = call_page(page, call.name, call.arguments).await?;
        return Some(encode_result("{", &result, "}"));
    }
    let RpcCall { id, params } = serde_json::from_slice(body).ok()?;
    let result = call_page(page, params.name, params.arguments).await?;
    let is_stateless = parts
        .headers
        .get(PROTOCOL)
        .is_some_and(|it| it == STATELESS);
    let kind = if is_stateless {
        "\"resultType\":\"complete\","
    } else {
        ""
    };
    let head = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{{kind}");
    Some(encode_result(&head, &result, ",\"isError\":false}}"))
}

async fn call_page(page: &Page, name: &RawValue, arguments: &RawValue) -> Option<Bytes> {
    page.request(|id| wire::tool_call(id, name, arguments))
        .await
}

/// Encodes `head`, the members of the result for a page's value, and `tail`. Values are objects
/// without `_meta`, or strings that are not data URLs: the load generator sends no others.
fn encode_result(head: &str, value: &[u8], tail: &str) -> Bytes {
    const TEXT: &[u8] = b"\"content\":[{\"type\":\"text\",\"text\":";
    const STRUCTURED: &[u8] = b"}],\"structuredContent\":";
    let is_string = value.first() == Some(&b'"');
    let texts = if is_string { 1 } else { 2 };
    let mut out = Vec::with_capacity(value.len() * texts + value.len() / 4 + 256);
    out.extend_from_slice(head.as_bytes());
    out.extend_from_slice(TEXT);
    if is_string {
        // The value is already encoded as a JSON string.
        out.extend_from_slice(value);
        out.extend_from_slice(b"}]");
    } else {
        out.push(b'"');
        escape(value, &mut out);
        out.push(b'"');
        out.extend_from_slice(STRUCTURED);
        out.extend_from_slice(value);
    }
    out.extend_from_slice(tail.as_bytes());
    out.into()
}
