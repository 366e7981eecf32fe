//! The error of a definition that cannot be published.

use bridge_protocol::ErrorCode;

/// Why a definition is refused: the code and the message for the page.
pub type DefinitionError = (ErrorCode, String);
