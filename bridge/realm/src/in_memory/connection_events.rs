//! Handles the frames of one connection as the page socket does.

use std::time::Duration;
use web_time::Instant;

use bridge_protocol::message_parts::{Assembler, AssemblyStatus, split};
use bridge_protocol::{
    Authenticate, AuthenticationFailed, BridgeId, BridgeToPage, CloseCode, DecodeError, ErrorCode,
    PageToBridge, RenewalFailed, Retry, SessionId, limits,
};

use super::connection::InMemoryConnection;
use super::{ABNORMAL_CLOSURE, BridgeOutput, InMemoryBridge, connection_id};
use crate::page_messages;
use crate::page_messages::PageEvent;
use crate::realm::{ConnectionId, Disconnect, Now, PageAbilities, PageHello, ProbeAnswer};

impl InMemoryBridge {
    /// A page has opened a socket for the session in its URL.
    pub fn connection_opened(&mut self, connection: u64, session: &str) {
        let line = InMemoryConnection {
            session: SessionId::from(session),
            authenticated: false,
            assembler: Assembler::new(self.limits.max_message_bytes),
            split_messages: 0,
        };
        self.connections.insert(connection, line);
    }

    /// A frame of a page has arrived.
    pub fn frame_arrived(
        &mut self,
        connection: u64,
        frame: &str,
        at: Duration,
    ) -> Vec<BridgeOutput> {
        let now = self.now(at);
        let Some(line) = self.connections.get_mut(&connection) else {
            return Vec::new();
        };
        let connection = connection_id(connection);
        let text = match line.assembler.push(frame) {
            Ok(AssemblyStatus::Incomplete) => {
                let session = line.session.clone();
                self.realm.part_arrived(&session, connection, now);
                return Vec::new();
            }
            Ok(AssemblyStatus::Complete(text)) => text,
            Err(_) => return self.close(connection, CloseCode::MessageTooBig, now),
        };
        let known = line.authenticated;
        match PageToBridge::decode(&text) {
            Ok(PageToBridge::Authenticate(hello)) if !known => {
                self.authenticate(connection, *hello, now)
            }
            _ if !known => self.close(connection, CloseCode::PolicyViolation, now),
            Ok(PageToBridge::Leaving(leaving)) => {
                let hands_over = leaving.hands_over;
                let disconnect = Disconnect::Leaving { hands_over };
                let mut outputs = self.end_connection(connection, disconnect, now);
                outputs.push(closed_output(connection, ABNORMAL_CLOSURE));
                outputs
            }
            Ok(PageToBridge::Renew(renew)) => self.renew(connection, &renew.auth_token, now),
            Ok(message) => self.on_message(connection, message, now),
            Err(DecodeError::NotAMessage(_)) => {
                self.close(connection, CloseCode::UnsupportedData, now)
            }
            Err(DecodeError::UnknownType(_)) => Vec::new(),
            Err(DecodeError::BadQuery { uuid, error }) => {
                let event = PageEvent::MalformedQuery(uuid, error.to_string());
                self.on_event(connection, event, now)
            }
            Err(DecodeError::BadFields { .. }) => {
                self.close(connection, CloseCode::PolicyViolation, now)
            }
        }
    }

    /// A socket has closed, or the bridge has detected that it is dead ([`ABNORMAL_CLOSURE`]).
    pub fn connection_closed(
        &mut self,
        connection: u64,
        code: u16,
        at: Duration,
    ) -> Vec<BridgeOutput> {
        let parting = match code {
            1000 | 1001 => Disconnect::DocumentGone,
            _ => Disconnect::ConnectionLost,
        };
        self.end_connection(connection_id(connection), parting, self.now(at))
    }

    /// The browser of a page has answered a ping. `data_arrived` is whether frames of the page
    /// arrived between the ping and the answer.
    pub fn pong_arrived(
        &mut self,
        connection: u64,
        probe: u64,
        data_arrived: bool,
        at: Duration,
    ) -> Vec<BridgeOutput> {
        let now = self.now(at);
        let Some(line) = self.connections.get(&connection) else {
            return Vec::new();
        };
        let session = line.session.clone();
        let answer = ProbeAnswer {
            probe,
            data_arrived,
        };
        let connection = connection_id(connection);
        let effects = self.realm.probe_answered(&session, connection, answer, now);
        self.perform(effects, now)
    }

    /// Everything that had arrived on a connection before this ping was sent has been read.
    pub fn connection_read(
        &mut self,
        connection: u64,
        probe: u64,
        at: Duration,
    ) -> Vec<BridgeOutput> {
        let now = self.now(at);
        let Some(line) = self.connections.get(&connection) else {
            return Vec::new();
        };
        let session = line.session.clone();
        let connection = connection_id(connection);
        let effects = self.realm.connection_read(&session, connection, probe, now);
        self.perform(effects, now)
    }

    /// The time in which a page must authenticate has passed.
    pub fn authentication_due(&mut self, connection: u64, at: Duration) -> Vec<BridgeOutput> {
        let now = self.now(at);
        match self.connections.get(&connection) {
            Some(line) if !line.authenticated => {
                self.close(connection_id(connection), CloseCode::PolicyViolation, now)
            }
            _ => Vec::new(),
        }
    }

