//! What a victim gets alone and during an attack, and what the attack does to the memory of the
//! bridge.
//!
//! The victim lives in this process, on its main thread. The attacker is a process of its own that
//! runs only while bridge and victim leave a core idle (`SCHED_IDLE`), like an attacker whose
//! machine is another one: it does not take processor time from the bridge, and yet keeps it busy,
//! because all time that the bridge does not need is the attacker's.
//!
//! On a machine with other work, that work would take the time of both. [`Priorities::Realtime`]
//! puts it behind them.

use std::fmt;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde::Serialize;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStdout, Command};

use super::stored::METRICS_TOKEN;
use super::{Attack, Stored, Victim, VictimFigures};
use crate::meter::{Meter, cpu_time_of_machine};
use crate::program_paths;

/// How long the victim calls before anything is measured.
const WARM_UP: Duration = Duration::from_secs(1);

const MIB: f64 = 1024.0 * 1024.0;

/// How long everything takes.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// How long the victim is measured alone, and during the attack.
    pub duration: Duration,
    /// The time between the end of the attack and the last measurement of memory.
    pub rest: Duration,
    /// Who gets the processors first.
    pub priorities: Priorities,
}

/// Who gets the processors first. The victim has the priority of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priorities {
    /// The bridge has the usual priority, and the attacker gets only what nobody else wants.
    Idle,
    /// The bridge has a real-time priority, and the attacker the highest of those that are not.
    /// The kernel stops a bridge that uses all processors for up to 50 ms in a second.
    Realtime,
}

impl Priorities {
    /// Returns a command that runs the bridge.
    fn bridge(self, program: &Path) -> Command {
        match self {
            Self::Idle => Command::new(program),
            Self::Realtime => command_with(&["chrt", "--rr", "1"], program),
        }
    }

    /// Returns a command that runs the attacker.
    fn attacker(self, program: &Path) -> Command {
        match self {
            Self::Idle => command_with(&["chrt", "--idle", "0"], program),
            Self::Realtime => command_with(&["nice", "-n", "-20"], program),
        }
    }
}

fn command_with(wrapper: &[&str], program: &Path) -> Command {
    let mut command = Command::new(wrapper[0]);
    command.args(&wrapper[1..]).arg(program);
    command
}

/// What an attack does to others.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// The name of the attack.
    #[serde(serialize_with = "serialize_name")]
    pub attack: Attack,
    /// What the attacker does, for a table.
    pub description: &'static str,
    /// How often the attacker did what it does.
    pub actions: u64,
    /// What is counted.
    pub unit: &'static str,
    /// The duration of the attack, in seconds.
    pub seconds: f64,
    /// What the victim got before the attack.
    pub alone: VictimFigures,
    /// What the victim got during the attack.
    pub during: VictimFigures,
    /// Processor time of the bridge during the attack, in cores.
    pub bridge_cores: f64,
    /// Processor time during the attack of everything but bridge, victim and attacker, in cores.
    pub other_cores: f64,
    /// Resident memory of the bridge before the attack, in MiB.
    pub before_mib: f64,
    /// The peak of its resident memory until the end of the attack, in MiB.
    pub peak_mib: f64,
    /// Its resident memory after the rest, in MiB.
    pub after_mib: f64,
    /// What it stores for later after the rest, which is part of that memory.
    pub stored: Stored,
}

fn serialize_name<S: serde::Serializer>(attack: &Attack, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&attack.name())
}

/// Carries out one attack after the other, each on a bridge of its own. While a bridge rests, the
/// next one is attacked.
pub async fn measure(attacks: &[Attack], plan: Plan, mut on_result: impl FnMut(Comparison)) {
    let mut resting = Vec::new();
    for &attack in attacks {
        let (bridge, figures) = attack_bridge(attack, plan).await;
        resting.push(tokio::spawn(async move {
            tokio::time::sleep(plan.rest).await; // sleep: it is what is measured
            let after_mib = bridge.memory_mib();
            Comparison {
                after_mib,
                stored: Stored::fetch(bridge.address).await.unwrap(),
                ..figures
            }
        }));
    }
    for figures in resting {
        on_result(figures.await.unwrap());
    }
}

