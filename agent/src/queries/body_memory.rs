//! The memory of the bodies of requests, from their first byte until their query has ended. A body is
//! read before anybody knows whether its sender may ask, so that frontends have only a share.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::registry::QueryOwner;
use crate::credential::TokenHash;

/// The bodies of all frontends together have one in so many bytes: the bridge always has the rest.
const FRONTENDS_SHARE: usize = 2;

/// The bodies of one frontend have one in so many bytes.
const FRONTEND_SHARE: usize = 8;

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
    by_frontend: HashMap<TokenHash, usize>,
}

/// The memory of one body. Dropping it releases the memory.
#[derive(Debug)]
pub(crate) struct BodyReservation {
    memory: Arc<BodyMemory>,
    owner: QueryOwner,
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
    pub(crate) fn begin(self: &Arc<Self>, owner: QueryOwner) -> BodyReservation {
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
        if usage.all.saturating_add(more) > max {
            return false;
        }
        if let QueryOwner::Frontend(token) = self.owner {
            let own = usage.by_frontend.get(&token).copied().unwrap_or_default();
            if usage.frontends.saturating_add(more) > max / FRONTENDS_SHARE
                || own.saturating_add(more) > max / FRONTEND_SHARE
            {
                return false;
            }
            usage.frontends += more;
            usage.by_frontend.insert(token, own + more);
        }
        usage.all += more;
        self.bytes += more;
        true
    }
}

impl Drop for BodyReservation {
    fn drop(&mut self) {
        let mut usage = self.memory.usage();
        usage.all -= self.bytes;
        if let QueryOwner::Frontend(token) = self.owner
            && let Some(own) = usage.by_frontend.get_mut(&token)
        {
            *own -= self.bytes;
            if *own == 0 {
                usage.by_frontend.remove(&token);
            }
            usage.frontends -= self.bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use bridge_service::Secret;

    use super::*;

    fn frontend(token: &str) -> QueryOwner {
        QueryOwner::Frontend(TokenHash::new(&Secret::from_trusted(token.to_owned())))
    }

    #[test]
    fn frontends_have_a_share_each_and_together_and_the_bridge_has_the_rest() {
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
        let mut of_bridge = memory.begin(QueryOwner::Bridge);
        assert!(of_bridge.grow_to(400));
        assert!(!of_bridge.grow_to(401));
        drop((first, others));
        assert!(memory.begin(frontend("a")).grow_to(100));
        assert!(of_bridge.grow_to(800));
        drop(of_bridge);
        let usage = memory.usage();
        assert_eq!(
            (usage.all, usage.frontends, usage.by_frontend.len()),
            (0, 0, 0)
        );
    }
}
