//! The open MCP sessions of clients: how many there may be, which one makes room for another, and
//! when an idle one ends.

use std::sync::{Arc, Weak};
use std::time::Duration;

use bridge_auth::RealmId;
use dashmap::DashMap;
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use super::sessions_by_realm::IdsByRealm;
use crate::budget::{Evictable, Party, PoolPermit, PoolUse, SharedPool};

/// The longest time until an expired session is removed. It cannot be used even before that.
pub(crate) const SWEEP_INTERVAL: Duration = Duration::from_secs(60);

/// A short idle timeout is divided into this number of intervals.
const SWEEPS_PER_TIMEOUT: u32 = 20;

/// How many sessions may be evicted for one. Several are needed only if others take their places.
const MAX_EVICTIONS: usize = 8;

/// Why a session ends that was idle for the timeout.
pub(crate) const IDLE: &str = "it was idle";

/// A session in a [`SessionPool`].
pub(crate) trait PooledSession: Send + Sync + 'static {
    /// Returns when the session will have been idle for this time, or `None` while it is in use.
    fn idle_deadline(&self, idle: Duration) -> Option<Instant>;

    /// Ends the session, which the pool has removed, for a reason that is logged.
    fn end(&self, reason: &'static str);
}

/// Open sessions by their ids.
#[derive(Debug)]
pub(crate) struct SessionPool<S> {
    sessions: DashMap<Arc<str>, Entry<S>>,
    by_realm: IdsByRealm<Arc<str>>,
    slots: SharedPool<RealmId, Arc<str>>,
    idle_timeout: Duration,
    sweep_task: JoinHandle<()>,
}

#[derive(Debug)]
struct Entry<S> {
    session: S,
    permit: SessionPermit,
}

/// The permit for one session, whose id is the entry in the pool of permits.
type SessionPermit = PoolPermit<RealmId, Arc<str>>;

/// The place for a session that is being opened.
#[derive(Debug)]
pub(crate) struct SessionSlot {
    id: Arc<str>,
    permit: SessionPermit,
}

impl<S: PooledSession> Entry<S> {
    fn idle_since(&self) -> Option<Instant> {
        self.session.idle_deadline(Duration::ZERO)
    }

    fn is_expired(&self, idle_timeout: Duration) -> bool {
        let expires_at = self.session.idle_deadline(idle_timeout);
        expires_at.is_some_and(|at| at <= Instant::now())
    }
}

impl<S: PooledSession> SessionPool<S> {
    /// Creates a pool for this number of sessions. Its task, which requires a runtime, ends sessions
    /// that have been idle for the timeout.
    pub(crate) fn start(max_sessions: usize, idle_timeout: Duration) -> Arc<Self> {
        Arc::new_cyclic(|pool| Self {
            sessions: DashMap::new(),
            by_realm: IdsByRealm::default(),
            slots: SharedPool::new(max_sessions),
            idle_timeout,
            sweep_task: tokio::spawn(sweep(Weak::clone(pool), idle_timeout)),
        })
    }

    /// Reserves the place of a session with this id. At the limit of all sessions, a session of one of
    /// the parties with the most is evicted.
    ///
    /// # Errors
    ///
    /// When the limit is reached and no session makes room: how much of it the party uses.
    pub(crate) fn reserve(
        &self,
        id: &Arc<str>,
        party: &Party<RealmId>,
    ) -> Result<SessionSlot, PoolUse> {
        self.reserve_evicting(id, party, |_| true)
    }

    /// Like [`Self::reserve`], but evicts no session of the party itself.
    pub(crate) fn reserve_sparing_own(
        &self,
        id: &Arc<str>,
        party: &Party<RealmId>,
    ) -> Result<SessionSlot, PoolUse> {
        self.reserve_evicting(id, party, |owner| owner != party)
    }

    fn reserve_evicting(
        &self,
        id: &Arc<str>,
        party: &Party<RealmId>,
        may_evict: impl Fn(&Party<RealmId>) -> bool,
    ) -> Result<SessionSlot, PoolUse> {
        for _ in 0..MAX_EVICTIONS {
            if let Some(permit) = self.slots.try_acquire(party, Arc::clone(id)) {
                let id = Arc::clone(id);
                return Ok(SessionSlot { id, permit });
            }
            if !self.evict_for(party, &may_evict) {
                break;
            }
        }
        Err(self.slots.used_by(party))
    }

