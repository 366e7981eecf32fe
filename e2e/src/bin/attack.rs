//! The `attack` program: what a client notices of attacks from another address.
#![allow(clippy::print_stderr, clippy::print_stdout)]

use std::net::SocketAddr;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use anyhow::Result;
use clap::{Parser, Subcommand};
use e2e::attacks::{Attack, Attacker, Comparison, Plan, Priorities, Schedule, measure, run};
use e2e::idle::raise_open_file_limit;
use tokio::time::Instant;

/// The most connections of an attack, and as many again.
const MAX_CONNECTIONS: usize = 4_000;

/// Attacks bridges from 127.0.0.2, and measures what a client at 127.0.0.3 notices
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Starts a bridge for each attack, and prints what a victim got alone and during the attack
    Measure {
        /// Only these attacks, as in `pings,tokens` (all by default)
        #[arg(long, value_enum, value_delimiter = ',')]
        only: Vec<Attack>,

        /// How long the victim is measured alone, and during each attack
        #[arg(long, default_value_t = 8.0)]
        seconds: f64,

        /// How long each bridge rests after the attack, in seconds
        #[arg(long, default_value_t = 60.0)]
        rest: f64,

        /// Give the bridge a real-time priority, below that of this program
        #[arg(long)]
        realtime: bool,

        /// Print lines of JSON
        #[arg(long)]
        json: bool,
    },
    /// Attacks a bridge, and prints how often it did what the attack is
    Attacker {
        /// The address of the bridge
        address: SocketAddr,

        /// What to do
        #[arg(value_enum)]
        attack: Attack,

        /// For how long
        #[arg(long, default_value_t = 8.0)]
        seconds: f64,
    },
    /// Attacks a bridge in every way, one after the other and again, with pauses between them
    Rotation {
        /// The address of the bridge
        address: SocketAddr,

        /// For how long in all
        #[arg(long)]
        duration: humantime::Duration,

        /// How long each attack lasts
        #[arg(long, default_value = "10s")]
        attack: humantime::Duration,

        /// The time between two attacks
        #[arg(long, default_value = "10s")]
        pause: humantime::Duration,
    },
}

impl Command {
    fn run(&self) -> Result<()> {
        raise_open_file_limit(MAX_CONNECTIONS)?;
        match self {
            Self::Measure {
                only,
                seconds,
                rest,
                realtime,
                json,
            } => {
                let attacks = if only.is_empty() { Attack::all() } else { only };
                let plan = Plan {
                    duration: Duration::from_secs_f64(*seconds),
                    rest: Duration::from_secs_f64(*rest),
                    priorities: if *realtime {
                        Priorities::Realtime
                    } else {
                        Priorities::Idle
                    },
                };
                // The priority of this thread is that of the victim: others have their own.
                let mut runtime = tokio::runtime::Builder::new_current_thread();
                let runtime = runtime.enable_all().build()?;
                runtime.block_on(measure(attacks, plan, |figures| print(&figures, *json)));
            }
            Self::Attacker {
                address,
                attack,
                seconds,
            } => {
                println!("attacking");
                let actions = attack_for(*address, *attack, Duration::from_secs_f64(*seconds))?;
                println!("{actions}");
            }
            Self::Rotation {
                address,
                duration,
                attack: attack_duration,
                pause,
            } => {
                let end = Instant::now() + **duration;
                for attack in Attack::all().iter().cycle() {
                    if Instant::now() >= end {
                        break;
                    }
                    let actions = attack_for(*address, *attack, **attack_duration)?;
                    println!("{}: {actions}", attack.name());
                    thread::sleep(**pause); // sleep: attackers come and go
                }
            }
        }
        Ok(())
    }
}

/// Attacks a bridge, and returns how often the attacker did what the attack is.
fn attack_for(address: SocketAddr, attack: Attack, duration: Duration) -> Result<u64> {
    let runtime = tokio::runtime::Runtime::new()?;
    let actions = runtime.block_on(async {
        let attacker = Attacker::new(address, Schedule::Until(Instant::now() + duration));
        run(&attacker, attack).await
    });
    // Nothing is waited for: an attacker leaves without a word.
    runtime.shutdown_background();
    Ok(actions)
}

fn print(figures: &Comparison, json: bool) {
    match serde_json::to_string(figures) {
        Ok(line) if json => println!("{line}"),
        _ => println!("{figures}"),
    }
}

fn main() -> ExitCode {
    match Arguments::parse().command.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
