//! The runs whose queries wait for their clients.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::run::AguiRun;
use crate::queries::QueryOwner;

/// How long the end of a query waits for the client that has not continued it.
const ENDED_RUN_TTL: Duration = Duration::from_secs(600);

/// The maximum number of suspended runs. The oldest makes room for another one.
const MAX_SUSPENDED_RUNS: usize = 1024;

/// The maximum number of suspended runs of one token: half of the queries that a bridge lets it have.
/// Its oldest makes room for another one.
const MAX_SUSPENDED_RUNS_PER_OWNER: usize = 8;

/// The owner of a thread, and its id.
pub(crate) type ThreadKey = (QueryOwner, String);

/// The runs whose queries wait for their clients: one for each thread.
#[derive(Debug)]
pub(crate) struct SuspendedRuns {
    /// How long a run is stored: until its query has certainly ended, and some time for its end.
    lifetime: Duration,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    next_number: u64,
    /// In the order in which they were suspended, which is that of their expiry.
    runs: BTreeMap<u64, SuspendedRun>,
    /// The numbers of the runs by owner and thread.
    threads: HashMap<QueryOwner, HashMap<String, u64>>,
}

#[derive(Debug)]
struct SuspendedRun {
    thread: ThreadKey,
    run: AguiRun,
    since: Instant,
}

impl SuspendedRuns {
    /// `query_timeout` is the longest time that a query may take.
    pub(crate) fn new(query_timeout: Duration) -> Self {
        Self {
            lifetime: query_timeout.saturating_add(ENDED_RUN_TTL),
            table: Mutex::default(),
        }
    }

    /// Stores a run. Dropping the former run of the thread cancels its query.
    pub(crate) fn insert(&self, thread: ThreadKey, run: AguiRun) {
        let mut table = self.table();
        table.remove_thread(&thread);
        table.make_room(thread.0);
        table.insert(thread, run);
    }

    /// Takes the run of a thread if it fulfils a condition.
    pub(crate) fn take_if(
        &self,
        thread: &ThreadKey,
        condition: impl FnOnce(&AguiRun) -> bool,
    ) -> Option<AguiRun> {
        let mut table = self.table();
        let number = table.number(thread)?;
        let suspended = table.runs.get(&number)?;
        condition(&suspended.run).then(|| table.remove(number))?
    }

    /// Locks the table, without the runs that have expired. A poisoned lock is used anyway, because
    /// no code panics while it holds the lock.
    fn table(&self) -> MutexGuard<'_, Table> {
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some((number, oldest)) = table.runs.first_key_value()
            && oldest.since.elapsed() >= self.lifetime
        {
            let number = *number;
            table.remove(number);
        }
        table
    }
}

impl Table {
    fn number(&self, (owner, thread): &ThreadKey) -> Option<u64> {
        self.threads.get(owner)?.get(thread).copied()
    }

    fn insert(&mut self, thread: ThreadKey, run: AguiRun) {
        let number = self.next_number;
        self.next_number += 1;
        let (owner, id) = thread.clone();
        self.threads.entry(owner).or_default().insert(id, number);
        let since = Instant::now();
        self.runs
            .insert(number, SuspendedRun { thread, run, since });
    }

    fn remove_thread(&mut self, thread: &ThreadKey) {
        if let Some(number) = self.number(thread) {
            self.remove(number);
        }
    }

    fn remove(&mut self, number: u64) -> Option<AguiRun> {
        let SuspendedRun { thread, run, .. } = self.runs.remove(&number)?;
        let (owner, id) = thread;
        if let Some(threads) = self.threads.get_mut(&owner) {
            threads.remove(&id);
            if threads.is_empty() {
                self.threads.remove(&owner);
            }
        }
        Some(run)
    }

