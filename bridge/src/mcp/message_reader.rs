//! The program that reads what the bridge sends, as far as `User-Agent` names it. Some end the
//! session when a message is longer than they read.

use http::HeaderMap;
use http::header::USER_AGENT;

use crate::config::Config;

/// httpx2 reads no event of more than 1 MiB, not counting its line ends (`max_sse_event_size`), and
/// the Python SDK 2 is built on it. An event has up to
/// [`ENVELOPE_BYTES`](bridge_mcp_results::encoded_size::ENVELOPE_BYTES) besides the result.
const HTTPX2_MAX_EVENT_BYTES: usize = 1024 * 1024;

/// How the product token of each reader in `User-Agent` begins.
const USER_AGENTS: [(&str, MessageReader); 2] = [
    ("python-httpx2/", MessageReader::Httpx2),
    ("mcp-web-stdio/", MessageReader::Stdio),
];

/// A program that reads messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum MessageReader {
    Httpx2,
    /// A client on the stdio of `mcp-web-stdio`, which receives each message as a line.
    Stdio,
    Other,
}

impl MessageReader {
    /// Returns the reader of the responses to requests with these headers.
    pub(super) fn from_headers(headers: &HeaderMap) -> Self {
        let agent = headers.get(USER_AGENT).and_then(|it| it.to_str().ok());
        let agent = agent.unwrap_or_default();
        let mut readers = USER_AGENTS.into_iter();
        readers
            .find(|(product, _)| agent.starts_with(product))
            .map_or(Self::Other, |(_, reader)| reader)
    }

    /// Returns the maximum size of an event of a stream, if it is known.
    pub(super) fn max_event_bytes(self) -> Option<usize> {
        (self == Self::Httpx2).then_some(HTTPX2_MAX_EVENT_BYTES)
    }

    /// Returns the maximum size of any message to the client with this name, if there is one. A
    /// profile says that its clients read more.
    pub(super) fn max_message_bytes(self, config: &Config, client_name: &str) -> Option<usize> {
        let profile = config.profiles.for_client(client_name);
        let bytes = config.results.max_stdio_message_bytes;
        let bytes = bytes.max(profile.max_result_bytes.unwrap_or(0));
        (self == Self::Stdio).then_some(bytes)
    }
}
