//! What is kept, for whom, how long: facts, without a clock.
//!
//! A token keeps so many calls and results, all tokens together so many bytes. Over either the
//! oldest result goes; a call that is under way stays.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::hash::Hash;
use std::time::{Duration, Instant};

use indexmap::IndexMap;

/// Names what is kept. Nobody can guess one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Handle(String);

impl Handle {
    /// With 122 random bits.
    pub(crate) fn random() -> Self {
        Self(uuid::Uuid::new_v4().simple().to_string())
    }

    /// As somebody names it.
    pub(crate) fn of(name: &str) -> Self {
        Self(name.to_owned())
    }

    /// For an error: clients can write what they like.
    pub(crate) fn shown(&self) -> &str {
        let end = self.0.floor_char_boundary(64);
        &self.0[..end]
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::borrow::Borrow<str> for Handle {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// How much is kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Calls and results of one token.
    pub(crate) per_owner: usize,
    /// Of all results.
    pub(crate) bytes: usize,
    pub(crate) ttl: Duration,
}

/// Why something is not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoRoom {
    /// The token has as many calls under way as it may keep.
    TooMany,
    /// The result alone is larger than all may be together.
    TooLarge,
}

/// What is kept for each owner.
#[derive(Debug)]
pub(super) struct Shelf<Owner, T> {
    limits: Limits,
    owners: HashMap<Owner, IndexMap<Handle, Item<T>>>,
    /// The results, by the number of their ending: the oldest, which expires first, first.
    ended: BTreeMap<u64, (Owner, Handle)>,
    endings: u64,
    /// Of all results: adding them up would take longer the more there are.
    bytes: usize,
}

#[derive(Debug)]
struct Item<T> {
    content: T,
    ended: Option<Ended>,
}

#[derive(Debug)]
struct Ended {
    number: u64,
    bytes: usize,
    expires: Instant,
}

impl<Owner: Copy + Eq + Hash, T> Shelf<Owner, T> {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits,
            owners: HashMap::new(),
            ended: BTreeMap::new(),
            endings: 0,
            bytes: 0,
        }
    }

    /// A call goes on without its caller.
    pub(super) fn started(
        &mut self,
        owner: Owner,
        handle: Handle,
        content: T,
        now: Instant,
    ) -> Result<(), NoRoom> {
        self.expire(now);
        self.make_place(owner)?;
        let item = Item {
            content,
            ended: None,
        };
        self.owners.entry(owner).or_default().insert(handle, item);
        Ok(())
    }

    /// It has ended with a result of this size, which is within the limit.
    pub(super) fn ended(&mut self, owner: Owner, handle: &Handle, bytes: usize, now: Instant) {
        self.expire(now);
        self.make_room(bytes);
        self.endings += 1;
        let items = self.owners.get_mut(&owner);
        let Some(item) = items.and_then(|items| items.get_mut(handle)) else {
            return;
        };
        item.ended = Some(Ended {
            number: self.endings,
            bytes,
            expires: now + self.limits.ttl,
        });
        self.bytes += bytes;
        self.ended.insert(self.endings, (owner, handle.clone()));
    }

    /// A result of a call that has ended already.
    pub(super) fn kept(
        &mut self,
        owner: Owner,
        handle: Handle,
        content: T,
        bytes: usize,
        now: Instant,
    ) -> Result<(), NoRoom> {
        if bytes > self.limits.bytes {
            return Err(NoRoom::TooLarge);
        }
        self.started(owner, handle.clone(), content, now)?;
        self.ended(owner, &handle, bytes, now);
        Ok(())
    }

    pub(super) fn find(&mut self, owner: Owner, handle: &str, now: Instant) -> Option<&T> {
        self.expire(now);
        let item = self.owners.get(&owner)?.get(handle)?;
        Some(&item.content)
    }

    /// When [`expire`](Self::expire) has something to do.
    pub(super) fn next_expiry(&self) -> Option<Instant> {
        let (owner, handle) = self.ended.values().next()?;
        let ended = self.owners.get(owner)?.get(handle)?.ended.as_ref()?;
        Some(ended.expires)
    }

    /// Throws away what is too old.
    pub(super) fn expire(&mut self, now: Instant) {
        while self.next_expiry().is_some_and(|expires| expires <= now) {
            self.drop_oldest();
        }
    }

    /// A place for one more of a token.
    fn make_place(&mut self, owner: Owner) -> Result<(), NoRoom> {
        let items = self.owners.get(&owner);
        if items.map_or(0, IndexMap::len) < self.limits.per_owner {
            return Ok(());
        }
        let endings = items.into_iter().flat_map(IndexMap::values);
        let oldest = endings.filter_map(|item| Some(item.ended.as_ref()?.number));
        let oldest = oldest.min().ok_or(NoRoom::TooMany)?;
        self.drop_ended(oldest);
        Ok(())
    }

    fn make_room(&mut self, bytes: usize) {
        while self.bytes + bytes > self.limits.bytes && !self.ended.is_empty() {
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) {
        if let Some(number) = self.ended.keys().next().copied() {
            self.drop_ended(number);
        }
    }

    fn drop_ended(&mut self, number: u64) {
        let Some((owner, handle)) = self.ended.remove(&number) else {
            return;
        };
        let Some(items) = self.owners.get_mut(&owner) else {
            return;
        };
        let dropped = items.shift_remove(&handle).and_then(|item| item.ended);
        self.bytes -= dropped.map_or(0, |ended| ended.bytes);
        if items.is_empty() {
            self.owners.remove(&owner);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: u8 = 1;
    const TWO: u8 = 2;

    impl<T> Shelf<u8, T> {
        fn check_invariants(&self) {
            let (mut listed, mut bytes) = (0, 0);
            for (owner, items) in &self.owners {
                assert!(!items.is_empty() && items.len() <= self.limits.per_owner);
                for (handle, item) in items {
                    let Some(ended) = &item.ended else { continue };
                    listed += 1;
                    bytes += ended.bytes;
                    assert_eq!(self.ended[&ended.number], (*owner, handle.clone()));
                }
            }
            assert_eq!(listed, self.ended.len());
            assert_eq!(bytes, self.bytes);
            assert!(bytes <= self.limits.bytes);
        }
    }

    fn handle(name: &str) -> Handle {
        Handle(name.to_owned())
    }

    fn shelf(per_owner: usize, bytes: usize) -> (Shelf<u8, ()>, Instant) {
        let ttl = Duration::from_secs(60);
        let limits = Limits {
            per_owner,
            bytes,
            ttl,
        };
        (Shelf::new(limits), Instant::now())
    }

    #[test]
    fn the_oldest_result_of_a_token_makes_place_and_a_call_does_not() {
        let (mut shelf, now) = shelf(2, 100);
        shelf.started(ONE, handle("call"), (), now).unwrap();
        shelf.kept(ONE, handle("old"), (), 1, now).unwrap();
        shelf.kept(TWO, handle("other"), (), 1, now).unwrap();
        shelf.kept(ONE, handle("new"), (), 1, now).unwrap();
        shelf.check_invariants();
        let found = ["call", "old", "new"].map(|name| shelf.find(ONE, name, now).is_some());
        assert_eq!(found, [true, false, true]);
        shelf.started(ONE, handle("second"), (), now).unwrap();
        assert_eq!(
            shelf.started(ONE, handle("third"), (), now),
            Err(NoRoom::TooMany)
        );
        shelf.ended(ONE, &handle("call"), 1, now);
        shelf.started(ONE, handle("third"), (), now).unwrap();
        shelf.check_invariants();
        assert!(shelf.find(ONE, "call", now).is_none());
    }

    #[test]
    fn the_oldest_results_of_all_make_room() {
        let (mut shelf, now) = shelf(10, 100);
        shelf.kept(ONE, handle("a"), (), 40, now).unwrap();
        shelf.kept(TWO, handle("b"), (), 40, now).unwrap();
        shelf.kept(TWO, handle("c"), (), 20, now).unwrap();
        shelf.kept(ONE, handle("d"), (), 41, now).unwrap();
        shelf.check_invariants();
        let mut there = |owner, name| shelf.find(owner, name, now).is_some();
        assert!(!there(ONE, "a") && !there(TWO, "b"));
        assert!(there(TWO, "c") && there(ONE, "d"));
        let huge = shelf.kept(ONE, handle("e"), (), 101, now);
        assert_eq!(huge, Err(NoRoom::TooLarge));
        shelf.check_invariants();
    }

    #[test]
    fn a_result_goes_when_its_time_is_over_and_a_call_stays() {
        let (mut shelf, now) = shelf(10, 100);
        shelf.started(ONE, handle("call"), (), now).unwrap();
        assert_eq!(shelf.next_expiry(), None);
        shelf.kept(ONE, handle("a"), (), 1, now).unwrap();
        let minute = Duration::from_secs(60);
        assert_eq!(shelf.next_expiry(), Some(now + minute));
        let just = now + minute - Duration::from_millis(1);
        assert!(shelf.find(ONE, "a", just).is_some());
        assert!(shelf.find(ONE, "a", now + minute).is_none());
        assert!(shelf.find(ONE, "call", now + 100 * minute).is_some());
        shelf.ended(ONE, &handle("call"), 1, now + minute);
        shelf.check_invariants();
        assert_eq!(shelf.next_expiry(), Some(now + 2 * minute));
        shelf.expire(now + 2 * minute);
        assert!(shelf.owners.is_empty());
    }

    #[test]
    fn what_is_kept_belongs_to_its_token() {
        let (mut shelf, now) = shelf(10, 100);
        shelf.kept(ONE, handle("a"), (), 1, now).unwrap();
        assert!(shelf.find(TWO, "a", now).is_none());
        assert!(shelf.find(ONE, "a", now).is_some());
        assert_ne!(Handle::random(), Handle::random());
    }
}
