//! Messages that exceed the size limit. They are read to their end without being stored, to learn
//! their size and which request they belong to.

use std::convert::Infallible;

use bridge_protocol::sse::SseData;
use serde_json::Value;

use crate::request_id::RequestId;

/// The longest key or value that is captured. Ids and names of methods are shorter.
const MAX_FIELD_BYTES: usize = 4 * 1024;

/// A message that exceeded the size limit and was not stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OversizedMessage {
    /// The size of the message.
    pub(crate) bytes: u64,
    /// The size that is allowed.
    pub(crate) limit: usize,
    /// The field `id` of the message, unless it is missing or null.
    pub(crate) id: Option<RequestId>,
    /// The field `method` of the message.
    pub(crate) method: Option<String>,
}

/// Scans the bytes of a JSON object for its fields `id` and `method` and stores nothing else.
#[derive(Debug, Default)]
pub(crate) struct FieldScanner {
    bytes: u64,
    depth: u64,
    in_string: bool,
    escaped: bool,
    /// The bytes of the current key or value of the outermost object; `None` if it is skipped.
    field: Option<Vec<u8>>,
    position: FieldPosition,
    id: Option<RequestId>,
    method: Option<String>,
}

/// The position of the scanner in the outermost object.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum FieldPosition {
    /// At a key.
    #[default]
    Key,
    /// At the value of the key `id`.
    Id,
    /// At the value of the key `method`.
    Method,
    /// At the value of any other key.
    Other,
}

impl FieldScanner {
    /// Scans the next chunk of the message, which may begin and end anywhere.
    pub(crate) fn scan(&mut self, chunk: &[u8]) {
        self.bytes += chunk.len() as u64;
        let mut rest = chunk;
        while let Some(&byte) = rest.first() {
            if self.in_string && !self.escaped && self.field.is_none() {
                // Nearly all bytes of a large message are in strings that are skipped.
                let end = memchr::memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
                if end > 0 {
                    rest = &rest[end..];
                    continue;
                }
            }
            self.scan_byte(byte);
            rest = &rest[1..];
        }
    }

    fn scan_byte(&mut self, byte: u8) {
        if self.in_string {
            self.capture(byte);
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => {
                self.in_string = true;
                if self.depth == 1 && self.position == FieldPosition::Key {
                    self.field = Some(Vec::new());
                }
            }
            b':' if self.depth == 1 => return self.on_key_end(),
            b',' if self.depth == 1 => return self.on_value_end(),
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                if self.depth == 1 {
                    self.on_value_end();
                }
                self.depth = self.depth.saturating_sub(1);
                return;
            }
            _ => {}
        }
        if self.depth == 1 || self.field.is_some() {
            self.capture(byte);
        }
    }

    fn capture(&mut self, byte: u8) {
        if let Some(field) = &mut self.field {
            field.push(byte);
            if field.len() > MAX_FIELD_BYTES {
                self.field = None;
            }
        }
    }

    fn on_key_end(&mut self) {
        let key = self.take_field();
        self.position = match key.as_ref().and_then(Value::as_str) {
            Some("id") => FieldPosition::Id,
            Some("method") => FieldPosition::Method,
            _ => FieldPosition::Other,
        };
        self.field = (self.position != FieldPosition::Other).then(Vec::new);
    }

    fn on_value_end(&mut self) {
        let value = self.take_field().filter(|value| !value.is_null());
        match self.position {
            FieldPosition::Id => self.id = value.as_ref().map(RequestId::from_json),
            FieldPosition::Method => {
                self.method = value.as_ref().and_then(Value::as_str).map(str::to_owned);
            }
            FieldPosition::Key | FieldPosition::Other => {}
        }
        self.position = FieldPosition::Key;
    }

    fn take_field(&mut self) -> Option<Value> {
        serde_json::from_slice(&self.field.take()?).ok()
    }

    /// Ends the scan at the end of the message.
    pub(crate) fn finish(self, limit: usize) -> OversizedMessage {
        OversizedMessage {
            bytes: self.bytes,
            limit,
            id: self.id,
            method: self.method,
        }
    }
}

/// A buffer for the bytes of a message up to a limit. A message over the limit is only scanned.
#[derive(Debug)]
pub(crate) enum BoundedBuffer {
    /// All bytes so far.
    Complete(Vec<u8>),
    /// The limit is exceeded and no bytes are stored any more.
    TooLong(Box<FieldScanner>),
}

impl Default for BoundedBuffer {
    fn default() -> Self {
        Self::Complete(Vec::new())
    }
}

