//! The parties that hold parts of a budget.

use std::sync::Arc;

use bridge_edge::{ClientAddress, OriginCheck};

/// The holder of a part of a budget: one of the members that use an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Party<M> {
    pub(crate) address: ClientAddress,
    /// The token of a client, or the origin of a page.
    pub(crate) member: M,
}

impl<M> Party<M> {
    pub(crate) fn new(address: ClientAddress, member: M) -> Self {
        Self { address, member }
    }
}

/// The origin of a page whose address is a loopback address, which all browsers and programs of
/// this machine have. `None` for every page with another address, and for a program.
pub(crate) type PageOrigin = Option<Arc<str>>;

/// The address of a page, and on a loopback address also its origin. Pages count for it where
/// tokens are limited, because a page chooses its token itself.
pub(crate) type PageParty = Party<PageOrigin>;

impl PageParty {
    /// Returns the party of a page that connects from this address.
    pub(crate) fn of_page(address: ClientAddress, origin: &OriginCheck) -> Self {
        let origin = match origin {
            OriginCheck::Allowed(origin) if address.is_loopback() => Some(origin.as_str().into()),
            _ => None,
        };
        Self::new(address, origin)
    }
}
