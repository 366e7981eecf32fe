//! A result on its way out.
//!
//! Of a long one nothing is written into memory as a whole: what stands in the page's message goes
//! out from there, and its text is escaped bit by bit, when the connection has room for it.

mod buffer_pool;

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use http_body::{Frame, SizeHint};

use bridge_json::JsonSlice;
use bridge_json::escape::escape_content;

/// So much of a text is escaped at a time: the processor still has it at hand when the kernel takes it,
/// and the kernel takes it with few calls.
const ESCAPE_CHUNK_BYTES: usize = 256 * 1024;

/// JSON that is sent.
#[derive(Debug)]
pub(crate) enum EncodedBody {
    Buffer(Vec<u8>),
    Segments(Segments),
}

/// JSON in pieces.
#[derive(Debug, Default)]
pub(crate) struct Segments {
    segments: VecDeque<Segment>,
    /// The bytes of all.
    remaining_bytes: usize,
}

#[derive(Debug)]
enum Segment {
    Verbatim(Bytes),
    /// The content of a JSON string that has this text.
    Escaped(Bytes),
}

impl EncodedBody {
    pub(crate) fn len(&self) -> usize {
        match self {
            EncodedBody::Buffer(json) => json.len(),
            EncodedBody::Segments(pieces) => pieces.remaining_bytes,
        }
    }

    pub(crate) fn into_vec(self) -> Vec<u8> {
        match self {
            EncodedBody::Buffer(json) => json,
            EncodedBody::Segments(pieces) => {
                let mut json = Vec::with_capacity(pieces.remaining_bytes);
                for piece in pieces.segments {
                    match piece {
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

impl From<EncodedBody> for Body {
    fn from(written: EncodedBody) -> Self {
        match written {
            EncodedBody::Buffer(json) => json.into(),
            EncodedBody::Segments(pieces) => Body::new(pieces),
        }
    }
}

impl Segments {
    pub(super) fn push(&mut self, bytes: Bytes) {
        self.remaining_bytes += bytes.len();
        self.segments.push_back(Segment::Verbatim(bytes));
    }

    /// A text, as the content of a JSON string.
    pub(super) fn push_escaped(&mut self, text: &JsonSlice) {
        self.remaining_bytes += text.quoted_len() - "\"\"".len();
        self.segments.push_back(Segment::Escaped(text.bytes()));
    }

    fn next_chunk(&mut self) -> Option<Bytes> {
        let next = match self.segments.pop_front()? {
            Segment::Verbatim(bytes) => bytes,
            Segment::Escaped(mut text) => {
                let now = text.split_to(text.len().min(ESCAPE_CHUNK_BYTES));
                if !text.is_empty() {
                    self.segments.push_front(Segment::Escaped(text));
                }
                buffer_pool::write_pooled(|room| {
                    room.reserve(2 * now.len());
                    escape_content(&now, room);
                })
            }
        };
        self.remaining_bytes -= next.len();
        Some(next)
    }
}

impl http_body::Body for Segments {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.next_chunk().map(|next| Ok(Frame::data(next))))
    }

    fn is_end_stream(&self) -> bool {
        self.segments.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.remaining_bytes as u64)
    }
}
