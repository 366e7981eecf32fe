//! Attacks from one address, and their effect on a client at another one.
//!
//! The victim lives in this process. The attacker is this program in another process, which runs only
//! while bridge and victim leave a core idle (`SCHED_IDLE`), like an attacker on another machine: it
//! takes no processor time from the bridge, and yet keeps it as busy as it lets itself be kept. Whether
//! the victim has priority over the bridge is up to the caller of this program (`chrt`).

mod attack;
mod attacker;
mod floods;
mod slow_attacks;
mod victim;

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use e2e::{Meter, ProcessGroup};
use tokio::process::Command;
use tokio::time::{Instant, sleep}; // sleep: the time until the last measurement of memory

use crate::latency::median;
use crate::server::{Server, own_program, raise_open_file_limit};
use crate::table::{Table, mib, ratio, thousands, time};

use attack::Attack;
use attacker::Attacker;
use victim::{Victim, VictimFigures};

/// How long the victim calls before anything is measured.
const WARM_UP: Duration = Duration::from_secs(1);

/// More sockets than any attack has.
const SOCKETS: usize = 4_000;

/// The role of this program in the process of the attacker.
#[derive(Args)]
pub(crate) struct AttackerArguments {
    address: SocketAddr,
    attack: Attack,
    /// How long the attack lasts, in seconds
    seconds: f64,
}

impl AttackerArguments {
    /// Attacks, and returns how often the attacker did what it does.
    pub(crate) async fn run(self) -> Result<String> {
        raise_open_file_limit(SOCKETS)?;
        println!("attacking");
        let end = Instant::now() + Duration::from_secs_f64(self.seconds);
        let attacker = Attacker::new(self.address, end);
        execute(self.attack, &attacker).await;
        Ok(attacker.actions().to_string())
    }
}

/// Carries out an attack until it ends.
async fn execute(attack: Attack, attacker: &Attacker) {
    match attack {
        Attack::SilentSockets => slow_attacks::silent_sockets(attacker).await,
        Attack::SlowRequests => slow_attacks::slow_requests(attacker).await,
        Attack::Calls => floods::calls(attacker).await,
        Attack::LongFrames => floods::long_frames(attacker).await,
        Attack::TinyFrames => floods::tiny_frames(attacker).await,
        Attack::Registrations => floods::registrations(attacker).await,
        Attack::UnreadResults => slow_attacks::unread_results(attacker).await,
        Attack::McpSessions => slow_attacks::mcp_sessions(attacker).await,
    }
}

/// The effect of an attack on the victim and on the memory of the bridge.
struct Outcome {
    attack: Attack,
    /// How often the attacker did what it does, in a second.
    actions_per_second: f64,
    alone: VictimFigures,
    during: VictimFigures,
    memory_before: u64,
    memory_peak: u64,
    memory_after: u64,
}

/// Measures each attack on a bridge with the default limits.
pub(crate) async fn measure(quick: bool) -> Result<String> {
    raise_open_file_limit(SOCKETS)?;
    let [duration, rest] = if quick { [2, 3] } else { [10, 60] }.map(Duration::from_secs);
    let mut resting = Vec::new();
    for &attack in Attack::value_variants() {
        eprintln!("  {}", attack.description());
        let attacked = attack_bridge(attack, duration).await;
        let (bridge, outcome) = attacked.with_context(|| attack.name())?;
        // While a bridge rests, the next one is attacked.
        resting.push(tokio::spawn(async move {
            sleep(rest).await; // sleep: the bridge rests
            let memory_after = bridge.meter().exact_memory()?;
            anyhow::Ok(Outcome {
                memory_after,
                ..outcome
            })
        }));
    }
    let mut outcomes = Vec::new();
    for outcome in resting {
        outcomes.push(outcome.await??);
    }
    Ok(section(&outcomes, duration, rest))
}

