//! How a connection begins, breaks and comes back.

use bridge_protocol::limits::AUTHENTICATE_WITHIN;
use bridge_protocol::{CloseCode, ErrorCode, Retry};

use super::Page;
use crate::core::connection::{LAST_CHANCE_MS, Phase};
use crate::core::effect::{Effect, Failure, Report, Status};
use crate::core::messages::{Authenticate, PageToBridge, Token};
use crate::core::text::decimal;
use crate::core::timer::is_due;

impl<V: Clone> Page<V> {
    // What the browser says.

    /// The socket is open.
    pub fn socket_opened(&mut self) {
        let Phase::Opening { token } = &mut self.connection.phase else {
            return;
        };
        let auth_token = std::mem::take(token);
        self.connection.phase = Phase::Authenticating;
        self.clocks.0 = self.clock.now_ms;
        self.parts.clear();
        self.seeing.introduced();
        let first = self.authenticate(auth_token);
        self.effects.send(first);
        self.give_up_in(AUTHENTICATE_WITHIN.as_millis() as u64);
    }

    /// The browser does not even try: a malformed address, or one its rules forbid.
    pub fn socket_refused(&mut self, message: &str) {
        let url = &self.introduction.bridge_url;
        let message = ["the browser refuses to connect to ", url, ": ", message].concat();
        self.fail(Failure::new(Failure::BRIDGE_URL_REFUSED, message));
    }

    /// The socket closed, or failed to open (1006). `random` in `0..1`.
    pub fn socket_closed(&mut self, code: u16, reason: &str, random: f64) {
        if !self.is_open() {
            return;
        }
        if code == CloseCode::TokenExpired.code() && self.expired.is_none() {
            self.token_expired("the token has expired".into());
        }
        if code == CloseCode::MessageTooBig.code() {
            // One of the answers was too large, and would be again.
            self.calls.answers_taken(u64::MAX);
        }
        if self.connection.phase == Phase::Off {
            return;
        }
        // A refusal comes in words before its close. Without any, the page stood still for so long that
        // the bridge gave it up.
        let is_wordless = self.connection.phase == Phase::Authenticating
            && code == CloseCode::PolicyViolation.code();
        let retry = if is_wordless {
            Retry::Soon
        } else {
            CloseCode::retry(code)
        };
        match (self.expired.take(), retry) {
            (Some(expired), _) => {
                // Its end was in order: the session waits for a moment only.
                if self.connection.is_ready() {
                    self.connection.lasted();
                }
                self.retry_soon(expired, random);
            }
            (None, Retry::Never) => self.fail(closed_for_good(code, reason)),
            (None, Retry::Soon) => self.retry_soon(self.loss(code, reason), random),
            (None, Retry::Later) => {
                let error = self.loss(code, reason);
                let wait_ms = self.connection.wait_later(error.clone(), random);
                self.waiting(error, wait_ms);
            }
        }
    }

    /// The timer has fired. `random` in `0..1`.
    pub fn timer_fired(&mut self, random: f64) {
        if self.timer.fired(&mut self.clock) {
            let now_ms = self.clock.now_ms;
            if is_due(&mut self.timer.renewal, now_ms) {
                self.renew();
            }
            if is_due(&mut self.timer.connection, now_ms) {
                self.connection_due(random);
            }
            self.set_timer();
        }
    }

    fn connection_due(&mut self, random: f64) {
        if !self.is_open() {
            self.attempt();
        } else if self.last_chance {
            self.effects.push(Effect::AbandonSocket);
            self.retry_soon(self.loss(1006, "the bridge fell silent"), random);
        } else {
            self.give_last_chance();
        }
    }

    fn give_last_chance(&mut self) {
        self.last_chance = true;
        self.timer.connection = Some(self.after(LAST_CHANCE_MS));
        self.set_timer();
    }

    /// There is reason to hope: the tab became visible, or the network is back.
    /// A connection that has been silent for too long, since everything stood still, is looked at now.
    pub fn woken(&mut self) {
        if let Phase::Waiting { impatient: true } = self.connection.phase {
            self.attempt();
        } else if self.is_open()
            && !self.last_chance
            && is_due(&mut self.timer.connection, self.clock.now_ms)
        {
            self.give_last_chance();
        }
    }

    /// The document is going away for good.
    pub fn leaving(&mut self) {
        if self.connection.is_ready() {
            self.effects.send(PageToBridge::Leaving);
        }
    }

