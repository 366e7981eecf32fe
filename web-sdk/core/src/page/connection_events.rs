//! The events of the connection: its socket opened or closed, its timer fired, the document is
//! leaving or resumed. They start attempts and retries.

use bridge_protocol::limits::{AUTHENTICATE_TIMEOUT, RETRY_LATER_DELAY};
use bridge_protocol::{CloseCode, ErrorCode, Retry, RetryHint};

use super::Page;
use crate::close_codes::ABNORMAL_CLOSE;
use crate::connection::{DRAIN_TIMEOUT_MS, Phase};
use crate::effect::{Effect, Failure, Report, Status};
use crate::messages::{Authenticate, Json, PageToBridge, Token};
use crate::text::decimal;
use crate::timer::take_if_due;

impl<J: Json> Page<J> {
    /// The socket has opened.
    pub fn socket_opened(&mut self) {
        let Phase::Opening { token } = &mut self.connection.phase else {
            return;
        };
        let auth_token = std::mem::take(token);
        self.connection.phase = Phase::Authenticating;
        self.clock_sync.0 = self.clock.now_ms;
        self.assembler.clear();
        self.visibility.mark_title_sent();
        let message = self.authenticate_message(auth_token);
        self.effects.send(message);
        self.set_attempt_timeout(AUTHENTICATE_TIMEOUT.as_millis() as u64);
    }

    /// No socket was created, because the address is malformed, or the browser forbids it.
    pub fn socket_refused(&mut self, message: &str) {
        let url = &self.info.bridge_url;
        let message = ["cannot connect to ", url, ": ", message].concat();
        self.fail(Failure::new(Failure::BRIDGE_URL_REFUSED, message));
    }

    /// The socket closed, or failed to open ([`ABNORMAL_CLOSE`]). `random` is a number from 0 to 1.
    pub fn socket_closed(&mut self, code: u16, reason: &str, random: f64) {
        if !self.has_socket() {
            return;
        }
        if code == CloseCode::TokenExpired.code() && self.expired_error.is_none() {
            self.token_expired("the token has expired".into());
        }
        if code == CloseCode::MessageTooBig.code() {
            // One of the answers was too large and would be so again.
            self.calls.answers_acknowledged(u64::MAX);
        }
        if self.connection.phase == Phase::Off {
            return;
        }
        // The bridge sends a message before it closes a page that it rejects. Without one, the page
        // was suspended for so long that the bridge stopped waiting for `authenticate`.
        let timed_out = self.connection.phase == Phase::Authenticating
            && code == CloseCode::PolicyViolation.code();
        let retry = if timed_out {
            Retry::Soon
        } else {
            CloseCode::retry(code)
        };
        let is_planned = self.expired_error.is_some() || code == CloseCode::ServiceRestart.code();
        if is_planned && self.connection.is_ready() {
            // The connection did not fail, so the page reconnects with the shortest backoff.
            self.connection.mark_stable();
        }
        let hint = RetryHint::parse(reason);
        match (self.expired_error.take(), retry) {
            (Some(expired), _) => self.retry_with_backoff(expired, random),
            (None, Retry::Never) => self.fail(final_close_error(code, reason)),
            (None, Retry::Soon) if hint.is_none() => {
                self.retry_with_backoff(self.connection_error(code, reason), random)
            }
            (None, Retry::Soon | Retry::Later) => self.wait_as_required(code, reason, hint, random),
        }
    }

    /// Waits at least as long as a bridge requires that is full or not ready.
    fn wait_as_required(
        &mut self,
        code: u16,
        reason: &str,
        hint: Option<RetryHint<'_>>,
        random: f64,
    ) {
        let error = match hint.and_then(|hint| Some((hint.code?, hint.message))) {
            Some((code, message)) => {
                let url = &self.info.bridge_url;
                let message = [
                    "the bridge at ",
                    url,
                    " refuses this page for now: ",
                    message,
                ];
                Failure::new(String::from(code), message.concat())
            }
            None => self.connection_error(code, reason),
        };
        let required_ms = hint.map_or(RETRY_LATER_DELAY.as_millis() as u32, |hint| {
            u32::from(hint.after_s) * 1_000
        });
        let wait_ms = self
            .connection
            .begin_required_wait(error.clone(), required_ms, random);
        self.wait_for_retry(error, wait_ms);
    }

