//! The memory of the bodies of requests, from their first byte until their query has ended. The body of
//! a frontend is read before anybody knows whether it may ask, so that frontends have only a share.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::running_queries::{FRONTENDS_SHARE, QueryOwner};
use bridge_edge::TokenHash;

/// The bodies of one user, or of one frontend, have one in so many bytes.
const OWNER_SHARE: usize = 8;

/// The owner of a body.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum BodyOwner {
    /// A bridge that does not send the caller: that of mcp-web 0.1.
    Bridge,
    /// The user who asks, by the name that the bridge gives.
    User(String),
    /// The frontend with this token.
    Frontend(TokenHash),
}

impl From<QueryOwner> for BodyOwner {
    fn from(owner: QueryOwner) -> Self {
        owner.frontend.map_or(Self::Bridge, Self::Frontend)
    }
}

/// The memory of all bodies.
#[derive(Debug)]
pub(crate) struct BodyMemory {
    max_bytes: usize,
    usage: Mutex<MemoryUsage>,
}

#[derive(Debug, Default)]
struct MemoryUsage {
    all: usize,
    frontends: usize,
    by_owner: HashMap<BodyOwner, usize>,
}

/// The memory of one body. Dropping it releases the memory.
#[derive(Debug)]
pub(crate) struct BodyReservation {
    memory: Arc<BodyMemory>,
    owner: BodyOwner,
    bytes: usize,
}

impl BodyMemory {
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self {
            max_bytes,
            usage: Mutex::default(),
        }
    }

    pub(crate) fn max_bytes(&self) -> usize {
        self.max_bytes
    }

    /// Begins the reservation for a body of which nothing has arrived.
    pub(crate) fn begin(self: &Arc<Self>, owner: BodyOwner) -> BodyReservation {
        BodyReservation {
            memory: Arc::clone(self),
            owner,
            bytes: 0,
        }
    }

    /// Locks the usage. A poisoned lock is used anyway, because no code panics while it holds the
    /// lock.
    fn usage(&self) -> MutexGuard<'_, MemoryUsage> {
        self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BodyReservation {
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Reserves memory until the body has this many bytes. Returns whether there is room.
    #[must_use]
    pub(crate) fn grow_to(&mut self, bytes: usize) -> bool {
        let more = bytes.saturating_sub(self.bytes);
        let max = self.memory.max_bytes;
        let mut usage = self.memory.usage();
        let own = usage.by_owner.get(&self.owner).copied().unwrap_or_default();
        let is_bridge = self.owner == BodyOwner::Bridge;
        if usage.all.saturating_add(more) > max
            || self.is_frontend() && usage.frontends.saturating_add(more) > max / FRONTENDS_SHARE
            || !is_bridge && own.saturating_add(more) > max / OWNER_SHARE
        {
            return false;
        }
        if self.is_frontend() {
            usage.frontends += more;
        }
        usage.by_owner.insert(self.owner.clone(), own + more);
        usage.all += more;
        self.bytes += more;
        true
    }

    fn is_frontend(&self) -> bool {
        matches!(self.owner, BodyOwner::Frontend(_))
    }
}

impl Drop for BodyReservation {
    fn drop(&mut self) {
        let mut usage = self.memory.usage();
        usage.all -= self.bytes;
        if self.is_frontend() {
            usage.frontends -= self.bytes;
        }
        if let Entry::Occupied(mut own) = usage.by_owner.entry(self.owner.clone()) {
            *own.get_mut() -= self.bytes;
            if *own.get() == 0 {
                own.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    fn frontend(token: &str) -> BodyOwner {
        BodyOwner::Frontend(TokenHash::from_token(token))
    }

    #[test]
    fn owners_have_a_share_each_and_frontends_one_together() {
        let memory = Arc::new(BodyMemory::new(800));
        let mut first = memory.begin(frontend("a"));
        assert!(first.grow_to(60) && first.grow_to(100));
        assert!(!first.grow_to(101));
        assert!(!memory.begin(frontend("a")).grow_to(1));
        let others: Vec<_> = ["b", "c", "d"]
            .map(|token| {
                let mut body = memory.begin(frontend(token));
                assert!(body.grow_to(100));
                body
            })
            .into();
        assert!(!memory.begin(frontend("e")).grow_to(1));
        let mut of_user = memory.begin(BodyOwner::User("ada".to_owned()));
        assert!(of_user.grow_to(100));
        assert!(!memory.begin(BodyOwner::User("ada".to_owned())).grow_to(1));
        drop(of_user);
        let mut of_bridge = memory.begin(BodyOwner::Bridge);
        assert!(of_bridge.grow_to(400));
        assert!(!of_bridge.grow_to(401));
        drop((first, others));
        assert!(memory.begin(frontend("a")).grow_to(100));
        assert!(of_bridge.grow_to(800));
        drop(of_bridge);
        let usage = memory.usage();
        assert_eq!(
            (usage.all, usage.frontends, usage.by_owner.len()),
            (0, 0, 0)
        );
    }
}
