//! The list entries of a tool for clients of mcp-web 0.1, encoded when they are needed first.

use std::sync::OnceLock;

/// One entry for a client that sees one page, and one for a client that sees several.
#[derive(Debug, Default)]
pub struct ListingCache {
    single_page: OnceLock<Box<str>>,
    multiple_pages: OnceLock<Box<str>>,
}

impl ListingCache {
    /// The entry for a client that sees several pages or one. `encode` must always give the same for
    /// the same number.
    pub fn get_or_encode(&self, several_pages: bool, encode: impl FnOnce() -> String) -> &str {
        let slot = if several_pages {
            &self.multiple_pages
        } else {
            &self.single_page
        };
        slot.get_or_init(|| encode().into())
    }
}
