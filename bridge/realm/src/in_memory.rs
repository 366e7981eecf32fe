//! A bridge without sockets, tasks and clocks: with the real realm, and everything else in memory.
//!
//! It handles frames as the page socket does and effects as the hub does, in the same order and
//! without waiting. The inputs are frames, closes, calls and the time; the outputs are frames,
//! closes, events and the outcomes of calls. Simulations of whole schedules and the test kit of the
//! web SDK use it. It has one realm.

mod connection;
mod connection_events;
mod simulated_client;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use web_time::Instant;

use bridge_protocol::{CallContext, CallId, ClientRequest, ClientResponse, Kind, SessionId};
use serde_json::value::RawValue;

use crate::definition::{DefinitionLimits, DefinitionRegistry, SharedDefinition, SharedTool};
use crate::page_messages::PageMessageLimits;
use crate::realm::{
    CallFailure, CallOutcome, CallerEvent, ClientId, ConnectionId, Effect, Effects, NewCall, Now,
    PageRequest, Realm, RealmLimits,
};
use connection::InMemoryConnection;

pub use connection::TokenLifetime;

/// The close code that the peer of a WebSocket sees when there was no close frame (RFC 6455 section
/// 7.1.5).
pub const ABNORMAL_CLOSURE: u16 = 1006;

/// An output of the bridge.
#[derive(Debug)]
pub enum BridgeOutput {
    /// A frame was sent.
    Frame {
        /// The connection on which it was sent.
        connection: u64,
        /// The text of the frame.
        text: String,
    },
    /// A ping was sent.
    Ping {
        /// The connection on which it was sent.
        connection: u64,
        /// The number of the ping, which its answer repeats.
        probe: u64,
    },
    /// A connection was closed after its earlier frames, with [`ABNORMAL_CLOSURE`] if there was no
    /// close frame.
    Closed {
        /// The closed connection.
        connection: u64,
        /// The close code.
        code: u16,
    },
    /// A call has ended. Its caller receives the outcome, unless the call was parked.
    CallEnded {
        /// The id of the call.
        call: CallId,
        /// The result or the failure of the call.
        outcome: CallOutcome,
    },
    /// The handler of a call has reported progress or a log message.
    CallerEvent {
        /// The id of the call.
        call: CallId,
        /// The report.
        event: CallerEvent,
    },
    /// The handler of a call has requests for the client.
    ClientRequestsPending {
        /// The id of the call.
        call: CallId,
    },
    /// A call was handed over to the next document of its session.
    CallHandedOver {
        /// The id of the call.
        call: CallId,
    },
    /// The arguments of a call must be validated: see [`InMemoryBridge::input_to_validate`].
    ValidateInput {
        /// The id of the call.
        call: CallId,
    },
    /// The list of this kind has changed.
    ListChanged(Kind),
    /// A resource that a client is subscribed to has changed.
    ResourceUpdated {
        /// The client.
        client: ClientId,
        /// The URI of the resource.
        uri: String,
    },
}

/// The numbers of live objects in a bridge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The number of open sockets.
    pub connections: usize,
    /// The number of sessions, including those that wait for their page to reconnect.
    pub sessions: usize,
    /// The number of calls in flight.
    pub calls: usize,
    /// The number of deadlines, except that of the former sessions.
    pub deadlines: usize,
}

/// A bridge in memory. All times are relative to its creation.
#[derive(Debug)]
pub struct InMemoryBridge {
    realm: Realm,
    definitions: DefinitionRegistry,
    limits: PageMessageLimits,
    id: String,
    start: Instant,
    /// The Unix time in milliseconds at the creation.
    unix_ms: u64,
    token_lifetime: TokenLifetime,
    connections: BTreeMap<u64, InMemoryConnection>,
    call_count: u64,
}

impl InMemoryBridge {
    /// Creates a bridge without connections. Its clock shows `unix_ms` at the start.
    pub fn new(
        realm_limits: RealmLimits,
        limits: PageMessageLimits,
        id: &str,
        unix_ms: u64,
        token_lifetime: TokenLifetime,
    ) -> Self {
        let definition_limits = DefinitionLimits {
            max_bytes: realm_limits.definition_bytes_per_session,
        };
        Self {
            realm: Realm::new(realm_limits),
            definitions: DefinitionRegistry::new(|_, _| Ok(()), definition_limits),
            limits,
            id: id.to_owned(),
            start: Instant::now(),
            unix_ms,
            token_lifetime,
            connections: BTreeMap::new(),
            call_count: 0,
        }
    }

    fn now(&self, at: Duration) -> Now {
        Now {
            instant: self.start + at,
            unix_ms: self.unix_ms + at.as_millis() as u64,
        }
    }

    /// The realm, for requests that change nothing.
    pub fn realm(&self) -> &Realm {
        &self.realm
    }

    /// Applies an event of a client to the realm, and performs its effects.
    pub fn with_realm(
        &mut self,
        at: Duration,
        event: impl FnOnce(&mut Realm) -> Effects,
    ) -> Vec<BridgeOutput> {
        let effects = event(&mut self.realm);
        self.perform(effects, self.now(at))
    }

