//! The stream that the client of an MCP session opens with GET: what has changed, and which questions
//! need no answer any more. Nothing is taken from the session's queue before the connection takes it.

use std::collections::VecDeque;
use std::sync::Arc;

use futures_util::{Stream, stream};
use uuid::Uuid;

use super::event_json::EventJson;
use super::http_response::{EncodedEvent, encode_event, encode_priming_event};
use super::session::{ActivityGuard, McpSession, StreamRole};
use crate::hub::{NotificationQueue, PendingNotifications};
use crate::lifecycle::{LifecycleLog, OpenListener};

/// The text after the life of the session in the ids of these events. Numbers of changes follow it.
const ID_SUFFIX: &str = ":common/";

/// An open stream of a session. Of several, the one that was opened last is used.
struct StandaloneStream {
    session: Arc<McpSession>,
    number: u64,
    /// The event without data with which the stream begins, until it is sent.
    priming: Option<EncodedEvent>,
    /// The changes that are not sent, with their numbers.
    unsent: VecDeque<(u64, String)>,
    _activity: ActivityGuard,
    _lines: Option<OpenListener>,
}

/// Opens the stream of a session, or resumes it after the event with this id.
pub(super) fn open(
    session: &Arc<McpSession>,
    last_event_id: Option<&str>,
    log: &Arc<LifecycleLog>,
) -> impl Stream<Item = EncodedEvent> + Send + use<> {
    let resumed = last_event_id.and_then(|id| number_of_change(session, id));
    let start = resumed.unwrap_or_else(|| session.last_change());
    let client = session.client();
    // With its id, a client resumes the stream also if it breaks before the first notification.
    let has_priming = client.is_some_and(|(client, _)| client.supports_priming_events());
    let stream = StandaloneStream {
        session: Arc::clone(session),
        number: session.open_stream(),
        priming: has_priming.then(|| encode_priming_event(&event_id(session, start))),
        unsent: session.changes_after(start).into(),
        _activity: session.begin_activity(),
        _lines: session
            .lines()
            .map(|session| log.open_listener(session.client.clone())),
    };
    stream::unfold(stream, |mut stream| async move {
        let event = stream.next().await?;
        Some((event, stream))
    })
}

/// Whether the client can resume the stream of this session after an event with this id. After one from
/// before the session was restored, it receives what a new stream does.
pub(super) fn is_event_id(session: &McpSession, event_id: &str) -> bool {
    let parsed = parse_event_id(event_id);
    parsed.is_some_and(|(life, _)| life == session.life() || session.is_restored())
}

fn number_of_change(session: &McpSession, event_id: &str) -> Option<u64> {
    let (life, number) = parse_event_id(event_id)?;
    (life == session.life()).then_some(number)
}

fn parse_event_id(event_id: &str) -> Option<(Uuid, u64)> {
    let (life, number) = event_id.split_once(ID_SUFFIX)?;
    Some((life.parse().ok()?, number.parse().ok()?))
}

impl StandaloneStream {
    /// Waits for the next event. Returns `None` when the stream ends.
    async fn next(&mut self) -> Option<EncodedEvent> {
        loop {
            if let Some(priming) = self.priming.take() {
                return Some(priming);
            }
            if let Some((number, json)) = self.unsent.pop_front() {
                let id = event_id(&self.session, number);
                let json = EventJson::new(json.into_bytes());
                return Some(encode_event(Some(&id), json, None));
            }
            let session = Arc::clone(&self.session);
            let (role, changed) = session.stream_role(self.number);
            let queue = match role {
                StreamRole::Ended => return None,
                StreamRole::Waiting => {
                    changed.await;
                    continue;
                }
                StreamRole::Used { queue, unsent } if unsent.is_empty() => queue,
                StreamRole::Used { unsent, .. } => {
                    self.unsent = unsent.into();
                    continue;
                }
            };
            tokio::select! {
                () = changed => {}
                pending = next_changes(queue.as_deref()) => {
                    self.unsent = session.record_changes(pending).into();
                }
                id = session.questions.next_withdrawn() => {
                    self.unsent = session.record_withdrawn(id).into();
                }
            }
        }
    }
}

impl Drop for StandaloneStream {
    fn drop(&mut self) {
        let first_unsent = self.unsent.front().map(|(number, _)| *number);
        self.session.close_stream(self.number, first_unsent);
    }
}

fn event_id(session: &McpSession, number: u64) -> String {
    format!("{}{ID_SUFFIX}{number}", session.life())
}

async fn next_changes(queue: Option<&NotificationQueue>) -> PendingNotifications {
    match queue {
        Some(queue) => queue.recv().await,
        None => std::future::pending().await,
    }
}
