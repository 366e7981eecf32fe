//! Messages that are too long to be kept: read to their end all the same, for their size and for
//! what tells whose they are.

use serde_json::Value;

use crate::message::Id;

/// No id and no method is longer.
const LONGEST_FIELD: usize = 4 * 1024;

/// What is known of a message that was not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Oversized {
    pub(crate) bytes: u64,
    pub(crate) limit: usize,
    pub(crate) id: Option<Id>,
    pub(crate) method: Option<String>,
}

/// Reads a message piece by piece and keeps nothing but two fields of its outermost object.
#[derive(Debug, Default)]
pub(crate) struct Skimmer {
    bytes: u64,
    depth: u64,
    in_string: bool,
    escaped: bool,
    /// The key or value of the outermost object that is being read; `None` when it is not wanted.
    field: Option<Vec<u8>>,
    key: Key,
    id: Option<Id>,
    method: Option<String>,
}

/// Where in the outermost object it reads.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Key {
    /// At a key.
    #[default]
    Unread,
    /// At the value of this key.
    Id,
    Method,
    Other,
}

impl Skimmer {
    /// The next piece, however it is cut.
    pub(crate) fn read(&mut self, piece: &[u8]) {
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
            self.step(byte);
            rest = &rest[1..];
        }
    }

    fn step(&mut self, byte: u8) {
        if self.in_string {
            self.keep(byte);
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
                if self.depth == 1 && self.key == Key::Unread {
                    self.field = Some(Vec::new());
                }
            }
            b':' if self.depth == 1 => return self.key_ends(),
            b',' if self.depth == 1 => return self.value_ends(),
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                if self.depth == 1 {
                    self.value_ends();
                }
                self.depth = self.depth.saturating_sub(1);
                return;
            }
            _ => {}
        }
        if self.depth == 1 || self.field.is_some() {
            self.keep(byte);
        }
    }

    fn keep(&mut self, byte: u8) {
        if let Some(field) = &mut self.field {
            field.push(byte);
            if field.len() > LONGEST_FIELD {
                self.field = None;
            }
        }
    }

    fn key_ends(&mut self) {
        let key = self.take_field();
        self.key = match key.as_ref().and_then(Value::as_str) {
            Some("id") => Key::Id,
            Some("method") => Key::Method,
            _ => Key::Other,
        };
        self.field = (self.key != Key::Other).then(Vec::new);
    }

    fn value_ends(&mut self) {
        let value = self.take_field().filter(|value| !value.is_null());
        match self.key {
            Key::Id => self.id = value.as_ref().map(Id::new),
            Key::Method => {
                self.method = value.as_ref().and_then(Value::as_str).map(str::to_owned);
            }
            Key::Unread | Key::Other => {}
        }
        self.key = Key::Unread;
    }

    fn take_field(&mut self) -> Option<Value> {
        serde_json::from_slice(&self.field.take()?).ok()
    }

    /// The message has ended.
    pub(crate) fn finish(self, limit: usize) -> Oversized {
        Oversized {
            bytes: self.bytes,
            limit,
            id: self.id,
            method: self.method,
        }
    }
}

/// Takes the bytes of a message up to a limit. What is over it is only skimmed.
#[derive(Debug)]
pub(crate) enum Gathered {
    Whole(Vec<u8>),
    TooLong(Box<Skimmer>),
}

impl Default for Gathered {
    fn default() -> Self {
        Self::Whole(Vec::new())
    }
}

impl Gathered {
    /// The next piece of a message that may have `limit` bytes.
    pub(crate) fn add(&mut self, piece: &[u8], limit: usize) {
        match self {
            Self::Whole(bytes) if bytes.len() + piece.len() <= limit => {
                bytes.extend_from_slice(piece);
            }
            Self::Whole(bytes) => {
                let mut skimmer = Skimmer::default();
                skimmer.read(bytes);
                skimmer.read(piece);
                *self = Self::TooLong(Box::new(skimmer));
            }
            Self::TooLong(skimmer) => skimmer.read(piece),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Self::Whole(bytes) if bytes.is_empty())
    }

    /// The message has ended.
    pub(crate) fn finish(self, limit: usize) -> Result<Vec<u8>, Oversized> {
        match self {
            Self::Whole(bytes) => Ok(bytes),
            Self::TooLong(skimmer) => Err(skimmer.finish(limit)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is found, however the text is cut.
    fn skimmed(text: &str) -> (Option<String>, Option<String>) {
        let mut found = Vec::new();
        for size in [1, 2, 7, text.len()] {
            let mut skimmer = Skimmer::default();
            text.as_bytes()
                .chunks(size)
                .for_each(|piece| skimmer.read(piece));
            let Oversized {
                bytes, id, method, ..
            } = skimmer.finish(1);
            assert_eq!(bytes, text.len() as u64);
            found.push((id.map(|id| id.to_string()), method));
        }
        assert!(found.windows(2).all(|pair| pair[0] == pair[1]), "{found:?}");
        found.swap_remove(0)
    }

    #[test]
    fn id_and_method_are_found_wherever_they_stand() {
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
            assert_eq!(skimmed(text), expected, "{text}");
        }
    }

    #[test]
    fn a_field_that_is_no_id_is_not_kept() {
        let text = format!(
            r#"{{"id":"{}","method":"m"}}"#,
            "x".repeat(2 * LONGEST_FIELD)
        );
        assert_eq!(skimmed(&text), (None, Some("m".into())));
    }

    #[test]
    fn what_fits_is_whole() {
        let mut gathered = Gathered::default();
        gathered.add(b"{\"id\"", 8);
        gathered.add(b":1}", 8);
        assert_eq!(gathered.finish(8), Ok(b"{\"id\":1}".to_vec()));
        let mut gathered = Gathered::default();
        gathered.add(b"{\"id\"", 7);
        gathered.add(b":1}", 7);
        let expected = Oversized {
            bytes: 8,
            limit: 7,
            id: Some(Id::new(&1.into())),
            method: None,
        };
        assert_eq!(gathered.finish(7), Err(expected));
    }
}
