//! Pieces of a text that are cut out or inserted, while the rest stays unchanged.

use std::ops::Range;

/// A change of a text: the pieces in order, which do not overlap.
#[derive(Debug, Default)]
pub(super) struct Splice {
    pieces: Vec<(Range<usize>, String)>,
}

impl Splice {
    /// Inserts a text at an offset.
    pub(super) fn insert(&mut self, offset: usize, inserted: impl Into<String>) {
        self.replace(offset..offset, inserted);
    }

    /// Cuts out a piece.
    pub(super) fn cut(&mut self, range: Range<usize>) {
        self.replace(range, "");
    }

    /// Replaces a piece.
    pub(super) fn replace(&mut self, range: Range<usize>, replacement: impl Into<String>) {
        self.pieces.push((range, replacement.into()));
    }

    /// Returns the changed text.
    pub(super) fn apply(self, text: &str) -> String {
        let mut changed = String::with_capacity(text.len());
        let mut end = 0;
        for (range, replacement) in self.pieces {
            changed.push_str(&text[end..range.start]);
            changed.push_str(&replacement);
            end = range.end;
        }
        changed.push_str(&text[end..]);
        changed
    }
}
