//! The modules that apps import.

/// The main module, and those for frameworks, which need it.
pub(super) const ENTRIES: [&str; 4] = ["mcp-web", "mcp-web-react", "mcp-web-svelte", "mcp-web-vue"];
/// The module that is all of the SDK.
pub(super) const INLINE_ENTRY: &str = "mcp-web-inline";
/// The modules that tests import.
pub(super) const TESTING_ENTRIES: [&str; 2] = ["testing/index", "testing/bridge"];
