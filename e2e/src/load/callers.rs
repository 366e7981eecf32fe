//! Callers that call again as soon as they have an answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use super::answers::{AnswerChecker, CALL_IDS};
use super::connection::Connection;
use super::route::{Callee, Endpoint, RequestTemplate, Route};

/// What the callers of a run share.
pub(super) struct RunProgress {
    phase: AtomicU8,
    /// Calls that were answered while it was measured.
    calls: AtomicU64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Phase {
    WarmingUp,
    Measuring,
    Ended,
}

impl RunProgress {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            phase: AtomicU8::new(Phase::WarmingUp as u8),
            calls: AtomicU64::new(0),
        })
    }

    pub(super) fn set_phase(&self, phase: Phase) {
        self.phase.store(phase as u8, Ordering::Relaxed);
    }

    fn is_in_phase(&self, phase: Phase) -> bool {
        self.phase.load(Ordering::Relaxed) == phase as u8
    }

    pub(super) fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }
}

/// One client with one connection.
pub(super) struct Caller {
    connection: Connection,
    requests: Vec<RequestTemplate>,
    answers: AnswerChecker,
    next: usize,
}

impl Caller {
    /// Connects it, and opens an MCP session where the route has one. It begins with page `first`.
    pub(super) async fn open(
        route: Route,
        mut peer: Endpoint,
        callees: &[Callee],
        answers: AnswerChecker,
        opens_session: bool,
        first: usize,
    ) -> Result<Self> {
        let mut connection = Connection::open(peer.address).await?;
        if opens_session {
            open_session(&mut connection, &mut peer).await?;
        }
        let request = |callee| RequestTemplate::call(route, &peer, callee);
        Ok(Self {
            requests: callees.iter().map(request).collect(),
            connection,
            answers,
            next: first,
        })
    }

    /// Calls one page after the other until the course is over, and returns how long those calls took
    /// that were measured, in microseconds.
    pub(super) async fn run(mut self, course: Arc<RunProgress>) -> Result<Vec<u32>> {
        let mut times = Vec::new();
        for id in CALL_IDS {
            let begin = Instant::now();
            self.call(id).await?;
            if course.is_in_phase(Phase::Measuring) {
                times.push(u32::try_from(begin.elapsed().as_micros()).unwrap_or(u32::MAX));
                course.calls.fetch_add(1, Ordering::Relaxed);
            } else if course.is_in_phase(Phase::Ended) {
                break;
            }
        }
        Ok(times)
    }

    /// One call, whose answer is checked and returned.
    pub(super) async fn call(&mut self, id: u64) -> Result<&[u8]> {
        let page = self.next % self.requests.len();
        self.next += 1;
        let request = self.requests[page].with_id(id);
        let answer = self.connection.request(request).await;
        let answer = answer.with_context(|| format!("call {id}"))?;
        ensure!(
            answer.status == 200,
            "call {id} is answered with {}: {}",
            answer.status,
            String::from_utf8_lossy(answer.message)
        );
        self.answers.check(answer.message, id)?;
        Ok(answer.message)
    }
}

/// Opens an MCP session, which `peer` has from then on.
pub(super) async fn open_session(connection: &mut Connection, peer: &mut Endpoint) -> Result<()> {
    let mut request = RequestTemplate::initialize(peer);
    let answer = connection.request(request.with_id(CALL_IDS.start)).await?;
    peer.mcp_session = answer.mcp_session.clone();
    ensure!(
        answer.status == 200 && peer.mcp_session.is_some(),
        "`initialize` is refused with {}: {}",
        answer.status,
        String::from_utf8_lossy(answer.message)
    );
    let mut request = RequestTemplate::initialized(peer);
    let answer = connection.request(request.with_id(CALL_IDS.start)).await?;
    ensure!(
        answer.status == 202,
        "`notifications/initialized`: {}",
        answer.status
    );
    Ok(())
}
