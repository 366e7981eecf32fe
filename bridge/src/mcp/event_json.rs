//! JSON in the form in which an event of a stream carries it. Every event of `/mcp` is made of it,
//! so none has a line that some reader would break.

use bridge_protocol::event_data;
use bytes::Bytes;

use super::large_body::block_in_place;
use crate::budget::INLINE_LIMIT;

/// JSON as the data of an event, see [`event_data`]. Clones share the text.
#[derive(Clone, Debug)]
pub(super) struct EventJson(Bytes);

impl EventJson {
    /// Converts JSON, in no more memory than it needs. While it is long, another thread serves the
    /// other sockets.
    pub(super) fn new(json: Vec<u8>) -> Self {
        if json.len() > INLINE_LIMIT {
            return block_in_place(|| {
                let mut json = event_data::from_json(json);
                json.shrink_to_fit();
                Self(json.into())
            });
        }
        // Shrinking many short texts, which a log may keep, would leave a hole behind each of them.
        Self(Bytes::copy_from_slice(&event_data::from_json(json)))
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn into_bytes(self) -> Bytes {
        self.0
    }
}
