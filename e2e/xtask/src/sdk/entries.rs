//! The modules that apps import.

/// The main module, and those for frameworks, which need it.
pub(super) const ENTRIES: [&str; 11] = [
    "mcp-web",
    "mcp-web-ask",
    "mcp-web-node",
    "mcp-web-page",
    "mcp-web-page-driver",
    "mcp-web-react",
    "mcp-web-state",
    "mcp-web-state-react",
    "mcp-web-svelte",
    "mcp-web-vue",
    "mcp-web-webmcp",
];
/// The modules that tests import.
pub(super) const TESTING_ENTRIES: [&str; 2] = ["testing/index", "testing/bridge"];

/// The packages of npm that esbuild puts into the files. Programs carry their licences.
pub const BUNDLED_PACKAGES: [&str; 5] = [
    "@cfworker/json-schema",
    "dompurify",
    "ivya",
    "marked",
    "partial-json",
];