    /// The timer has fired. `random` is a number from 0 to 1.
    pub fn timer_fired(&mut self, random: f64) {
        if self.timer.fired(&mut self.clock) {
            let now_ms = self.clock.now_ms;
            if take_if_due(&mut self.timer.renewal, now_ms) {
                self.renew();
            }
            if take_if_due(&mut self.timer.connection, now_ms) {
                self.on_connection_timer(random);
            }
            self.set_timer();
        }
    }

    fn on_connection_timer(&mut self, random: f64) {
        if !self.has_socket() {
            self.start_attempt();
        } else if self.draining {
            self.effects.push(Effect::AbandonSocket);
            self.retry_with_backoff(
                self.connection_error(ABNORMAL_CLOSE, "no message arrived"),
                random,
            );
        } else {
            self.start_drain();
        }
    }

    fn start_drain(&mut self) {
        self.draining = true;
        self.timer.connection = Some(self.deadline_after(DRAIN_TIMEOUT_MS));
        self.set_timer();
    }

    /// The tab became visible, or the network is back. A backoff ends, and a connection that was
    /// silent for too long while the page was suspended is checked now.
    pub fn resumed(&mut self) {
        if let Phase::Waiting {
            interruptible: true,
        } = self.connection.phase
        {
            self.start_attempt();
        } else if self.has_socket()
            && !self.draining
            && take_if_due(&mut self.timer.connection, self.clock.now_ms)
        {
            self.start_drain();
        }
    }

    /// The document is being unloaded and will not be shown again. Its armed calls are handed over.
    pub fn leaving(&mut self) {
        if self.connection.is_ready() {
            let hands_over = self.calls.armed();
            self.effects.send(PageToBridge::Leaving { hands_over });
        }
    }

    /// The document enters the back/forward cache: it is suspended, and may be shown again in its
    /// current state. Its calls end or are handed over, because they would wait in vain.
    /// [`Page::resumed`] connects again. `random` is a number from 0 to 1.
    pub fn entered_bfcache(&mut self, random: f64) {
        if let Phase::Off | Phase::Waiting { .. } = self.connection.phase {
            return;
        }
        self.leaving();
        self.effects.push(Effect::CloseSocket);
        let reason = Failure::new(Failure::CONNECTION_LOST, "the page was suspended");
        self.calls.cancel_all(&reason, &mut self.effects);
        self.retry_with_backoff(reason, random);
    }

    pub(super) fn start_attempt(&mut self) {
        if let Some((error, wait_ms)) = self.connection.throttle_attempt(self.clock.now_ms) {
            self.wait_for_retry(error, wait_ms);
            return;
        }
        self.connection.phase = Phase::FetchingToken;
        self.timer.connection = None;
        self.set_timer();
        let status = self.connection.attempt_status();
        self.effects.report(Report::Status(status));
        self.effects.push(Effect::FetchToken);
    }

    pub(super) fn retry_with_backoff(&mut self, error: Failure, random: f64) {
        // A program has no origin, and is not a page that waits to be shown again.
        let visible = self.visibility.current.visible || self.info.origin.is_none();
        let wait_ms = self
            .connection
            .begin_backoff(error.clone(), visible, random);
        self.wait_for_retry(error, wait_ms);
    }

    fn wait_for_retry(&mut self, error: Failure, wait_ms: u32) {
        self.connection_lost();
        self.timer.connection = Some(self.deadline_after(wait_ms));
        self.set_timer();
        self.effects.report(Report::Status(Status::Reconnecting {
            error,
            retry_in_ms: Some(wait_ms),
        }));
    }

