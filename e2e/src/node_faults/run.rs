//! A run: pages and callers under load, a fault, and the checks at its end.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::callers::{Caller, Callers, Protocol};
use super::ledger::{CallRecord, Entry, Ledger};
use super::owners::wait_for_one_owner;
use super::report::FaultReport;
use super::tabs::Tab;
use crate::delay::delay;
use crate::{BridgeEndpoint, ClusterBed, ClusterSetup, Network, TokenIssuer};

/// The users, and the tabs of each.
const USERS: usize = 9;
const TABS: usize = 3;

/// The number of calls that a fault must hit.
const IN_FLIGHT: usize = 10;

/// The number of nodes.
pub(super) const NODES: usize = 3;

/// The shortest lease, so that faults show soon.
pub(super) const LEASE: [&str; 2] = ["--cluster-lease", "3s"];

/// Set to `3` by `cargo xtask faults`: how many servers of NATS there are.
const NATS_SERVERS: &str = "MCP_WEB_FAULT_NATS_SERVERS";

/// All entries.
pub const ENTRIES: [Entry; NODES + 1] = [
    Entry::Balancer,
    Entry::Node(0),
    Entry::Node(1),
    Entry::Node(2),
];

/// The callers of each user at each entry.
const CALLERS_OF_ENTRY: [[Protocol; 2]; 2] = [
    [Protocol::Plain, Protocol::Stateless],
    [Protocol::Plain, Protocol::Session],
];

/// Setup of a run.
#[derive(Debug)]
pub struct FaultSetup<'a> {
    /// The nodes that own users, by turns.
    pub owners: &'a [usize],
    /// Whether there are three servers of NATS, whatever the environment says.
    pub has_three_nats_servers: bool,
    /// A network of hosts, for cuts.
    pub network: Option<Network>,
    /// Further arguments of the bridges.
    pub arguments: &'a [&'a str],
}

impl Default for FaultSetup<'_> {
    fn default() -> Self {
        Self {
            owners: &[0, 1, 2],
            has_three_nats_servers: false,
            network: None,
            arguments: &[],
        }
    }
}

/// Pages and callers under load. [`NodeFaultRun::finish`] compares what they have seen.
pub struct NodeFaultRun {
    /// The processes.
    pub bed: ClusterBed,
    /// The calls.
    pub ledger: Arc<Ledger>,
    owners: Vec<usize>,
    tabs: Vec<Tab>,
    callers: Callers,
    began: Option<Instant>,
    /// The number of the first call that was made after the fault.
    after: Option<usize>,
}

impl NodeFaultRun {
    /// Starts three nodes, opens the tabs of all users, and lets callers call them until each has succeeded.
    pub async fn start(setup: FaultSetup<'_>) -> Self {
        let arguments = [
            &LEASE,
            &TokenIssuer::bridge_arguments()[..],
            setup.arguments,
        ]
        .concat();
        let is_of_three = std::env::var(NATS_SERVERS).is_ok_and(|servers| servers == "3");
        let bed = ClusterBed::start_as(ClusterSetup {
            nodes: NODES,
            has_three_nats_servers: setup.has_three_nats_servers || is_of_three,
            network: setup.network,
            arguments: &arguments,
        })
        .await;
        let ledger = Arc::new(Ledger::new());
        let owners: Vec<_> = setup.owners.iter().copied().cycle().take(USERS).collect();
        let mut tabs = Vec::new();
        for (user, owner) in owners.iter().enumerate() {
            for tab in 0..TABS {
                bed.balancer().use_only(&[(owner + tab) % NODES]);
                tabs.push(open_tab(&bed, user, tab, &ledger).await);
            }
        }
        bed.balancer().use_all();
        let callers = Callers::start(callers(&bed, &owners), &ledger);
        let run = Self {
            bed,
            ledger,
            owners,
            tabs,
            callers,
            began: None,
            after: None,
        };
        for (user, owner) in run.owners.iter().enumerate() {
            assert_eq!(run.bed.owner(&token(user), 0).await, *owner, "user {user}");
        }
        run.wait_until_served(&ENTRIES).await;
        run
    }

    /// Opens a tab of a user who has none, by the balancer, and waits until it is connected.
    pub async fn open_newcomer(&mut self) {
        let name = format!("newcomer-{}", self.tabs.len());
        self.open_further_tab(&name, &name).await;
    }

    /// Opens a further tab of the first user, by the balancer, and waits until it is connected.
    pub async fn open_tab_of_first_user(&mut self) {
        self.open_further_tab(&user_name(0), "further-tab").await;
    }

