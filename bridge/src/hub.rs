//! The hub: owns the realms, carries out their effects, and wakes them when something is due.
//!
//! Every change goes through [`Hub::change`]: lock one realm, run one event, put what it asks for
//! into bounded outboxes, unlock. Nothing is awaited on the way.

mod calls;
mod claims;
mod clients;
mod line;
mod outbox;
mod places;
mod timer;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bridge_protocol::{BridgeId, CallId, ErrorCode, SessionId};
use dashmap::DashMap;
use dashmap::mapref::entry::Entry as MapEntry;
use tokio::sync::Semaphore;

use crate::auth::RealmId;
use crate::config::Config;
use crate::definition::Definitions;
use crate::hashing::Quick;
use crate::kept::Kept;
use crate::page_wire;
use crate::queries::Queries;
use crate::realm::{
    ClientId, ConnectionId, Effect, Effects, Now, PageHello, Parting, Realm, RealmLimits, Refusal,
};
use line::Caller;
use outbox::PageLine;
use places::{Occupancy, Place, Places};
use timer::Timer;

pub(crate) use claims::{Claim, Claims};
pub(crate) use clients::{News, NewsLine};
pub(crate) use line::{CallLine, Heard};
pub(crate) use outbox::{Outbox, Outgoing};

/// See the module documentation.
#[derive(Debug)]
pub(crate) struct Hub {
    pub(crate) config: Config,
    pub(crate) definitions: Definitions,
    pub(crate) kept: Arc<Kept>,
    /// In boxes: the tables have room for more than there are, and move what is in them as they grow.
    realms: DashMap<RealmId, Box<Entry>, Quick>,
    /// One for all realms.
    limits: Arc<RealmLimits>,
    places: Places,
    /// Sockets of pages that have not authenticated yet.
    pub(crate) pending_pages: Arc<Semaphore>,
    /// The ids of v1 sessions.
    pub(crate) claims: Arc<Claims>,
    timer: Timer,
    pub(crate) queries: Queries,
    bridge_id: BridgeId,
    next_id: AtomicU64,
    stopping: AtomicBool,
}

/// A realm and the ends of the channels that its effects go to.
#[derive(Debug)]
struct Entry {
    realm: Realm,
    pages: HashMap<ConnectionId, PageLine, Quick>,
    callers: HashMap<CallId, Caller, Quick>,
    clients: HashMap<ClientId, Arc<NewsLine>>,
    /// When the timer will look at this realm.
    wakes_at: Option<Instant>,
    place: Place,
}

impl Hub {
    pub(crate) fn new(config: Config, definitions: Definitions) -> Arc<Self> {
        let hub = Arc::new(Self {
            places: Places::new(&config),
            pending_pages: Arc::new(Semaphore::new(config.tabs.max_pending_pages)),
            claims: Arc::default(),
            definitions,
            kept: Kept::new(&config.results),
            realms: DashMap::default(),
            limits: Arc::new(config.realm_limits()),
            timer: Timer::default(),
            queries: Queries::new(&config),
            bridge_id: BridgeId(uuid::Uuid::new_v4().simple().to_string()),
            next_id: AtomicU64::new(1),
            stopping: AtomicBool::new(false),
            config,
        });
        hub.timer.start(&hub);
        hub.queries.start(&hub);
        hub
    }

    // ---- pages ----

    /// A page has authenticated. Its first message waits in the outbox.
    pub(crate) fn page_connected(
        &self,
        realm: RealmId,
        hello: PageHello,
    ) -> Result<(ConnectionId, Outbox), Refusal> {
        let connection = ConnectionId(self.next_id.fetch_add(1, Ordering::Relaxed));
        let (line, outbox) = outbox::channel(self.config.max_calls, hello.dialect);
        let session = hello.session.clone();
        let hello = PageHello {
            heartbeat_after: Some(first_heartbeat(connection, self.config.heartbeat)),
            ..hello
        };
        self.open(realm, Occupancy::Pages, |entry, now| {
            let (welcome, mut effects) = entry.realm.page_connected(connection, hello, now)?;
            if self.stopping.load(Ordering::SeqCst) {
                effects.extend(entry.realm.bridge_stopping(now));
            }
            // The outbox is new: there is room for the first message.
            let bridge = self.bridge_id.clone();
            let welcome = page_wire::welcome(&self.config, bridge, session, welcome, now);
            let _ = line.put(Outgoing::Message(welcome));
            entry.pages.insert(connection, line);
            Ok(((), effects))
        })
        .unwrap_or_else(|| {
            Err(Refusal {
                code: ErrorCode::RealmLimitExceeded,
                message: format!(
                    "this bridge serves {} tokens, which is the limit: close other apps, or raise \
                     `max_realms`",
                    self.config.max_realms
                ),
            })
        })?;
        Ok((connection, outbox))
    }

