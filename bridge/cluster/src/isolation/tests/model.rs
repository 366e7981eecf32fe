//! Several nodes with links and a directory that can be cut, second by second.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::super::*;

const LEASE: Duration = Duration::from_secs(10);
const LEASE_GRACE: Duration = Duration::from_millis(500);

/// How long a state must last until all nodes have drawn their conclusions: a lease, the time without an
/// answer, and the seconds until records and pings show it.
const SETTLED: usize = 25;

/// How many seconds a record is believed after its node has died, or after the clocks have restarted: a
/// lease, its grace, and the present one.
const RECORD_LASTS: usize = 12;

/// The nodes, and what connects them.
pub(super) struct Model {
    now: Instant,
    nodes: Vec<Node>,
    /// Whether a ping from one node to another is answered.
    links: Vec<Vec<bool>>,
    history: Vec<Second>,
    pub(super) counts: Counts,
    pub(super) violation: Option<String>,
}

struct Node {
    isolation: Isolation,
    is_up: bool,
    is_draining: bool,
    is_connected: bool,
    /// The number of seconds for which its process is still stopped.
    stalled: u64,
    renewed: Option<Instant>,
    /// The number of seconds since its clocks have restarted.
    clocks_run: usize,
    /// The last record of each other node, and when it arrived.
    records: BTreeMap<usize, (Record, Instant)>,
    /// Which others have answered its last ping.
    reached: Vec<bool>,
}

#[derive(Clone)]
struct Record {
    is_serving: bool,
    reaches: Vec<NodeId>,
}

/// The state of all nodes in one second.
struct Second {
    reaches: Vec<Vec<bool>>,
    /// The nodes that run, do not drain, and write their records.
    is_member: Vec<bool>,
    serves: Vec<bool>,
}

/// How often each situation was reached.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) lease_lost: usize,
    pub(super) unreached: usize,
    pub(super) pairs: usize,
    pub(super) returned: usize,
    pub(super) alone: usize,
    pub(super) none_reached: usize,
}

fn id(node: usize) -> NodeId {
    NodeId::from_bytes([u8::try_from(node).unwrap() + 1; 16])
}

impl Node {
    fn new(node: usize, count: usize) -> Self {
        Self {
            isolation: Isolation::new(id(node)),
            is_up: true,
            is_draining: false,
            is_connected: true,
            stalled: 0,
            renewed: None,
            clocks_run: 0,
            records: BTreeMap::new(),
            reached: vec![false; count],
        }
    }

    fn runs(&self) -> bool {
        self.is_up && self.stalled == 0
    }

    fn serves(&self) -> bool {
        self.is_up && !self.is_draining && !self.isolation.is_isolated()
    }

    /// Restarts all clocks by which the node calls others dead.
    fn restart_clocks(&mut self, now: Instant) {
        self.isolation.restart(now);
        self.clocks_run = 0;
        for (_, at) in self.records.values_mut() {
            *at = now;
        }
    }

    /// Forgets the nodes whose lease is over and that do not answer.
    fn forget_dead(&mut self, now: Instant) {
        let reached = &self.reached;
        if self.is_connected {
            self.records
                .retain(|other, (_, at)| now - *at <= LEASE + LEASE_GRACE || reached[*other]);
        }
    }

    fn sight(&self, own: usize, before: &[Vec<bool>], now: Instant) -> Sight {
        // While the directory is away, no lease ends.
        let is_over = |at: Instant| self.is_connected && now - at > LEASE + LEASE_GRACE;
        let peers = self.records.iter().map(|(other, (record, at))| SeenPeer {
            id: id(*other),
            is_serving: record.is_serving && !is_over(*at),
            reaches: if is_over(*at) {
                Vec::new()
            } else {
                record.reaches.clone()
            },
            answer: self.reached[*other].then(|| PingAnswer {
                is_reached: before[*other][own],
            }),
        });
        Sight {
            is_connected: self.is_connected,
            has_lease: self.renewed.is_some_and(|at| now - at < LEASE),
            peers: peers.collect(),
        }
    }
}