    /// Adds a session at its place.
    pub(crate) fn insert(&self, slot: SessionSlot, session: S) {
        let SessionSlot { id, permit } = slot;
        self.by_realm.insert(permit.party().member, Arc::clone(&id));
        self.sessions.insert(id, Entry { session, permit });
    }

    /// Calls `connect` again if it fails and a session of this realm can be evicted, at most
    /// [`MAX_EVICTIONS`] times: at a limit of the realm, its session that has been idle for longest
    /// makes room.
    pub(crate) fn evicting_idle<T, E>(
        &self,
        realm: RealmId,
        mut connect: impl FnMut() -> Result<T, E>,
    ) -> Result<T, E> {
        for _ in 0..MAX_EVICTIONS {
            match connect() {
                Err(_) if self.evict_idle(realm) => {}
                connected => return connected,
            }
        }
        connect()
    }

    /// Calls `act` with a session, unless it has expired. Meanwhile the session is not removed.
    pub(crate) fn with_session<T>(&self, id: &str, act: impl FnOnce(&S) -> T) -> Option<T> {
        let entry = self.sessions.get(id)?;
        (!entry.is_expired(self.idle_timeout)).then(|| act(&entry.session))
    }

    /// The realms with sessions.
    pub(crate) fn realms(&self) -> Vec<RealmId> {
        self.by_realm.realms()
    }

    /// Whether a realm has sessions.
    pub(crate) fn has_realm(&self, realm: RealmId) -> bool {
        self.by_realm.has_realm(realm)
    }

    /// Calls `act` with each session of a realm that has not expired, and returns the results.
    pub(crate) fn map_realm<T>(&self, realm: RealmId, act: impl Fn(&S) -> T) -> Vec<T> {
        let ids = self.by_realm.ids(realm).into_iter();
        ids.filter_map(|id| self.with_session(&id, &act)).collect()
    }

    /// The number of sessions, including those that are being opened.
    pub(crate) fn count(&self) -> usize {
        self.slots.count()
    }

    /// Ends a session, unless it has ended already. The reason is logged.
    pub(crate) fn end(&self, id: &str, reason: &'static str) {
        self.end_if(id, reason, |_| true);
    }

    /// Ends all sessions of a realm.
    pub(crate) fn end_of_realm(&self, realm: RealmId) {
        for id in self.by_realm.ids(realm) {
            self.end(&id, "the bridge closed what belongs to its token");
        }
    }

    /// Ends the session of this realm that has been idle for longest. Returns false when there is
    /// none.
    fn evict_idle(&self, realm: RealmId) -> bool {
        loop {
            let ids = self.by_realm.ids(realm).into_iter();
            let idle = ids.filter_map(|id| {
                let since = self.sessions.get(&id)?.idle_since()?;
                Some((since, id))
            });
            let Some((since, id)) = idle.min_by_key(|(since, _)| *since) else {
                return false;
            };
            // A request may have arrived meanwhile.
            let reason = "it was idle, and made room for another of its token";
            if self.end_if(&id, reason, |entry| entry.idle_since() == Some(since)) {
                return true;
            }
        }
    }

    /// Ends the session that makes room for one of this party, see [`SharedPool::entry_to_evict`].
    /// Of the idle sessions, only those of certain parties do. Returns false when there is none.
    fn evict_for(
        &self,
        party: &Party<RealmId>,
        may_evict: impl Fn(&Party<RealmId>) -> bool,
    ) -> bool {
        let idle_since = |id: &Arc<str>| {
            let entry = self.sessions.get(id)?;
            may_evict(entry.permit.party()).then(|| entry.idle_since())?
        };
        let Some(Evictable { entry: id, is_idle }) = self.slots.entry_to_evict(party, idle_since)
        else {
            return false;
        };
        // A request may have arrived meanwhile, or another party has ended the session.
        let reason = "it made room for one of another party";
        self.end_if(&id, reason, |entry| {
            !is_idle || entry.idle_since().is_some()
        });
        true
    }

