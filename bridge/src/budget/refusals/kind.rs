//! The kinds of refusals, and which of them are temporary.

use std::time::Duration;

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
    /// A request or page with a token that is not valid.
    InvalidToken,
    /// A request or page with a token that was valid and has expired.
    ExpiredToken,
    /// A request or page with a token that cannot be checked now, because keys are missing.
    KeysUnavailable,
    /// An invalid token of an address that has sent too many.
    MaxRefusedTokens,
    /// A request or page whose token does not grant enough.
    InsufficientScope,
    /// A request or page of a user or token to which the operator has denied access.
    AccessDenied,
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
    /// A request or page whose bridge, one of several, cannot be found or reached.
    ClusterAway,
    /// A request to the listener for other bridges that does not prove that it comes from one.
    ClusterPeer,
    /// A request with a token that no bridge of the cluster serves, of an address that has sent too many.
    MaxClusterLookups,
}

/// Whether the same attempt may succeed later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RetryRule {
    /// It would be refused again, for this reason.
    Final(&'static str),
    /// It may succeed after this time.
    After(Duration),
}

impl RetryRule {
    const fn after_seconds(seconds: u64) -> Self {
        Self::After(Duration::from_secs(seconds))
    }
}

impl RefusalKind {
    /// All kinds.
    pub(crate) const ALL: [Self; 30] = [
        Self::ForeignHost,
        Self::ForeignOrigin,
        Self::MissingToken,
        Self::InvalidToken,
        Self::ExpiredToken,
        Self::KeysUnavailable,
        Self::MaxRefusedTokens,
        Self::InsufficientScope,
        Self::AccessDenied,
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
        Self::ClusterAway,
        Self::ClusterPeer,
        Self::MaxClusterLookups,
    ];

