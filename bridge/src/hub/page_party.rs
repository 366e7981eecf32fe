//! Whose share of the limits a page counts for before and after it authenticates.

use std::sync::Arc;

use bridge_service::{ClientAddress, OriginCheck};

use crate::shares::Party;

/// The origin of a page whose address is a loopback address, which all browsers and programs of
/// this machine have. `None` for every page with another address, and for a program.
pub(crate) type PageOrigin = Option<Arc<str>>;

/// The address of a page, and on a loopback address also its origin.
pub(crate) type PageParty = Party<PageOrigin>;

/// Returns the party of a page that connects from this address.
pub(crate) fn page_party(address: ClientAddress, origin: &OriginCheck) -> PageParty {
    let origin = match origin {
        OriginCheck::Allowed(origin) if address.is_loopback() => Some(origin.as_str().into()),
        _ => None,
    };
    Party::new(address, origin)
}
