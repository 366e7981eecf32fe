//! What is known of a page before it authenticates.

use bridge_edge::OriginCheck;
use bridge_protocol::SessionId;

use crate::budget::PageParty;
use crate::web::AppState;

/// The request that opened the socket. It is stored for pages that may authenticate again.
pub(super) struct HandshakeContext {
    pub(super) state: AppState,
    pub(super) origin: OriginCheck,
    pub(super) session: SessionId,
    /// Whose share of the limits the page counts for.
    pub(super) party: PageParty,
}
