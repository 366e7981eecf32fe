//! A bridge without sockets, tasks and clocks, for simulations of whole schedules.
//!
//! It handles frames as the page socket does and effects as the hub does, in the same order and
//! without waiting. The inputs are frames, closes, calls and the time; the outputs are frames,
//! closes and the outcomes of calls. It has one realm, which is the real implementation. This
//! module is not part of the public interface: it exists only with the feature `simulation`, for
//! this project's own tests.

mod connection;
mod connection_events;

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use bridge_protocol::{
    CallContext, CallId, CallingClient, ClientInfo, ClientResponse, ErrorCode, Kind, SessionId,
};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::definition::{Definition, DefinitionRegistry};
use crate::page_messages::PageMessageLimits;
use crate::realm::{
    CallOutcome, ConnectionId, Effect, Effects, NewCall, Now, PageRequest, Realm, RealmLimits,
    Target,
};
use bridge_json::escape::escape_content;
use bridge_schema::Validator;
use connection::SimulatedConnection;

pub use connection::TokenLifetime;

/// The close code that the peer of a WebSocket sees when there was no close frame (RFC 6455 section
/// 7.1.5).
pub const ABNORMAL_CLOSURE: u16 = 1006;

/// Shared by all bridges, because the pages of all schedules register the same few tools.
static DEFINITIONS: LazyLock<DefinitionRegistry> =
    LazyLock::new(|| DefinitionRegistry::new(|_, _| Ok(()), 1_000_000));

