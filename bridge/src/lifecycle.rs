//! The lines of the log about the lives of pages, MCP sessions, listeners and queries: one for each
//! beginning, change and end.
//!
//! Pages and clients decide how often that happens, so each kind has at most
//! [`MAX_LINES_PER_SECOND`]. A line has the number of earlier events of its kind without one.

mod line_limit;

use std::net::IpAddr;
use std::sync::Arc;

use bridge_auth::RealmId;
use bridge_edge::ClientAddress;
use bridge_protocol::QueryId;
use bridge_realm::realm::{Lifecycle, LifecycleEvent};
use tokio::time::Instant;

use crate::config::Config;

pub(crate) use line_limit::{LINE_INTERVAL, LineLimit};

/// The maximum number of lines of each kind in a second.
const MAX_LINES_PER_SECOND: u32 = 50;

/// The maximum length of each text in a line. Pages and clients choose them.
const MAX_TEXT_CHARS: usize = 256;

/// The number of characters of a query's id in the log, where the whole id authenticates its agent.
const QUERY_ID_EXCERPT: usize = 8;

/// The target of the lines, for filters of the log.
macro_rules! log_line {
    ($($fields:tt)*) => { tracing::info!(target: "bridge::lifecycle", $($fields)*) };
}

/// A kind of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineKind {
    PageConnected,
    PageReconnected,
    PageAway,
    PageGone,
    McpSessionOpened,
    McpSessionEnded,
    ListenerOpened,
    ListenerClosed,
    QueryBegun,
    QueryEnded,
}

impl LineKind {
    const ALL: [Self; 10] = [
        Self::PageConnected,
        Self::PageReconnected,
        Self::PageAway,
        Self::PageGone,
        Self::McpSessionOpened,
        Self::McpSessionEnded,
        Self::ListenerOpened,
        Self::ListenerClosed,
        Self::QueryBegun,
        Self::QueryEnded,
    ];

    /// The text of the lines.
    const fn as_str(self) -> &'static str {
        match self {
            Self::PageConnected => "page connected",
            Self::PageReconnected => "page reconnected",
            Self::PageAway => "page away",
            Self::PageGone => "page gone",
            Self::McpSessionOpened => "MCP session opened",
            Self::McpSessionEnded => "MCP session ended",
            Self::ListenerOpened => "listener opened",
            Self::ListenerClosed => "listener closed",
            Self::QueryBegun => "query begun",
            Self::QueryEnded => "query ended",
        }
    }
}

/// Logs the lives of pages, MCP sessions, listeners and queries.
#[derive(Debug)]
pub(crate) struct LifecycleLog {
    limits: [LineLimit; LineKind::ALL.len()],
    /// Whether the id of a query authenticates its agent, so that it is not logged.
    query_ids_are_credentials: bool,
}

/// The client of an MCP session or of a stream of changes.
#[derive(Clone, Debug)]
pub(crate) struct LoggedClient {
    pub(crate) realm: RealmId,
    /// The subject of the token.
    pub(crate) subject: Option<String>,
    pub(crate) address: ClientAddress,
    /// The name that the client gives itself.
    pub(crate) name: String,
    /// Identifies the MCP session in the log, if the client has one. It is not the id that the client
    /// sends.
    pub(crate) mcp_session: Option<String>,
}

impl LoggedClient {
    /// Shortens the texts, which stay in memory until the end is logged.
    fn shortened(self) -> Self {
        Self {
            subject: self.subject.map(shorten),
            name: shorten(self.name),
            ..self
        }
    }
}

/// An MCP session whose beginning was logged.
#[derive(Debug)]
pub(crate) struct OpenMcpSession {
    log: Arc<LifecycleLog>,
    pub(crate) client: LoggedClient,
    opened: Instant,
}

impl OpenMcpSession {
    /// Logs the end of the session.
    pub(crate) fn end(&self, reason: &'static str) {
        let (kind, opened) = (LineKind::McpSessionEnded, Some(self.opened));
        self.log
            .client_line(kind, &self.client, Some(reason), opened);
    }
}

/// A stream of changes whose beginning was logged. Its end is logged when this is dropped.
#[derive(Debug)]
pub(crate) struct OpenListener {
    log: Arc<LifecycleLog>,
    client: LoggedClient,
    opened: Instant,
}

impl Drop for OpenListener {
    fn drop(&mut self) {
        let (kind, opened) = (LineKind::ListenerClosed, Some(self.opened));
        self.log.client_line(kind, &self.client, None, opened);
    }
}

