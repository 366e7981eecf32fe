//! The body of a response with a result.
//!
//! A large result is never assembled in memory: it is sent from the page's message, and text is
//! escaped in chunks when the connection can take them.

mod buffer_pool;

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

use bridge_protocol::event_data;
use bridge_raw_json::JsonSlice;
use bridge_raw_json::escape::escape_content;

/// The size of the chunks in which text is escaped: small enough to stay in the processor's cache
/// until the kernel copies it, and large enough for few system calls.
const ESCAPE_CHUNK_BYTES: usize = 256 * 1024;

/// The longest part of other JSON that a connection takes at once. It takes the next part when it has
/// written most of this one, so that it is known how much of a large result has arrived.
const VERBATIM_CHUNK_BYTES: usize = 1024 * 1024;

/// JSON that is ready to be sent.
#[derive(Debug)]
pub enum EncodedBody {
    Buffer(Vec<u8>),
    Segments(Segments),
}

/// JSON in segments.
#[derive(Debug, Default)]
pub struct Segments {
    segments: VecDeque<Segment>,
    /// The encoded bytes of all segments that are left.
    remaining_bytes: usize,
}

#[derive(Debug)]
enum Segment {
    Verbatim(Bytes),
    /// Text that is escaped as the content of a JSON string.
    Escaped(Bytes),
}

impl EncodedBody {
    /// The encoded size in bytes.
    pub fn encoded_len(&self) -> usize {
        match self {
            EncodedBody::Buffer(json) => json.len(),
            EncodedBody::Segments(segments) => segments.remaining_bytes,
        }
    }

    /// The size in an event of a stream, where line separators are escaped. A result in segments is
    /// not scanned for them: its size was limited before it was encoded.
    pub fn event_len(&self) -> usize {
        let added = match self {
            EncodedBody::Buffer(json) => event_data::added_bytes(json),
            EncodedBody::Segments(_) => 0,
        };
        self.encoded_len() + added
    }

    /// Copies all segments into one buffer.
    pub fn into_vec(self) -> Vec<u8> {
        match self {
            EncodedBody::Buffer(json) => json,
            EncodedBody::Segments(segments) => {
                let mut json = Vec::with_capacity(segments.remaining_bytes);
                for segment in segments.segments {
                    match segment {
                        Segment::Verbatim(bytes) => json.extend_from_slice(&bytes),
                        Segment::Escaped(text) => escape_content(&text, &mut json),
                    }
                }
                json
            }
        }
    }
}

impl From<Vec<u8>> for EncodedBody {
    fn from(json: Vec<u8>) -> Self {
        Self::Buffer(json)
    }
}

impl Body for EncodedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let chunk = match &mut *self {
            EncodedBody::Buffer(json) if json.is_empty() => None,
            EncodedBody::Buffer(json) if json.len() > VERBATIM_CHUNK_BYTES => {
                let mut segments = Segments::default();
                segments.push(std::mem::take(json).into());
                let first = segments.next_chunk();
                *self = EncodedBody::Segments(segments);
                first
            }
            EncodedBody::Buffer(json) => Some(std::mem::take(json).into()),
            EncodedBody::Segments(segments) => segments.next_chunk(),
        };
        Poll::Ready(chunk.map(|chunk| Ok(Frame::data(chunk))))
    }

    fn is_end_stream(&self) -> bool {
        match self {
            EncodedBody::Buffer(json) => json.is_empty(),
            EncodedBody::Segments(segments) => segments.segments.is_empty(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.encoded_len() as u64)
    }
}

impl Segments {
    pub fn push(&mut self, bytes: Bytes) {
        self.remaining_bytes += bytes.len();
        self.segments.push_back(Segment::Verbatim(bytes));
    }

    /// Appends a text as the content of a JSON string.
    pub fn push_escaped(&mut self, text: &JsonSlice) {
        self.remaining_bytes += text.quoted_len() - "\"\"".len();
        self.segments.push_back(Segment::Escaped(text.bytes()));
    }

    fn next_chunk(&mut self) -> Option<Bytes> {
        let next = match self.segments.pop_front()? {
            Segment::Verbatim(mut bytes) => {
                let chunk = bytes.split_to(bytes.len().min(VERBATIM_CHUNK_BYTES));
                if !bytes.is_empty() {
                    self.segments.push_front(Segment::Verbatim(bytes));
                }
                chunk
            }
            Segment::Escaped(mut text) => {
                let chunk = text.split_to(text.len().min(ESCAPE_CHUNK_BYTES));
                if !text.is_empty() {
                    self.segments.push_front(Segment::Escaped(text));
                }
                buffer_pool::write_pooled(|buffer| {
                    buffer.reserve(2 * chunk.len());
                    escape_content(&chunk, buffer);
                })
            }
        };
        self.remaining_bytes -= next.len();
        Some(next)
    }
}
