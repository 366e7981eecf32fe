//! A queue that is fair to tokens: they take turns, however much work each of them has.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

/// The limits of a queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct QueueLimits {
    /// How many jobs run at the same time.
    pub(super) workers: usize,
    /// How many of them may be of one token. If this is less than `workers`, the jobs of one token
    /// leave a worker to the other tokens.
    pub(super) share: usize,
    /// How many jobs of one token may wait.
    pub(super) waiting: usize,
    /// The total size of the jobs of one token that may wait, in bytes.
    pub(super) waiting_bytes: usize,
}

/// The jobs that wait, in the order in which they will run.
///
/// The queue runs nothing itself. A job is whatever its owner needs to start the work.
#[derive(Debug)]
pub(super) struct FairQueue<K, J> {
    limits: QueueLimits,
    /// The tokens that have jobs, and those that have a turn.
    tokens: HashMap<K, TokenQueue<J>>,
    /// The tokens that have waiting jobs and fewer than their share running, each once. A token
    /// whose jobs were removed may remain until its turn.
    turns: VecDeque<K>,
    running: usize,
    next_ticket: u64,
}

/// The jobs of one token.
#[derive(Debug)]
struct TokenQueue<J> {
    waiting: VecDeque<WaitingJob<J>>,
    waiting_bytes: usize,
    running: usize,
    has_turn: bool,
}

#[derive(Debug)]
struct WaitingJob<J> {
    ticket: Ticket,
    bytes: usize,
    job: J,
}

/// The number of a waiting job, with which it can be removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ticket(u64);

/// The token already has as many waiting jobs, or as many bytes in them, as it may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct QueueFull;

impl<J> Default for TokenQueue<J> {
    fn default() -> Self {
        Self {
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            running: 0,
            has_turn: false,
        }
    }
}

impl<J> TokenQueue<J> {
    fn is_unused(&self) -> bool {
        self.waiting.is_empty() && self.running == 0 && !self.has_turn
    }
}

impl<K: Copy + Eq + Hash, J> FairQueue<K, J> {
    pub(super) fn new(limits: QueueLimits) -> Self {
        Self {
            limits,
            tokens: HashMap::new(),
            turns: VecDeque::new(),
            running: 0,
            next_ticket: 0,
        }
    }

    /// Adds a job of a token behind its other jobs, unless it has too many.
    ///
    /// A job is never too large for a token that has none.
    pub(super) fn try_push(&mut self, token: K, bytes: usize, job: J) -> Result<Ticket, QueueFull> {
        if let Some(queue) = self.tokens.get(&token)
            && !queue.waiting.is_empty()
            && (queue.waiting.len() >= self.limits.waiting
                || queue.waiting_bytes.saturating_add(bytes) > self.limits.waiting_bytes)
        {
            return Err(QueueFull);
        }
        Ok(self.push(token, bytes, job))
    }

    /// Adds a job of a token behind its other jobs, however many it has.
    pub(super) fn push(&mut self, token: K, bytes: usize, job: J) -> Ticket {
        let ticket = Ticket(self.next_ticket);
        self.next_ticket += 1;
        let queue = self.tokens.entry(token).or_default();
        queue.waiting_bytes += bytes;
        queue.waiting.push_back(WaitingJob { ticket, bytes, job });
        self.update_turn(token);
        ticket
    }

    /// Takes the job that runs next; `None` while none may run.
    pub(super) fn start_next(&mut self) -> Option<(K, J)> {
        while self.running < self.limits.workers {
            let token = self.turns.pop_front()?;
            let queue = self.tokens.entry(token).or_default();
            queue.has_turn = false;
            let next = queue.waiting.pop_front();
            if let Some(next) = &next {
                queue.waiting_bytes -= next.bytes;
                queue.running += 1;
                self.running += 1;
            }
            self.update_turn(token);
            if let Some(next) = next {
                return Some((token, next.job));
            }
        }
        None
    }

    /// The number of jobs that wait.
    pub(super) fn waiting_count(&self) -> usize {
        self.tokens.values().map(|queue| queue.waiting.len()).sum()
    }

    /// Ends a job that was started.
    pub(super) fn finish(&mut self, token: K) {
        self.running -= 1;
        if let Some(queue) = self.tokens.get_mut(&token) {
            queue.running -= 1;
        }
        self.update_turn(token);
    }

    /// Removes a job that has not started.
    pub(super) fn remove(&mut self, token: K, ticket: Ticket) {
        let Some(queue) = self.tokens.get_mut(&token) else {
            return;
        };
        // The tickets of a token ascend.
        let found = queue.waiting.binary_search_by_key(&ticket, |it| it.ticket);
        if let Some(removed) = found.ok().and_then(|index| queue.waiting.remove(index)) {
            queue.waiting_bytes -= removed.bytes;
        }
        self.update_turn(token);
    }

