//! A bridge without sockets, tasks and clocks, for simulations of whole schedules.
//!
//! What the page socket does with a frame, and the hub with an effect, happens here in the same
//! order and without waiting: frames, closes, calls and the time come in; frames, closes and the
//! endings of calls go out. One realm, whose state is the real one. Not part of the interface:
//! only with the feature `simulation`, for this project's own tests.

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

/// A close without a close frame, as a WebSocket's peer sees it (RFC 6455 section 7.1.5).
pub const ABNORMAL_CLOSURE: u16 = 1006;

/// Pages of all schedules register the same few tools.
static DEFINITIONS: LazyLock<DefinitionRegistry> =
    LazyLock::new(|| DefinitionRegistry::new(|_, _| Ok(()), 1_000_000));

/// Something that the bridge does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Sends a frame.
    Frame {
        /// Where to.
        connection: u64,
        /// The text.
        text: String,
    },
    /// Closes a connection, after what was sent before; [`ABNORMAL_CLOSURE`] without a close frame.
    Closed {
        /// Which one.
        connection: u64,
        /// The close code.
        code: u16,
    },
    /// A call has ended: for its caller, unless it was parked.
    CallEnded {
        /// Which one.
        call: CallId,
        /// Without a result: why.
        failure: Option<ErrorCode>,
    },
    /// The page asks the client behind a call.
    ClientRequestsPending {
        /// Which one.
        call: CallId,
    },
}

/// What lives in a bridge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Sockets that have not ended.
    pub connections: usize,
    /// Pages, those that may come back included.
    pub sessions: usize,
    /// Calls in flight.
    pub calls: usize,
    /// Things that become due.
    pub deadlines: usize,
}

/// One life of a bridge. All times are since the beginning of the simulation.
#[derive(Debug)]
pub struct Bridge {
    realm: Realm,
    limits: PageMessageLimits,
    id: String,
    start: Instant,
    /// What the clock on the wall shows at the beginning.
    unix_ms: u64,
    token_lifetime: TokenLifetime,
    connections: BTreeMap<u64, SimulatedConnection>,
    call_count: u64,
}

impl Bridge {
    /// A bridge that nobody is connected to. Its clock shows `unix_ms` at the beginning.
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

    // ---- callers ----

    /// Calls a tool of a session. The client behind it can be asked for its roots.
    ///
    /// # Errors
    /// The session is not there, or has no such tool, or has too many calls.
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

    /// The tools that clients see: each as JSON.
    pub fn listed_tools(&self) -> Vec<String> {
        let tools = self.realm.published(Kind::Tool);
        let text = |tool: &Definition| serde_json::to_string(tool.published());
        tools.iter().filter_map(|tool| text(tool).ok()).collect()
    }

    /// The caller does not wait any longer.
    pub fn cancel(&mut self, call: &CallId, at: Duration) -> Vec<Output> {
        let effects = self
            .realm
            .call_cancelled(call, "the caller went away", self.now(at));
        self.perform(effects, self.now(at))
    }

    /// What the page asks the client of a call, by keys; each once.
    pub fn take_client_requests(&mut self, call: &CallId) -> Vec<String> {
        let requests = self.realm.take_client_requests(call);
        requests.into_iter().map(|request| request.key).collect()
    }

    /// The client answers.
    pub fn respond_as_client(&mut self, call: &CallId, key: &str, at: Duration) -> Vec<Output> {
        let now = self.now(at);
        let effects = self.realm.client_answered(call, roots_response(key), now);
        self.perform(effects, now)
    }

    /// The caller leaves with what its client must answer, and comes back with this number.
    pub fn park(&mut self, call: &CallId) -> Option<(u64, Vec<String>)> {
        let (round, requests) = self.realm.call_parked(call)?;
        let keys = requests.into_iter().map(|request| request.key).collect();
        Some((round, keys))
    }

    /// The client comes back with its answers. `None` when no call waits for this round.
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

    // ---- time and ends ----

    /// When [`Bridge::deadline_passed`] must be called next.
    pub fn next_deadline(&self) -> Option<Duration> {
        self.realm.next_deadline().map(|at| at - self.start)
    }

    /// Deals with what is due.
    pub fn deadline_passed(&mut self, at: Duration) -> Vec<Output> {
        let now = self.now(at);
        let effects = self.realm.deadline_passed(now);
        self.perform(effects, now)
    }

    /// An operator stops the bridge.
    pub fn stop(&mut self, at: Duration) -> Vec<Output> {
        let effects = self.realm.bridge_stopping(self.now(at));
        self.perform(effects, self.now(at))
    }

    /// What lives here.
    pub fn counts(&self) -> Counts {
        let (calls, deadlines) = self.realm.simulated_counts();
        Counts {
            connections: self.connections.len(),
            sessions: self.realm.session_count(),
            calls,
            deadlines,
        }
    }

    /// Panics when a fact contradicts another.
    pub fn check_invariants(&self) {
        self.realm.check_invariants();
    }

    /// What the hub does with effects.
    fn perform(&mut self, effects: Effects, now: Now) -> Vec<Output> {
        let mut outputs = Vec::new();
        for effect in effects {
            match effect {
                Effect::Send {
                    connection,
                    message,
                } => self.send(connection, &message, &mut outputs),
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
                // Which lines are dead is the network's affair, see [`ABNORMAL_CLOSURE`].
                Effect::Ping { .. }
                | Effect::EmitEvent { .. }
                | Effect::ListChanged(_)
                | Effect::ResourceUpdated { .. } => {}
                // Pages of simulations ask nothing.
                Effect::Agent(_) => {}
            }
        }
        outputs
    }
}

/// A JSON Schema as tools are checked with, to measure what that costs.
#[derive(Debug)]
pub struct Schema(Validator);

impl Schema {
    /// # Errors
    /// Why it is no schema that a page may register.
    pub fn new(schema: Value) -> Result<Self, String> {
        Validator::new(schema).map(Self)
    }

    /// Whether a value is valid against the schema.
    pub fn is_valid(&self, value: &Value) -> bool {
        self.0.validate(value).is_ok()
    }
}

/// Writes JSON text as the content of a JSON string: what is measured against a bridge should do no
/// worse.
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
