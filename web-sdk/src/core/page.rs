//! A page: its connection, definitions and calls, and what each event does to them.

use bridge_protocol::limits::{
    AUTHENTICATE_WITHIN, HEARTBEAT_EVERY, MAX_FRAME_BYTES, MAX_RESULT_BYTES,
};
use bridge_protocol::{BridgeId, CallId, CloseCode, ErrorCode, PROTOCOL_VERSION, Retry, SessionId};

use super::calls::{Calls, Outcome};
use super::connection::{Connection, OPEN_WITHIN_MS, Phase, SILENCE_ALLOWANCE_MS};
use super::definitions::Definitions;
use super::effect::{DefinitionKey, Effect, Effects, Failure, Report, Status};
use super::messages::{
    Authenticate, BridgeToPage, ClientRequest, Encoded, Item, Limits, PageToBridge, Token,
};
use super::text::decimal;
use super::updates::Updates;

/// The facts about a page that do not change.
#[derive(Clone, Debug)]
pub struct Introduction<V> {
    /// Where the bridge is, for error messages.
    pub bridge_url: String,
    /// The session, chosen once per document.
    pub session_id: SessionId,
    /// A name that a person gave the tab.
    pub session_name: Option<String>,
    /// `location.origin`.
    pub origin: Option<String>,
    /// Chosen once per document: a bridge begins no call anew in another one.
    pub document_id: Option<String>,
    /// `navigator.userAgent`.
    pub user_agent: Option<String>,
    /// The app as JSON text.
    pub app: V,
}

/// What the user sees of the document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sight {
    /// `document.visibilityState` is `visible`.
    pub visible: bool,
    /// `document.hasFocus()`.
    pub focused: bool,
    /// `document.title`.
    pub title: String,
}

/// The page's side of the protocol.
#[derive(Debug)]
pub struct Page<V> {
    introduction: Introduction<V>,
    connection: Connection,
    /// The life of the bridge that calls and registrations belong to.
    bridge_id: Option<BridgeId>,
    /// Those of that bridge.
    limits: Limits,
    definitions: Definitions<V>,
    calls: Calls<V>,
    updates: Updates,
    sight: Sight,
    /// The title as the bridge knows it.
    told_title: String,
    /// The sight as the bridge knows it, on this connection.
    told_sight: Option<Sight>,
    /// Whether the app was told of connected clients.
    knows_clients: bool,
    /// Whether the app was told of subscriptions. They outlive a broken connection.
    knows_subscriptions: bool,
    effects: Effects<V>,
}

impl<V: Clone> Page<V> {
    /// A page without a connection.
    pub fn new(introduction: Introduction<V>, sight: Sight) -> Self {
        Self {
            introduction,
            connection: Connection::new(),
            bridge_id: None,
            limits: Limits {
                max_result_bytes: MAX_RESULT_BYTES,
                max_frame_bytes: MAX_FRAME_BYTES,
                max_message_bytes: MAX_FRAME_BYTES,
                heartbeat_seconds: HEARTBEAT_EVERY.as_secs() as u32,
            },
            definitions: Definitions::new(),
            calls: Calls::new(),
            updates: Updates::default(),
            told_title: String::new(),
            told_sight: None,
            sight,
            knows_clients: false,
            knows_subscriptions: false,
            effects: Effects::new(),
        }
    }

    /// What must happen next. Every event is followed by taking all effects, in order.
    pub fn next_effect(&mut self) -> Option<Effect<V>> {
        self.effects.next()
    }

    // What the app asks for.

    /// The app wants a connection. Nothing changes while there is one or an attempt under way.
    pub fn connect(&mut self) {
        match self.connection.phase {
            Phase::Off => self.connection.start_over(),
            Phase::Waiting { .. } => {}
            _ => return,
        }
        self.attempt();
    }

    /// The app wants no connection any more. Running calls are cancelled.
    pub fn disconnect(&mut self) {
        let reason = Failure::new(Failure::DISCONNECTED, "the page disconnected");
        self.stop(&reason, Status::Disconnected);
    }

