//! What the bridge says.

use bridge_protocol::{BridgeId, CallId, ErrorCode, PROTOCOL_VERSION};

use super::Page;
use crate::core::calls::STALE_AFTER_MS;
use crate::core::connection::{Phase, SILENCE_ALLOWANCE_MS};
use crate::core::effect::{Effect, Failure, Report, Status};
use crate::core::messages::{BridgeToPage, CallRequest, Limits, PageToBridge};
use crate::core::parts::{Part, PartError};
use crate::core::text::decimal;

/// What a page hears when it is accepted.
struct SessionAccepted {
    bridge_id: BridgeId,
    session_name: Option<String>,
    awaited: Vec<CallId>,
    now_ms: u64,
    token_expires_in_ms: Option<u64>,
    limits: Limits,
}

impl<V: Clone> Page<V> {
    /// A message arrived.
    pub fn message_arrived(&mut self, message: BridgeToPage<V>) {
        match (&self.connection.phase, message) {
            (
                Phase::Authenticating,
                BridgeToPage::Authenticated {
                    protocol,
                    bridge_id,
                    session_name,
                    awaited,
                    now_ms,
                    token_expires_in_ms,
                    limits,
                },
            ) => {
                if protocol != PROTOCOL_VERSION {
                    self.fail(self.unsupported_protocol(protocol));
                    return;
                }
                self.authenticated(SessionAccepted {
                    bridge_id,
                    session_name,
                    awaited,
                    now_ms,
                    token_expires_in_ms,
                    limits,
                });
            }
            (
                Phase::Authenticating | Phase::Ready,
                BridgeToPage::AuthenticationFailed { code, error }
                | BridgeToPage::SessionClosed {
                    code,
                    reason: error,
                },
            ) => self.rejected(code, error),
            (Phase::Ready, message) => {
                self.reset_silence_timer();
                self.on_message(message);
            }
            _ => {}
        }
    }

    /// A part of a message arrived. Returns the texts of the message when it is whole, in order: then
    /// the message itself arrives. A bridge that breaks the rules loses the connection.
    pub fn part_arrived(&mut self, part: Part<V>, random: f64) -> Option<Vec<V>> {
        if !self.has_socket() {
            return None;
        }
        if self.connection.is_ready() {
            self.reset_silence_timer();
        }
        match self.assembler.push(part, self.limits.max_message_bytes) {
            Ok(texts) => texts,
            Err(PartError) => {
                let what = "the bridge broke the rules of messages in parts";
                self.effects.push(Effect::AbandonSocket);
                self.retry_with_backoff(Failure::new(Failure::CONNECTION_LOST, what), random);
                None
            }
        }
    }

    fn on_message(&mut self, message: BridgeToPage<V>) {
        let now_ms = self.clock.now_ms;
        match message {
            BridgeToPage::CallRequested(request) => {
                let is_late = self.is_late(request.sent_ms);
                let certain = self
                    .calls
                    .arrived(request, is_late, now_ms, &mut self.effects);
                self.start_call(certain);
            }
            BridgeToPage::CallsAlive { alive, ended } => {
                self.visibility.confirm();
                for id in alive {
                    let certain = self.calls.confirmed_alive(&id, now_ms, &mut self.effects);
                    self.start_call(certain);
                }
                let code = const { ErrorCode::CallCancelled.as_str() };
                let reason = Failure::new(code, "nobody waits for the result");
                for id in ended {
                    self.calls.cancelled(&id, &reason, &mut self.effects);
                }
            }
            BridgeToPage::CallCancel { call, code, reason } => {
                let reason = Failure::new(code, reason);
                self.calls.cancelled(&call, &reason, &mut self.effects);
            }
            BridgeToPage::ClientResponses { call, responses } => {
                self.calls
                    .client_answered(&call, responses, &mut self.effects);
            }
            BridgeToPage::Subscriptions(uris) => {
                self.subscriptions_reported = true;
                self.effects.report(Report::Subscriptions(Some(uris)));
            }
            BridgeToPage::Heartbeat { sequence, answers } => {
                self.connection.mark_stable();
                self.calls.answers_acknowledged(answers);
                self.effects.send(PageToBridge::HeartbeatAck { sequence });
            }
            BridgeToPage::Registered {
                registration_id,
                items,
                errors,
            } => self
                .definitions
                .answered(&registration_id, &items, errors, &mut self.effects),
            BridgeToPage::Clients(clients) => {
                self.clients_reported = true;
                self.effects.report(Report::Clients(Some(clients)));
            }
            BridgeToPage::Query(message) => self.effects.report(Report::Query(message)),
            BridgeToPage::Renewed {
                token_expires_in_ms,
            } => self.schedule_renewal(token_expires_in_ms),
            BridgeToPage::RenewalFailed { error, .. } => self.renewal_failed(&error),
            BridgeToPage::Authenticated { .. }
            | BridgeToPage::AuthenticationFailed { .. }
            | BridgeToPage::SessionClosed { .. } => {}
        }
    }