impl LifecycleLog {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            limits: std::array::from_fn(|_| LineLimit::new(MAX_LINES_PER_SECOND)),
            query_ids_are_credentials: config.query_ids_are_credentials(),
        }
    }

    /// Logs an event of a page or of a query. `stopping` is the reason for which pages lose their
    /// connections while the bridge stops.
    pub(crate) fn log(&self, realm: RealmId, lifecycle: &Lifecycle, stopping: Option<&str>) {
        let kind = kind_of(&lifecycle.event);
        let Some(suppressed) = self.next_line(kind) else {
            return;
        };
        let subject = lifecycle.subject.as_ref();
        let subject = subject.and_then(|subject| Some(shorten(subject.sub.as_ref()?)));
        let subject = subject.as_deref();
        let address = lifecycle.address.map(display_address);
        let session = shorten(&lifecycle.session.0);
        let session = session.as_str();
        let text = kind.as_str();
        match &lifecycle.event {
            LifecycleEvent::PageConnected { app, origin } => {
                let (app, origin) = (app.as_ref().map(shorten), origin.as_ref().map(shorten));
                let (app, origin) = (app.as_deref(), origin.as_deref());
                log_line!(
                    ?realm,
                    subject,
                    address,
                    session,
                    app,
                    origin,
                    suppressed,
                    "{text}"
                );
            }
            LifecycleEvent::PageReconnected { away_ms } => {
                let reason = away_ms.is_none().then_some("a new connection took over");
                let away_ms = *away_ms;
                log_line!(
                    ?realm,
                    subject,
                    address,
                    session,
                    reason,
                    away_ms,
                    suppressed,
                    "{text}"
                );
            }
            LifecycleEvent::PageAway {
                reason,
                connected_ms,
            } => {
                let (reason, connected_ms) = (stopping.unwrap_or(reason), *connected_ms);
                log_line!(
                    ?realm,
                    subject,
                    address,
                    session,
                    reason,
                    connected_ms,
                    suppressed,
                    "{text}"
                );
            }
            LifecycleEvent::PageGone { reason, ms } => {
                let (reason, ms) = (*reason, *ms);
                log_line!(
                    ?realm,
                    subject,
                    address,
                    session,
                    reason,
                    ms,
                    suppressed,
                    "{text}"
                );
            }
            LifecycleEvent::QueryBegun { query } => {
                let query = self.query_id(query);
                let query = query.as_str();
                log_line!(
                    ?realm,
                    subject,
                    address,
                    session,
                    query,
                    suppressed,
                    "{text}"
                );
            }
            LifecycleEvent::QueryEnded {
                query,
                outcome,
                code,
                ms,
                tokens,
            } => {
                let query = self.query_id(query);
                let (query, outcome, ms) = (query.as_str(), *outcome, *ms);
                let code = code.map(|code| code.as_str());
                let input_tokens = tokens.map(|tokens| tokens.input);
                let output_tokens = tokens.map(|tokens| tokens.output);
                log_line!(
                    ?realm,
                    subject,
                    address,
                    session,
                    query,
                    outcome,
                    code,
                    ms,
                    input_tokens,
                    output_tokens,
                    suppressed,
                    "{text}"
                );
            }
        }
    }

    /// Logs that an MCP session was opened, or restored after it had ended.
    pub(crate) fn open_mcp_session(
        self: &Arc<Self>,
        client: LoggedClient,
        is_restored: bool,
    ) -> OpenMcpSession {
        let client = client.shortened();
        let reason = is_restored.then_some("its client continues a former one");
        self.client_line(LineKind::McpSessionOpened, &client, reason, None);
        OpenMcpSession {
            log: Arc::clone(self),
            client,
            opened: Instant::now(),
        }
    }

    /// Logs that a client has opened a stream of changes.
    pub(crate) fn open_listener(self: &Arc<Self>, client: LoggedClient) -> OpenListener {
        let client = client.shortened();
        self.client_line(LineKind::ListenerOpened, &client, None, None);
        OpenListener {
            log: Arc::clone(self),
            client,
            opened: Instant::now(),
        }
    }

    fn client_line(
        &self,
        kind: LineKind,
        client: &LoggedClient,
        reason: Option<&'static str>,
        began: Option<Instant>,
    ) {
        let Some(suppressed) = self.next_line(kind) else {
            return;
        };
        let LoggedClient {
            realm,
            subject,
            address,
            name,
            mcp_session,
        } = client;
        let (subject, client) = (subject.as_deref(), name.as_str());
        let mcp_session = mcp_session.as_deref();
        let ms = began.map(|began| whole_millis(began.elapsed()));
        let text = kind.as_str();
        log_line!(
            ?realm, subject, %address, client, mcp_session, reason, ms, suppressed, "{text}"
        );
    }

    /// Logs how many events have no lines, of each kind whose burst is over at this time.
    pub(crate) fn log_suppressed(&self, now: Instant) {
        for kind in LineKind::ALL {
            if let Some(suppressed) = self.limits[kind as usize].take_suppressed(now) {
                let text = kind.as_str();
                log_line!(suppressed, "{text}: more without lines");
            }
        }
    }

    fn next_line(&self, kind: LineKind) -> Option<u64> {
        self.limits[kind as usize].next_line(Instant::now())
    }

    fn query_id(&self, query: &QueryId) -> String {
        if self.query_ids_are_credentials {
            let excerpt = query.as_str().chars().take(QUERY_ID_EXCERPT);
            return excerpt.chain(['…']).collect();
        }
        shorten(query.as_str())
    }
}

