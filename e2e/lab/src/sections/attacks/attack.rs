//! The attacks: what they are called, and what the attacker does.

use clap::ValueEnum;

/// An attack. The help of each variant is its description in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Attack {
    /// 600 page sockets that never authenticate
    SilentSockets,
    /// 1,100 requests that send a byte a second, half of them of the head and half of the body
    SlowRequests,
    /// 256 callers without a pause, each with its own connection
    Calls,
    /// 16 pages that send frames of 1 MB without a pause
    LongFrames,
    /// 64 pages that send pings and tiny messages without a pause
    TinyFrames,
    /// 16 pages that register 512 tools with 1 MB, different ones each time
    Registrations,
    /// 64 callers that do not read their results of 9 MB
    UnreadResults,
    /// 1,000 MCP sessions with streams, of 17 tokens
    McpSessions,
}

impl Attack {
    /// Returns what the attacker does, for the table and for the help.
    pub(super) fn description(self) -> String {
        let value = self.to_possible_value();
        let help = value.as_ref().and_then(|value| value.get_help());
        help.map(ToString::to_string).unwrap_or_default()
    }

    /// Returns the name on the command line.
    pub(super) fn name(self) -> String {
        let value = self.to_possible_value();
        value
            .map(|value| value.get_name().to_owned())
            .unwrap_or_default()
    }
}
