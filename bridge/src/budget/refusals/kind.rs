//! The kinds of refusals.

use bridge_protocol::ErrorCode;

/// The kind of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RefusalKind {
    /// A request whose `Host` is not served, or that has several.
    ForeignHost,
    /// A request or page whose origin is not allowed.
    ForeignOrigin,
    /// A request or page without a token.
    MissingToken,
    /// A request or page with a token that is not valid or has expired.
    InvalidToken,
    /// An invalid token of an address that has sent too many.
    MaxRefusedTokens,
    /// A request or page whose token does not grant enough.
    InsufficientScope,
    /// A request with too many header fields, or too long ones.
    HeadTooLarge,
    /// A request with too large a body.
    BodyTooLarge,
    /// A request whose body came too slowly.
    BodyTooSlow,
    /// A client that read a response too slowly.
    ResponseTooSlow,
    /// A page that did not authenticate in time, or sent something else first.
    PageHandshake,
    /// A message of a page that is too large or that the protocol does not allow.
    PageMessage,
    /// A connection over the limit of all, or of one address.
    MaxConnections,
    /// A page, because too many have not authenticated yet.
    MaxPendingPages,
    /// A page of one token too many.
    MaxRealms,
    /// A page over the limit of its token.
    MaxSessions,
    /// Definitions over `max_definitions` or `max_definition_bytes`.
    MaxDefinitions,
    /// An MCP session over the limit of all.
    MaxMcpSessions,
    /// A client over the limit of its token.
    MaxClients,
    /// A call over the limit of its token.
    MaxCalls,
    /// An answer, because too many bytes wait to be read.
    MaxUnreadBytes,
    /// A request, a message, a page or a client for which there is no memory.
    MaxMemoryBytes,
    /// A query over the limit of its token.
    MaxQueries,
    /// An entry of a list that is larger than a message to its client.
    MaxStdioMessageBytes,
}

impl RefusalKind {
    /// All kinds.
    pub(crate) const ALL: [Self; 24] = [
        Self::ForeignHost,
        Self::ForeignOrigin,
        Self::MissingToken,
        Self::InvalidToken,
        Self::MaxRefusedTokens,
        Self::InsufficientScope,
        Self::HeadTooLarge,
        Self::BodyTooLarge,
        Self::BodyTooSlow,
        Self::ResponseTooSlow,
        Self::PageHandshake,
        Self::PageMessage,
        Self::MaxConnections,
        Self::MaxPendingPages,
        Self::MaxRealms,
        Self::MaxSessions,
        Self::MaxDefinitions,
        Self::MaxMcpSessions,
        Self::MaxClients,
        Self::MaxCalls,
        Self::MaxUnreadBytes,
        Self::MaxMemoryBytes,
        Self::MaxQueries,
        Self::MaxStdioMessageBytes,
    ];

    /// The name of the kind in logs and metrics. A limit has the name of its setting, or of the
    /// first one if there are several.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::ForeignHost => "foreign_host",
            Self::ForeignOrigin => "foreign_origin",
            Self::MissingToken => "missing_token",
            Self::InvalidToken => "invalid_token",
            Self::MaxRefusedTokens => "max_refused_tokens",
            Self::InsufficientScope => "insufficient_scope",
            Self::HeadTooLarge => "head_too_large",
            Self::BodyTooLarge => "body_too_large",
            Self::BodyTooSlow => "body_too_slow",
            Self::ResponseTooSlow => "response_too_slow",
            Self::PageHandshake => "page_handshake",
            Self::PageMessage => "page_message",
            Self::MaxConnections => "max_connections",
            Self::MaxPendingPages => "max_pending_pages",
            Self::MaxRealms => "max_realms",
            Self::MaxSessions => "max_sessions",
            Self::MaxDefinitions => "max_definitions",
            Self::MaxMcpSessions => "max_mcp_sessions",
            Self::MaxClients => "max_clients",
            Self::MaxCalls => "max_calls",
            Self::MaxUnreadBytes => "max_unread_bytes",
            Self::MaxMemoryBytes => "max_memory_bytes",
            Self::MaxQueries => "max_queries",
            Self::MaxStdioMessageBytes => "max_stdio_message_bytes",
        }
    }

    /// The kind of an error that refuses a request, a page or a part of its messages. `None` for
    /// other errors.
    pub(crate) fn from_code(code: ErrorCode) -> Option<Self> {
        Some(match code {
            ErrorCode::OriginNotAllowed => Self::ForeignOrigin,
            ErrorCode::MissingAuthentication => Self::MissingToken,
            ErrorCode::InvalidAuthentication | ErrorCode::TokenExpired => Self::InvalidToken,
            ErrorCode::InsufficientScope => Self::InsufficientScope,
            ErrorCode::RequestTooLarge => Self::BodyTooLarge,
            ErrorCode::RequestTimeout => Self::BodyTooSlow,
            ErrorCode::RealmLimitExceeded => Self::MaxRealms,
            ErrorCode::SessionLimitExceeded => Self::MaxSessions,
            ErrorCode::MemoryLimitExceeded => Self::MaxMemoryBytes,
            ErrorCode::DefinitionLimitExceeded => Self::MaxDefinitions,
            ErrorCode::CallLimitExceeded => Self::MaxCalls,
            ErrorCode::QueryLimitExceeded => Self::MaxQueries,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_numbered_in_order() {
        for (index, kind) in RefusalKind::ALL.iter().enumerate() {
            assert_eq!(*kind as usize, index);
        }
    }
}
