//! A session: one tab of a browser, with one connection at a time.
//!
//! A socket that breaks without a close frame leaves the session [`Phase::Disconnected`] for
//! `page_grace`: its tools stay listed, new calls wait, and answers are accepted on the next socket.
//! Close codes 1000 and 1001 and the message `leaving` mean that the document is gone, which the
//! module `document_gone` handles.

mod item_map;
mod items;
mod overview;
mod summary;

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use web_time::Instant;

use bridge_protocol::invisible::without_invisible;
use bridge_protocol::limits::MAX_SESSION_ID_BYTES;
use bridge_protocol::{BridgeToPage, CallId, PageState, SessionId, Subscriptions, Visibility};
use indexmap::IndexSet;

use super::deadlines::Deadline;
use super::receipt::EARLIEST_PROOF;
use super::{ConnectionId, Effect, Now, PageAbilities, QueryPage};
use crate::fast_hash::FastHash;
use crate::realm::app_key::AppKey;
use bridge_protocol::Subject;

use item_map::ItemMap;
pub use items::ResourceMatch;
pub(super) use items::{ListHashes, hash_lists};
pub use overview::PageOverview;
pub use summary::SessionSummary;

/// The data of a page that connects, from its first message, its token and its socket.
#[derive(Clone, Debug)]
pub struct PageHello {
    pub session: SessionId,
    pub abilities: PageAbilities,
    /// Identifies the document in the tab. With `None` each connection counts as another document.
    pub document: Option<String>,
    pub name: Option<String>,
    /// The `Origin` header, which pages outside a browser do not send.
    pub origin: Option<String>,
    /// The address of the page, for the log.
    pub address: Option<IpAddr>,
    pub page_title: Option<String>,
    /// The name of the app that the page belongs to.
    pub app: Option<String>,
    /// The description of the app.
    pub app_description: Option<String>,
    /// When the token expires.
    pub expires: Option<Instant>,
    /// Whether the token allows queries.
    pub may_query: bool,
    /// The subject of the token.
    pub subject: Option<Arc<Subject>>,
    /// When the page wrote its first message, in milliseconds since the Unix epoch on its own
    /// clock.
    pub written_ms: Option<u64>,
    /// The time until the first heartbeat, which spreads the heartbeats of pages that connect
    /// together. With `None` it is one heartbeat interval.
    pub heartbeat_after: Option<Duration>,
    /// The version of the SDK of the page.
    pub sdk_version: Option<String>,
}

/// The maximum difference in milliseconds by which a hello that is older than the current
/// connection counts as late. Networks give up stalled connections after less time, and after its
/// clock was set back a page is refused for no longer than this.
const LATE_HELLO_WINDOW_MS: u64 = 60_000;

/// The maximum length in characters of each text with which a page describes itself. The texts are
/// stored and shown to people and models.
const MAX_PAGE_TEXT_CHARS: usize = 256;

/// The maximum length in characters of the description of an app.
const MAX_APP_DESCRIPTION_CHARS: usize = 768;

impl PageHello {
    /// Truncates the texts that are stored, without their invisible characters, and drops a document id
    /// that is too long.
    pub(super) fn truncate_texts(self) -> Self {
        Self {
            // A truncated id could equal that of another document.
            document: self.document.filter(|id| id.len() <= MAX_SESSION_ID_BYTES),
            name: self.name.map(truncate),
            page_title: self.page_title.map(truncate),
            app: self.app.map(truncate),
            app_description: self
                .app_description
                .map(|text| truncate_to(text, MAX_APP_DESCRIPTION_CHARS)),
            sdk_version: self.sdk_version.map(truncate),
            ..self
        }
    }
}

fn truncate(text: String) -> String {
    truncate_to(text, MAX_PAGE_TEXT_CHARS)
}