    /// The socket of a page is gone.
    pub(crate) fn connection_ended(
        &self,
        realm: RealmId,
        session: &SessionId,
        connection: ConnectionId,
        parting: Parting,
    ) {
        self.change(realm, |realm, now| {
            (
                (),
                realm.connection_ended(session, connection, parting, now),
            )
        });
        if let Some(mut entry) = self.realms.get_mut(&realm) {
            entry.pages.remove(&connection);
        }
        self.forget_if_empty(realm);
    }

    // ---- reading and changing ----

    /// Reads a realm; `None` when it does not exist.
    pub(crate) fn read<T>(&self, realm: RealmId, read: impl FnOnce(&Realm) -> T) -> Option<T> {
        self.realms.get(&realm).map(|entry| read(&entry.realm))
    }

    /// The same where the realm remembers what it has found.
    pub(crate) fn look<T>(&self, realm: RealmId, look: impl FnOnce(&mut Realm) -> T) -> Option<T> {
        let mut entry = self.realms.get_mut(&realm)?;
        Some(look(&mut entry.realm))
    }

    /// Runs one event in a realm; `None` when it does not exist.
    pub(crate) fn change<T>(
        &self,
        id: RealmId,
        event: impl FnOnce(&mut Realm, Now) -> (T, Effects),
    ) -> Option<T> {
        let mut entry = self.realms.get_mut(&id)?;
        let (outcome, effects) = event(&mut entry.realm, self.now());
        self.settle(id, &mut entry, effects);
        Some(outcome)
    }

    /// Runs one event in a realm that is made if need be; `None` when there is no room for it.
    fn open<T, E>(
        &self,
        id: RealmId,
        occupancy: Occupancy,
        event: impl FnOnce(&mut Entry, Now) -> Result<(T, Effects), E>,
    ) -> Option<Result<T, E>> {
        let mut entry = match self.realms.entry(id) {
            MapEntry::Occupied(mut occupied) => {
                let entry = occupied.get_mut();
                if entry.place.occupancy() < occupancy {
                    entry.place = self.places.take(occupancy)?;
                }
                occupied.into_ref()
            }
            MapEntry::Vacant(vacant) => {
                let place = self.places.take(occupancy)?;
                vacant.insert(Box::new(Entry {
                    realm: Realm::new(Arc::clone(&self.limits)),
                    pages: HashMap::default(),
                    callers: HashMap::default(),
                    clients: HashMap::new(),
                    wakes_at: None,
                    place,
                }))
            }
        };
        let outcome = event(&mut entry, self.now()).map(|(outcome, effects)| {
            self.settle(id, &mut entry, effects);
            outcome
        });
        drop(entry);
        if outcome.is_err() {
            self.forget_if_empty(id);
        }
        Some(outcome)
    }

    /// Carries out effects, and those that follow from a page that does not read.
    fn settle(&self, id: RealmId, entry: &mut Entry, effects: Effects) {
        for effect in effects {
            if let Some(effect) = self.queries.carry_out(id, effect) {
                entry.carry_out(effect);
            }
        }
        let next = entry.realm.next_deadline();
        if let Some(at) = next
            && entry.wakes_at.is_none_or(|wakes_at| at < wakes_at)
        {
            entry.wakes_at = Some(at);
            self.timer.wake_at(at, id);
        }
    }

    /// The timer's turn.
    fn wake(&self, id: RealmId) {
        if let Some(mut entry) = self.realms.get_mut(&id) {
            entry.wakes_at = None;
            let effects = entry.realm.deadline_passed(self.now());
            self.settle(id, &mut entry, effects);
        }
        self.forget_if_empty(id);
    }