/// Returns the bridge when the attack is over, and all figures but the last.
async fn attack_bridge(attack: Attack, duration: Duration) -> Result<(Server, Outcome)> {
    let bridge = Server::bridge(&["--log=error"]).await?;
    let victim = Victim::connect(bridge.address).await?;
    victim.measure(WARM_UP).await;
    let alone = victim.measure(duration).await;
    let meter: Meter = bridge.meter();
    let memory_before = meter.exact_memory()?;

    let mut command = Command::new("chrt");
    command
        .args(["--idle", "0"])
        .arg(own_program()?)
        .arg("attacker");
    command.args([bridge.address.to_string(), attack.name()]);
    command.arg(duration.as_secs_f64().to_string());
    let mut attacker = ProcessGroup::start("the attacker", command);
    attacker.wait_for_line("attacking").await;
    let during = victim.measure(duration).await;
    let actions = attacker.wait_for_number().await;
    let outcome = Outcome {
        attack,
        actions_per_second: f64::from(actions) / duration.as_secs_f64(),
        alone,
        during,
        memory_before,
        memory_peak: meter.peak_memory()?,
        memory_after: 0,
    };
    Ok((bridge, outcome))
}

fn section(outcomes: &[Outcome], duration: Duration, rest: Duration) -> String {
    let alone = outcomes
        .iter()
        .map(|outcome| outcome.alone.p99.as_secs_f64())
        .collect();
    let alone = Duration::from_secs_f64(median(alone));
    let (duration, rest) = (duration.as_secs(), rest.as_secs());
    let after = format!("{rest} s after");
    let mut table = Table::new(&[
        "attack",
        "actions/s",
        "p99 of a call",
        "the slowest call",
        "calls answered",
        "memory before",
        "at most",
        &after,
    ]);
    for outcome in outcomes {
        let VictimFigures {
            due,
            answered,
            p99,
            slowest,
        } = outcome.during;
        table.row(&[
            outcome.attack.description(),
            thousands(outcome.actions_per_second as u64),
            ratio(p99, alone),
            time(slowest),
            format!("{answered} of {due}"),
            mib(outcome.memory_before),
            mib(outcome.memory_peak),
            mib(outcome.memory_after),
        ]);
    }
    let conditions = format!(
        "{duration} s alone and {duration} s of each attack. Alone, the victim's p99 is {}: the \
         median of all rows.",
        time(alone)
    );
    table.section(&conditions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn each_attack_does_something_and_others_are_served_beside_it() {
        raise_open_file_limit(SOCKETS).unwrap();
        for &attack in Attack::value_variants() {
            // On a busy machine, the thread of this test serves the victim's page late.
            let arguments = ["--log=error", "--call-receipt=60s"];
            let bridge = Server::bridge(&arguments).await.unwrap();
            let victim = Victim::connect(bridge.address).await.unwrap();
            let attacker = Attacker::new(bridge.address, Instant::now() + e2e::DEADLINE);
            let calls = async {
                while attacker.actions() == 0 {
                    tokio::task::yield_now().await;
                }
                victim.call().await.unwrap();
            };
            tokio::select! {
                () = execute(attack, &attacker) => panic!("{attack:?} ended"),
                () = e2e::with_deadline(attack.name(), calls) => {}
            }
        }
    }

    #[test]
    fn the_p99_during_an_attack_is_compared_with_the_median_of_those_alone() {
        let figures = |p99| VictimFigures {
            due: 1_000,
            answered: 990,
            p99: Duration::from_micros(p99),
            slowest: Duration::from_millis(9),
        };
        let outcome = |alone| Outcome {
            attack: Attack::Calls,
            actions_per_second: 12_345.6,
            alone: figures(alone),
            during: figures(1_000),
            memory_before: 20 << 20,
            memory_peak: 40 << 20,
            memory_after: 21 << 20,
        };
        let [duration, rest] = [10, 60].map(Duration::from_secs);
        let text = section(&[outcome(400), outcome(500), outcome(900)], duration, rest);
        let row = "| 256 callers without a pause, each with its own connection | 12,345 | \
                   2.00× (1.0 ms) | 9.0 ms | 990 of 1000 | 20.0 MiB | 40.0 MiB | 21.0 MiB |";
        assert!(text.contains(row), "{text}");
    }
}