/// Returns the bridge when the attack is over, and all figures but the last.
async fn attack_bridge(attack: Attack, plan: Plan) -> (Bridge, Comparison) {
    let Plan {
        duration,
        priorities,
        ..
    } = plan;
    let mut bridge = Bridge::start(attack, priorities).await;
    let victim = Victim::connect(bridge.address).await;
    victim.measure(WARM_UP).await;
    let alone = victim.measure(duration).await;
    let before_mib = bridge.memory_mib();

    let mut attacker = AttackerProcess::start(attack, bridge.address, plan).await;
    let meters = [
        Meter::new(std::process::id()),
        attacker.meter(),
        bridge.meter,
    ];
    let used = || meters.map(|meter| meter.cpu_time().unwrap());
    let (used_before, machine_before) = (used(), cpu_time_of_machine());
    let during = victim.measure(duration).await;
    let (used_after, machine) = (used(), cpu_time_of_machine().saturating_sub(machine_before));
    let cores = |time: Duration| time.as_secs_f64() / duration.as_secs_f64();
    let bridge_cores = cores(used_after[2].saturating_sub(used_before[2]));
    let own = used_after.iter().sum::<Duration>() - used_before.iter().sum::<Duration>();
    let other_cores = cores(machine.saturating_sub(own));
    let actions = attacker.finish().await;
    bridge.victim = Some(victim);
    let figures = Comparison {
        attack,
        description: attack.description(),
        actions,
        unit: attack.unit(),
        seconds: duration.as_secs_f64(),
        alone,
        during,
        bridge_cores,
        other_cores,
        before_mib,
        peak_mib: bridge.meter.peak_memory().unwrap() as f64 / MIB,
        after_mib: 0.0,
        stored: Stored::default(),
    };
    (bridge, figures)
}

/// A bridge with the default limits.
struct Bridge {
    meter: Meter,
    address: SocketAddr,
    victim: Option<Victim>,
    _process: Child,
    _output: BufReader<ChildStdout>,
}

impl Bridge {
    async fn start(attack: Attack, priorities: Priorities) -> Self {
        let mut command = priorities.bridge(&program_paths::built("mcp-web-bridge"));
        command.args(["--bind", "127.0.0.1:0"]);
        command.args(attack.bridge_arguments());
        command.env("MCP_WEB_METRICS_TOKEN", METRICS_TOKEN);
        let (process, mut output) = spawn(command);
        let line = read_line(&mut output).await;
        let (_, address) = line.split_once("http://").unwrap();
        Self {
            meter: Meter::new(process.id().unwrap()),
            address: address.trim().parse().unwrap(),
            victim: None,
            _process: process,
            _output: output,
        }
    }

    fn memory_mib(&self) -> f64 {
        self.meter.exact_memory().unwrap() as f64 / MIB
    }
}

/// This program as an attacker.
struct AttackerProcess {
    process: Child,
    output: BufReader<ChildStdout>,
}

impl AttackerProcess {
    /// Starts the attacker, and waits until it attacks.
    async fn start(attack: Attack, address: SocketAddr, plan: Plan) -> Self {
        let own = std::env::current_exe().unwrap();
        let mut command = plan.priorities.attacker(&own);
        command.args(["attacker", &address.to_string(), &attack.name()]);
        command.args(["--seconds", &plan.duration.as_secs_f64().to_string()]);
        let (process, mut output) = spawn(command);
        assert_eq!(read_line(&mut output).await.trim(), "attacking");
        Self { process, output }
    }

    fn meter(&self) -> Meter {
        Meter::new(self.process.id().unwrap())
    }

    /// Waits for the end of the attack, and returns how often the attacker did what it does.
    async fn finish(&mut self) -> u64 {
        let actions = read_line(&mut self.output).await;
        self.process.wait().await.unwrap();
        actions.trim().parse().unwrap()
    }
}

/// Starts a process that ends when it is dropped. What it logs is discarded.
fn spawn(mut command: Command) -> (Child, BufReader<ChildStdout>) {
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    command.stderr(Stdio::null()).kill_on_drop(true);
    let mut process = command
        .spawn()
        .unwrap_or_else(|error| panic!("{:?} does not start: {error}", command.as_std()));
    let output = BufReader::new(process.stdout.take().unwrap());
    (process, output)
}

async fn read_line(output: &mut BufReader<ChildStdout>) -> String {
    let mut line = String::new();
    output.read_line(&mut line).await.unwrap();
    assert!(!line.is_empty(), "the program ended");
    line
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { alone, during, .. } = self;
        write!(
            f,
            "{:24} {:8} {}; p99 {:.0} -> {:.0} µs ({:.1}×, slowest {:.0}), calls {} -> {} of {}, \
             healthz {:.0} µs, new pages {} of {}; {:.1} -> {:.1} -> {:.1} MiB ({:.1} \
             stored, {} MCP sessions); {:.2} cores, others {:.2}; {}",
            self.attack.name(),
            self.actions,
            self.unit,
            alone.p99_us,
            during.p99_us,
            during.p99_us / alone.p99_us,
            during.slowest_us,
            alone.calls,
            during.calls,
            during.calls_due,
            during.health_p99_us,
            during.newcomers_admitted,
            during.newcomers,
            self.before_mib,
            self.peak_mib,
            self.after_mib,
            self.stored.pools_mib,
            self.stored.mcp_sessions,
            self.bridge_cores,
            self.other_cores,
            during.failure.as_deref().unwrap_or_default(),
        )
    }
}
