//! Limits that all clients of a bridge share, and how they are divided when they are reached.
//!
//! A [`Party`] is an address, and within it a token or the origin of a page. Any party may use a
//! limit to the full as long as nobody else needs it. When it is reached, what makes room for a
//! newcomer belongs to the address that holds the most, and there to the token or origin that holds
//! the most: nobody loses anything because others hold more.
//!
//! [`Holdings`] says who holds how much, in entries or in bytes. [`SharedPool`] limits a number of
//! entries, of which those go first that nobody uses. [`ByteBudget`] limits bytes that are in use
//! and cannot make room: what is refused there is more of the party that holds much already.

mod byte_budget;
mod holdings;
mod pool;

use bridge_service::ClientAddress;

pub(crate) use byte_budget::{BudgetExceeded, ByteBudget, ByteLease};
pub(crate) use holdings::Holdings;
pub(crate) use pool::{PoolPermit, PoolUse, SharedPool};

/// Who holds a part of a shared limit: a member of those who use one address.
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
