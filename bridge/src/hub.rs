//! The hub owns the realms, performs their effects, and reports their deadlines to them.
//!
//! Every change goes through [`Hub::apply`]: lock one realm, run one event, send its effects to
//! bounded channels, unlock. Nothing is awaited while a realm is locked.

mod call_channel;
mod calls;
mod catalogue;
mod client_notifications;
mod clients;
mod close_realm;
pub(crate) mod limits;
mod outbox;
mod ownership;
mod party;
mod realm_admission;
mod session_id_leases;
mod timer;
mod tool_parsing;
mod usage;

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bridge_auth::{AuthError, DenyList, RealmId};
use bridge_edge::ClientAddress;
use bridge_protocol::{BridgeId, BridgeToPage, CallId, ErrorCode, SessionId};
use bridge_realm::definition::{DefinitionCheck, DefinitionRegistry};
use bridge_realm::fast_hash::FastHash;
use bridge_realm::realm::{
    AgentEffect, ClientId, ConnectionId, Disconnect, Effect, Effects, Now, PageHello, Realm,
    RealmLimits, Refusal,
};
use bridge_realm::{PageMessageLimits, page_messages};
use bridge_traces::Traces;
use dashmap::DashMap;
use tokio::sync::Notify;

use crate::budget::{Budgets, ByteLease, PageParty, Party, RealmClass, RealmPermit};
use crate::config::Config;
use crate::counters::Counters;
use crate::lifecycle::{LINE_INTERVAL, LifecycleLog};
use crate::result_store::ResultStore;
use call_channel::CallSender;
use outbox::OutboxSender;
use ownership::Ownership;
use timer::{Timer, TimerHandler};

pub(crate) use call_channel::{CallReceiver, CallerMessage};
pub(crate) use client_notifications::{NotificationQueue, PendingNotifications};
pub(crate) use outbox::{OutboxReceiver, SocketCommand};
pub(crate) use ownership::RealmOwnership;
pub(crate) use session_id_leases::{SessionIdLease, SessionIdLeases};
pub(crate) use tool_parsing::tool_list_work;

/// The realms of the bridge, and the state that they share.
#[derive(Debug)]
pub(crate) struct Hub {
    pub(crate) config: Config,
    /// Limits on the messages of pages.
    pub(crate) page_limits: PageMessageLimits,
    pub(crate) definitions: DefinitionRegistry,
    pub(crate) result_store: Arc<ResultStore>,
    pub(crate) counters: Counters,
    pub(crate) lifecycle: Arc<LifecycleLog>,
    /// The limits that the realms share.
    pub(crate) budgets: Budgets,
    /// The principals that may not enter their realms.
    pub(crate) denied: Arc<DenyList>,
    /// The entries are boxed because the tables have spare capacity and move their entries as they
    /// grow.
    realms: DashMap<RealmId, Box<RealmEntry>, FastHash>,
    /// The limits of each realm, shared by all of them.
    realm_limits: Arc<RealmLimits>,
    /// The session ids that are shared by all tokens.
    pub(crate) session_id_leases: Arc<SessionIdLeases>,
    timer: Timer,
    traces: OnceLock<Traces>,
    /// Which realms are served here, if there are several bridges.
    pub(crate) ownership: Ownership,
    agent: Arc<dyn AgentPort>,
    bridge_id: BridgeId,
    started_at: Instant,
    next_id: AtomicU64,
    client_sessions: Mutex<Vec<Weak<dyn ClientSessions>>>,
    draining: AtomicBool,
    stopping: AtomicBool,
}

/// Performs a realm's effects on the agent that answers queries. The hub knows nothing else about
/// the agent.
pub(crate) trait AgentPort: Debug + Send + Sync {
    /// Performs one effect. The caller holds the lock of the realm, so an implementation must
    /// neither block nor call the hub.
    fn perform(&self, realm: RealmId, effect: AgentEffect);
}

/// The sessions of clients, which are above the hub and end with their realm.
pub(crate) trait ClientSessions: Send + Sync {
    /// The realms with sessions.
    fn realms(&self) -> Vec<RealmId>;

    /// Whether a realm has sessions.
    fn has_realm(&self, realm: RealmId) -> bool {
        self.realms().contains(&realm)
    }

