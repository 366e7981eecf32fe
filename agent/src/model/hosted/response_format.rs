//! Finds out whether a response is a stream of events.

/// The format of the bytes of a response. Its header does not decide it: proxies name JSON where they send
/// an event stream, and some servers report an error in JSON with the status of a success.
pub(super) enum ResponseFormat {
    /// Only white space was received.
    Unknown,
    Events,
    Json(Vec<u8>),
}

impl ResponseFormat {
    /// Reads the next bytes, of which only those of JSON are kept.
    pub(super) fn read(&mut self, chunk: &[u8]) {
        if matches!(self, Self::Unknown) {
            *self = Self::of(chunk);
        }
        if let Self::Json(body) = self {
            body.extend_from_slice(chunk);
        }
    }

    /// Returns what was received of JSON.
    pub(super) fn json(&self) -> Option<&[u8]> {
        match self {
            Self::Json(body) => Some(body),
            Self::Unknown | Self::Events => None,
        }
    }

    /// Returns the format of a response by its first bytes. No line of an event stream begins as JSON.
    fn of(chunk: &[u8]) -> Self {
        let mut bytes = chunk.strip_prefix(b"\xef\xbb\xbf").unwrap_or(chunk).iter();
        match bytes.find(|byte| !byte.is_ascii_whitespace()) {
            None => Self::Unknown,
            Some(b'{' | b'[') => Self::Json(Vec::new()),
            Some(_) => Self::Events,
        }
    }
}