    /// Starts a call that somebody waits for.
    fn start_call(&mut self, certain: Option<CallRequest<V>>) {
        if let Some(request) = certain {
            let definition = self.definitions.find(&request.item);
            self.calls.start(request, definition, &mut self.effects);
        }
    }

    /// Whether what was sent at this moment of the bridge's clock comes too late to be trusted. The
    /// bridge ends what is on its way to a page when it hears that the page is frozen, however short
    /// that is: until it has answered a question after that, nothing is sure.
    fn is_late(&self, sent_ms: Option<u64>) -> bool {
        let (here_ms, there_ms) = self.clock_sync;
        sent_ms.is_some_and(|sent_ms| {
            let sent = here_ms.saturating_add(sent_ms.saturating_sub(there_ms));
            self.visibility.freeze_unconfirmed
                || self.clock.now_ms.saturating_sub(sent) > STALE_AFTER_MS
        })
    }

    /// The page is refused, or its session ends. Two codes are followed by a close that says how to
    /// come back; all others are final.
    fn rejected(&mut self, code: String, error: String) {
        if code == const { ErrorCode::TokenExpired.as_str() } {
            self.token_expired(error);
        } else if code != const { ErrorCode::BridgeStopping.as_str() } {
            self.fail(Failure::new(code, error));
        }
    }

    fn authenticated(&mut self, welcome: SessionAccepted) {
        if self.bridge_id.as_ref() != Some(&welcome.bridge_id) {
            self.definitions.bridge_changed();
            self.calls.bridge_changed(&mut self.effects);
            self.resource_updates.bridge_changed();
            self.clear_subscriptions();
        }
        self.bridge_id = Some(welcome.bridge_id);
        self.limits = welcome.limits;
        // The bridge's clock was read after `authenticate` was sent: what arrives late cannot seem to
        // be in time, however long this answer has waited to be heard.
        self.clock_sync.1 = welcome.now_ms;
        self.connection.mark_ready();
        self.reset_silence_timer();
        self.schedule_renewal(welcome.token_expires_in_ms);
        self.effects.report(Report::SessionAccepted {
            session_name: welcome.session_name,
            max_message_bytes: welcome.limits.max_message_bytes,
        });
        self.effects.report(Report::Status(Status::Connected));
        self.calls
            .connected(welcome.awaited, self.clock.now_ms, &mut self.effects);
        self.flush();
        self.visibility.send_changes(&mut self.effects);
    }

    /// The bridge said something. The timer may fire early from here on, and is set anew then.
    fn reset_silence_timer(&mut self) {
        let two_heartbeats = u64::from(self.limits.heartbeat_seconds) * 2_000;
        self.timer.connection = Some(self.deadline_after(two_heartbeats + SILENCE_ALLOWANCE_MS));
        self.draining = false;
    }

    fn unsupported_protocol(&self, protocol: u32) -> Failure {
        let message = [
            "the bridge at ",
            &self.info.bridge_url,
            " speaks protocol ",
            &decimal(protocol.into()),
            ", this page ",
            &decimal(PROTOCOL_VERSION.into()),
            ": update the older of the two",
        ];
        Failure::new(Failure::PROTOCOL_UNSUPPORTED, message.concat())
    }
}
