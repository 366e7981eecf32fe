//! One schedule: pages, callers and faults, and the checks at its end.

use std::ops::AddAssign;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::timeout;

use super::callers::{CallerKind, Callers};
use super::page::{SocketPage, TokenSource};
use super::proxy::{FaultProxy, NetworkCondition};
use crate::delay::delay;
use crate::random::Random;
use crate::socket_faults::invariants::InvariantChecker;
use crate::{TestBed, TokenIssuer, poll_pause, token_issuer, with_deadline};

/// The settings of the bridge: all times are short, but the receipt timeout is longer than what
/// makes a call late, as by default.
const BRIDGE_ARGUMENTS: [&str; 16] = [
    "--call-receipt",
    "3s",
    "--page-grace",
    "2s",
    "--page-return",
    "2s",
    "--heartbeat",
    "1s",
    "--call-timeout",
    "5s",
    "--authenticate-within",
    "3s",
    "--catalogue-ttl",
    "0s",
    "--log",
    "warn",
];

/// How long pages may take to recover: more than the silence after which a page reconnects and its
/// longest backoff together.
const RECOVERY_TIMEOUT: Duration = Duration::from_secs(60);

/// Counts of what happened in schedules, which show how much a run has covered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SocketSummary {
    /// Schedules that were run.
    pub schedules: u64,
    /// Faults that were injected.
    pub faults: u64,
    /// Faults that stopped or killed the bridge and started it again.
    pub restarts: u64,
    /// Faults that stopped the process of the bridge for a while.
    pub pauses: u64,
    /// Calls that were made.
    pub calls: u64,
    /// Calls that a page executed.
    pub executed: u64,
    /// Calls that another document continued.
    pub continued: u64,
    /// Calls that ended with a result.
    pub answered: u64,
}

impl AddAssign for SocketSummary {
    fn add_assign(&mut self, other: Self) {
        self.schedules += other.schedules;
        self.faults += other.faults;
        self.restarts += other.restarts;
        self.pauses += other.pauses;
        self.calls += other.calls;
        self.executed += other.executed;
        self.continued += other.continued;
        self.answered += other.answered;
    }
}

/// Runs the schedule of a seed.
///
/// # Panics
/// Panics when a guarantee does not hold.
pub async fn run(seed: u64) -> SocketSummary {
    let mut random = Random::new(seed);
    let mut bed =
        TestBed::bridge_with(&[&BRIDGE_ARGUMENTS[..], &TokenIssuer::bridge_arguments()].concat())
            .await;
    bed.set_token(token(3600.0));
    let proxy = FaultProxy::start(bed.address()).await;
    let restarts = watch::Sender::new(0);
    let callers = Callers::connect(&bed, restarts.subscribe()).await;
    let mut scenario = FaultScenario {
        proxy,
        checker: Arc::default(),
        tokens: token_source(random.one_of(&[3600.0, 3600.0, 4.0])),
        tabs: Vec::new(),
        restarts,
        random: Random::new(seed ^ 0x5eed),
        summary: SocketSummary {
            schedules: 1,
            ..SocketSummary::default()
        },
    };
    for tab in 0..random.between(1, 2) {
        scenario.open_tab(&format!("tab-{tab}"));
    }
    scenario.wait_all_ready().await;
    let checker = Arc::clone(&scenario.checker);
    let sessions: Vec<String> = scenario
        .tabs
        .iter()
        .map(|tab| tab.session.clone())
        .collect();
    let calls = (0..random.between(4, 10)).map(|number| {
        let start = Duration::from_millis(random.below(3_000));
        let kind = random.one_of(&[CallerKind::Plain, CallerKind::Earlier, CallerKind::Modern]);
        let session = sessions[random.below(sessions.len() as u64) as usize].clone();
        let client_timeout = random.percent(25).then(|| random.span(2_000));
        let (callers, checker) = (&callers, &checker);
        async move {
            delay(start).await;
            let client_timeout = client_timeout.map(Duration::from_millis);
            callers
                .call(checker, number, kind, &session, client_timeout)
                .await;
        }
    });
    let calls: Vec<_> = calls.collect();
    tokio::join!(join_all(calls), scenario.inject_faults(&mut bed));
    scenario.assert_recovered(&callers).await;
    scenario.close_everything(&bed).await
}

struct Tab {
    session: String,
    page: SocketPage,
}

struct FaultScenario {
    proxy: FaultProxy,
    checker: Arc<InvariantChecker>,
    tokens: TokenSource,
    tabs: Vec<Tab>,
    restarts: watch::Sender<u64>,
    random: Random,
    summary: SocketSummary,
}

impl FaultScenario {
    fn open_tab(&mut self, session: &str) {
        let page = self.new_document(session);
        let session = session.to_owned();
        self.tabs.push(Tab { session, page });
    }

    fn new_document(&mut self, session: &str) -> SocketPage {
        SocketPage::open(
            self.proxy.bridge_url(),
            session,
            Arc::clone(&self.tokens),
            Arc::clone(&self.checker),
            Random::new(self.random.below(u64::MAX)),
        )
    }