    fn authenticate(
        &mut self,
        connection: ConnectionId,
        hello: Authenticate,
        now: Now,
    ) -> Vec<BridgeOutput> {
        let token = hello.auth_token.unwrap_or_default();
        let Some(expires) = self.token_expiry(&token, now) else {
            let error = "the token is not valid".to_owned();
            return self.reject(connection, ErrorCode::TokenExpired, error, now);
        };
        let Some(line) = self.connections.get_mut(&connection.0) else {
            return Vec::new();
        };
        line.authenticated = true;
        let (app, app_description) = hello.app.map(|app| (app.name, app.description)).unzip();
        let hello = PageHello {
            session: line.session.clone(),
            abilities: PageAbilities {
                checks_late_calls: hello.checks_late_calls,
                ..PageAbilities::SDK
            },
            document: hello.document_id,
            name: hello.session_name,
            origin: None,
            address: None,
            page_title: hello.page_title,
            app,
            app_description: app_description.flatten(),
            expires,
            may_query: true,
            subject: None,
            written_ms: hello.timestamp,
            heartbeat_after: None,
            sdk_version: hello.sdk_version,
        };
        let session = hello.session.clone();
        match self.realm.page_connected(connection, hello, now) {
            Ok((welcome, effects)) => {
                let bridge = BridgeId(self.id.clone());
                let welcome = page_messages::authenticated_message(
                    &self.limits,
                    bridge,
                    session,
                    welcome,
                    now,
                );
                let mut outputs = Vec::new();
                self.send(connection, &welcome, &mut outputs);
                outputs.extend(self.perform(effects, now));
                outputs
            }
            Err(refusal)
                if matches!(
                    refusal.code,
                    ErrorCode::SessionSuperseded | ErrorCode::SessionLimitExceeded
                ) =>
            {
                self.close(connection, CloseCode::TryAgainLater, now)
            }
            Err(refusal) => self.reject(connection, refusal.code, refusal.message, now),
        }
    }

    /// When the token expires, if it is valid at this time.
    fn token_expiry(&self, token: &str, now: Now) -> Option<Option<Instant>> {
        match (self.token_lifetime)(token)? {
            None => Some(None),
            Some(end) => Some(self.start + end)
                .filter(|end| *end > now.instant)
                .map(Some),
        }
    }

    fn renew(&mut self, connection: ConnectionId, token: &str, now: Now) -> Vec<BridgeOutput> {
        let Some(line) = self.connections.get(&connection.0) else {
            return Vec::new();
        };
        let session = line.session.clone();
        match self.token_expiry(token, now) {
            Some(expires) => {
                let effects = self
                    .realm
                    .token_renewed(&session, connection, expires, true, None, now);
                self.perform(effects, now)
            }
            None => {
                let failed = BridgeToPage::RenewalFailed(RenewalFailed {
                    error: "the token is not valid".to_owned(),
                    code: ErrorCode::TokenExpired,
                });
                let mut outputs = Vec::new();
                self.send(connection, &failed, &mut outputs);
                outputs
            }
        }
    }

    fn reject(
        &mut self,
        connection: ConnectionId,
        code: ErrorCode,
        error: String,
        now: Now,
    ) -> Vec<BridgeOutput> {
        let message = BridgeToPage::AuthenticationFailed(AuthenticationFailed { error, code });
        let mut outputs = Vec::new();
        self.send(connection, &message, &mut outputs);
        outputs.extend(self.close(connection, CloseCode::PolicyViolation, now));
        outputs
    }

    fn on_message(
        &mut self,
        connection: ConnectionId,
        message: PageToBridge,
        now: Now,
    ) -> Vec<BridgeOutput> {
        match PageEvent::from_message(message, &self.limits, &self.definitions) {
            Ok(event) => self.on_event(connection, event, now),
            Err(closing) => self.close(connection, closing.code, now),
        }
    }

    fn on_event(
        &mut self,
        connection: ConnectionId,
        event: PageEvent,
        now: Now,
    ) -> Vec<BridgeOutput> {
        let Some(line) = self.connections.get(&connection.0) else {
            return Vec::new();
        };
        let session = line.session.clone();
        let effects = event.apply(&mut self.realm, &session, connection, now);
        self.perform(effects, now)
    }

    /// The bridge closes a connection. Everything that arrives later on it is ignored.
    pub(super) fn close(
        &mut self,
        connection: ConnectionId,
        code: CloseCode,
        now: Now,
    ) -> Vec<BridgeOutput> {
        if !self.connections.contains_key(&connection.0) {
            return Vec::new();
        }
        let parting = match CloseCode::retry(code.code()) {
            Retry::Never => Disconnect::DocumentGone,
            Retry::Soon | Retry::Later => Disconnect::ConnectionLost,
        };
        let mut outputs = vec![closed_output(connection, code.code())];
        outputs.extend(self.end_connection(connection, parting, now));
        outputs
    }

    fn end_connection(
        &mut self,
        connection: ConnectionId,
        parting: Disconnect,
        now: Now,
    ) -> Vec<BridgeOutput> {
        let Some(line) = self.connections.remove(&connection.0) else {
            return Vec::new();
        };
        let effects = self
            .realm
            .connection_ended(&line.session, connection, parting, now);
        self.perform(effects, now)
    }

    /// Outputs a message as one frame, or as several parts if it is long.
    pub(super) fn send(
        &mut self,
        connection: ConnectionId,
        message: &BridgeToPage,
        outputs: &mut Vec<BridgeOutput>,
    ) {
        let Some(line) = self.connections.get_mut(&connection.0) else {
            return;
        };
        let frame = |text| BridgeOutput::Frame {
            connection: connection.0,
            text,
        };
        let text = message.encode();
        if text.len() <= limits::PART_BYTES {
            outputs.push(frame(text));
            return;
        }
        line.split_messages += 1;
        outputs.extend(split(&text, line.split_messages).map(frame));
    }
}

fn closed_output(connection: ConnectionId, code: u16) -> BridgeOutput {
    BridgeOutput::Closed {
        connection: connection.0,
        code,
    }
}