    /// Ends all sessions of a realm.
    fn end_of_realm(&self, realm: RealmId);
}

/// A realm and the senders of the channels that its effects go to.
#[derive(Debug)]
struct RealmEntry {
    realm: Realm,
    outboxes: HashMap<ConnectionId, OutboxSender, FastHash>,
    call_senders: HashMap<CallId, CallSender, FastHash>,
    notification_queues: HashMap<ClientId, Arc<NotificationQueue>>,
    /// When the timer will next report to this realm.
    scheduled_at: Option<Instant>,
    permit: RealmPermit,
    /// The lease on the bytes of the realm's catalogue.
    catalogue: ByteLease,
    /// Notifies those who wait until a page registers, if there are any.
    next_registration: Option<Arc<Notify>>,
}

/// Why pages lose their connections while the bridge stops.
const STOPPING: &str = "the bridge is shutting down";

/// Why a page or a client is refused while others use the memory.
pub(crate) const NO_MEMORY_FOR_NEWCOMERS: &str = "the memory of the bridge is in use: retry \
    later, or raise `max_memory_bytes`";

impl Hub {
    /// Creates a hub without realms. `check` is applied to each definition that a page registers.
    pub(crate) fn new(
        mut config: Config,
        check: DefinitionCheck,
        agent: Arc<dyn AgentPort>,
    ) -> Arc<Self> {
        let budgets = Budgets::new(&mut config);
        let hub = Arc::new(Self {
            session_id_leases: Arc::default(),
            counters: Counters::default(),
            lifecycle: Arc::new(LifecycleLog::new(&config)),
            budgets,
            denied: Arc::default(),
            definitions: DefinitionRegistry::new(check, limits::definition_limits(&config)),
            result_store: ResultStore::new(&config.results),
            realms: DashMap::default(),
            page_limits: limits::page_message_limits(&config),
            realm_limits: Arc::new(limits::realm_limits(&config)),
            timer: Timer::default(),
            traces: OnceLock::new(),
            ownership: Ownership::default(),
            agent,
            bridge_id: BridgeId(uuid::Uuid::new_v4().simple().to_string()),
            started_at: tokio::time::Instant::now().into_std(),
            next_id: AtomicU64::new(1),
            client_sessions: Mutex::default(),
            draining: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
            config,
        });
        hub.timer.start(Arc::downgrade(&hub));
        hub
    }

    /// Records traces from now on. Without them, they are off.
    pub(crate) fn set_traces(&self, traces: Traces) {
        let _ = self.traces.set(traces);
    }

    /// Returns the traces of the bridge.
    #[inline]
    pub(crate) fn traces(&self) -> &Traces {
        self.traces.get_or_init(Traces::default)
    }

    /// Adds an authenticated page to a realm. The returned outbox contains its first message.
    pub(crate) fn page_connected(
        &self,
        realm: RealmId,
        party: &PageParty,
        hello: PageHello,
    ) -> Result<(ConnectionId, OutboxReceiver), Refusal> {
        let connection = ConnectionId(self.next_id.fetch_add(1, Ordering::Relaxed));
        let memory = &self.budgets.memory;
        let outbox_lease = memory.lease(Party::new(party.address, realm));
        let (sender, outbox) =
            outbox::channel(self.config.calls.max_calls, hello.abilities, outbox_lease);
        let session = hello.session.clone();
        let hello = PageHello {
            heartbeat_after: Some(first_heartbeat_delay(
                connection,
                self.config.page_timings.heartbeat,
            )),
            ..hello
        };
        let knows_page = |realm: &Realm| realm.knows_session_id(&session);
        if memory.is_scarce() && self.with_realm(realm, knows_page) != Some(true) {
            return Err(Refusal {
                code: ErrorCode::MemoryLimitExceeded,
                message: NO_MEMORY_FOR_NEWCOMERS.to_owned(),
            });
        }
        self.apply_or_create(realm, RealmClass::Pages, party, |entry, now| {
            self.check_admission(realm)?;
            let (accepted, mut effects) = entry.realm.page_connected(connection, hello, now)?;
            if self.stopping.load(Ordering::SeqCst) {
                effects.extend(entry.realm.bridge_stopping(now));
            }
            // Cannot fail, because the outbox is empty.
            let bridge = self.bridge_id.clone();
            let accepted = page_messages::authenticated_message(
                &self.page_limits,
                bridge,
                session,
                accepted,
                now,
            );
            let _ = sender.try_send(SocketCommand::Message(accepted));
            entry.outboxes.insert(connection, sender);
            Ok(((), effects))
        })
        .unwrap_or_else(|| Err(self.too_many_realms(party)))?;
        Ok((connection, outbox))
    }

