//! A result on its way out.
//!
//! Of a long one nothing is written into memory as a whole: what stands in the page's message goes
//! out from there, and its text is escaped bit by bit, when the connection has room for it.

mod room;

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use http_body::{Frame, SizeHint};

use super::escape::escape_content;
use crate::json::Within;

/// So much of a text is escaped at a time: the processor still has it at hand when the kernel takes it,
/// and the kernel takes it with few calls.
const ESCAPED_BYTES: usize = 256 * 1024;

/// JSON that is sent.
#[derive(Debug)]
pub(crate) enum Written {
    Whole(Vec<u8>),
    Pieces(Pieces),
}

/// JSON in pieces.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    pieces: VecDeque<Piece>,
    /// The bytes of all.
    length: usize,
}

#[derive(Debug)]
enum Piece {
    AsItIs(Bytes),
    /// The content of a JSON string that has this text.
    Escaped(Bytes),
}

impl Written {
    pub(crate) fn len(&self) -> usize {
        match self {
            Written::Whole(json) => json.len(),
            Written::Pieces(pieces) => pieces.length,
        }
    }

    pub(crate) fn into_vec(self) -> Vec<u8> {
        match self {
            Written::Whole(json) => json,
            Written::Pieces(pieces) => {
                let mut json = Vec::with_capacity(pieces.length);
                for piece in pieces.pieces {
                    match piece {
                        Piece::AsItIs(bytes) => json.extend_from_slice(&bytes),
                        Piece::Escaped(text) => escape_content(&text, &mut json),
                    }
                }
                json
            }
        }
    }
}

impl From<Vec<u8>> for Written {
    fn from(json: Vec<u8>) -> Self {
        Self::Whole(json)
    }
}

impl From<Written> for Body {
    fn from(written: Written) -> Self {
        match written {
            Written::Whole(json) => json.into(),
            Written::Pieces(pieces) => Body::new(pieces),
        }
    }
}

impl Pieces {
    pub(super) fn push(&mut self, bytes: Bytes) {
        self.length += bytes.len();
        self.pieces.push_back(Piece::AsItIs(bytes));
    }

    /// A text, as the content of a JSON string.
    pub(super) fn push_escaped(&mut self, text: &Within) {
        self.length += text.quoted_len() - "\"\"".len();
        self.pieces.push_back(Piece::Escaped(text.bytes()));
    }

    fn next(&mut self) -> Option<Bytes> {
        let next = match self.pieces.pop_front()? {
            Piece::AsItIs(bytes) => bytes,
            Piece::Escaped(mut text) => {
                let now = text.split_to(text.len().min(ESCAPED_BYTES));
                if !text.is_empty() {
                    self.pieces.push_front(Piece::Escaped(text));
                }
                room::written(|room| {
                    room.reserve(2 * now.len());
                    escape_content(&now, room);
                })
            }
        };
        self.length -= next.len();
        Some(next)
    }
}

impl http_body::Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.next().map(|next| Ok(Frame::data(next))))
    }

    fn is_end_stream(&self) -> bool {
        self.pieces.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.length as u64)
    }
}
