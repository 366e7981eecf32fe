//! The end of what a server has written to stderr.

use std::collections::VecDeque;

/// Maximum size of the stored end, in bytes.
const MAX_BYTES: usize = 64 * 1024;

/// The end of what a server has written to stderr.
#[derive(Debug, Default)]
pub(super) struct StderrTail(VecDeque<u8>);

impl StderrTail {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let bytes = &bytes[bytes.len().saturating_sub(MAX_BYTES)..];
        let excess = (self.0.len() + bytes.len()).saturating_sub(MAX_BYTES);
        self.0.drain(..excess);
        self.0.extend(bytes);
    }

    pub(super) fn text(&self) -> String {
        let (first, second) = self.0.as_slices();
        String::from_utf8_lossy(&[first, second].concat()).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_kept() {
        let mut tail = StderrTail::default();
        tail.push(b"first ");
        tail.push(&[b'x'; MAX_BYTES - 4]);
        tail.push(b"last");
        let text = tail.text();
        assert_eq!(text.len(), MAX_BYTES);
        assert!(text.starts_with("xx") && text.ends_with("xlast"));
        tail.push(&[b'y'; 3 * MAX_BYTES]);
        assert_eq!(tail.text(), "y".repeat(MAX_BYTES));
    }
}
