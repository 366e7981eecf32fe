//! The hand-written minimum: what the bridge answers, without whatever makes it a bridge.

use bridge::simulation::escape;
use bridge_protocol::limits::MAX_FRAME_BYTES;
use bridge_protocol::parts::{Assembler, AssemblyStatus};
use bytes::Bytes;
use http::{HeaderValue, request};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::JSON;
use super::page::Page;

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

/// One call of a tool, by whichever route: the media type and the body of its answer.
pub(super) async fn call(
    page: &Page,
    parts: &request::Parts,
    body: &[u8],
) -> Option<(HeaderValue, Bytes)> {
    if parts.uri.path() == "/tool-call" {
        let call: PlainCall = serde_json::from_slice(body).ok()?;
        let result = ask(page, call.name, call.arguments).await?;
        return Some((JSON, written("{", &result, "}")));
    }
    let RpcCall { id, params } = serde_json::from_slice(body).ok()?;
    let result = ask(page, params.name, params.arguments).await?;
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
    Some((JSON, written(&head, &result, ",\"isError\":false}}")))
}

async fn ask(page: &Page, name: &RawValue, arguments: &RawValue) -> Option<Bytes> {
    let frame = |id| {
        format!(
            "{{\"type\":\"tool-call\",\"requestId\":\"{id}\",\"toolName\":{name},\
             \"toolInput\":{arguments},\"context\":{{}}}}"
        )
    };
    page.request(frame).await
}

/// `head`, the members of the result that a page's value is, `tail`. Values are objects without
/// `_meta` and strings that are no data URL: the generator sends no others.
fn written(head: &str, value: &[u8], tail: &str) -> Bytes {
    const TEXT: &[u8] = b"\"content\":[{\"type\":\"text\",\"text\":";
    const STRUCTURED: &[u8] = b"}],\"structuredContent\":";
    let is_string = value.first() == Some(&b'"');
    let texts = if is_string { 1 } else { 2 };
    let mut out = Vec::with_capacity(value.len() * texts + value.len() / 4 + 256);
    out.extend_from_slice(head.as_bytes());
    out.extend_from_slice(TEXT);
    if is_string {
        // Already the text of a JSON string.
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

/// Messages of a page that come in parts.
pub(super) struct Parts(Assembler);

impl Default for Parts {
    fn default() -> Self {
        Self(Assembler::new(MAX_FRAME_BYTES))
    }
}

impl Parts {
    /// A message, once it is whole.
    pub(super) fn take(&mut self, frame: Bytes) -> Option<Bytes> {
        if frame.first() == Some(&b'{') {
            return Some(frame);
        }
        match self.0.take(str::from_utf8(&frame).ok()?).ok()? {
            AssemblyStatus::Complete(message) => Some(message.into_owned().into()),
            AssemblyStatus::Incomplete => None,
        }
    }
}

/// The id and the value in a `call-response`.
pub(super) fn answer(message: Bytes) -> Option<(u64, Bytes)> {
    const HEAD: &[u8] = b"{\"type\":\"call-response\",\"requestId\":\"";
    const RESULT: &[u8] = b"\",\"result\":";
    let rest = message.strip_prefix(HEAD)?;
    let end = HEAD.len() + memchr::memchr(b'"', rest)?;
    let id = str::from_utf8(&message[HEAD.len()..end]).ok()?;
    let id = id.parse().ok()?;
    let begin = end + RESULT.len();
    message[end..].starts_with(RESULT).then_some(())?;
    Some((id, message.slice(begin..message.len() - 1)))
}
