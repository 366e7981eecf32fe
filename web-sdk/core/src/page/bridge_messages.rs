//! Messages from the bridge.

use bridge_protocol::{BridgeId, CallId, ErrorCode, PROTOCOL_VERSION};

use super::Page;
use crate::calls::{FirstTask, STALE_AFTER_MS};
use crate::connection::{Phase, SILENCE_ALLOWANCE_MS};
use crate::effect::{Effect, Failure, Report, Status};
use crate::message_parts::{Part, PartError};
use crate::messages::{BridgeToPage, Json, Limits, PageToBridge};
use crate::text::decimal;

/// The fields of [`BridgeToPage::Authenticated`] that matter once the protocol version is checked.
struct Acceptance {
    bridge_id: BridgeId,
    session_name: Option<String>,
    awaited: Vec<CallId>,
    now_ms: u64,
    token_expires_in_ms: Option<u64>,
    limits: Limits,
}

impl<J: Json> Page<J> {
    /// A message arrived.
    pub fn message_arrived(&mut self, message: BridgeToPage<J>) {
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
                self.authenticated(Acceptance {
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

    /// A part of a message arrived. Returns the texts of the message in order when it is complete;
    /// the caller then passes the message to [`Page::message_arrived`]. An invalid part closes the
    /// connection.
    pub fn part_arrived(&mut self, part: Part<J>, random: f64) -> Option<Vec<J>> {
        if !self.has_socket() {
            return None;
        }
        if self.connection.is_ready() {
            self.reset_silence_timer();
        }
        match self.assembler.push(part, self.limits.max_message_bytes) {
            Ok(texts) => texts,
            Err(PartError) => {
                let message = "the bridge sent an invalid part";
                self.effects.push(Effect::AbandonSocket);
                self.retry_with_backoff(Failure::new(Failure::CONNECTION_LOST, message), random);
                None
            }
        }
    }

    fn on_message(&mut self, message: BridgeToPage<J>) {
        let now_ms = self.clock.now_ms;
        match message {
            BridgeToPage::CallRequested(request) => {
                let start_by_ms = request.sent_ms.map(|sent_ms| self.start_by_ms(sent_ms));
                let definition = self.definitions.find(&request.item);
                let receipt_due = definition.is_some_and(|it| it.is_prompt);
                let effects = &mut self.effects;
                if !self
                    .calls
                    .arrived(&request.call, request.hand_overs, receipt_due, effects)
                {
                    return;
                }
                let first_task = definition.filter(|it| it.repeatable).map(|it| FirstTask {
                    definition: it.key,
                    started_ms: now_ms,
                    receipt_due,
                });
                let key = definition.map(|it| it.key);
                self.calls
                    .start(request, key, first_task, start_by_ms, effects);
            }
            BridgeToPage::CallsAlive {
                check,
                alive,
                ended,
            } => {
                self.visibility.confirm(check);
                for id in alive {
                    let confirmed =
                        self.calls
                            .confirmed_alive(&id, check, now_ms, &mut self.effects);
                    if let Some((request, start_by_ms)) = confirmed {
                        let key = self.definitions.find(&request.item).map(|it| it.key);
                        let start_by_ms = Some(start_by_ms);
                        self.calls
                            .start(request, key, None, start_by_ms, &mut self.effects);
                    }
                }
                let code = const { ErrorCode::CallCancelled.as_str() };
                let reason = Failure::new(code, "the result is no longer awaited");
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

    /// Returns the time until which the handler of a call may start, given when the bridge sent the
    /// call on its own clock. Later, the call may have ended.
    ///
    /// When the bridge receives that the page is frozen, it ends the calls that are on their way to
    /// the page, even if the freeze is short. Therefore every call counts as late until the bridge
    /// has answered a message that was sent after the freeze. The same applies while much of the
    /// sent data is still buffered, because its acknowledgement may arrive long after it has
    /// started.
    fn start_by_ms(&self, sent_ms: u64) -> u64 {
        if self.visibility.freeze_unconfirmed || self.is_backlogged {
            return 0;
        }
        let (page_ms, bridge_ms) = self.clock_sync;
        let sent_ms = page_ms.saturating_add(sent_ms.saturating_sub(bridge_ms));
        sent_ms.saturating_add(STALE_AFTER_MS)
    }

    /// The page is rejected, or its session ends. After `TokenExpired` and `BridgeStopping` a close
    /// follows that starts a reconnect; all other codes are final.
    fn rejected(&mut self, code: String, error: String) {
        if code == const { ErrorCode::TokenExpired.as_str() } {
            self.token_expired(error);
        } else if code != const { ErrorCode::BridgeStopping.as_str() } {
            self.fail(Failure::new(code, error));
        }
    }

    fn authenticated(&mut self, acceptance: Acceptance) {
        if self.bridge_id.as_ref() != Some(&acceptance.bridge_id) {
            self.definitions.bridge_changed();
            self.calls.bridge_changed(&mut self.effects);
            self.resource_updates.bridge_changed();
            self.clear_subscriptions();
        }
        self.bridge_id = Some(acceptance.bridge_id);
        self.limits = acceptance.limits;
        // The bridge read its clock after the page sent `authenticate`. A late call therefore never
        // seems to be in time, however long this message was delayed.
        self.clock_sync.1 = acceptance.now_ms;
        self.connection.mark_ready();
        self.reset_silence_timer();
        self.schedule_renewal(acceptance.token_expires_in_ms);
        self.effects.report(Report::SessionAccepted {
            session_name: acceptance.session_name,
            max_message_bytes: acceptance.limits.max_message_bytes,
        });
        self.effects.report(Report::Status(Status::Connected));
        self.calls
            .connected(acceptance.awaited, self.clock.now_ms, &mut self.effects);
        self.flush();
        self.visibility.send_changes(&mut self.effects);
    }

    /// Extends the deadline of a silent connection. The browser's timer may now fire too early; it
    /// is set again then.
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
