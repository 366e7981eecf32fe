//! The pages that are compared.

/// A page that registers one tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartPage {
    /// A page that registers nothing.
    Nothing,
    /// The SDK, from the bridge.
    McpWeb,
    /// The SDK, bundled with the page's script.
    McpWebBundled,
    /// `@jason.today/webmcp`, connected to its server.
    WebMcp,
    /// `@mcp-b/global`, as its own script.
    McpBGlobal,
    /// `@mcp-b/global`, bundled with the page's script.
    McpBGlobalBundled,
    /// `@mcp-b/global`, connected to the relay of `@mcp-b/webmcp-local-relay`.
    McpBRelay,
}

impl StartPage {
    /// All pages, in the order of the tables.
    pub const ALL: [Self; 7] = [
        Self::Nothing,
        Self::McpWeb,
        Self::McpWebBundled,
        Self::WebMcp,
        Self::McpBGlobal,
        Self::McpBGlobalBundled,
        Self::McpBRelay,
    ];

    /// Returns the name of the page's file, without its extension.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::McpWeb => "mcp-web",
            Self::McpWebBundled => "mcp-web-bundled",
            Self::WebMcp => "webmcp",
            Self::McpBGlobal => "mcp-b-global",
            Self::McpBGlobalBundled => "mcp-b-global-bundled",
            Self::McpBRelay => "mcp-b-relay",
        }
    }

    /// Returns the pages in the order in which a round loads them: each round starts with another
    /// page.
    pub(super) fn in_round(round: usize) -> [Self; 7] {
        let mut pages = Self::ALL;
        pages.rotate_left(round % Self::ALL.len());
        pages
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_page_is_first_in_one_of_the_rounds() {
        let first = (0..7).map(|round| StartPage::in_round(round)[0]);
        assert_eq!(first.collect::<Vec<_>>(), StartPage::ALL);
        assert_eq!(StartPage::in_round(8), StartPage::in_round(1));
    }
}
