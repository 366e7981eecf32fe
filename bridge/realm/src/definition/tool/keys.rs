//! Names that the bridge adds to definitions, or looks for in them.

/// The optional argument that selects a session, added to every input schema.
pub const SESSION_ARGUMENT: &str = "session_id";

/// The key in a tool's `_meta` that keeps a name which had to be repaired.
pub(super) const ORIGINAL_NAME_KEY: &str = "mcp-web/originalName";

/// The key in a tool's `_meta` with the number of characters that its answers may have, for clients
/// that read it, such as Claude Code.
pub const RESULT_SIZE_KEY: &str = "anthropic/maxResultSizeChars";