    /// Keeps no more of definitions than is wanted: the text of those that have not been asked for
    /// since the last time, and nothing of those that no page holds any more.
    fn tidy(&self) {
        // One realm after another: calls in others of the same shard do not wait for all of them.
        let realms: Vec<_> = self.realms.iter().map(|entry| *entry.key()).collect();
        for id in realms {
            if let Some(mut entry) = self.realms.get_mut(&id) {
                let realm = &mut entry.realm;
                realm.replace_definitions(|definition| self.definitions.closed(definition));
            }
        }
        self.definitions.forget_unused();
    }

    /// A realm takes the place of what is in it now; without anything it is forgotten.
    pub(crate) fn forget_if_empty(&self, id: RealmId) {
        self.realms.remove_if_mut(&id, |_, entry| {
            let occupancy = Occupancy::of(&entry.realm);
            if occupancy < entry.place.occupancy() {
                match self.places.take(occupancy) {
                    Some(place) => entry.place = place,
                    // More tokens wait than may: this one keeps the better place it has.
                    None if occupancy == Occupancy::Clients => {}
                    None => entry.realm.forget_remembered(),
                }
            }
            entry.realm.is_empty()
        });
    }

    /// Ends every call and closes every page; those that come later too.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        let realms: Vec<_> = self.realms.iter().map(|entry| *entry.key()).collect();
        for realm in realms {
            self.change(realm, |realm, now| ((), realm.bridge_stopping(now)));
        }
    }

    /// Nothing new begins.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    fn now(&self) -> Now {
        let unix = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Now {
            instant: tokio::time::Instant::now().into_std(),
            unix_ms: u64::try_from(unix.as_millis()).unwrap_or(u64::MAX),
        }
    }
}

/// When the heartbeats of a connection begin. Those of pages that came at once, as after a restart,
/// are spread over an interval.
fn first_heartbeat(connection: ConnectionId, every: Duration) -> Duration {
    // Multiples of the golden ratio, without their whole part, are spread evenly, wherever the
    // numbers begin and end.
    let spread = connection.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    // A page needs time to register: see `Realm::unregistered_since`.
    every / 2 + every.mul_f64(spread as f64 / f64::from(u32::MAX))
}

impl Entry {
    fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Send {
                connection,
                message,
            } => {
                self.put(connection, Outgoing::Message(message));
            }
            Effect::Ping { connection } => self.put(connection, Outgoing::Ping),
            Effect::Close {
                connection,
                code,
                reason,
            } => {
                self.put(connection, Outgoing::Close { code, reason });
                self.pages.remove(&connection);
            }
            Effect::End { call, ending } => {
                if let Some(caller) = self.callers.remove(&call) {
                    caller.end(ending);
                }
            }
            Effect::Tell { call, event } => {
                if let Some(caller) = self.callers.get(&call) {
                    caller.tell(event);
                }
            }
            Effect::Asks { call } => {
                if let Some(caller) = self.callers.get(&call) {
                    caller.ask();
                }
            }
            Effect::ListChanged(kind) => {
                for client in self.clients.values() {
                    client.list_changed(kind);
                }
            }
            Effect::ResourceUpdated { client, uri } => {
                if let Some(client) = self.clients.get(&client) {
                    client.resource_updated(uri);
                }
            }
            // Those of queries, which are carried out before.
            Effect::AskAgent { .. }
            | Effect::StopAgent { .. }
            | Effect::QueryHasPage { .. }
            | Effect::QueryEnded { .. }
            | Effect::QueryForgotten { .. } => {}
        }
    }

    /// A full outbox cuts the connection; its task reports it broken.
    fn put(&mut self, connection: ConnectionId, outgoing: Outgoing) {
        let Some(page) = self.pages.get(&connection) else {
            return;
        };
        if page.put(outgoing).is_err() {
            self.pages.remove(&connection);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heartbeats_of_pages_that_come_at_once_are_spread_over_the_interval() {
        let every = Duration::from_secs(20);
        for start in [1, 1_000_000] {
            let mut seconds = [0; 30];
            for number in start..start + 10_000 {
                let first = first_heartbeat(ConnectionId(number), every);
                seconds[usize::try_from(first.as_secs()).unwrap()] += 1;
            }
            let (early, spread) = seconds.split_at(10);
            assert!(early.iter().all(|pages| *pages == 0), "{seconds:?}");
            let even = |pages: &i32| (490..=510).contains(pages);
            assert!(spread.iter().all(even), "{seconds:?}");
        }
    }
}
