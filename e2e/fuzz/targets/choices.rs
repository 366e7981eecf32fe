//! The input of a target as a list of decisions.

use arbitrary::Unstructured;

/// Decisions that are read from the bytes of an input. After its end, all of them are the first of
/// their options.
pub(crate) struct Choices<'a>(Unstructured<'a>);

impl<'a> Choices<'a> {
    pub(crate) fn new(input: &'a [u8]) -> Self {
        Self(Unstructured::new(input))
    }

    /// Whether the input has more bytes.
    pub(crate) fn has_more(&self) -> bool {
        !self.0.is_empty()
    }

    /// A number less than `count`, which must not be 0.
    pub(crate) fn below(&mut self, count: usize) -> usize {
        self.0.choose_index(count).unwrap_or(0)
    }

    /// Whether one of `count` equally likely cases occurs.
    pub(crate) fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == count - 1
    }

    /// One of the items, which must not be empty.
    pub(crate) fn pick<'i, T>(&mut self, items: &'i [T]) -> &'i T {
        &items[self.below(items.len())]
    }

    /// A short text.
    pub(crate) fn text(&mut self) -> String {
        let length = self.below(24);
        let bytes = self.0.bytes(length.min(self.0.len())).unwrap_or_default();
        String::from_utf8_lossy(bytes).into_owned()
    }

    /// At most this many bytes.
    pub(crate) fn bytes(&mut self, limit: usize) -> &'a [u8] {
        let length = self.below(limit + 1);
        self.0.bytes(length.min(self.0.len())).unwrap_or_default()
    }
}