    /// The app added something: `definition` is the whole MCP object.
    pub fn added(&mut self, key: DefinitionKey, item: Item, definition: Encoded<V>) {
        self.definitions
            .added(key, item, definition, &mut self.effects);
        self.flush_soon();
    }

    /// The app removed something. What was replaced before is gone already.
    pub fn removed(&mut self, key: DefinitionKey) {
        let connected = self.connection.is_ready();
        self.definitions.removed(key, connected, &mut self.effects);
        self.flush_soon();
    }

    /// The content of a resource changed.
    pub fn resource_updated(&mut self, uri: String) {
        self.updates.happened(uri, self.connection.is_ready());
        self.flush_soon();
    }

    /// The task that asked for [`Effect::FlushSoon`] is over.
    pub fn flush(&mut self) {
        if self.connection.is_ready() {
            self.definitions
                .flush(self.limits.max_frame_bytes, &mut self.effects);
            self.calls.flush(&self.limits, &mut self.effects);
            self.updates.flush(&mut self.effects);
        }
    }

    // What handlers do.

    /// A handler ended.
    pub fn handler_finished(&mut self, call: CallId, outcome: Outcome<V>) {
        let connected = self.connection.is_ready();
        self.calls
            .finished(call, outcome, &self.limits, connected, &mut self.effects);
    }

    /// A handler says how far it is, as JSON texts. Said without a connection, it is not said.
    pub fn progressed(
        &mut self,
        call: CallId,
        progress: V,
        total: Option<V>,
        message: Option<String>,
    ) {
        if self.connection.is_ready() {
            self.calls
                .progressed(call, progress, total, message, &mut self.effects);
        }
    }

    /// A handler has something for the client's log. Said without a connection, it is not said.
    pub fn logged(
        &mut self,
        call: CallId,
        level: String,
        logger: Option<String>,
        data: Encoded<V>,
    ) {
        if self.connection.is_ready() {
            self.calls
                .logged(call, level, logger, data, &mut self.effects);
        }
    }

    /// A handler asks the client behind its call; `bytes` is the length of the parameters. Answered by
    /// [`Report::ClientAnswered`], unless the call ends before.
    pub fn client_asked(&mut self, call: CallId, request: ClientRequest<V>, bytes: usize) {
        self.calls
            .asked(call, request, bytes, &self.limits, &mut self.effects);
        self.flush_soon();
    }

    // What the browser says.

    /// The token is there.
    pub fn token_ready(&mut self, token: Token) {
        if self.connection.phase == Phase::FetchingToken {
            self.connection.phase = Phase::Opening { token };
            self.effects.push(Effect::SetTimer(OPEN_WITHIN_MS));
            self.effects.push(Effect::OpenSocket);
        }
    }

    /// The app's token function failed. It may work the next time.
    pub fn token_failed(&mut self, message: &str, random: f64) {
        if self.connection.phase == Phase::FetchingToken {
            let message = ["the authToken function failed: ", message].concat();
            self.retry_soon(Failure::new(Failure::TOKEN_FAILED, message), random);
        }
    }

    /// The socket is open. `timestamp`: milliseconds since the Unix epoch.
    pub fn socket_opened(&mut self, timestamp: u64) {
        let Phase::Opening { token } = &mut self.connection.phase else {
            return;
        };
        let auth_token = std::mem::take(token);
        self.connection.phase = Phase::Authenticating;
        self.told_title = self.sight.title.clone();
        self.told_sight = None;
        self.effects
            .push(Effect::SetTimer(AUTHENTICATE_WITHIN.as_millis() as u32));
        let first = self.authenticate(auth_token, timestamp);
        self.effects.send(first);
    }

    /// The browser does not even try: a malformed address, or one its rules forbid.
    pub fn socket_refused(&mut self, message: &str) {
        let url = &self.introduction.bridge_url;
        let message = ["the browser refuses to connect to ", url, ": ", message].concat();
        self.fail(Failure::new(Failure::BRIDGE_URL_REFUSED, message));
    }