    /// Checks, with the lock of its realm, that since its token was checked the principal was not denied,
    /// and that the realm was not given to another bridge: either closes the realm only once.
    fn check_admission(&self, realm: RealmId) -> Result<(), Refusal> {
        let checked = self.denied.check(realm);
        checked.map_err(|AuthError { code, message }| Refusal { code, message })?;
        self.ownership.check(realm)
    }

    /// Removes the connection of a page whose socket has closed.
    pub(crate) fn connection_ended(
        &self,
        realm: RealmId,
        session: &SessionId,
        connection: ConnectionId,
        disconnect: Disconnect,
    ) {
        self.apply(realm, |realm, now| {
            let effects = realm.connection_ended(session, connection, disconnect, now);
            ((), effects)
        });
        if let Some(mut entry) = self.realms.get_mut(&realm) {
            entry.outboxes.remove(&connection);
        }
        self.remove_if_empty(realm);
    }

    /// Calls `f` with a realm. Returns `None` when the realm does not exist.
    pub(crate) fn with_realm<T>(&self, realm: RealmId, f: impl FnOnce(&Realm) -> T) -> Option<T> {
        self.realms.get(&realm).map(|entry| f(&entry.realm))
    }

    /// Like [`Self::with_realm`], for reads that fill a cache of the realm.
    pub(crate) fn with_realm_mut<T>(
        &self,
        realm: RealmId,
        f: impl FnOnce(&mut Realm) -> T,
    ) -> Option<T> {
        let mut entry = self.realms.get_mut(&realm)?;
        Some(f(&mut entry.realm))
    }

    /// Resolves after the next registration of a page of a realm, or when the bridge stops. If the realm
    /// does not exist, it resolves after a while. Returns `None` if `max_calls` requests of the realm
    /// wait already.
    pub(crate) fn next_registration(
        &self,
        realm: RealmId,
    ) -> Option<impl Future<Output = ()> + use<>> {
        const POLL_INTERVAL: Duration = Duration::from_millis(100);
        let event = match self.realms.get_mut(&realm) {
            Some(mut entry) => {
                let event = entry.next_registration.get_or_insert_default();
                // The entry has one, and so has each that waits.
                if Arc::strong_count(event) > self.config.calls.max_calls {
                    return None;
                }
                Some(Arc::clone(event).notified_owned())
            }
            None => None,
        };
        Some(async move {
            match event {
                Some(event) => event.await,
                None => tokio::time::sleep(POLL_INTERVAL).await,
            }
        })
    }

    /// Runs one event in a realm. Returns `None` when the realm does not exist.
    pub(crate) fn apply<T>(
        &self,
        id: RealmId,
        event: impl FnOnce(&mut Realm, Now) -> (T, Effects),
    ) -> Option<T> {
        let mut entry = self.realms.get_mut(&id)?;
        let (outcome, effects) = event(&mut entry.realm, self.now());
        self.apply_effects(id, &mut entry, effects);
        Some(outcome)
    }

    /// Performs effects, and schedules the realm's next deadline.
    fn apply_effects(&self, id: RealmId, entry: &mut RealmEntry, effects: Effects) {
        let mut ends_waits = self.is_stopping();
        for effect in effects {
            match &effect {
                Effect::Send {
                    connection,
                    message,
                } => {
                    ends_waits |= matches!(message, BridgeToPage::Registered(_));
                    let address = || entry.address_of(*connection);
                    self.budgets.refusals.record_message(message, address);
                }
                Effect::Lifecycle(lifecycle) => {
                    let stopping = self.is_stopping().then_some(STOPPING);
                    self.lifecycle.log(id, lifecycle, stopping);
                }
                _ => {}
            }
            entry.perform(id, effect, &*self.agent);
        }
        if ends_waits && let Some(waiting) = entry.next_registration.take() {
            waiting.notify_waiters();
        }
        self.record_catalogue(id, entry);
        let next = entry.realm.next_deadline();
        if let Some(at) = next
            && entry.scheduled_at.is_none_or(|scheduled| at < scheduled)
        {
            entry.scheduled_at = Some(at);
            self.timer.schedule(at, id);
        }
    }

