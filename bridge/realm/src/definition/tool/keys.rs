//! The keys and arguments that the bridge adds to definitions or reads from them.

/// The optional argument that selects a session, added to every input schema without
/// [`APP_SESSION_ARGUMENT`].
pub const SESSION_ARGUMENT: &str = "session_id";

/// The argument of an app that has sessions of its own. Beside it, [`SESSION_ARGUMENT`] is not
/// published: a model would confuse the two.
pub(super) const APP_SESSION_ARGUMENT: &str = "sessionId";

/// The key in a tool's `_meta` with the maximum number of characters of its results, for clients
/// that read it, such as Claude Code.
pub const RESULT_SIZE_KEY: &str = "anthropic/maxResultSizeChars";