/// An output of the simulated bridge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
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
        /// The code of the failure; `None` if the call has a result.
        failure: Option<ErrorCode>,
    },
    /// The handler of a call has requests for the client.
    ClientRequestsPending {
        /// The id of the call.
        call: CallId,
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

/// One simulated run of a bridge. All times are relative to the start of the simulation.
#[derive(Debug)]
pub struct Bridge {
    realm: Realm,
    limits: PageMessageLimits,
    id: String,
    start: Instant,
    /// The Unix time in milliseconds at the start of the simulation.
    unix_ms: u64,
    token_lifetime: TokenLifetime,
    connections: BTreeMap<u64, SimulatedConnection>,
    call_count: u64,
}

impl Bridge {
    /// Creates a bridge without connections. Its clock shows `unix_ms` at the start.
    pub fn new(
        realm_limits: RealmLimits,
        limits: PageMessageLimits,
        id: &str,
        unix_ms: u64,
        token_lifetime: TokenLifetime,
    ) -> Self {
        Self {
            realm: Realm::new(realm_limits),
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

    /// Calls a tool of a session, with a client that supports requests for its roots.
    ///
    /// # Errors
    /// Fails if there is no such session, if it has no such tool, or if it has too many calls.
    pub fn call(
        &mut self,
        session: &str,
        tool: &str,
        timeout: Duration,
        at: Duration,
    ) -> Result<(CallId, Vec<Output>), ErrorCode> {
        let now = self.now(at);
        let target = Target::Session(SessionId::from(session));
        let routed = self.realm.route(Kind::Tool, tool, &target);
        let (session, tool) = match routed {
            Ok((session, Definition::Tool(tool))) => (session, tool),
            _ => return Err(ErrorCode::SessionNotFound),
        };
        self.call_count += 1;
        let id = CallId(format!("{}-{}", self.id, self.call_count));
        let input = raw("{}");
        let call = NewCall {
            id: id.clone(),
            request: PageRequest::Tool { tool, input },
            context: CallContext {
                client: Some(capable_client().into()),
                ..CallContext::default()
            },
            timeout,
            client_responses: Vec::new(),
        };
        let effects = self.realm.call_requested(&session, call, now);
        let effects = effects.map_err(|failure| failure.code)?;
        Ok((id, self.perform(effects, now)))
    }

    /// Whether the session is connected and has the tool.
    pub fn is_ready(&self, session: &str, tool: &str) -> bool {
        let session = SessionId::from(session);
        let target = Target::Session(session.clone());
        let is_there = self.realm.route(Kind::Tool, tool, &target).is_ok();
        is_there
            && self
                .connections
                .values()
                .any(|line| line.is_authenticated_for(&session))
    }

    /// The tools that clients see, each as JSON.
    pub fn listed_tools(&self) -> Vec<String> {
        let tools = self.realm.published(Kind::Tool);
        let text = |tool: &Definition| serde_json::to_string(tool.published());
        tools.iter().filter_map(|tool| text(tool).ok()).collect()
    }

    /// The caller cancels the call.
    pub fn cancel(&mut self, call: &CallId, at: Duration) -> Vec<Output> {
        let effects = self
            .realm
            .call_cancelled(call, "the caller went away", self.now(at));
        self.perform(effects, self.now(at))
    }

    /// The keys of the new requests of a call to its client. Each request is returned once.
    pub fn take_client_requests(&mut self, call: &CallId) -> Vec<String> {
        let requests = self.realm.take_client_requests(call);
        requests.into_iter().map(|request| request.key).collect()
    }

    /// The client responds to a request.
    pub fn respond_as_client(&mut self, call: &CallId, key: &str, at: Duration) -> Vec<Output> {
        let now = self.now(at);
        let effects = self.realm.client_answered(call, roots_response(key), now);
        self.perform(effects, now)
    }

    /// The caller leaves with the unanswered requests, and resumes the call with the returned round
    /// number.
    pub fn park(&mut self, call: &CallId) -> Option<(u64, Vec<String>)> {
        let (round, requests) = self.realm.call_parked(call)?;
        let keys = requests.into_iter().map(|request| request.key).collect();
        Some((round, keys))
    }

    /// The client resumes the call with responses. `None` if no call waits for this round.
    pub fn resume(
        &mut self,
        call: &CallId,
        round: u64,
        keys: &[String],
        at: Duration,
    ) -> Option<Vec<Output>> {
        let now = self.now(at);
        let answers = keys.iter().map(|key| roots_response(key)).collect();
        let (_, effects) = self.realm.call_resumed(call, round, answers, now)?;
        Some(self.perform(effects, now))
    }

    /// When [`Bridge::deadline_passed`] must be called next.
    pub fn next_deadline(&self) -> Option<Duration> {
        self.realm.next_deadline().map(|at| at - self.start)
    }

    /// Handles all deadlines that have passed.
    pub fn deadline_passed(&mut self, at: Duration) -> Vec<Output> {
        let now = self.now(at);
        let effects = self.realm.deadline_passed(now);
        self.perform(effects, now)
    }

    /// The process of the bridge did not run for this long.
    pub fn stalled(&mut self, stall: Duration) {
        self.realm.bridge_stalled(stall);
    }

    /// An operator stops the bridge.
    pub fn stop(&mut self, at: Duration) -> Vec<Output> {
        let effects = self.realm.bridge_stopping(self.now(at));
        self.perform(effects, self.now(at))
    }

    /// The numbers of live objects.
    pub fn counts(&self) -> Counts {
        let (calls, deadlines) = self.realm.simulated_counts();
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
    fn perform(&mut self, effects: Effects, now: Now) -> Vec<Output> {
        let mut outputs = Vec::new();
        for effect in effects {
            match effect {
                Effect::Send {
                    connection,
                    message,
                } => self.send(connection, &message, &mut outputs),
                Effect::Probe { connection, probe } => outputs.push(Output::Ping {
                    connection: connection.0,
                    probe,
                }),
                Effect::Close {
                    connection, code, ..
                } => outputs.extend(self.close(connection, code, now)),
                Effect::CompleteCall {
                    call,
                    outcome: ending,
                } => outputs.push(Output::CallEnded {
                    call,
                    failure: match ending {
                        CallOutcome::Answered(_) => None,
                        CallOutcome::Failed(failure) => Some(failure.code),
                    },
                }),
                Effect::ClientRequestsPending { call } => {
                    outputs.push(Output::ClientRequestsPending { call })
                }
                // The simulated network reports dead connections itself, see [`ABNORMAL_CLOSURE`].
                Effect::Ping { .. }
                | Effect::EmitEvent { .. }
                | Effect::ListChanged(_)
                | Effect::ResourceUpdated { .. } => {}
                // Pages in simulations send no queries.
                Effect::Agent(_) => {}
            }
        }
        outputs
    }
}

/// A compiled JSON Schema as tools use it, for benchmarks of the validation.
#[derive(Debug)]
pub struct Schema(Validator);

impl Schema {
    /// Compiles a schema.
    ///
    /// # Errors
    /// Returns the reason why a page may not register the schema.
    pub fn new(schema: Value) -> Result<Self, String> {
        Validator::new(schema).map(Self)
    }

    /// Whether a value is valid against the schema.
    pub fn is_valid(&self, value: &Value) -> bool {
        self.0.validate(value).is_ok()
    }
}

/// Escapes JSON text as the content of a JSON string, so that benchmarks can compare other
/// implementations with that of the bridge.
pub fn escape(json: &[u8], out: &mut Vec<u8>) {
    escape_content(json, out);
}

fn capable_client() -> CallingClient {
    CallingClient {
        info: ClientInfo {
            name: "simulated".to_owned(),
            version: None,
            title: None,
        },
        protocol_version: None,
        capabilities: Some(raw(r#"{"roots":{}}"#)),
        limits: None,
    }
}

fn roots_response(key: &str) -> ClientResponse {
    ClientResponse {
        key: key.to_owned(),
        result: Some(raw(r#"{"roots":[]}"#)),
        error: None,
    }
}

fn raw(json: &'static str) -> Box<RawValue> {
    serde_json::from_str(json).unwrap_or_default()
}

fn connection_id(connection: u64) -> ConnectionId {
    ConnectionId(connection)
}