    async fn open_further_tab(&mut self, user: &str, session: &str) {
        let mut tab = Tab::open(&self.bed.url(), user, session, &self.ledger);
        tab.wait_until_registered().await;
        self.tabs.push(tab);
    }

    /// Waits until at least ten calls of this kind are in flight, and begins the fault.
    pub async fn begin_fault(&mut self, is_hit: impl Fn(&CallRecord) -> bool) {
        let is_enough = |calls: &[CallRecord]| {
            let hit = calls
                .iter()
                .filter(|call| call.is_in_flight() && is_hit(call));
            hit.count() >= IN_FLIGHT
        };
        self.ledger
            .wait_until("ten calls in flight", is_enough)
            .await;
        self.began = Some(Instant::now());
    }

    /// Lets the time of the fault pass.
    pub async fn let_pass(&self, seconds: u64) {
        delay(Duration::from_secs(seconds)).await;
    }

    /// Ends the fault: calls that are made from now on are judged as such.
    pub fn end_fault(&mut self) {
        self.after = Some(self.ledger.made());
    }

    /// Waits until each caller at these entries has got a result from each tab of its user.
    pub async fn wait_until_served(&self, entries: &[Entry]) {
        let since = self.ledger.made();
        let expected = USERS * CALLERS_OF_ENTRY[0].len() * entries.len() * TABS;
        let is_served = |calls: &[CallRecord]| {
            let mut served: Vec<_> = calls[since..]
                .iter()
                .filter(|call| call.is_ok() && entries.contains(&call.entry))
                .map(|call| (call.caller, call.tab))
                .collect();
            served.sort_unstable();
            served.dedup();
            served.len() == expected
        };
        self.ledger
            .wait_until("all callers to be served", is_served)
            .await;
    }

    /// Ends the load, and compares what pages and callers have seen. `allowed` returns the endings that a
    /// call may have besides a result, and whether it was made after the fault. All nodes run.
    ///
    /// # Panics
    ///
    /// Panics if something is not as it must be.
    pub async fn finish<'a>(
        mut self,
        fault: &str,
        allowed: impl Fn(&CallRecord, bool) -> &'a [&'a str],
    ) {
        self.wait_until_served(&ENTRIES).await;
        let tabs = std::mem::take(&mut self.tabs);
        self.callers.stop().await;
        let has_ended = |calls: &[CallRecord]| calls.iter().all(|call| call.running == 0);
        self.ledger
            .wait_until("all handlers to end", has_ended)
            .await;
        for user in 0..USERS {
            let name = user_name(user);
            let pages = tabs.iter().filter(|tab| tab.user() == name).count();
            wait_for_one_owner(&self.bed, NODES, &token(user), pages).await;
        }
        let began = self.began.expect("the fault has begun");
        let after = self.after.expect("the fault has ended");
        let mut report = FaultReport::new(fault, began);
        let mut recovered = began;
        for (number, call) in self.ledger.calls().iter().enumerate() {
            let is_after = number >= after;
            report.add(call, is_after, allowed(call, is_after));
            if let Some((_, at)) = &call.ended
                && !call.is_ok()
            {
                recovered = recovered.max(*at);
            }
        }
        for tab in &tabs {
            match tab.connected_since() {
                Some(at) => recovered = recovered.max(at),
                None => report.add_violation(format!("a tab is not connected: {:?}", tab.status())),
            }
        }
        report.recovered_after = recovered - began;
        report.check();
    }
}

fn user_name(user: usize) -> String {
    format!("user-{user}")
}

fn token(user: usize) -> String {
    TokenIssuer::token_of(&user_name(user))
}

fn session(user: usize, tab: usize) -> String {
    format!("user-{user}-tab-{tab}")
}

async fn open_tab(bed: &ClusterBed, user: usize, tab: usize, ledger: &Arc<Ledger>) -> Tab {
    let mut tab = Tab::open(&bed.url(), &user_name(user), &session(user, tab), ledger);
    tab.wait_until_registered().await;
    tab
}

fn callers(bed: &ClusterBed, owners: &[usize]) -> Vec<Caller> {
    let mut callers = Vec::new();
    for (user, owner) in owners.iter().copied().enumerate() {
        let sessions: Vec<_> = (0..TABS).map(|tab| session(user, tab)).collect();
        for entry in ENTRIES {
            for protocol in CALLERS_OF_ENTRY[user % 2] {
                callers.push(Caller {
                    number: callers.len(),
                    owner,
                    entry,
                    url: match entry {
                        Entry::Balancer => bed.url(),
                        Entry::Node(node) => bed.node(node).url(),
                    },
                    token: token(user),
                    protocol,
                    tabs: sessions.clone(),
                });
            }
        }
    }
    callers
}
