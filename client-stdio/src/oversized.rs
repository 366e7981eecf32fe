//! Messages that are too long to be kept: read to their end all the same, for their size and for
//! what tells whose they are.

use serde_json::Value;

use crate::message::RequestId;

/// No id and no method is longer.
const MAX_FIELD_BYTES: usize = 4 * 1024;

/// What is known of a message that was not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OversizedMessage {
    pub(crate) bytes: u64,
    pub(crate) limit: usize,
    pub(crate) id: Option<RequestId>,
    pub(crate) method: Option<String>,
}

/// Reads a message piece by piece and keeps nothing but two fields of its outermost object.
#[derive(Debug, Default)]
pub(crate) struct FieldScanner {
    bytes: u64,
    depth: u64,
    in_string: bool,
    escaped: bool,
    /// The key or value of the outermost object that is being read; `None` when it is not wanted.
    field: Option<Vec<u8>>,
    position: FieldPosition,
    id: Option<RequestId>,
    method: Option<String>,
}

/// Where in the outermost object it reads.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum FieldPosition {
    /// At a key.
    #[default]
    AtKey,
    /// At the value of this key.
    Id,
    Method,
    Other,
}

impl FieldScanner {
    /// The next piece, however it is cut.
    pub(crate) fn scan(&mut self, piece: &[u8]) {
        self.bytes += piece.len() as u64;
        let mut rest = piece;
        while let Some(&byte) = rest.first() {
            if self.in_string && !self.escaped && self.field.is_none() {
                // Nearly all of a large message: the inside of strings that nobody wants.
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
                if self.depth == 1 && self.position == FieldPosition::AtKey {
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
            FieldPosition::AtKey | FieldPosition::Other => {}
        }
        self.position = FieldPosition::AtKey;
    }

    fn take_field(&mut self) -> Option<Value> {
        serde_json::from_slice(&self.field.take()?).ok()
    }

    /// The message has ended.
    pub(crate) fn finish(self, limit: usize) -> OversizedMessage {
        OversizedMessage {
            bytes: self.bytes,
            limit,
            id: self.id,
            method: self.method,
        }
    }
}

/// Takes the bytes of a message up to a limit. What is over it is only skimmed.
#[derive(Debug)]
pub(crate) enum BoundedBuffer {
    Complete(Vec<u8>),
    TooLong(Box<FieldScanner>),
}

impl Default for BoundedBuffer {
    fn default() -> Self {
        Self::Complete(Vec::new())
    }
}

impl BoundedBuffer {
    /// The next piece of a message that may have `limit` bytes.
    pub(crate) fn push(&mut self, piece: &[u8], limit: usize) {
        match self {
            Self::Complete(bytes) if bytes.len() + piece.len() <= limit => {
                bytes.extend_from_slice(piece);
            }
            Self::Complete(bytes) => {
                let mut skimmer = FieldScanner::default();
                skimmer.scan(bytes);
                skimmer.scan(piece);
                *self = Self::TooLong(Box::new(skimmer));
            }
            Self::TooLong(skimmer) => skimmer.scan(piece),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Self::Complete(bytes) if bytes.is_empty())
    }

    /// The message has ended.
    pub(crate) fn finish(self, limit: usize) -> Result<Vec<u8>, OversizedMessage> {
        match self {
            Self::Complete(bytes) => Ok(bytes),
            Self::TooLong(skimmer) => Err(skimmer.finish(limit)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is found, however the text is cut.
    fn scan_fields(text: &str) -> (Option<String>, Option<String>) {
        let mut found = Vec::new();
        for size in [1, 2, 7, text.len()] {
            let mut skimmer = FieldScanner::default();
            text.as_bytes()
                .chunks(size)
                .for_each(|piece| skimmer.scan(piece));
            let OversizedMessage {
                bytes, id, method, ..
            } = skimmer.finish(1);
            assert_eq!(bytes, text.len() as u64);
            found.push((id.map(|id| id.to_string()), method));
        }
        assert!(found.windows(2).all(|pair| pair[0] == pair[1]), "{found:?}");
        found.swap_remove(0)
    }

    #[test]
    fn id_and_method_are_found_at_any_position() {
        let found = |id: &str, method: Option<&str>| (Some(id.into()), method.map(Into::into));
        for (text, expected) in [
            (
                r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"id":1,"method":"x"}}"#,
                found("7", Some("tools/call")),
            ),
            (
                r#" { "params" : { "a" : [ {"id":2}, "}\"{" ] } , "method" : "m" , "id" : "a\"b" } "#,
                found(r#""a\"b""#, Some("m")),
            ),
            (
                r#"{"result":{"text":"\\","id":9},"\u0069d":-1.5e3}"#,
                found("-1500.0", None),
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
    fn a_field_that_is_no_id_is_not_kept() {
        let text = format!(
            r#"{{"id":"{}","method":"m"}}"#,
            "x".repeat(2 * MAX_FIELD_BYTES)
        );
        assert_eq!(scan_fields(&text), (None, Some("m".into())));
    }

    #[test]
    fn a_message_within_the_limit_is_complete() {
        let mut gathered = BoundedBuffer::default();
        gathered.push(b"{\"id\"", 8);
        gathered.push(b":1}", 8);
        assert_eq!(gathered.finish(8), Ok(b"{\"id\":1}".to_vec()));
        let mut gathered = BoundedBuffer::default();
        gathered.push(b"{\"id\"", 7);
        gathered.push(b":1}", 7);
        let expected = OversizedMessage {
            bytes: 8,
            limit: 7,
            id: Some(RequestId::from_json(&1.into())),
            method: None,
        };
        assert_eq!(gathered.finish(7), Err(expected));
    }
}
