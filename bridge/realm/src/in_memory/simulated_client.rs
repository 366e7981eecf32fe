//! The client of simulations: it calls tools without arguments, and supports requests for its roots.

use std::time::Duration;

use bridge_protocol::{
    CallContext, CallId, CallingClient, ClientInfo, ClientResponse, ErrorCode, Kind, SessionId,
};
use serde_json::value::RawValue;

use super::{BridgeOutput, InMemoryBridge};
use crate::definition::SharedDefinition;
use crate::realm::{PageRequest, SessionTarget};

impl InMemoryBridge {
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
    ) -> Result<(CallId, Vec<BridgeOutput>), ErrorCode> {
        let target = SessionTarget::Session(SessionId::from(session));
        let routed = self.realm.route(Kind::Tool, tool, &target);
        let (session, tool) = match routed {
            Ok((session, SharedDefinition::Tool(tool))) => (session, tool),
            _ => return Err(ErrorCode::SessionNotFound),
        };
        let input = raw("{}");
        let context = CallContext {
            client: Some(capable_client().into()),
            ..CallContext::default()
        };
        let request = PageRequest::Tool { tool, input };
        self.start_call(&session, request, context, timeout, at)
            .map_err(|failure| failure.code)
    }

    /// Whether the session is connected and has the tool.
    pub fn is_ready(&self, session: &str, tool: &str) -> bool {
        let session = SessionId::from(session);
        let target = SessionTarget::Session(session.clone());
        let is_there = self.realm.route(Kind::Tool, tool, &target).is_ok();
        is_there
            && self
                .connections
                .values()
                .any(|line| line.is_authenticated_for(&session))
    }

    /// The client responds to a request.
    pub fn respond_as_client(
        &mut self,
        call: &CallId,
        key: &str,
        at: Duration,
    ) -> Vec<BridgeOutput> {
        self.client_responded(call, roots_response(key), at)
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
    ) -> Option<Vec<BridgeOutput>> {
        let now = self.now(at);
        let answers = keys.iter().map(|key| roots_response(key)).collect();
        let (_, effects) = self.realm.call_resumed(call, round, answers, now)?;
        Some(self.perform(effects, now))
    }
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