fn truncate_to(text: String, max_chars: usize) -> String {
    let text = without_invisible(&text).into_owned();
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Whether a session has a connection, with the state of that phase.
#[derive(Clone, Copy, Debug)]
pub enum Phase {
    /// A socket is open.
    Connected {
        connection: ConnectionId,
        heartbeat_due: Instant,
        /// The number of the last heartbeat that was sent.
        sequence: u64,
        /// The number of the last heartbeat that the page has answered.
        acked_sequence: u64,
        /// The number of call answers that have arrived on this connection.
        answer_count: u64,
        /// When the token of this connection expires.
        expires: Option<Instant>,
        /// When the items expire that are listed for the page and that it has not registered on
        /// this connection. `None` if there are none.
        former_items_until: Option<Instant>,
    },
    /// The connection was lost at `since`. Until `until` the tools stay listed and calls wait.
    Disconnected { since: Instant, until: Instant },
    /// The document is gone, and calls wait for the next one until `until`. The tools stay listed.
    BetweenDocuments { until: Instant },
}

impl Phase {
    /// The current connection, if there is one.
    pub(super) fn connection(&self) -> Option<ConnectionId> {
        match self {
            Phase::Connected { connection, .. } => Some(*connection),
            Phase::Disconnected { .. } | Phase::BetweenDocuments { .. } => None,
        }
    }

    fn next_deadline(&self) -> Instant {
        match self {
            Phase::Connected {
                heartbeat_due,
                expires,
                former_items_until,
                ..
            } => {
                let others = [*expires, *former_items_until].into_iter().flatten();
                others.fold(*heartbeat_due, Instant::min)
            }
            Phase::Disconnected { until, .. } | Phase::BetweenDocuments { until } => *until,
        }
    }
}

/// The data of a [`PageHello`] that is stored with the session.
#[derive(Debug)]
struct SessionInfo {
    abilities: PageAbilities,
    may_query: bool,
    subject: Option<Arc<Subject>>,
    document: Option<Box<str>>,
    origin: Option<Box<str>>,
    address: Option<IpAddr>,
    page_title: Option<Box<str>>,
    app: Option<Box<str>>,
    app_description: Option<Box<str>>,
    written_ms: Option<u64>,
    sdk_version: Option<Box<str>>,
}

impl From<PageHello> for SessionInfo {
    fn from(hello: PageHello) -> Self {
        Self {
            abilities: hello.abilities,
            may_query: hello.may_query,
            subject: hello.subject,
            document: hello.document.map(Into::into),
            origin: hello.origin.map(Into::into),
            address: hello.address,
            page_title: hello.page_title.map(Into::into),
            app: hello.app.map(Into::into),
            app_description: hello.app_description.map(Into::into),
            written_ms: hello.written_ms,
            sdk_version: hello.sdk_version.map(Into::into),
        }
    }
}

/// A session with its items, calls and subscriptions.
#[derive(Debug)]
pub struct Session {
    info: SessionInfo,
    /// The name that people and models see: the page's own, or the same name with a number.
    pub(super) name: Option<String>,
    pub(super) phase: Phase,
    /// When the session reaches its maximum duration.
    pub(super) ends_at: Option<Instant>,
    pub(super) items: ItemMap,
    pub(super) calls: IndexSet<CallId, FastHash>,
    /// Whether the items are those of an earlier connection, which the next registration replaces.
    items_are_former: bool,
    /// The URIs that this session serves and that clients are subscribed to.
    pub(super) subscribed_uris: BTreeSet<String>,
    /// The subscriptions that were sent to the page on this connection.
    pub(super) sent_subscriptions: BTreeSet<String>,
    visibility: Option<Visibility>,
    focused: bool,
    /// Whether the browser has suspended the page.
    pub(super) frozen: bool,
    /// Whether the page has left a call without a receipt and has sent nothing since.
    pub(super) unresponsive: bool,
    /// When the last part of a message arrived. A page that is sending a large message is
    /// responsive.
    pub(super) last_part_at: Option<Instant>,
    /// The number of the last ping that was sent because of a call, and when it was sent.
    pub(super) last_probe: (u64, Option<Instant>),
    /// Everything that had arrived before this ping has been read.
    pub(super) last_read_probe: u64,
    began: Instant,
    connected_at_ms: u64,
    /// When the session got or lost its connection the last time.
    phase_since: Instant,
    pub(super) last_activity_ms: u64,
}

impl Session {
    /// Creates a session. `name` is the name that people and models see.
    pub(super) fn new(hello: PageHello, name: Option<String>, phase: Phase, now: Now) -> Self {
        Self {
            info: hello.into(),
            name,
            phase,
            ends_at: None,
            items: ItemMap::default(),
            calls: IndexSet::default(),
            items_are_former: false,
            subscribed_uris: BTreeSet::new(),
            sent_subscriptions: BTreeSet::new(),
            visibility: None,
            focused: false,
            frozen: false,
            unresponsive: false,
            last_part_at: None,
            last_probe: (0, None),
            last_read_probe: 0,
            began: now.instant,
            connected_at_ms: now.unix_ms,
            phase_since: now.instant,
            last_activity_ms: now.unix_ms,
        }
    }

    /// Continues the session on a new connection.
    pub(super) fn resume(
        &mut self,
        hello: PageHello,
        name: Option<String>,
        phase: Phase,
        now: Now,
    ) {
        self.last_activity_ms = now.unix_ms;
        self.info = hello.into();
        self.name = name;
        self.phase = phase;
        self.items_are_former = self.info.abilities.resumes_sessions;
        self.sent_subscriptions.clear();
        self.last_part_at = None;
        self.last_probe.1 = None;
        self.last_read_probe = 0;
        self.mark_responsive();
    }

    /// Records that the session gets or loses its connection. Returns how long it was as before, in
    /// milliseconds.
    pub(super) fn begin_phase(&mut self, now: Now) -> u64 {
        now.ms_since(std::mem::replace(&mut self.phase_since, now.instant))
    }

    /// How long the session has existed, in milliseconds.
    pub(super) fn age_ms(&self, now: Now) -> u64 {
        now.ms_since(self.began)
    }

    /// When the session began.
    pub(super) fn began(&self) -> Instant {
        self.began
    }

    /// Records that the scripts of the page are running.
    pub(super) fn mark_responsive(&mut self) {
        self.frozen = false;
        self.unresponsive = false;
    }

    /// Applies the visibility, focus and title of the page.
    pub(super) fn apply_state(&mut self, state: PageState, now: Now) {
        self.visibility = Some(state.visibility);
        self.focused = state.focused;
        self.frozen = state.frozen;
        self.last_activity_ms = now.unix_ms;
        if let Some(title) = state.page_title {
            self.info.page_title = Some(truncate(title).into());
        }
    }

    /// The next deadline of the session.
    pub(super) fn deadline(&self, id: &SessionId) -> (Instant, Deadline) {
        let due = self.phase.next_deadline();
        let at = self.ends_at.map_or(due, |ends| ends.min(due));
        (at, Deadline::Session(id.clone()))
    }

    /// The abilities of the page.
    pub fn abilities(&self) -> PageAbilities {
        self.info.abilities
    }

    /// Whether the hello is late: it was written before the hello of the current connection, by an
    /// earlier document or on a connection that the page has given up.
    pub(super) fn is_newer_than(&self, hello: &PageHello) -> bool {
        let (Some(connected_ms), Some(sent_ms)) = (self.info.written_ms, hello.written_ms) else {
            return false;
        };
        let connected = self.phase.connection().is_some();
        connected && sent_ms < connected_ms && connected_ms - sent_ms < LATE_HELLO_WINDOW_MS
    }

    /// The time in which the page must acknowledge a call.
    pub(super) fn receipt_timeout(&self, configured: Duration) -> Duration {
        if self.info.abilities.checks_late_calls {
            configured.max(EARLIEST_PROOF)
        } else {
            configured
        }
    }

    /// The origin of the page, if it has one.
    pub(super) fn origin(&self) -> Option<&str> {
        self.info.origin.as_deref()
    }

    /// The address of the page.
    pub(super) fn address(&self) -> Option<IpAddr> {
        self.info.address
    }

    /// The subject of the page's token.
    pub(super) fn subject(&self) -> Option<Arc<Subject>> {
        self.info.subject.clone()
    }

    /// The title of the page, if it has sent one.
    pub(super) fn page_title(&self) -> Option<&str> {
        self.info.page_title.as_deref()
    }

    /// Whether the current connection has registered nothing, so that the items are those of an
    /// earlier one.
    pub(super) fn items_are_former(&self) -> bool {
        self.items_are_former
    }

    /// Whether the page lost its connection before another session began, and has not come back.
    pub(super) fn was_lost_before(&self, other: &Session) -> bool {
        matches!(self.phase, Phase::Disconnected { since, .. } if since <= other.began)
    }

    /// Whether this is the current document of the session, so that its calls can continue.
    pub(super) fn is_same_document(&self, document: Option<&String>) -> bool {
        document.is_some() && self.info.document.as_deref() == document.map(String::as_str)
    }

    pub(super) fn is_named(&self, name: &str) -> bool {
        self.name.as_deref() == Some(name)
    }

    /// Whether the page has the focus, is connected, and is not suspended.
    pub(super) fn is_focused(&self) -> bool {
        self.focused && !self.frozen && self.phase.connection().is_some()
    }

    /// Whether the token of the page allows queries.
    pub(super) fn may_query(&self) -> bool {
        self.info.may_query
    }

    /// Returns the description of the page that an agent receives.
    pub(super) fn query_page(&self, id: &SessionId) -> QueryPage {
        let text = |text: &Option<Box<str>>| text.as_deref().map(str::to_owned);
        QueryPage {
            session: id.clone(),
            subject: self.info.subject.clone(),
            app: text(&self.info.app),
            app_description: text(&self.info.app_description),
            origin: text(&self.info.origin),
        }
    }

    /// Applies the permissions and the subject of a new token.
    pub(super) fn renew_token(&mut self, may_query: bool, subject: Option<Arc<Subject>>) {
        self.info.may_query = may_query;
        self.info.subject = subject;
    }

    /// The app of the page, if it has sent a name for it.
    pub(super) fn app(&self) -> Option<AppKey> {
        let name = self.info.app.as_deref()?.to_owned();
        let origin = self.info.origin.as_deref().map(str::to_owned);
        Some(AppKey { name, origin })
    }

    /// The message with the current subscriptions; `None` if they were already sent to the page.
    pub(in crate::realm) fn subscriptions_update(
        &mut self,
        connection: ConnectionId,
    ) -> Option<Effect> {
        if self.subscribed_uris == self.sent_subscriptions {
            return None;
        }
        self.sent_subscriptions.clone_from(&self.subscribed_uris);
        let uris = self.subscribed_uris.iter().cloned().collect();
        Some(Effect::Send {
            connection,
            message: BridgeToPage::Subscriptions(Subscriptions { uris }),
        })
    }
}
