//! The list entries of a tool for an interface that has one format for them, encoded on first use.

use std::sync::OnceLock;

/// Two cached entries: one for a client that sees one page, and one for a client that sees several.
#[derive(Debug, Default)]
pub struct ListingCache {
    single_page: OnceLock<Box<str>>,
    multiple_pages: OnceLock<Box<str>>,
}

impl ListingCache {
    /// Whether the entry for such a client is encoded.
    pub(super) fn is_encoded(&self, several_pages: bool) -> bool {
        self.slot(several_pages).get().is_some()
    }

    /// The entry for a client that sees several pages or one. For one value of `several_pages`
    /// every `encode` must return the same text.
    pub fn get_or_encode(&self, several_pages: bool, encode: impl FnOnce() -> String) -> &str {
        let slot = self.slot(several_pages);
        slot.get_or_init(|| encode().into())
    }

    fn slot(&self, several_pages: bool) -> &OnceLock<Box<str>> {
        if several_pages {
            &self.multiple_pages
        } else {
            &self.single_page
        }
    }
}