    /// Ends every call and closes every page, including pages that connect later.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        let realms: Vec<_> = self.realms.iter().map(|entry| *entry.key()).collect();
        for realm in realms {
            self.apply(realm, |realm, now| ((), realm.bridge_stopping(now)));
        }
    }

    /// Refuses pages that have no session from now on, unless other bridges serve with this one, and lets
    /// everything else continue.
    pub(crate) fn drain(&self) {
        self.draining.store(true, Ordering::SeqCst);
    }

    /// Whether the bridge will shut down soon.
    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::SeqCst)
    }

    /// Whether no call and no query is running. Realms are locked one after another, until one of them
    /// has any.
    pub(crate) fn is_quiet(&self) -> bool {
        self.realms.iter().all(|entry| entry.is_quiet())
    }

    /// Whether no call and no query of a realm is running.
    pub(crate) fn is_quiet_in(&self, realm: RealmId) -> bool {
        (self.realms.get(&realm)).is_none_or(|entry| entry.is_quiet())
    }

    /// Whether something of a realm runs that needs further requests to end.
    pub(crate) fn awaits_requests_in(&self, realm: RealmId) -> bool {
        self.with_realm(realm, Realm::awaits_requests) == Some(true)
    }

    /// Logs how many events of bursts have no lines: of all bursts if the bridge is shutting down, and
    /// else of those that are over.
    pub(crate) fn log_suppressed(&self) {
        let mut now = tokio::time::Instant::now();
        if self.is_stopping() {
            now += LINE_INTERVAL;
        }
        self.lifecycle.log_suppressed(now);
        self.budgets.refusals.log_suppressed(now);
    }

    /// Whether the bridge is shutting down, and so accepts nothing new.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    /// How long the bridge has been running.
    pub(crate) fn age(&self) -> Duration {
        let now = tokio::time::Instant::now().into_std();
        now.saturating_duration_since(self.started_at)
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

impl TimerHandler for Hub {
    fn on_deadline(&self, id: RealmId) {
        if let Some(mut entry) = self.realms.get_mut(&id) {
            entry.scheduled_at = None;
            let effects = entry.realm.deadline_passed(self.now());
            self.apply_effects(id, &mut entry, effects);
        }
        self.remove_if_empty(id);
    }

    fn on_wakeup(&self, lateness: Duration) {
        self.counters.event_loop.set_lateness(lateness);
    }

    fn on_stall(&self, stall: Duration) {
        self.counters.event_loop.count_stall();
        tracing::warn!(
            stall_ms = stall.as_millis(),
            "the bridge did not run: the timeouts of running calls are extended"
        );
        self.ownership.on_stall();
        let realms: Vec<_> = self.realms.iter().map(|entry| *entry.key()).collect();
        for id in realms {
            self.apply(id, |realm, _| {
                realm.bridge_stalled(stall);
                ((), Effects::new())
            });
        }
    }

    /// Compacts the definitions: drops the parsed form of those that were not used since the last
    /// run, and all those that no page uses any more. Logs the ends of bursts of lines.
    fn on_housekeeping(&self) {
        // Realms are locked one after another, so that calls in other realms of a shard do not wait
        // for all of them.
        let realms: Vec<_> = self.realms.iter().map(|entry| *entry.key()).collect();
        for id in realms {
            if let Some(mut entry) = self.realms.get_mut(&id) {
                let realm = &mut entry.realm;
                realm.replace_definitions(|definition| self.definitions.compacted(definition));
            }
        }
        self.definitions.remove_unused();
        self.log_suppressed();
    }
}

/// Returns the delay of a connection's first heartbeat. The heartbeats of pages that connect at the
/// same time, as after a restart, are spread over an interval.
fn first_heartbeat_delay(connection: ConnectionId, interval: Duration) -> Duration {
    // The fractional parts of multiples of the golden ratio are spread evenly over any range of
    // numbers.
    let spread = connection.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    // A page that has just connected shows by itself that it is alive.
    interval / 2 + interval.mul_f64(spread as f64 / f64::from(u32::MAX))
}

impl RealmEntry {
    fn new(realm: Realm, permit: RealmPermit, catalogue: ByteLease) -> Self {
        Self {
            realm,
            outboxes: HashMap::default(),
            call_senders: HashMap::default(),
            notification_queues: HashMap::new(),
            scheduled_at: None,
            permit,
            catalogue,
            next_registration: None,
        }
    }

    fn is_quiet(&self) -> bool {
        self.realm.call_count() == 0 && self.realm.query_count() == 0
    }

    /// The address of the page with this connection, or of the realm's first page or client.
    fn address_of(&self, connection: ConnectionId) -> ClientAddress {
        let address = self.realm.connection_address(connection);
        address.map_or_else(|| self.permit.party().address, ClientAddress::from)
    }

    fn perform(&mut self, realm: RealmId, effect: Effect, agent: &dyn AgentPort) {
        match effect {
            Effect::Send {
                connection,
                message,
            } => {
                self.send(connection, SocketCommand::Message(message));
            }
            Effect::Ping { connection } => self.send(connection, SocketCommand::Ping),
            Effect::Probe { connection, probe } => {
                self.send(connection, SocketCommand::Probe(probe));
            }
            Effect::Close {
                connection,
                code,
                reason,
            } => {
                self.send(connection, SocketCommand::Close { code, reason });
                self.outboxes.remove(&connection);
            }
            Effect::CompleteCall { call, outcome } => {
                if let Some(sender) = self.call_senders.remove(&call) {
                    sender.complete(outcome);
                }
            }
            Effect::EmitEvent { call, event } => {
                if let Some(sender) = self.call_senders.get(&call) {
                    sender.send_event(event);
                }
            }
            Effect::CallReceived { call } => {
                if let Some(sender) = self.call_senders.get(&call) {
                    sender.report_receipt();
                }
            }
            Effect::ClientRequestsPending { call } => {
                if let Some(sender) = self.call_senders.get(&call) {
                    sender.request_client();
                }
            }
            Effect::CallHandedOver { call } | Effect::ClientRequestsExpired { call } => {
                if let Some(sender) = self.call_senders.get(&call) {
                    sender.end_client_requests();
                }
            }
            Effect::ValidateInput { call } => {
                if let Some(sender) = self.call_senders.get(&call) {
                    sender.request_validation();
                }
            }
            Effect::ListChanged(kind) => {
                for queue in self.notification_queues.values() {
                    queue.list_changed(kind);
                }
            }
            Effect::ResourceUpdated { client, uri } => {
                if let Some(queue) = self.notification_queues.get(&client) {
                    queue.resource_updated(uri);
                }
            }
            Effect::Agent(effect) => agent.perform(realm, effect),
            // The hub has logged it.
            Effect::Lifecycle(_) => {}
        }
    }

    /// Sends a command to the task of a connection. A full outbox aborts the connection, whose task
    /// then reports that it has ended.
    fn send(&mut self, connection: ConnectionId, command: SocketCommand) {
        let Some(outbox) = self.outboxes.get(&connection) else {
            return;
        };
        if outbox.try_send(command).is_err() {
            self.outboxes.remove(&connection);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heartbeats_of_simultaneous_connections_are_spread() {
        let interval = Duration::from_secs(20);
        for start in [1, 1_000_000] {
            let mut seconds = [0; 30];
            for number in start..start + 10_000 {
                let first = first_heartbeat_delay(ConnectionId(number), interval);
                seconds[usize::try_from(first.as_secs()).unwrap()] += 1;
            }
            let (early, spread) = seconds.split_at(10);
            assert!(early.iter().all(|pages| *pages == 0), "{seconds:?}");
            let even = |pages: &i32| (490..=510).contains(pages);
            assert!(spread.iter().all(even), "{seconds:?}");
        }
    }
}