    async fn wait_all_ready(&mut self) {
        for tab in &mut self.tabs {
            let failed = with_deadline("a page to connect", tab.page.wait_settled()).await;
            assert_eq!(failed, None);
        }
    }

    async fn inject_faults(&mut self, bed: &mut TestBed) {
        for _ in 0..self.random.between(1, 4) {
            delay(Duration::from_millis(self.random.span(1_500))).await;
            self.summary.faults += 1;
            self.inject_fault(bed).await;
        }
    }

    async fn inject_fault(&mut self, bed: &mut TestBed) {
        let tab = self.random.below(self.tabs.len() as u64) as usize;
        let span = Duration::from_millis(self.random.span(2_500));
        match self.random.below(20) {
            0..2 => self.proxy.cut(),
            2..4 => {
                let bytes = self.random.span(4_000) as usize;
                self.proxy.cut_after(bytes);
            }
            4 => self.with_condition(NetworkCondition::Stalled, span).await,
            5 => {
                self.proxy.cut();
                self.with_condition(NetworkCondition::Refusing, span).await;
            }
            6 => {
                let late = Duration::from_millis(self.random.between(10, 150));
                self.with_condition(NetworkCondition::Slow(late), span)
                    .await;
            }
            7..9 => {
                self.summary.restarts += 1;
                self.restarts.send_modify(|restarts| *restarts += 1);
                if self.random.percent(50) {
                    bed.crash().await;
                } else {
                    bed.stop().await;
                }
                delay(span / 4).await;
                bed.restart().await;
            }
            9..11 => {
                let announced = self.random.percent(50);
                self.tabs[tab].page.pause(span * 2, announced);
            }
            // Most of the calls that run are handed over.
            11..16 => {
                let session = self.tabs[tab].session.clone();
                let page = self.new_document(&session);
                let previous = std::mem::replace(&mut self.tabs[tab].page, page);
                with_deadline("a document to close", previous.close()).await;
            }
            16 => {
                let session = self.tabs[tab].session.clone();
                self.open_tab(&session);
            }
            17..19 => {
                self.summary.pauses += 1;
                self.checker.bridge_paused(span * 3);
                bed.pause();
                delay(span * 3).await;
                bed.unpause();
            }
            _ => {
                // The machine is paused on which the bridge and all pages run.
                self.summary.pauses += 1;
                self.checker.bridge_paused(span * 3);
                for tab in &self.tabs {
                    tab.page.pause(span * 3, false);
                }
                bed.pause();
                self.with_condition(NetworkCondition::Stalled, span * 3)
                    .await;
                bed.unpause();
            }
        }
    }

    async fn with_condition(&mut self, condition: NetworkCondition, span: Duration) {
        self.proxy.set_condition(condition);
        delay(span).await;
        self.proxy.set_condition(NetworkCondition::Normal);
    }

    /// Checks that every page that was not taken over is connected and answers.
    async fn assert_recovered(&mut self, callers: &Callers) {
        self.proxy.restore();
        let mut probes = 1_000;
        let mut answering = Vec::new();
        for tab in &mut self.tabs {
            let failed = timeout(RECOVERY_TIMEOUT, tab.page.wait_settled()).await;
            let failed =
                failed.unwrap_or_else(|_| panic!("no page of {} has recovered", tab.session));
            match failed.as_deref() {
                None if !answering.contains(&tab.session) => answering.push(tab.session.clone()),
                None | Some("SessionSuperseded") => {}
                Some(other) => panic!("a page has given up: {other}"),
            }
        }
        for tab in &self.tabs {
            assert!(
                answering.contains(&tab.session),
                "no page has the session {}",
                tab.session
            );
        }
        for session in &answering {
            probes += 1;
            let checker = &self.checker;
            callers
                .call(checker, probes, CallerKind::Plain, session, None)
                .await;
        }
    }

    /// Closes all pages and checks that the bridge has no session and no tool of them left.
    async fn close_everything(mut self, bed: &TestBed) -> SocketSummary {
        for tab in self.tabs.drain(..) {
            with_deadline("a page to close", tab.page.close()).await;
        }
        let plain = crate::PlainHttp::new(bed);
        let nothing_left = async {
            loop {
                let sessions: Value = plain.get("/sessions").await.json().await.unwrap();
                if sessions["sessions"] == json!([]) || sessions == json!([]) {
                    return;
                }
                poll_pause().await;
            }
        };
        with_deadline("no session to be left", nothing_left).await;
        let tools: Value = plain.get("/tools").await.json().await.unwrap();
        assert!(!tools.to_string().contains(super::page::TOOL), "{tools}");
        let (calls, executed, continued, answered) = self.checker.assert_no_violations();
        SocketSummary {
            calls,
            executed,
            continued,
            answered,
            ..self.summary
        }
    }
}

/// Returns a source of tokens of one user, each valid for this many seconds.
fn token_source(seconds: f64) -> TokenSource {
    Arc::new(move || token(seconds))
}

fn token(seconds: f64) -> String {
    token_issuer::sign_token("somebody", Duration::from_secs_f64(seconds))
}
