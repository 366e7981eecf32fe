//! Attacks on a bridge from one address, and what a client at another address notices of them.
//!
//! An [`Attack`] is carried out by an [`Attacker`], which comes from 127.0.0.2. [`measure`] starts
//! a bridge and a victim at 127.0.0.3, which has a token and a page of its own and calls it at a
//! constant rate, first alone and then during the attack. The program `attack` prints the figures
//! for docs/benchmarks.md.
//!
//! An attacker expects nothing: what the bridge refuses or closes is tried again.

mod attacker;
mod client;
mod comparison;
mod execution;
mod stored;
mod victim;

mod body_flood;
mod calls;
mod closed_apps;
mod connections;
mod page_frames;
mod pools;
mod registrations;
mod stranger_frames;
mod unread_answers;
mod validation;

use clap::ValueEnum;

pub use attacker::{Attacker, Schedule};
pub use comparison::{Comparison, Plan, Priorities, measure};
pub use execution::run;
pub use stored::Stored;
pub use victim::{Victim, VictimFigures};

/// The tokens that a bridge lists during [`Attack::TokenGuesses`]: those at the victim's address.
const LISTED_TOKENS: &str =
    "the-token-of-the-victim-0123456789abcdef,the-token-of-the-newcomer-0123456789abcdef";

/// What an attacker does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Attack {
    /// `activity` messages on unauthenticated sockets
    Activity,
    /// Empty continuation frames on unauthenticated sockets
    Continuations,
    /// Pings on unauthenticated sockets
    Pings,
    /// Tiny messages on sockets whose origin is refused
    RefusedOrigin,
    /// `activity` on as many unauthenticated sockets as a bridge has
    ManyStrangers,
    /// First frames of 16 MiB on unauthenticated sockets
    LongFirstFrames,
    /// Pings of authenticated pages
    PagePings,
    /// Empty continuation frames of authenticated pages
    PageContinuations,
    /// Tiny messages of authenticated pages
    PageMessages,
    /// Requests without a token whose bodies do not come
    OpenBodies,
    /// Requests to `/mcp` with a token whose bodies do not come
    OpenMcpBodies,
    /// Requests of clients of mcp-web 0.1 whose bodies do not come
    OpenCompatBodies,
    /// Bodies of 3.9 MB at once
    LongBodies,
    /// Registrations of schemas with many references
    ReferenceRegistrations,
    /// Registrations as large as they may be
    LargestRegistrations,
    /// Registrations of recursive schemas
    RecursiveRegistrations,
    /// Arguments that are expensive to validate
    Validation,
    /// Pages with a token each
    Tokens,
    /// MCP sessions with streams
    McpSessions,
    /// Page sockets that say nothing
    SilentSockets,
    /// Large results that are stored and never read
    KeptResults,
    /// Apps with many definitions that are closed
    ClosedApps,
    /// Large answers that are not read
    UnreadAnswers,
    /// Streams of notifications that are not read
    UnreadStreams,
    /// Requests with guessed tokens
    TokenGuesses,
    /// Connections that are closed at once
    Connections,
    /// Clients that disconnect during their calls
    AbandonedCalls,
    /// Calls that the attacker's page never answers
    UnansweredCalls,
    /// Calls as fast as they are answered
    Calls,
}

impl Attack {
    /// Returns all attacks, in the order of the document.
    pub fn all() -> &'static [Self] {
        Self::value_variants()
    }

    /// Returns the name on the command line.
    pub fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Returns what the attacker does, for a table.
    pub fn description(self) -> &'static str {
        match self {
            Self::Activity => "`activity` on 2 unauthenticated sockets",
            Self::Continuations => "empty continuation frames on 2 unauthenticated sockets",
            Self::Pings => "pings on 2 unauthenticated sockets, opened again when they are closed",
            Self::RefusedOrigin => "tiny messages on 2 sockets with a refused origin",
            Self::ManyStrangers => "`activity` on 500 unauthenticated sockets",
            Self::LongFirstFrames => "first frames of 16 MiB on 64 unauthenticated sockets",
            Self::PagePings => "pings of 2 authenticated pages",
            Self::PageContinuations => "empty continuation frames of 2 authenticated pages",
            Self::PageMessages => "tiny messages of 64 authenticated pages",
            Self::OpenBodies => {
                "1,100 × `PUT /query/…/complete` without a token, 1 byte of 4 MB each"
            }
            Self::OpenMcpBodies => "1,100 × `POST /mcp`, 1 byte of 4 MB each",
            Self::OpenCompatBodies => {
                "1,100 × `POST /` without a token with `--compat`, 1 byte of 4 MB each"
            }
            Self::LongBodies => "300 bodies of 3.9 MB at once",
            Self::ReferenceRegistrations => {
                "16 pages register 29 kB, 5 `$defs` with 64 `$ref`s each"
            }
            Self::LargestRegistrations => "16 pages register 1 MB, 512 tools each",
            Self::RecursiveRegistrations => "16 pages register 64 recursive schemas each",
            Self::Validation => {
                "24 callers: 2,000,000 numbers, or 190,000 against an `allOf` of 100"
            }
            Self::Tokens => "1,000 tokens with a page each",
            Self::McpSessions => "1,000 MCP sessions with streams, of 17 tokens",
            Self::SilentSockets => "600 page sockets that say nothing",
            Self::KeptResults => "60 results of 9 MB at a time, kept for `get_result`",
            Self::ClosedApps => "1 MB of definitions of one app after the other, of 64 tokens",
            Self::UnreadAnswers => "64 answers of 9 MB that are not read",
            Self::UnreadStreams => "60 streams that are not read, while tools come and go",
            Self::TokenGuesses => "requests with guessed tokens on 8 connections",
            Self::Connections => "connections that are closed at once, 64 at a time",
            Self::AbandonedCalls => "64 clients that leave in the middle of their calls",
            Self::UnansweredCalls => "300 calls at a time that the page never answers",
            Self::Calls => "64 callers without a pause",
        }
    }

    /// Returns what is counted of the attack.
    fn unit(self) -> &'static str {
        match self {
            Self::Activity
            | Self::Continuations
            | Self::Pings
            | Self::RefusedOrigin
            | Self::ManyStrangers
            | Self::LongFirstFrames
            | Self::PagePings
            | Self::PageContinuations
            | Self::PageMessages => "frames",
            Self::ReferenceRegistrations
            | Self::LargestRegistrations
            | Self::RecursiveRegistrations
            | Self::ClosedApps => "registrations",
            Self::Tokens => "pages",
            Self::McpSessions => "MCP sessions",
            Self::SilentSockets | Self::Connections => "connections",
            Self::UnreadStreams => "changes",
            _ => "requests",
        }
    }

    /// Returns the arguments of the bridge, besides its address.
    pub fn bridge_arguments(self) -> &'static [&'static str] {
        match self {
            Self::OpenCompatBodies => &["--compat", "mcp-web"],
            Self::TokenGuesses => &["--tokens", LISTED_TOKENS],
            _ => &[],
        }
    }
}