    /// The document is put aside (back/forward cache): it is not seen and its code stands still,
    /// but it may be shown again as it was. For the bridge it is gone, or calls would wait for it
    /// in vain; [`Page::woken`] brings it back. `random` in `0..1`.
    pub fn put_aside(&mut self, random: f64) {
        match self.connection.phase {
            Phase::Off | Phase::Waiting { .. } => return,
            Phase::Ready => self.effects.send(PageToBridge::Leaving),
            _ => {}
        }
        self.effects.push(Effect::CloseSocket);
        let reason = Failure::new(Failure::CONNECTION_LOST, "the page was put aside");
        self.calls.void(&reason, &mut self.effects);
        self.retry_soon(reason, random);
    }

    // How attempts begin and end.

    pub(super) fn attempt(&mut self) {
        if let Some((error, wait_ms)) = self.connection.wait_for_budget(self.clock.now_ms) {
            self.waiting(error, wait_ms);
            return;
        }
        self.connection.phase = Phase::FetchingToken;
        self.timer.connection = None;
        self.set_timer();
        let status = self.connection.attempting();
        self.effects.report(Report::Status(status));
        self.effects.push(Effect::FetchToken);
    }

    pub(super) fn retry_soon(&mut self, error: Failure, random: f64) {
        let visible = self.seeing.sight.visible;
        let wait_ms = self.connection.wait_soon(error.clone(), visible, random);
        self.waiting(error, wait_ms);
    }

    fn waiting(&mut self, error: Failure, wait_ms: u32) {
        self.connection_lost();
        self.timer.connection = Some(self.after(wait_ms));
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
        self.calls.void(reason, &mut self.effects);
        self.forget_subscriptions();
        self.effects.report(Report::Status(status));
    }

    pub(super) fn forget_subscriptions(&mut self) {
        if std::mem::take(&mut self.knows_subscriptions) {
            self.effects.report(Report::Subscriptions(None));
        }
    }

    pub(super) fn connection_lost(&mut self) {
        self.timer.renewal = None;
        self.renewing = false;
        self.expired = None;
        self.definitions.connection_lost(&mut self.effects);
        self.calls.connection_lost();
        if std::mem::take(&mut self.knows_clients) {
            self.effects.report(Report::Clients(None));
        }
    }

    /// Whether there is a socket to hear of.
    pub(super) fn is_open(&self) -> bool {
        matches!(
            self.connection.phase,
            Phase::Opening { .. } | Phase::Authenticating | Phase::Ready
        )
    }

    // Time.

    pub(super) fn after(&self, ms: impl Into<u64>) -> u64 {
        self.clock.now_ms.saturating_add(ms.into())
    }

    /// The attempt under way is given up unless it is further by then.
    pub(super) fn give_up_in(&mut self, ms: impl Into<u64>) {
        self.timer.connection = Some(self.after(ms));
        self.last_chance = false;
        self.set_timer();
    }

    pub(super) fn set_timer(&mut self) {
        self.timer.set(self.clock.now_ms, &mut self.effects);
    }

    // Words.

    fn authenticate(&self, auth_token: Token) -> PageToBridge<V> {
        let page = &self.introduction;
        PageToBridge::Authenticate(Authenticate {
            auth_token,
            session_id: Some(page.session_id.clone()),
            session_name: page.session_name.clone(),
            origin: page.origin.clone(),
            page_title: Some(self.seeing.sight.title.clone()),
            document_id: page.document_id.clone(),
            user_agent: page.user_agent.clone(),
            app: Some(page.app.clone()),
            timestamp: Some(self.clock.wall_ms),
        })
    }

    fn loss(&self, code: u16, reason: &str) -> Failure {
        let url = &self.introduction.bridge_url;
        match self.connection.phase {
            Phase::Authenticating | Phase::Ready => {
                let why = if reason.is_empty() {
                    "it broke"
                } else {
                    reason
                };
                let code = decimal(code.into());
                let message = ["the connection to ", url, " ended (", &code, "): ", why];
                Failure::new(Failure::CONNECTION_LOST, message.concat())
            }
            _ => Failure::new(
                Failure::BRIDGE_UNREACHABLE,
                ["no bridge answers at ", url, ": start it, or set bridgeUrl"].concat(),
            ),
        }
    }
}

fn closed_for_good(code: u16, reason: &str) -> Failure {
    if code == CloseCode::Superseded.code() {
        return Failure::new(
            const { ErrorCode::SessionSuperseded.as_str() },
            "a newer connection with this sessionId took over",
        );
    }
    let why = if reason.is_empty() {
        "no reason given"
    } else {
        reason
    };
    let code = decimal(code.into());
    let message = [
        "the bridge closed the connection for good (",
        &code,
        "): ",
        why,
    ];
    Failure::new(Failure::CONNECTION_CLOSED, message.concat())
}
