//! The messages between a floor and its pages.

use bridge_protocol::limits::MAX_FRAME_BYTES;
use bridge_protocol::parts::{Assembler, AssemblyStatus};
use bytes::Bytes;
use serde_json::value::RawValue;

/// Assembles messages that pages send in parts.
pub(super) struct PartAssembler(Assembler);

impl Default for PartAssembler {
    fn default() -> Self {
        Self(Assembler::new(MAX_FRAME_BYTES))
    }
}

impl PartAssembler {
    /// Adds a frame and returns the message that it completes.
    pub(super) fn take(&mut self, frame: Bytes) -> Option<Bytes> {
        if frame.first() == Some(&b'{') {
            return Some(frame);
        }
        match self.0.push(str::from_utf8(&frame).ok()?).ok()? {
            AssemblyStatus::Complete(message) => Some(message.into_owned().into()),
            AssemblyStatus::Incomplete => None,
        }
    }
}

/// Encodes the call of a tool as the bridge would send it to a page.
pub(super) fn tool_call(id: u64, name: &RawValue, arguments: &RawValue) -> String {
    format!(
        "{{\"type\":\"tool-call\",\"requestId\":\"{id}\",\"toolName\":{name},\
         \"toolInput\":{arguments},\"context\":{{}}}}"
    )
}

/// Parses the id and the result in a `call-response`.
pub(super) fn parse_call_response(message: Bytes) -> Option<(u64, Bytes)> {
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

/// Parses the id and the answer in `ID ANSWER`.
pub(super) fn parse_bytes(message: Bytes) -> Option<(u64, Bytes)> {
    let space = memchr::memchr(b' ', &message)?;
    let id = str::from_utf8(&message[..space]).ok()?.parse().ok()?;
    Some((id, message.slice(space + 1..)))
}