fn kind_of(event: &LifecycleEvent) -> LineKind {
    match event {
        LifecycleEvent::PageConnected { .. } => LineKind::PageConnected,
        LifecycleEvent::PageReconnected { .. } => LineKind::PageReconnected,
        LifecycleEvent::PageAway { .. } => LineKind::PageAway,
        LifecycleEvent::PageGone { .. } => LineKind::PageGone,
        LifecycleEvent::QueryBegun { .. } => LineKind::QueryBegun,
        LifecycleEvent::QueryEnded { .. } => LineKind::QueryEnded,
    }
}

fn display_address(address: IpAddr) -> tracing::field::DisplayValue<ClientAddress> {
    tracing::field::display(ClientAddress::from(address))
}

fn shorten(text: impl AsRef<str>) -> String {
    text.as_ref().chars().take(MAX_TEXT_CHARS).collect()
}

fn whole_millis(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use bridge_output::CapturedLog;
    use bridge_protocol::SessionId;

    use super::*;

    fn page(event: LifecycleEvent) -> Lifecycle {
        Lifecycle {
            event,
            session: SessionId::from("tab"),
            subject: None,
            address: Some(IpAddr::from([192, 0, 2, 1])),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_flood_of_pages_has_a_bounded_number_of_lines_and_a_sum() {
        let (output, _guard) = CapturedLog::start();
        let log = LifecycleLog::new(&Config::default());
        let realm = RealmId::from_token("token");
        for _ in 0..1_000 {
            let origin = Some(format!("https://{}\n", "x".repeat(10_000)));
            let connected = LifecycleEvent::PageConnected { app: None, origin };
            log.log(realm, &page(connected), None);
        }
        let gone = LifecycleEvent::PageGone {
            reason: "the page was closed or left",
            ms: 7,
        };
        log.log(realm, &page(gone), None);
        let text = output.take();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), MAX_LINES_PER_SECOND as usize + 1);
        assert!(
            lines.iter().all(|line| line.len() < 2 * MAX_TEXT_CHARS),
            "{text}"
        );
        let last = lines.last().unwrap();
        assert!(
            last.contains(" INFO bridge::lifecycle: page gone realm="),
            "{last}"
        );
        let fields = "address=192.0.2.1 session=\"tab\" reason=\"the page was closed or left\" \
                      ms=7 suppressed=0";
        assert!(last.ends_with(fields), "{last}");
        log.log_suppressed(Instant::now());
        assert_eq!(output.take(), "", "the second has not passed");
        tokio::time::advance(std::time::Duration::from_secs(1)).await;
        log.log_suppressed(Instant::now());
        assert_eq!(
            output.take(),
            " INFO bridge::lifecycle: page connected: more without lines suppressed=950\n"
        );
    }

    #[test]
    fn an_open_listener_stores_no_more_than_its_lines_show() {
        let log = Arc::new(LifecycleLog::new(&Config::default()));
        let listener = log.open_listener(LoggedClient {
            realm: RealmId::from_token("token"),
            subject: Some("s".repeat(10_000)),
            address: ClientAddress::from(IpAddr::from([192, 0, 2, 1])),
            name: "n".repeat(10_000),
            mcp_session: None,
        });
        let LoggedClient { subject, name, .. } = &listener.client;
        let stored = [subject.as_ref().unwrap().len(), name.len()];
        assert_eq!(stored, [MAX_TEXT_CHARS; 2]);
    }

    #[test]
    fn kinds_are_numbered_in_order() {
        for (index, kind) in LineKind::ALL.iter().enumerate() {
            assert_eq!(*kind as usize, index);
        }
    }

    #[test]
    fn an_id_that_authenticates_an_agent_is_not_logged() {
        let log = LifecycleLog {
            query_ids_are_credentials: true,
            ..LifecycleLog::new(&Config::default())
        };
        let id = QueryId::from("01234567-89ab-4def-8123-456789abcdef");
        assert_eq!(log.query_id(&id), "01234567…");
        assert_eq!(
            LifecycleLog::new(&Config::default()).query_id(&id),
            id.as_str()
        );
    }
}