impl BoundedBuffer {
    /// Adds the next chunk of a message that may have `limit` bytes.
    pub(crate) fn push(&mut self, chunk: &[u8], limit: usize) {
        match self {
            Self::Complete(bytes) if bytes.len() + chunk.len() <= limit => {
                bytes.extend_from_slice(chunk);
            }
            Self::Complete(bytes) => {
                let mut scanner = FieldScanner::default();
                scanner.scan(bytes);
                scanner.scan(chunk);
                *self = Self::TooLong(Box::new(scanner));
            }
            Self::TooLong(scanner) => scanner.scan(chunk),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Self::Complete(bytes) if bytes.is_empty())
    }

    /// Returns the whole message, or a description of it if it exceeded the limit.
    pub(crate) fn finish(self, limit: usize) -> Result<Vec<u8>, OversizedMessage> {
        match self {
            Self::Complete(bytes) => Ok(bytes),
            Self::TooLong(scanner) => Err(scanner.finish(limit)),
        }
    }
}

/// The next event is decoded even if the data of one is too long.
impl SseData for BoundedBuffer {
    type Error = Infallible;

    fn push(&mut self, piece: &[u8], limit: usize) -> Result<(), Infallible> {
        self.push(piece, limit);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use bridge_protocol::sse::SseDecoder;

    use super::*;

    /// Scans a text in chunks of several sizes, which must not make a difference.
    fn scan_fields(text: &str) -> (Option<String>, Option<String>) {
        let mut results = Vec::new();
        for size in [1, 2, 7, text.len()] {
            let mut scanner = FieldScanner::default();
            text.as_bytes()
                .chunks(size)
                .for_each(|chunk| scanner.scan(chunk));
            let OversizedMessage {
                bytes, id, method, ..
            } = scanner.finish(1);
            assert_eq!(bytes, text.len() as u64);
            results.push((id.map(|id| id.to_string()), method));
        }
        assert!(
            results.windows(2).all(|pair| pair[0] == pair[1]),
            "{results:?}"
        );
        results.swap_remove(0)
    }

    #[test]
    fn id_and_method_are_found_at_any_position() {
        let fields = |id: &str, method: Option<&str>| (Some(id.into()), method.map(Into::into));
        for (text, expected) in [
            (
                r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"id":1,"method":"x"}}"#,
                fields("7", Some("tools/call")),
            ),
            (
                r#" { "params" : { "a" : [ {"id":2}, "}\"{" ] } , "method" : "m" , "id" : "a\"b" } "#,
                fields(r#""a\"b""#, Some("m")),
            ),
            (
                r#"{"result":{"text":"\\","id":9},"\u0069d":-1.5e3}"#,
                fields("-1500.0", None),
            ),
            (r#"{"id":null,"error":{"code":1}}"#, (None, None)),
            (
                r#"{"method":"n","params":["id"]}"#,
                (None, Some("n".into())),
            ),
            ("]]}}:,\"", (None, None)),
        ] {
            assert_eq!(scan_fields(text), expected, "{text}");
        }
    }

    #[test]
    fn an_id_over_the_field_limit_is_dropped() {
        let text = format!(
            r#"{{"id":"{}","method":"m"}}"#,
            "x".repeat(2 * MAX_FIELD_BYTES)
        );
        assert_eq!(scan_fields(&text), (None, Some("m".into())));
    }

    #[test]
    fn a_message_is_stored_up_to_the_limit_and_described_above_it() {
        let mut buffer = BoundedBuffer::default();
        buffer.push(b"{\"id\"", 8);
        buffer.push(b":1}", 8);
        assert_eq!(buffer.finish(8), Ok(b"{\"id\":1}".to_vec()));
        let mut buffer = BoundedBuffer::default();
        buffer.push(b"{\"id\"", 7);
        buffer.push(b":1}", 7);
        let expected = OversizedMessage {
            bytes: 8,
            limit: 7,
            id: Some(RequestId::from_json(&1.into())),
            method: None,
        };
        assert_eq!(buffer.finish(7), Err(expected));
    }

    #[test]
    fn an_event_over_the_limit_is_described_and_the_next_is_decoded() {
        let large = format!(r#"{{"id":3,"result":"{}"}}"#, "x".repeat(100));
        let mut decoder = SseDecoder::<BoundedBuffer>::new(99);
        decoder.decode(format!("id: a\ndata: {large}\n\ndata: {{}}\n\n").as_bytes());
        let mut next = || {
            let Ok(event) = decoder.next_event().unwrap();
            (event.id, event.data.unwrap().finish(99))
        };
        let oversized = OversizedMessage {
            bytes: large.len() as u64,
            limit: 99,
            id: Some(RequestId::from_json(&3.into())),
            method: None,
        };
        assert_eq!(next(), (Some("a".to_owned()), Err(oversized)));
        assert_eq!(next(), (None, Ok(b"{}".to_vec())));
    }
}