    /// Sends a request to the page of a session.
    ///
    /// # Errors
    /// Fails if there is no such session, or if there are too many calls.
    pub fn start_call(
        &mut self,
        session: &SessionId,
        request: PageRequest,
        context: CallContext,
        timeout: Duration,
        at: Duration,
    ) -> Result<(CallId, Vec<BridgeOutput>), CallFailure> {
        let now = self.now(at);
        self.call_count += 1;
        let id = CallId(format!("{}-{}", self.id, self.call_count));
        let call = NewCall {
            id: id.clone(),
            request,
            context,
            timeout,
            client_responses: Vec::new(),
        };
        let effects = self.realm.call_requested(session, call, now)?;
        Ok((id, self.perform(effects, now)))
    }

    /// The definitions of one kind that clients see, each as JSON.
    pub fn listed(&self, kind: Kind) -> Vec<String> {
        let definitions = self.realm.published(kind);
        let text = |definition: &SharedDefinition| serde_json::to_string(definition.published());
        definitions
            .iter()
            .filter_map(|item| text(item).ok())
            .collect()
    }

    /// The caller cancels the call.
    pub fn cancel(&mut self, call: &CallId, at: Duration) -> Vec<BridgeOutput> {
        let effects = self
            .realm
            .call_cancelled(call, "the caller went away", self.now(at));
        self.perform(effects, self.now(at))
    }

    /// The new requests of a call to its client. Each request is returned once.
    pub fn take_client_requests(&mut self, call: &CallId) -> Vec<ClientRequest> {
        self.realm.take_client_requests(call)
    }

    /// The client responds to a request.
    pub fn client_responded(
        &mut self,
        call: &CallId,
        response: ClientResponse,
        at: Duration,
    ) -> Vec<BridgeOutput> {
        let now = self.now(at);
        let effects = self.realm.client_answered(call, response, now);
        self.perform(effects, now)
    }

    /// The tool for which the arguments of a call must be validated, with these arguments. `None` if
    /// that is not necessary any more.
    pub fn input_to_validate(&self, call: &CallId) -> Option<(Arc<SharedTool>, Box<RawValue>)> {
        self.realm.input_to_validate(call)
    }

    /// The arguments of a call were validated for a tool.
    pub fn input_validated(
        &mut self,
        call: &CallId,
        tool: &Arc<SharedTool>,
        outcome: Result<(), CallFailure>,
        at: Duration,
    ) -> Vec<BridgeOutput> {
        let now = self.now(at);
        let effects = self.realm.input_validated(call, tool, outcome, now);
        self.perform(effects, now)
    }

    /// When [`InMemoryBridge::deadline_passed`] must be called next.
    pub fn next_deadline(&self) -> Option<Duration> {
        self.realm.next_deadline().map(|at| at - self.start)
    }

    /// Handles all deadlines that have passed.
    pub fn deadline_passed(&mut self, at: Duration) -> Vec<BridgeOutput> {
        let now = self.now(at);
        let effects = self.realm.deadline_passed(now);
        self.perform(effects, now)
    }

    /// The process of the bridge did not run for this long.
    pub fn stalled(&mut self, stall: Duration) {
        self.realm.bridge_stalled(stall);
    }

    /// An operator stops the bridge.
    pub fn stop(&mut self, at: Duration) -> Vec<BridgeOutput> {
        let effects = self.realm.bridge_stopping(self.now(at));
        self.perform(effects, self.now(at))
    }

    /// The numbers of live objects.
    pub fn counts(&self) -> Counts {
        let (calls, deadlines) = self.realm.in_memory_counts();
        Counts {
            connections: self.connections.len(),
            sessions: self.realm.session_count(),
            calls,
            deadlines,
        }
    }

    /// Panics when two parts of the state contradict each other.
    pub fn check_invariants(&self) {
        self.realm.check_invariants();
    }

    /// Performs effects as the hub does.
    fn perform(&mut self, effects: Effects, now: Now) -> Vec<BridgeOutput> {
        let mut outputs = Vec::new();
        for effect in effects {
            match effect {
                Effect::Send {
                    connection,
                    message,
                } => self.send(connection, &message, &mut outputs),
                Effect::Probe { connection, probe } => outputs.push(BridgeOutput::Ping {
                    connection: connection.0,
                    probe,
                }),
                Effect::Close {
                    connection, code, ..
                } => outputs.extend(self.close(connection, code, now)),
                Effect::CompleteCall { call, outcome } => {
                    outputs.push(BridgeOutput::CallEnded { call, outcome });
                }
                Effect::EmitEvent { call, event } => {
                    outputs.push(BridgeOutput::CallerEvent { call, event });
                }
                Effect::ClientRequestsPending { call } => {
                    outputs.push(BridgeOutput::ClientRequestsPending { call });
                }
                Effect::CallHandedOver { call } => {
                    outputs.push(BridgeOutput::CallHandedOver { call });
                }
                Effect::ValidateInput { call } => {
                    outputs.push(BridgeOutput::ValidateInput { call })
                }
                Effect::ListChanged(kind) => outputs.push(BridgeOutput::ListChanged(kind)),
                Effect::ResourceUpdated { client, uri } => {
                    outputs.push(BridgeOutput::ResourceUpdated { client, uri });
                }
                // Its calls have no traces.
                Effect::CallReceived { .. } => {}
                // Dead connections are reported from outside, see [`ABNORMAL_CLOSURE`].
                Effect::Ping { .. } => {}
                // Its clients may answer whenever they want.
                Effect::ClientRequestsExpired { .. } => {}
                // The bridge has no agent, and refuses the queries of pages.
                Effect::Agent(_) => {}
                // It has no log.
                Effect::Lifecycle(_) => {}
            }
        }
        outputs
    }
}

fn connection_id(connection: u64) -> ConnectionId {
    ConnectionId(connection)
}
