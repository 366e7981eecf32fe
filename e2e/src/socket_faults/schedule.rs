//! One schedule: pages, callers, faults, and the end, when all must be well again and nothing left.

use std::ops::AddAssign;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};

use super::callers::{Callers, Way};
use super::oracle::Oracle;
use super::page::{SocketPage, Tokens};
use super::proxy::{FaultProxy, Weather};
use crate::random::Random;
use crate::{Issuer, World, issuer, within};

/// How a schedule's bridge is set: everything short, and the receipt longer than what makes a call
/// late, as it is by default.
const SETTINGS: [&str; 14] = [
    "--call-receipt",
    "3s",
    "--page-grace",
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

/// Silence that a page notices by itself, and its longest wait between two attempts, and more.
const BACK_WITHIN: Duration = Duration::from_secs(60);

/// What happened in schedules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SocketSummary {
    /// Schedules.
    pub schedules: u64,
    /// Faults.
    pub faults: u64,
    /// Of these, bridges that were killed or stopped, and started again.
    pub restarts: u64,
    /// Calls that were made.
    pub calls: u64,
    /// Those that a page executed.
    pub executed: u64,
    /// Those that ended with a result.
    pub answered: u64,
}

impl AddAssign for SocketSummary {
    fn add_assign(&mut self, other: Self) {
        self.schedules += other.schedules;
        self.faults += other.faults;
        self.restarts += other.restarts;
        self.calls += other.calls;
        self.executed += other.executed;
        self.answered += other.answered;
    }
}

/// The schedule's own time passes. Nobody waits here for something to have happened.
pub(super) async fn passes(span: Duration) {
    sleep_until(Instant::now() + span).await;
}

/// Runs the schedule of a seed.
///
/// # Panics
/// When a promise is broken.
pub async fn run(seed: u64) -> SocketSummary {
    let mut random = Random::new(seed);
    let mut world =
        World::bridge_with(&[&SETTINGS[..], &Issuer::bridge_arguments()].concat()).await;
    world.take_token(token(3600.0));
    let proxy = FaultProxy::start(world.address()).await;
    let restarts = watch::Sender::new(0);
    let callers = Callers::of(&world, restarts.subscribe()).await;
    let mut scene = Scene {
        proxy,
        oracle: Arc::default(),
        tokens: tokens(random.one_of(&[3600.0, 3600.0, 4.0])),
        tabs: Vec::new(),
        documents: 0,
        restarts,
        random: Random::new(seed ^ 0x5eed),
        summary: SocketSummary {
            schedules: 1,
            ..SocketSummary::default()
        },
    };
    for tab in 0..random.between(1, 2) {
        scene.open(&format!("tab-{tab}"));
    }
    scene.everybody_is_ready().await;
    let oracle = Arc::clone(&scene.oracle);
    let sessions: Vec<String> = scene.tabs.iter().map(|tab| tab.session.clone()).collect();
    let calls = (0..random.between(4, 10)).map(|number| {
        let when = Duration::from_millis(random.below(3_000));
        let way = random.one_of(&[Way::Plain, Way::Earlier, Way::Modern]);
        let session = sessions[random.below(sessions.len() as u64) as usize].clone();
        let patience = random.percent(25).then(|| random.span(2_000));
        let (callers, oracle) = (&callers, &oracle);
        async move {
            passes(when).await;
            let patience = patience.map(Duration::from_millis);
            callers.call(oracle, number, way, &session, patience).await;
        }
    });
    let calls: Vec<_> = calls.collect();
    tokio::join!(join_all(calls), scene.faults(&mut world));
    scene.all_is_well_again(&callers).await;
    scene.everybody_leaves(&world).await
}

struct Tab {
    session: String,
    page: SocketPage,
}

struct Scene {
    proxy: FaultProxy,
    oracle: Arc<Oracle>,
    tokens: Tokens,
    tabs: Vec<Tab>,
    documents: u64,
    restarts: watch::Sender<u64>,
    random: Random,
    summary: SocketSummary,
}

impl Scene {
    fn open(&mut self, session: &str) {
        let page = self.document(session);
        let session = session.to_owned();
        self.tabs.push(Tab { session, page });
    }

    fn document(&mut self, session: &str) -> SocketPage {
        self.documents += 1;
        SocketPage::open(
            self.proxy.page_url(session),
            session,
            self.documents,
            Arc::clone(&self.tokens),
            Arc::clone(&self.oracle),
            Random::new(self.random.below(u64::MAX)),
        )
    }