    /// Gives a token a turn if it can use one, and forgets a token without jobs.
    fn update_turn(&mut self, token: K) {
        let Some(queue) = self.tokens.get_mut(&token) else {
            return;
        };
        if !queue.has_turn && !queue.waiting.is_empty() && queue.running < self.limits.share {
            queue.has_turn = true;
            self.turns.push_back(token);
        }
        if queue.is_unused() {
            self.tokens.remove(&token);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(workers: usize, share: usize) -> FairQueue<char, u32> {
        FairQueue::new(QueueLimits {
            workers,
            share,
            waiting: 3,
            waiting_bytes: 100,
        })
    }

    fn start_all(queue: &mut FairQueue<char, u32>) -> Vec<(char, u32)> {
        std::iter::from_fn(|| queue.start_next()).collect()
    }

    #[test]
    fn tokens_take_turns_however_much_each_has() {
        let mut queue = queue(1, 1);
        for job in 0..100 {
            queue.push('a', 0, job);
        }
        assert_eq!(queue.start_next(), Some(('a', 0)));
        queue.push('b', 0, 0);
        queue.push('b', 0, 1);
        queue.push('c', 0, 0);
        let mut order = Vec::new();
        let mut running = 'a';
        for _ in 0..6 {
            assert_eq!(queue.start_next(), None);
            queue.finish(running);
            let (token, job) = queue.start_next().unwrap();
            order.push((token, job));
            running = token;
        }
        // `b` and `c` wait for one job of each other token, and not for the 99 of `a`.
        let expected = [('b', 0), ('c', 0), ('a', 1), ('b', 1), ('a', 2), ('a', 3)];
        assert_eq!(order, expected);
    }

    #[test]
    fn one_token_leaves_a_worker_to_the_others() {
        let mut queue = queue(3, 2);
        for job in 0..10 {
            queue.push('a', 0, job);
        }
        assert_eq!(start_all(&mut queue), [('a', 0), ('a', 1)]);
        queue.push('b', 0, 0);
        queue.push('b', 0, 1);
        assert_eq!(start_all(&mut queue), [('b', 0)]);
        queue.finish('a');
        assert_eq!(start_all(&mut queue), [('b', 1)]);
        queue.finish('b');
        assert_eq!(start_all(&mut queue), [('a', 2)]);
    }

    #[test]
    fn the_waiting_jobs_of_a_token_are_limited_in_number_and_bytes() {
        let mut queue = queue(1, 1);
        queue.push('b', 0, 0);
        assert_eq!(start_all(&mut queue).len(), 1);
        for _ in 0..3 {
            queue.try_push('a', 1, 0).unwrap();
        }
        assert_eq!(queue.try_push('a', 1, 0), Err(QueueFull));
        // The limits are those of each token.
        queue.try_push('c', 60, 0).unwrap();
        assert_eq!(queue.try_push('c', 41, 0), Err(QueueFull));
        let small = queue.try_push('c', 40, 0).unwrap();
        queue.remove('c', small);
        queue.try_push('c', 40, 0).unwrap();
        // A single job may have any size, and the owner decides which jobs have no limit.
        queue.try_push('d', 1_000, 0).unwrap();
        queue.push('d', 1_000, 0);
        assert_eq!(queue.try_push('d', 0, 0), Err(QueueFull));
    }

    #[test]
    fn removed_jobs_do_not_run_and_nothing_remains_of_idle_tokens() {
        let mut queue = queue(1, 1);
        queue.push('a', 0, 0);
        assert_eq!(queue.start_next(), Some(('a', 0)));
        let tickets: Vec<_> = (1..4).map(|job| queue.push('b', 5, job)).collect();
        queue.remove('b', tickets[1]);
        queue.remove('b', tickets[1]);
        let only = queue.push('c', 5, 0);
        queue.remove('c', only);
        queue.finish('a');
        assert_eq!(queue.start_next(), Some(('b', 1)));
        queue.finish('b');
        assert_eq!(queue.start_next(), Some(('b', 3)));
        queue.finish('b');
        assert_eq!(queue.start_next(), None);
        assert!(queue.tokens.is_empty() && queue.turns.is_empty());
    }

    /// Random schedules: no more jobs run than allowed, no job is lost, and a token with a waiting
    /// job gets a worker after at most one job of each other token.
    #[test]
    fn random_schedules_keep_the_limits_and_the_turns() {
        use proptest::prelude::*;
        let operations = proptest::collection::vec((0..4_u8, 0..4_usize), 0..400);
        proptest!(|(operations in operations)| {
            let mut queue = queue(3, 2);
            let mut running: Vec<char> = Vec::new();
            let mut waiting: Vec<(char, Ticket)> = Vec::new();
            let mut starts_since = HashMap::new();
            for (operation, token) in operations {
                let token = ['a', 'b', 'c', 'd'][token];
                match operation {
                    0 | 1 => {
                        let ticket = queue.push(token, 1, 0);
                        waiting.push((token, ticket));
                    }
                    2 if !running.is_empty() => {
                        let finished = running.remove(token as usize % running.len());
                        queue.finish(finished);
                    }
                    _ => {
                        if let Some(index) = waiting.iter().rposition(|(of, _)| *of == token) {
                            let (_, ticket) = waiting.remove(index);
                            queue.remove(token, ticket);
                        }
                    }
                }
                while let Some((started, _)) = queue.start_next() {
                    running.push(started);
                    let first = waiting.iter().position(|(of, _)| *of == started);
                    waiting.remove(first.expect("a removed job does not start"));
                    starts_since.remove(&started);
                    let others = waiting.iter().map(|(of, _)| *of);
                    let others: std::collections::HashSet<char> =
                        others.filter(|of| *of != started).collect();
                    starts_since.retain(|of, _| others.contains(of));
                    for other in others {
                        let below_share =
                            running.iter().filter(|of| **of == other).count() < 2;
                        let count = starts_since.entry(other).or_insert(0);
                        *count = if below_share { *count + 1 } else { 0 };
                        prop_assert!(*count <= 3, "{other} waits while others start");
                    }
                }
                prop_assert!(running.len() <= 3);
                for of in ['a', 'b', 'c', 'd'] {
                    let own = running.iter().filter(|it| **it == of).count();
                    prop_assert!(own <= 2);
                    let may_run = own < 2 && waiting.iter().any(|(it, _)| *it == of);
                    prop_assert!(!may_run || running.len() == 3, "{of} could run");
                }
            }
        });
    }
}
