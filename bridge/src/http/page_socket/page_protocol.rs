//! The protocol that a page uses on its socket.

use bridge_compat::page_codec;
use bridge_protocol::Authenticate;
use bridge_realm::realm::PageAbilities;

/// The protocol that a page uses on its socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PageProtocol {
    /// The protocol of the crate `bridge-protocol`.
    V2,
    /// The protocol of pages that were written for mcp-web 0.1.
    Compat,
}

impl PageProtocol {
    /// Returns the abilities of a page with this protocol.
    pub(super) fn abilities(self, hello: &Authenticate) -> PageAbilities {
        match self {
            PageProtocol::V2 => PageAbilities {
                checks_late_calls: hello.checks_late_calls,
                ..PageAbilities::SDK
            },
            PageProtocol::Compat => page_codec::PAGE_ABILITIES,
        }
    }
}