    async fn everybody_is_ready(&mut self) {
        for tab in &mut self.tabs {
            let state = within("a page to connect", tab.page.settled()).await;
            assert_eq!(state.failed, None);
        }
    }

    async fn faults(&mut self, world: &mut World) {
        for _ in 0..self.random.between(1, 4) {
            passes(Duration::from_millis(self.random.span(1_500))).await;
            self.summary.faults += 1;
            self.fault(world).await;
        }
    }

    async fn fault(&mut self, world: &mut World) {
        let tab = self.random.below(self.tabs.len() as u64) as usize;
        let span = Duration::from_millis(self.random.span(2_500));
        match self.random.below(13) {
            0..2 => self.proxy.cut(),
            2..4 => {
                let bytes = self.random.span(4_000) as usize;
                self.proxy.cut_after(bytes);
            }
            4 => self.for_a_while(Weather::Stalled, span).await,
            5 => {
                self.proxy.cut();
                self.for_a_while(Weather::Refusing, span).await;
            }
            6 => {
                let late = Duration::from_millis(self.random.between(10, 150));
                self.for_a_while(Weather::Slow(late), span).await;
            }
            7..9 => {
                self.summary.restarts += 1;
                self.restarts.send_modify(|restarts| *restarts += 1);
                if self.random.percent(50) {
                    world.crash().await;
                } else {
                    world.stop().await;
                }
                passes(span / 4).await;
                world.restart().await;
            }
            9..11 => {
                let announced = self.random.percent(50);
                self.tabs[tab].page.stand_still(span * 2, announced);
            }
            11 => {
                let session = self.tabs[tab].session.clone();
                let page = self.document(&session);
                let former = std::mem::replace(&mut self.tabs[tab].page, page);
                within("a document to close", former.close()).await;
            }
            _ => {
                let session = self.tabs[tab].session.clone();
                self.open(&session);
            }
        }
    }

    async fn for_a_while(&mut self, weather: Weather, span: Duration) {
        self.proxy.set(weather);
        passes(span).await;
        self.proxy.set(Weather::Fair);
    }

    /// Every page that was not taken over is connected, and answers.
    async fn all_is_well_again(&mut self, callers: &Callers) {
        self.proxy.mend();
        let mut probes = 1_000;
        let mut answering = Vec::new();
        for tab in &mut self.tabs {
            let state = timeout(BACK_WITHIN, tab.page.settled()).await;
            let state = state.unwrap_or_else(|_| panic!("no page of {} is back", tab.session));
            match state.failed.as_deref() {
                None if !answering.contains(&tab.session) => answering.push(tab.session.clone()),
                None | Some("SessionSuperseded") => {}
                Some(other) => panic!("a page has given up: {other}"),
            }
        }
        for tab in &self.tabs {
            assert!(
                answering.contains(&tab.session),
                "nobody has {}",
                tab.session
            );
        }
        for session in &answering {
            probes += 1;
            let oracle = &self.oracle;
            callers
                .call(oracle, probes, Way::Plain, session, None)
                .await;
        }
    }

    /// When the pages are gone, nothing of them is left.
    async fn everybody_leaves(mut self, world: &World) -> SocketSummary {
        for tab in self.tabs.drain(..) {
            within("a page to close", tab.page.close()).await;
        }
        let plain = crate::PlainHttp::new(world);
        let nothing_left = async {
            loop {
                let sessions: Value = plain.get("/sessions").await.json().await.unwrap();
                if sessions["sessions"] == json!([]) || sessions == json!([]) {
                    return;
                }
            }
        };
        within("no session to be left", nothing_left).await;
        let tools: Value = plain.get("/tools").await.json().await.unwrap();
        assert!(!tools.to_string().contains(super::page::TOOL), "{tools}");
        let (calls, executed, answered) = self.oracle.judge();
        SocketSummary {
            calls,
            executed,
            answered,
            ..self.summary
        }
    }
}

/// Tokens of one person, each valid for so many seconds.
fn tokens(seconds: f64) -> Tokens {
    Arc::new(move || token(seconds))
}

fn token(seconds: f64) -> String {
    issuer::token("somebody", Duration::from_secs_f64(seconds))
}
