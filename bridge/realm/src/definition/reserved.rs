//! The names and URIs of the bridge's own tools and resources, which a page cannot register.

use std::sync::LazyLock;

use bridge_protocol::{BUILTIN_TOOLS, SESSIONS_URI, STATUS_URI};
use serde::Deserialize;

/// The names of the bridge's own tools, parsed once because every call compares its name with them.
static BUILTIN_TOOL_NAMES: LazyLock<Vec<String>> = LazyLock::new(|| {
    #[derive(Deserialize)]
    struct BuiltinTool {
        name: String,
    }
    let tools: Vec<BuiltinTool> = serde_json::from_str(BUILTIN_TOOLS).unwrap_or_default();
    tools.into_iter().map(|tool| tool.name).collect()
});

/// The prefix of the URI of a stored result; the result's handle follows it. These resources are
/// not listed.
pub const RESULT_URI_PREFIX: &str = "mcp-web://results/";

/// Whether the name belongs to one of the bridge's own tools.
pub fn is_builtin_tool(name: &str) -> bool {
    BUILTIN_TOOL_NAMES.iter().any(|builtin| builtin == name)
}

/// Whether the URI belongs to one of the bridge's own resources.
pub fn is_builtin_resource(uri: &str) -> bool {
    [SESSIONS_URI, STATUS_URI].contains(&uri) || uri.starts_with(RESULT_URI_PREFIX)
}
