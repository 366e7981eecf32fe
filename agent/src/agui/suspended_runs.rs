//! The runs whose queries wait for their clients.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::run::Run;
use crate::queries::QueryOwner;

/// How long the end of a query waits for the client that has not continued it.
const ENDED_RUN_TTL: Duration = Duration::from_secs(600);

/// The maximum number of suspended runs. The oldest makes room for another one.
const MAX_SUSPENDED_RUNS: usize = 1024;

/// The owner of a thread, and its id.
pub(crate) type ThreadKey = (QueryOwner, String);

/// The runs whose queries wait for their clients: one for each thread.
#[derive(Debug, Default)]
pub(crate) struct SuspendedRuns {
    runs: Mutex<HashMap<ThreadKey, SuspendedRun>>,
}

#[derive(Debug)]
struct SuspendedRun {
    run: Run,
    since: Instant,
}

impl SuspendedRuns {
    /// Stores a run. Dropping the former run of the thread cancels its query.
    pub(crate) fn insert(&self, thread: ThreadKey, run: Run) {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.retain(|_, it| !it.run.query_has_ended() || it.since.elapsed() < ENDED_RUN_TTL);
        if runs.len() >= MAX_SUSPENDED_RUNS {
            let oldest = runs.iter().min_by_key(|(_, it)| it.since);
            let oldest = oldest.map(|(thread, _)| thread.clone());
            oldest.and_then(|thread| runs.remove(&thread));
        }
        let since = Instant::now();
        runs.insert(thread, SuspendedRun { run, since });
    }

    /// Takes the run of a thread.
    pub(crate) fn take(&self, thread: &ThreadKey) -> Option<Run> {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.remove(thread).map(|it| it.run)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bridge_protocol::BridgeToPage;
    use tokio::sync::mpsc;

    use super::*;
    use crate::agent_loop::QueryState;
    use crate::agui::RunInput;

    fn thread(number: usize) -> ThreadKey {
        (QueryOwner::Bridge, number.to_string())
    }

    /// Returns a run, and the sender whose existence shows that its query runs.
    fn run() -> (Run, mpsc::Sender<BridgeToPage>) {
        let (sender, messages) = mpsc::channel(1);
        let input = br#"{"threadId":"t","runId":"r","messages":[]}"#;
        let identity = RunInput::parse(input).unwrap().identity();
        let run = Run::start(identity, "q", messages, Arc::new(QueryState::new()));
        (run, sender)
    }

    #[tokio::test(start_paused = true)]
    async fn runs_whose_query_has_ended_are_dropped_after_a_while() {
        let runs = SuspendedRuns::default();
        let (ended, query) = run();
        drop(query);
        runs.insert(thread(1), ended);
        let (waiting, _query) = run();
        runs.insert(thread(2), waiting);
        tokio::time::advance(ENDED_RUN_TTL).await;
        let (other, _other_query) = run();
        runs.insert(thread(3), other);
        assert!(runs.take(&thread(1)).is_none());
        assert!(runs.take(&thread(2)).is_some());
        assert!(runs.take(&thread(2)).is_none(), "it is taken once");
    }

    #[tokio::test(start_paused = true)]
    async fn the_oldest_run_makes_room_and_its_query_is_cancelled() {
        let runs = SuspendedRuns::default();
        let mut queries = Vec::new();
        for number in 0..=MAX_SUSPENDED_RUNS {
            let (run, query) = run();
            runs.insert(thread(number), run);
            queries.push(query);
            tokio::time::advance(Duration::from_millis(1)).await;
        }
        assert!(queries[0].is_closed());
        assert!(queries[1..].iter().all(|query| !query.is_closed()));
    }

    #[tokio::test]
    async fn another_run_of_a_thread_replaces_the_former() {
        let runs = SuspendedRuns::default();
        let (former, former_query) = run();
        let (latter, latter_query) = run();
        runs.insert(thread(1), former);
        runs.insert(thread(1), latter);
        assert!(former_query.is_closed() && !latter_query.is_closed());
    }
}