    /// The name of the kind in logs and metrics. A limit has the name of its setting, or of the
    /// first one if there are several.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::ForeignHost => "foreign_host",
            Self::ForeignOrigin => "foreign_origin",
            Self::MissingToken => "missing_token",
            Self::InvalidToken => "invalid_token",
            Self::ExpiredToken => "expired_token",
            Self::KeysUnavailable => "keys_unavailable",
            Self::MaxRefusedTokens => "max_refused_tokens",
            Self::InsufficientScope => "insufficient_scope",
            Self::AccessDenied => "access_denied",
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
            Self::ClusterAway => "cluster_away",
            Self::ClusterPeer => "cluster_peer",
            Self::MaxClusterLookups => "max_cluster_lookups",
        }
    }

    /// Returns whether the same attempt may succeed later. A temporary refusal of a request has the
    /// status 429 or 503 and `Retry-After`, that of a page the close code 1013 and a
    /// [`RetryHint`](bridge_protocol::RetryHint).
    ///
    /// The times are short where a place becomes free at once, and long where somebody must leave.
    pub(crate) const fn retry(self) -> RetryRule {
        use RetryRule::Final;
        match self {
            Self::ForeignHost => Final("the operator must allow the host"),
            Self::ForeignOrigin => Final("the operator must allow the origin"),
            Self::MissingToken => Final("the peer must send a token"),
            Self::InvalidToken => Final("the peer must send another token"),
            Self::ExpiredToken => Final("the peer must send a fresh token"),
            Self::InsufficientScope => Final("the token must grant more"),
            Self::AccessDenied => Final("the operator must allow the user or token again"),
            Self::HeadTooLarge => Final("the head must be smaller"),
            Self::BodyTooLarge => Final("the body must be smaller"),
            Self::BodyTooSlow => Final("the peer must send faster, and need not wait before that"),
            Self::ResponseTooSlow => Final("the peer must read faster"),
            Self::PageHandshake => Final("the page must send `authenticate` first"),
            Self::PageMessage => Final("the page must obey the protocol"),
            Self::MaxDefinitions => Final("the page must register fewer or smaller definitions"),
            Self::MaxUnreadBytes => Final("the call has run, and must not run again"),
            Self::MaxStdioMessageBytes => Final("the entry of the list must be smaller"),
            Self::ClusterPeer => Final("the peer must have the secret of the cluster"),
            Self::ClusterAway => RetryRule::after_seconds(2),
            Self::MaxRefusedTokens | Self::MaxClusterLookups => RetryRule::after_seconds(60),
            Self::MaxPendingPages | Self::MaxCalls => RetryRule::after_seconds(1),
            Self::KeysUnavailable
            | Self::MaxConnections
            | Self::MaxMemoryBytes
            | Self::MaxQueries => RetryRule::after_seconds(5),
            Self::MaxRealms | Self::MaxMcpSessions => RetryRule::after_seconds(10),
            Self::MaxSessions | Self::MaxClients => RetryRule::after_seconds(30),
        }
    }

    /// Returns the time after which the same attempt may succeed; `None` if the refusal is final.
    pub(crate) const fn retry_after(self) -> Option<Duration> {
        match self.retry() {
            RetryRule::Final(_) => None,
            RetryRule::After(time) => Some(time),
        }
    }

    /// Whether the refusal is part of normal operation: a client finds out by it that it needs a
    /// token or a fresh one. That keys cannot be fetched has its own lines in the log.
    pub(crate) const fn is_ordinary(self) -> bool {
        matches!(
            self,
            Self::MissingToken | Self::ExpiredToken | Self::KeysUnavailable
        )
    }

    /// The kind of an error that refuses a request, a page or a part of its messages. `None` for
    /// other errors.
    pub(crate) fn from_code(code: ErrorCode) -> Option<Self> {
        Some(match code {
            ErrorCode::HostNotAllowed => Self::ForeignHost,
            ErrorCode::OriginNotAllowed => Self::ForeignOrigin,
            ErrorCode::MissingAuthentication => Self::MissingToken,
            ErrorCode::InvalidAuthentication => Self::InvalidToken,
            ErrorCode::TokenExpired => Self::ExpiredToken,
            ErrorCode::AuthenticationUnavailable => Self::KeysUnavailable,
            ErrorCode::InsufficientScope => Self::InsufficientScope,
            ErrorCode::AccessDenied => Self::AccessDenied,
            ErrorCode::RequestTooLarge => Self::BodyTooLarge,
            ErrorCode::RequestTimeout => Self::BodyTooSlow,
            ErrorCode::RealmLimitExceeded => Self::MaxRealms,
            ErrorCode::SessionLimitExceeded => Self::MaxSessions,
            ErrorCode::MemoryLimitExceeded => Self::MaxMemoryBytes,
            ErrorCode::DefinitionLimitExceeded => Self::MaxDefinitions,
            ErrorCode::CallLimitExceeded => Self::MaxCalls,
            ErrorCode::QueryLimitExceeded => Self::MaxQueries,
            ErrorCode::ClusterUnavailable => Self::ClusterAway,
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

    #[test]
    fn each_kind_is_final_for_a_reason_or_temporary_for_at_most_a_minute() {
        for kind in RefusalKind::ALL {
            match kind.retry() {
                RetryRule::Final(reason) => assert!(reason.contains("must"), "{kind:?}"),
                RetryRule::After(time) => {
                    assert!((1..=60).contains(&time.as_secs()), "{kind:?}");
                    assert_eq!(time.subsec_nanos(), 0, "{kind:?}");
                }
            }
            // A number or size that others share becomes free, and keys are fetched again.
            let becomes_free = [
                "keys_unavailable",
                "max_connections",
                "max_pending_pages",
                "max_realms",
                "max_sessions",
                "max_mcp_sessions",
                "max_clients",
                "max_calls",
                "max_queries",
                "max_memory_bytes",
                "max_refused_tokens",
                "cluster_away",
                "max_cluster_lookups",
            ]
            .contains(&kind.as_str());
            assert_eq!(kind.retry_after().is_some(), becomes_free, "{kind:?}");
        }
    }
}