impl Model {
    pub(super) fn new(count: usize) -> Self {
        let mut this = Self {
            now: Instant::now(),
            nodes: (0..count).map(|node| Node::new(node, count)).collect(),
            links: vec![vec![true; count]; count],
            history: Vec::new(),
            counts: Counts::default(),
            violation: None,
        };
        this.wait(3);
        this
    }

    pub(super) fn count(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn set_link(&mut self, from: usize, to: usize, is_up: bool) {
        self.links[from][to] = is_up;
    }

    pub(super) fn set_connected(&mut self, node: usize, is_connected: bool) {
        let now = self.now;
        let node = &mut self.nodes[node];
        if !std::mem::replace(&mut node.is_connected, is_connected) && is_connected {
            node.restart_clocks(now);
        }
    }

    pub(super) fn kill(&mut self, node: usize) {
        self.nodes[node].is_up = false;
    }

    pub(super) fn start(&mut self, node: usize) {
        let Node {
            is_up,
            is_connected,
            ..
        } = self.nodes[node];
        if !is_up {
            self.nodes[node] = Node::new(node, self.count());
            self.nodes[node].is_connected = is_connected;
        }
    }

    pub(super) fn drain(&mut self, node: usize) {
        self.nodes[node].is_draining = true;
    }

    pub(super) fn stall(&mut self, node: usize, seconds: u64) {
        self.nodes[node].stalled += seconds;
    }

    pub(super) fn wait(&mut self, seconds: u64) {
        for _ in 0..seconds {
            self.pass_second();
        }
    }

    /// Restores all links, and starts all nodes that were killed or drained.
    pub(super) fn heal(&mut self) {
        for node in 0..self.count() {
            if self.nodes[node].is_draining {
                self.kill(node);
            }
            self.start(node);
            self.set_connected(node, true);
            self.links[node] = vec![true; self.count()];
        }
    }

    /// All nodes ping, renew their leases, and look at what they see.
    fn pass_second(&mut self) {
        self.now += Duration::from_secs(1);
        for node in &mut self.nodes {
            if node.stalled > 0 {
                node.stalled -= 1;
                if node.stalled == 0 {
                    node.restart_clocks(self.now);
                }
            }
        }
        let before: Vec<_> = self.nodes.iter().map(|node| node.reached.clone()).collect();
        let runs: Vec<_> = self.nodes.iter().map(Node::runs).collect();
        for (from, node) in self.nodes.iter_mut().enumerate() {
            for (to, runs_too) in runs.iter().enumerate() {
                let is_known = node.records.contains_key(&to);
                node.reached[to] = is_known && self.links[from][to] && runs[from] && *runs_too;
            }
        }
        for node in 0..self.count() {
            self.renew(node);
        }
        for node in &mut self.nodes {
            node.clocks_run += 1;
            node.forget_dead(self.now);
        }
        for node in 0..self.count() {
            if self.nodes[node].runs() {
                let sight = self.nodes[node].sight(node, &before, self.now);
                if let Some(change) = self.nodes[node].isolation.observe(&sight, self.now) {
                    self.changed(node, change);
                }
            }
        }
        let is_member = |node: &Node| node.runs() && !node.is_draining && node.is_connected;
        self.history.push(Second {
            reaches: self.nodes.iter().map(|node| node.reached.clone()).collect(),
            is_member: self.nodes.iter().map(is_member).collect(),
            serves: self.nodes.iter().map(Node::serves).collect(),
        });
        self.check_settled();
    }

    /// Writes the record of a node, which all others that are connected receive.
    fn renew(&mut self, node: usize) {
        let writer = &mut self.nodes[node];
        if !writer.runs() || !writer.is_connected {
            return;
        }
        writer.renewed = Some(self.now);
        let reached = writer.reached.iter().enumerate();
        let record = Record {
            is_serving: writer.serves(),
            reaches: reached
                .filter(|(_, it)| **it)
                .map(|(to, _)| id(to))
                .collect(),
        };
        for (other, reader) in self.nodes.iter_mut().enumerate() {
            if other != node && reader.runs() && reader.is_connected {
                reader.records.insert(node, (record.clone(), self.now));
            }
        }
    }

    fn changed(&mut self, node: usize, change: IsolationChange) {
        let counts = &mut self.counts;
        let count = match change {
            IsolationChange::Isolated(IsolationCause::LeaseLost) => &mut counts.lease_lost,
            IsolationChange::Isolated(IsolationCause::Unreached) => &mut counts.unreached,
            IsolationChange::Isolated(IsolationCause::Pair) => &mut counts.pairs,
            IsolationChange::Returned(ReturnCause::Reached) => &mut counts.returned,
            IsolationChange::Returned(ReturnCause::Alone) => &mut counts.alone,
            IsolationChange::NoneReached => &mut counts.none_reached,
        };
        *count += 1;
        if let IsolationChange::Isolated(cause) = change {
            self.check_isolated(node, cause);
        }
    }

    /// Whether something was true in each of the last seconds.
    fn was(&self, seconds: usize, is_true: impl Fn(&Second) -> bool) -> bool {
        let from = self.history.len().checked_sub(seconds);
        from.is_some_and(|from| self.history[from..].iter().all(is_true))
    }

    /// A node that another one reaches does not give way, and one with a lease only to one that serves.
    fn check_isolated(&mut self, node: usize, cause: IsolationCause) {
        let others = || (0..self.count()).filter(|other| *other != node);
        let reach_each_other = |other: &usize| {
            let reach = |it: &Second| it.reaches[*other][node] && it.reaches[node][*other];
            self.was(5, reach)
        };
        let has_served = |other: usize| {
            self.nodes[other].serves() || !self.was(RECORD_LASTS, |it| !it.serves[other])
        };
        let violation = if let Some(other) = others().find(reach_each_other) {
            Some(format!("{other} reaches {node}, which gives way"))
        } else if cause != IsolationCause::LeaseLost
            && self.nodes[node].clocks_run > RECORD_LASTS
            && !others().any(has_served)
        {
            Some(format!("{node} gives way although no other node serves"))
        } else if self.count() == 1 {
            Some("a lone node gives way".to_owned())
        } else {
            None
        };
        let violation = violation.map(|it| format!("{it}: {cause:?}"));
        self.violation = self.violation.take().or(violation);
    }

    /// Checks what must follow when something has lasted for long enough.
    fn check_settled(&mut self) {
        let is_member = |node: &usize| self.was(SETTLED, |it| it.is_member[*node]);
        let members: Vec<_> = (0..self.count()).filter(is_member).collect();
        let serves = |node: usize| self.nodes[node].serves();
        // A node may give way to one that has just died, until its lease is over.
        let believes_records = |node: &usize| self.nodes[*node].clocks_run <= RECORD_LASTS;
        if !members.iter().all(believes_records)
            && self.was(RECORD_LASTS, |it| !it.serves.contains(&true))
        {
            self.violation = Some(format!("{members:?} have leases, and no node serves"));
            return;
        }
        let others_are_reached = |node: usize| {
            let others = || members.iter().filter(|other| **other != node);
            others().any(|one| {
                let reach = |it: &Second, other: usize| it.reaches[other][*one] && it.serves[*one];
                others().any(|other| self.was(SETTLED, |it| reach(it, *other)))
            })
        };
        let is_unreached = |node: usize| {
            let reach = |it: &Second, other: usize| it.reaches[other][node];
            (0..self.count()).all(|other| self.was(SETTLED, |it| !reach(it, other)))
        };
        let stays = |node: &&usize| {
            let is_cut_off = is_unreached(**node) && others_are_reached(**node);
            serves(**node) && is_cut_off && self.nodes[**node].clocks_run > RECORD_LASTS
        };
        if let Some(node) = members.iter().find(stays) {
            self.violation = Some(format!("{node} is not reached as others are, and serves"));
        }
    }

    /// Checks that all nodes serve, after everything has worked for a while.
    pub(super) fn check_healed(&mut self) {
        if let Some(node) = (0..self.count()).find(|node| !self.nodes[*node].serves()) {
            self.violation = Some(format!("{node} does not serve although all is well"));
        }
    }
}

impl Counts {
    pub(super) fn add(&mut self, other: Self) {
        self.lease_lost += other.lease_lost;
        self.unreached += other.unreached;
        self.pairs += other.pairs;
        self.returned += other.returned;
        self.alone += other.alone;
        self.none_reached += other.none_reached;
    }
}