    pub(super) fn fail(&mut self, error: Failure) {
        self.stop(&error.clone(), Status::Failed(error));
    }

    pub(super) fn stop(&mut self, reason: &Failure, status: Status) {
        self.connection.phase = Phase::Off;
        self.timer.connection = None;
        self.effects.push(Effect::CloseSocket);
        self.connection_lost();
        self.set_timer();
        self.calls.cancel_all(reason, &mut self.effects);
        self.clear_subscriptions();
        self.effects.report(Report::Status(status));
    }

    pub(super) fn clear_subscriptions(&mut self) {
        if std::mem::take(&mut self.subscriptions_reported) {
            self.effects.report(Report::Subscriptions(None));
        }
    }

    pub(super) fn connection_lost(&mut self) {
        self.timer.renewal = None;
        self.renewing = false;
        self.expired_error = None;
        self.definitions.connection_lost(&mut self.effects);
        self.calls.connection_lost();
        if std::mem::take(&mut self.clients_reported) {
            self.effects.report(Report::Clients(None));
        }
    }

    /// Returns whether there is a socket that can have events.
    pub(super) fn has_socket(&self) -> bool {
        matches!(
            self.connection.phase,
            Phase::Opening { .. } | Phase::Authenticating | Phase::Ready
        )
    }

    pub(super) fn deadline_after(&self, ms: impl Into<u64>) -> u64 {
        self.clock.now_ms.saturating_add(ms.into())
    }

    /// Sets the time after which the current step of an attempt fails.
    pub(super) fn set_attempt_timeout(&mut self, ms: impl Into<u64>) {
        self.timer.connection = Some(self.deadline_after(ms));
        self.draining = false;
        self.set_timer();
    }

    pub(super) fn set_timer(&mut self) {
        self.timer.schedule(self.clock.now_ms, &mut self.effects);
    }

    fn authenticate_message(&self, auth_token: Token) -> PageToBridge<J> {
        let page = &self.info;
        PageToBridge::Authenticate(Authenticate {
            auth_token,
            session_id: Some(page.session_id.clone()),
            session_name: page.session_name.clone(),
            origin: page.origin.clone(),
            page_title: Some(self.visibility.current.title.clone()),
            document_id: page.document_id.clone(),
            user_agent: page.user_agent.clone(),
            app: Some(page.app.clone()),
            timestamp: Some(self.clock.wall_ms),
            checks_late_calls: true,
            sdk_version: Some(env!("CARGO_PKG_VERSION")),
        })
    }

    fn connection_error(&self, code: u16, reason: &str) -> Failure {
        let url = &self.info.bridge_url;
        match self.connection.phase {
            Phase::Authenticating | Phase::Ready => {
                let reason = if reason.is_empty() {
                    "it broke"
                } else {
                    reason
                };
                let code = decimal(code.into());
                let message = ["the connection to ", url, " ended (", &code, "): ", reason];
                Failure::new(Failure::CONNECTION_LOST, message.concat())
            }
            _ => {
                let message = ["no bridge answers at ", url, ": start it, or set bridgeUrl"];
                let message = message.concat();
                // A browser does not report a reason, and the code for it would be part of the
                // browser's download.
                #[cfg(not(target_arch = "wasm32"))]
                let message = if reason.is_empty() {
                    message
                } else {
                    [&message, " (", reason, ")"].concat()
                };
                Failure::new(Failure::BRIDGE_UNREACHABLE, message)
            }
        }
    }
}

fn final_close_error(code: u16, reason: &str) -> Failure {
    if code == CloseCode::Superseded.code() {
        return Failure::new(
            const { ErrorCode::SessionSuperseded.as_str() },
            "a newer connection with this sessionId took over",
        );
    }
    let reason = if reason.is_empty() {
        "no reason given"
    } else {
        reason
    };
    let code = decimal(code.into());
    let message = [
        "the bridge closed the connection for good (",
        &code,
        "): ",
        reason,
    ];
    Failure::new(Failure::CONNECTION_CLOSED, message.concat())
}
