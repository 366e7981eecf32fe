//! Callers that make the next call as soon as they have an answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::answers::AnswerChecker;
use super::call_ids::CALL_IDS;
use super::connection::Connection;
use super::route::{Callee, Endpoint, RequestTemplate, Route};

/// The progress of a run, which its callers share.
pub(super) struct RunProgress {
    phase: AtomicU8,
    /// The number of calls that were answered in the measured phase.
    calls: AtomicU64,
}

/// The phase of a run.
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

/// A client with one connection.
pub(super) struct Caller {
    connection: Connection,
    requests: Vec<RequestTemplate>,
    checker: AnswerChecker,
    next: usize,
}

impl Caller {
    /// Connects a caller, and opens an MCP session if requested. It begins with the page `first`.
    pub(super) async fn open(
        route: Route,
        mut endpoint: Endpoint,
        callees: &[Callee],
        checker: AnswerChecker,
        opens_session: bool,
        first: usize,
    ) -> Result<Self> {
        let mut connection = Connection::open(endpoint.address).await?;
        if opens_session {
            open_session(&mut connection, &mut endpoint).await?;
        }
        let request = |callee| RequestTemplate::call(route, &endpoint, callee);
        Ok(Self {
            requests: callees.iter().map(request).collect(),
            connection,
            checker,
            next: first,
        })
    }

    /// Calls one page after the other until the run has ended. Returns the latencies of the
    /// measured calls.
    pub(super) async fn run(mut self, progress: Arc<RunProgress>) -> Result<Vec<Duration>> {
        let mut latencies = Vec::new();
        for id in CALL_IDS {
            let begin = Instant::now();
            self.call(id).await?;
            if progress.is_in_phase(Phase::Measuring) {
                latencies.push(begin.elapsed());
                progress.calls.fetch_add(1, Ordering::Relaxed);
            } else if progress.is_in_phase(Phase::Ended) {
                break;
            }
        }
        Ok(latencies)
    }

    /// Makes one call, and returns its answer when it is correct.
    pub(super) async fn call(&mut self, id: u64) -> Result<&[u8]> {
        let page = self.next % self.requests.len();
        self.next += 1;
        let request = self.requests[page].with_id(id);
        let answer = self.connection.request(request).await;
        let answer = answer.with_context(|| format!("call {id}"))?;
        ensure!(
            answer.status == 200,
            "call {id} has status {}: {}",
            answer.status,
            String::from_utf8_lossy(answer.message)
        );
        self.checker.check(answer.message, id)?;
        Ok(answer.message)
    }
}

/// Opens an MCP session and stores its id in `endpoint`.
pub(super) async fn open_session(
    connection: &mut Connection,
    endpoint: &mut Endpoint,
) -> Result<()> {
    let mut request = RequestTemplate::initialize(endpoint);
    let answer = connection.request(request.with_id(CALL_IDS.start)).await?;
    endpoint.mcp_session = answer.mcp_session.clone();
    ensure!(
        answer.status == 200 && endpoint.mcp_session.is_some(),
        "`initialize` has status {}: {}",
        answer.status,
        String::from_utf8_lossy(answer.message)
    );
    let mut request = RequestTemplate::initialized(endpoint);
    let answer = connection.request(request.with_id(CALL_IDS.start)).await?;
    ensure!(
        answer.status == 202,
        "`notifications/initialized` has status {}",
        answer.status
    );
    Ok(())
}