    /// Removes and ends a session if the predicate holds. Returns whether it did.
    fn end_if(
        &self,
        id: &str,
        reason: &'static str,
        predicate: impl FnOnce(&Entry<S>) -> bool,
    ) -> bool {
        let removed = self.sessions.remove_if(id, |id, entry| {
            let is_removed = predicate(entry);
            if is_removed {
                // While the session is locked: afterwards, another one may have its id.
                self.by_realm.remove(entry.permit.party().member, id);
            }
            is_removed
        });
        if let Some((_, entry)) = &removed {
            entry.session.end(reason);
        }
        removed.is_some()
    }

    fn expired_ids(&self) -> Vec<Arc<str>> {
        let sessions = self.sessions.iter();
        let expired = sessions.filter(|entry| entry.is_expired(self.idle_timeout));
        expired.map(|entry| Arc::clone(entry.key())).collect()
    }

    /// Ends a session, unless it has become active meanwhile.
    fn end_if_expired(&self, id: &str) {
        self.end_if(id, IDLE, |entry| entry.is_expired(self.idle_timeout));
    }
}

impl<S> Drop for SessionPool<S> {
    fn drop(&mut self) {
        self.sweep_task.abort();
    }
}

/// Ends expired sessions at regular intervals.
async fn sweep<S: PooledSession>(pool: Weak<SessionPool<S>>, idle_timeout: Duration) {
    let interval = SWEEP_INTERVAL.min(idle_timeout / SWEEPS_PER_TIMEOUT);
    let interval = interval.max(Duration::from_millis(1));
    let mut ticks = interval_at(Instant::now() + interval, interval);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        // The pool aborts this task when it is dropped. Before it is there, it has no sessions.
        let Some(pool) = pool.upgrade() else { continue };
        for id in pool.expired_ids() {
            pool.end_if_expired(&id);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    const IDLE_TIMEOUT: Duration = Duration::from_secs(3600);

    /// After this time, a session makes room for parties with one less.
    const LONG_IDLE: Duration = Duration::from_secs(60);

    /// A session that is in use, or idle since some time.
    #[derive(Debug, Default)]
    struct TestSession {
        idle_since: std::sync::Mutex<Option<Instant>>,
        has_ended: AtomicBool,
    }

    impl TestSession {
        fn set_idle_since(&self, since: Option<Instant>) {
            *self.idle_since.lock().unwrap() = since;
        }

        fn has_ended(&self) -> bool {
            self.has_ended.load(Ordering::Relaxed)
        }
    }

    impl PooledSession for Arc<TestSession> {
        fn idle_deadline(&self, idle: Duration) -> Option<Instant> {
            self.idle_since.lock().unwrap().map(|since| since + idle)
        }

        fn end(&self, _: &'static str) {
            assert!(!self.has_ended.swap(true, Ordering::Relaxed), "ended twice");
        }
    }

    type Pool = SessionPool<Arc<TestSession>>;

    fn party(address: u8, token: &str) -> Party<RealmId> {
        let address = IpAddr::from([192, 0, 2, address]);
        Party::new(address.into(), RealmId::from_token(token))
    }

    /// Opens a session that is idle from now on, or in use.
    fn open(pool: &Pool, party: &Party<RealmId>, is_idle: bool) -> (Arc<str>, Arc<TestSession>) {
        let id: Arc<str> = uuid::Uuid::new_v4().to_string().into();
        let slot = pool.reserve(&id, party).unwrap();
        let session = Arc::<TestSession>::default();
        session.set_idle_since(is_idle.then(Instant::now));
        pool.insert(slot, Arc::clone(&session));
        (id, session)
    }

    fn get(pool: &Pool, id: &str) -> bool {
        pool.with_session(id, |_| ()).is_some()
    }

    #[tokio::test(start_paused = true)]
    async fn an_expired_session_cannot_be_used_and_is_removed() {
        let pool = Pool::start(10, IDLE_TIMEOUT);
        let (idle_id, idle) = open(&pool, &party(1, "a"), true);
        let (used_id, used) = open(&pool, &party(1, "a"), false);
        tokio::time::advance(IDLE_TIMEOUT - Duration::from_millis(1)).await;
        assert!(get(&pool, &idle_id));
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(!get(&pool, &idle_id) && get(&pool, &used_id));
        tokio::time::sleep(SWEEP_INTERVAL).await;
        assert!(idle.has_ended() && !used.has_ended());
        assert_eq!(pool.count(), 1);
        pool.end(&used_id, IDLE);
        pool.end(&used_id, IDLE);
        assert!(used.has_ended());
        assert_eq!(pool.count(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_used_during_a_sweep_is_kept() {
        let pool = Pool::start(10, IDLE_TIMEOUT);
        let (back_id, back) = open(&pool, &party(1, "a"), true);
        let (gone_id, _) = open(&pool, &party(1, "a"), true);
        tokio::time::advance(IDLE_TIMEOUT).await;
        let expired = pool.expired_ids();
        assert_eq!(expired.len(), 2);
        back.set_idle_since(None);
        expired.iter().for_each(|id| pool.end_if_expired(id));
        assert!(get(&pool, &back_id) && !get(&pool, &gone_id));
    }

    #[tokio::test(start_paused = true)]
    async fn at_a_limit_of_the_realm_its_longest_idle_session_makes_room() {
        let pool = Pool::start(10, IDLE_TIMEOUT);
        let owner = party(1, "a");
        let (_, used) = open(&pool, &owner, false);
        let (_, oldest) = open(&pool, &owner, true);
        let (_, of_another) = open(&pool, &party(1, "b"), true);
        tokio::time::advance(Duration::from_secs(1)).await;
        let (_, newest) = open(&pool, &owner, true);
        let mut refusals = 1;
        let connect = || match std::mem::take(&mut refusals) {
            0 => Ok(()),
            _ => Err("full"),
        };
        assert_eq!(pool.evicting_idle(owner.member, connect), Ok(()));
        assert!(oldest.has_ended() && !newest.has_ended());
        let refused = pool.evicting_idle(owner.member, || Err::<(), _>("full"));
        assert_eq!(refused, Err("full"));
        assert!(newest.has_ended() && !used.has_ended() && !of_another.has_ended());
    }

    #[tokio::test(start_paused = true)]
    async fn at_the_limit_of_all_sessions_the_parties_with_the_most_make_room() {
        let pool = Pool::start(8, IDLE_TIMEOUT);
        let sessions: Vec<_> = (0..8)
            .map(|number| open(&pool, &party(1, "a"), number == 3).1)
            .collect();
        let (_, first) = open(&pool, &party(2, "b"), false);
        assert!(sessions[3].has_ended(), "the idle one");
        // None is idle: the newest of a party that holds more than a quarter makes room.
        let (_, second) = open(&pool, &party(2, "b"), false);
        assert!(sessions[7].has_ended() && !sessions[6].has_ended());
        assert!(!first.has_ended() && !second.has_ended());
        // A party that holds the most does not make room for more of its entries that are in use.
        let used = pool.reserve(&"new".into(), &party(1, "a")).unwrap_err();
        assert_eq!((used.capacity, used.by_party), (8, 6));
        assert_eq!(pool.count(), 8, "nothing was evicted");
    }

    #[tokio::test(start_paused = true)]
    async fn a_reservation_that_spares_the_own_party_evicts_only_others() {
        let pool = Pool::start(4, IDLE_TIMEOUT);
        let [many, few] = [party(1, "a"), party(2, "b")];
        let sessions: Vec<_> = (0..4).map(|_| open(&pool, &many, true).1).collect();
        tokio::time::advance(LONG_IDLE).await;
        let reserve = |party| pool.reserve_sparing_own(&"former".into(), party);
        assert_eq!(reserve(&many).unwrap_err().by_party, 4);
        assert!(sessions.iter().all(|session| !session.has_ended()));
        let _first = reserve(&few).unwrap();
        assert!(sessions[0].has_ended());
        assert!(reserve(&many).is_err() && !sessions[1].has_ended());
        assert!(pool.reserve(&"new".into(), &many).is_ok() && sessions[1].has_ended());
    }

    /// Whoever finds no session of an id may add one at once.
    #[tokio::test(start_paused = true)]
    async fn a_session_that_takes_the_id_of_one_that_ends_is_found() {
        let pool = Pool::start(10, IDLE_TIMEOUT);
        let owner = party(1, "a");
        let (id, _) = open(&pool, &owner, true);
        std::thread::scope(|scope| {
            let successor = scope.spawn(|| {
                while get(&pool, &id) {}
                let slot = pool.reserve(&id, &owner).unwrap();
                pool.insert(slot, Arc::<TestSession>::default());
            });
            pool.end(&id, IDLE);
            successor.join().unwrap();
        });
        assert_eq!(pool.by_realm.ids(owner.member), [id]);
    }
}