    /// The socket closed, or failed to open (1006). `random` in `0..1`.
    pub fn socket_closed(&mut self, code: u16, reason: &str, random: f64) {
        match self.connection.phase {
            Phase::Opening { .. } | Phase::Authenticating | Phase::Ready => {}
            _ => return,
        }
        match CloseCode::retry(code) {
            Retry::Never => self.fail(closed_for_good(code, reason)),
            Retry::Later => {
                let error = self.loss(code, reason);
                let wait = self.connection.wait_later(error.clone(), random);
                self.waiting(error, wait);
            }
            Retry::Soon => self.retry_soon(self.loss(code, reason), random),
        }
    }

    /// The timer fired: an attempt took too long, a wait is over, or the bridge fell silent.
    pub fn timer_fired(&mut self, random: f64) {
        match self.connection.phase {
            Phase::Waiting { .. } => self.attempt(),
            Phase::Opening { .. } | Phase::Authenticating | Phase::Ready => {
                self.effects.push(Effect::AbandonSocket);
                self.retry_soon(self.loss(1006, "the bridge fell silent"), random);
            }
            Phase::Off | Phase::FetchingToken => {}
        }
    }

    /// There is reason to hope: the tab became visible, or the network is back.
    pub fn woken(&mut self) {
        if let Phase::Waiting { impatient: true } = self.connection.phase {
            self.attempt();
        }
    }