    /// Makes room for a run of this owner.
    fn make_room(&mut self, owner: QueryOwner) {
        let own = self.threads.get(&owner);
        let own = own.filter(|threads| threads.len() >= MAX_SUSPENDED_RUNS_PER_OWNER);
        let oldest = match own {
            Some(threads) => threads.values().min().copied(),
            None if self.runs.len() >= MAX_SUSPENDED_RUNS => self.runs.keys().next().copied(),
            None => None,
        };
        oldest.and_then(|number| self.remove(number));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bridge_protocol::BridgeToPage;
    use bridge_settings::Secret;
    use tokio::sync::mpsc;

    use super::*;
    use crate::agent_loop::QueryState;
    use crate::agui::RunInput;
    use crate::bridge::BridgeId;
    use bridge_edge::TokenHash;

    const QUERY_TIMEOUT: Duration = Duration::from_secs(300);

    /// Each owner has two threads.
    fn thread(number: usize) -> ThreadKey {
        let owner = Secret::from_trusted(format!("token-{}", number / 2));
        let token = TokenHash::from_token(owner.expose());
        let owner = QueryOwner::frontend(BridgeId::default(), token);
        (owner, number.to_string())
    }

    fn thread_of_bridge(number: usize) -> ThreadKey {
        (QueryOwner::bridge(BridgeId::default()), number.to_string())
    }

    fn runs() -> SuspendedRuns {
        SuspendedRuns::new(QUERY_TIMEOUT)
    }

    fn take(runs: &SuspendedRuns, thread: &ThreadKey) -> Option<AguiRun> {
        runs.take_if(thread, |_| true)
    }

    /// Returns a run, and the sender whose existence shows that its query runs.
    fn run() -> (AguiRun, mpsc::Sender<BridgeToPage>) {
        let (sender, messages) = mpsc::channel(1);
        let input = br#"{"threadId":"t","runId":"r","messages":[]}"#;
        let identity = RunInput::parse(input).unwrap().identity();
        let run = AguiRun::start(identity, "q", messages, Arc::new(QueryState::new()));
        (run, sender)
    }

    #[tokio::test(start_paused = true)]
    async fn a_run_is_dropped_some_time_after_its_query_has_ended() {
        let runs = runs();
        runs.insert(thread(1), run().0);
        tokio::time::advance(Duration::from_secs(1)).await;
        runs.insert(thread(2), run().0);
        tokio::time::advance(QUERY_TIMEOUT + ENDED_RUN_TTL - Duration::from_secs(1)).await;
        assert!(take(&runs, &thread(1)).is_none());
        assert!(runs.take_if(&thread(2), |_| false).is_none(), "it stays");
        assert!(take(&runs, &thread(2)).is_some());
        assert!(take(&runs, &thread(2)).is_none(), "it is taken once");
        assert!(runs.table().threads.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn the_oldest_run_makes_room_and_its_query_is_cancelled() {
        let runs = runs();
        let mut queries = Vec::new();
        for number in 0..=MAX_SUSPENDED_RUNS {
            let (run, query) = run();
            runs.insert(thread(number), run);
            queries.push(query);
        }
        assert!(queries[0].is_closed());
        assert!(queries[1..].iter().all(|query| !query.is_closed()));
    }

    #[tokio::test(start_paused = true)]
    async fn one_token_with_many_threads_drops_only_its_own_runs() {
        let runs = runs();
        let (other, other_query) = run();
        runs.insert(thread(0), other);
        let mut queries = Vec::new();
        for number in 0..=MAX_SUSPENDED_RUNS_PER_OWNER {
            let (run, query) = run();
            runs.insert(thread_of_bridge(number), run);
            queries.push(query);
        }
        assert!(!other_query.is_closed());
        assert!(queries[0].is_closed());
        assert!(queries[1..].iter().all(|query| !query.is_closed()));
    }

    #[tokio::test]
    async fn another_run_of_a_thread_replaces_the_former() {
        let runs = runs();
        let (former, former_query) = run();
        let (latter, latter_query) = run();
        runs.insert(thread(1), former);
        runs.insert(thread(1), latter);
        assert!(former_query.is_closed() && !latter_query.is_closed());
    }
}
