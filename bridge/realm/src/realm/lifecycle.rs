//! The beginnings, changes and ends of sessions and queries, which the hub logs.

use std::net::IpAddr;
use std::sync::Arc;

use bridge_protocol::{ErrorCode, QueryId, SessionId, Subject, TokenUsage};

/// An event in the life of a session or of a query, with the page that it concerns.
#[derive(Debug)]
pub struct Lifecycle {
    /// The event.
    pub event: LifecycleEvent,
    /// The session of the page.
    pub session: SessionId,
    /// The subject of the page's token.
    pub subject: Option<Arc<Subject>>,
    /// The address of the page.
    pub address: Option<IpAddr>,
}

/// An event in the life of a session or of a query. Times are in milliseconds.
#[derive(Debug, PartialEq, Eq)]
pub enum LifecycleEvent {
    /// A page has connected, and its session begins.
    PageConnected {
        /// The app of the page, if the page names it.
        app: Option<String>,
        /// The origin of the page, if it has one.
        origin: Option<String>,
    },
    /// A session continues on a new connection.
    PageReconnected {
        /// How long the session had no connection. `None` if the new one took over.
        away_ms: Option<u64>,
    },
    /// A session has no connection, and waits for its page or for the next document.
    PageAway {
        /// Why the connection has ended.
        reason: &'static str,
        /// How long the page was connected.
        connected_ms: u64,
    },
    /// A session has ended.
    PageGone {
        /// Why it has ended.
        reason: &'static str,
        /// How long it existed.
        ms: u64,
    },
    /// A query has begun.
    QueryBegun {
        /// The query.
        query: QueryId,
    },
    /// A query has ended.
    QueryEnded {
        /// The query.
        query: QueryId,
        /// How it has ended.
        outcome: &'static str,
        /// The code of a failure.
        code: Option<ErrorCode>,
        /// How long it took.
        ms: u64,
        /// The tokens that models used, if the agent has reported them.
        tokens: Option<TokenUsage>,
    },
}