    /// Visibility, focus or title may have changed.
    pub fn sight_changed(&mut self, sight: Sight) {
        self.sight = sight;
        if self.connection.is_ready() {
            self.tell_sight();
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

    // What the bridge says.

    /// A message arrived.
    pub fn message_arrived(&mut self, message: BridgeToPage<V>) {
        match (&self.connection.phase, message) {
            (
                Phase::Authenticating,
                BridgeToPage::Authenticated {
                    protocol,
                    bridge_id,
                    limits,
                    ..
                },
            ) => self.authenticated(protocol, bridge_id, limits),
            (Phase::Authenticating, BridgeToPage::AuthenticationFailed { code, error }) => {
                self.fail(Failure::new(code, error));
            }
            (Phase::Ready, message) => {
                self.start_silence_timer();
                self.heard(message);
            }
            _ => {}
        }
    }

    fn heard(&mut self, message: BridgeToPage<V>) {
        match message {
            BridgeToPage::CallRequested(request) => {
                let definition = self.definitions.find(&request.item);
                self.calls.arrived(request, definition, &mut self.effects);
            }
            BridgeToPage::CallCancel { call, code, reason } => {
                let reason = Failure::new(code, reason);
                self.calls.cancelled(call, &reason, &mut self.effects);
            }
            BridgeToPage::ClientResponses { call, responses } => {
                self.calls
                    .client_answered(&call, responses, &mut self.effects);
            }
            BridgeToPage::Subscriptions(uris) => {
                self.knows_subscriptions = true;
                self.effects.report(Report::Subscriptions(Some(uris)));
            }
            BridgeToPage::Heartbeat { sequence, .. } => {
                self.connection.lasted();
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
                self.knows_clients = true;
                self.effects.report(Report::Clients(Some(clients)));
            }
            BridgeToPage::AuthenticationFailed { code, error } => {
                self.fail(Failure::new(code, error));
            }
            // The close that follows says how to come back.
            BridgeToPage::SessionClosed { code, .. }
                if code == ErrorCode::BridgeStopping.as_str() => {}
            BridgeToPage::SessionClosed { code, reason } => self.fail(Failure::new(code, reason)),
            BridgeToPage::Authenticated { .. }
            | BridgeToPage::CallsAlive { .. }
            | BridgeToPage::Renewed { .. }
            | BridgeToPage::RenewalFailed { .. } => {}
        }
    }

    fn authenticated(&mut self, protocol: u32, bridge_id: BridgeId, limits: Limits) {
        if protocol != PROTOCOL_VERSION {
            self.fail(self.other_protocol(protocol));
            return;
        }
        if self.bridge_id.as_ref() != Some(&bridge_id) {
            self.definitions.bridge_changed();
            self.calls.bridge_changed(&mut self.effects);
            self.updates.bridge_changed();
            self.forget_subscriptions();
        }
        self.bridge_id = Some(bridge_id);
        self.limits = limits;
        self.connection.ready();
        self.start_silence_timer();
        self.effects.report(Report::Status(Status::Connected));
        self.calls.send_unsent(&mut self.effects);
        self.flush();
        self.tell_sight();
    }

    // How a connection begins and ends.

    fn attempt(&mut self) {
        self.connection.phase = Phase::FetchingToken;
        self.effects.push(Effect::StopTimer);
        let status = self.connection.attempting();
        self.effects.report(Report::Status(status));
        self.effects.push(Effect::FetchToken);
    }

    fn retry_soon(&mut self, error: Failure, random: f64) {
        let wait = self.connection.wait_soon(error.clone(), random);
        self.waiting(error, wait);
    }

    fn waiting(&mut self, error: Failure, wait_ms: u32) {
        self.connection_lost();
        self.effects.push(Effect::SetTimer(wait_ms));
        self.effects.report(Report::Status(Status::Reconnecting {
            error,
            retry_in_ms: Some(wait_ms),
        }));
    }

    fn fail(&mut self, error: Failure) {
        self.stop(&error.clone(), Status::Failed(error));
    }

    fn stop(&mut self, reason: &Failure, status: Status) {
        self.connection.phase = Phase::Off;
        self.effects.push(Effect::StopTimer);
        self.effects.push(Effect::CloseSocket);
        self.connection_lost();
        self.calls.void(reason, &mut self.effects);
        self.forget_subscriptions();
        self.effects.report(Report::Status(status));
    }

    fn forget_subscriptions(&mut self) {
        if std::mem::take(&mut self.knows_subscriptions) {
            self.effects.report(Report::Subscriptions(None));
        }
    }

    fn connection_lost(&mut self) {
        self.definitions.connection_lost(&mut self.effects);
        self.calls.connection_lost();
        if std::mem::take(&mut self.knows_clients) {
            self.effects.report(Report::Clients(None));
        }
    }

    fn other_protocol(&self, protocol: u32) -> Failure {
        let message = [
            "the bridge at ",
            &self.introduction.bridge_url,
            " speaks protocol ",
            &decimal(protocol.into()),
            ", this page ",
            &decimal(PROTOCOL_VERSION.into()),
            ": update the older of the two",
        ];
        Failure::new(Failure::PROTOCOL_UNSUPPORTED, message.concat())
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

    fn flush_soon(&mut self) {
        if self.connection.is_ready() {
            self.effects.push(Effect::FlushSoon);
        }
    }

    fn start_silence_timer(&mut self) {
        let two_heartbeats = self.limits.heartbeat_seconds.saturating_mul(2_000);
        let ms = two_heartbeats.saturating_add(SILENCE_ALLOWANCE_MS);
        self.effects.push(Effect::SetTimer(ms));
    }

    fn tell_sight(&mut self) {
        if self.told_sight.as_ref() == Some(&self.sight) {
            return;
        }
        let title = &self.sight.title;
        let page_title = (*title != self.told_title).then(|| title.clone());
        self.told_title = title.clone();
        self.told_sight = Some(self.sight.clone());
        self.effects.send(PageToBridge::PageState {
            visible: self.sight.visible,
            focused: self.sight.focused,
            frozen: false,
            page_title,
        });
    }

    fn authenticate(&self, auth_token: Token, timestamp: u64) -> PageToBridge<V> {
        let page = &self.introduction;
        PageToBridge::Authenticate(Authenticate {
            auth_token,
            session_id: Some(page.session_id.clone()),
            session_name: page.session_name.clone(),
            origin: page.origin.clone(),
            page_title: Some(self.sight.title.clone()),
            document_id: page.document_id.clone(),
            user_agent: page.user_agent.clone(),
            app: Some(page.app.clone()),
            timestamp: Some(timestamp),
        })
    }
}

fn closed_for_good(code: u16, reason: &str) -> Failure {
    if code == CloseCode::Superseded.code() {
        return Failure::new(
            ErrorCode::SessionSuperseded.as_str(),
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
