//! `load`: puts a bridge, or a floor, under load, and says what a call costs.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Parser;
use e2e::load::soak::Soak;
use e2e::load::{Dialect, Figures, Load, Meter, Payload, Receipt, Route, Target, TargetSelection};
use serde_json::json;

/// Pages that answer, callers that call, and what it costs. Every answer is checked.
///
/// Prints one line of JSON and one for people.
#[derive(Parser)]
struct Arguments {
    /// Where it listens: http://127.0.0.1:PORT
    #[arg(long, value_name = "URL")]
    bridge: String,

    /// What listens there
    #[arg(long, value_enum, default_value = "bridge")]
    target: Target,

    /// Its process, whose processor time is measured
    #[arg(long)]
    pid: Option<u32>,

    /// The token of pages and callers
    #[arg(long, default_value = "a-token-for-one-load-0123456789")]
    token: String,

    /// Pages
    #[arg(long, default_value_t = 16)]
    pages: usize,

    /// Tools of each page
    #[arg(long, default_value_t = 10)]
    tools: usize,

    /// Give these an input and an output schema (results of rows fit it)
    #[arg(long)]
    schemas: bool,

    /// How a call says which page it is for
    #[arg(long, value_enum, default_value = "tool")]
    pick: TargetSelection,

    /// How pages say that they received a call
    #[arg(long, value_enum, default_value = "together")]
    receipt: Receipt,

    /// What pages speak; v2 if nothing is said, v1 with the route v1
    #[arg(long, value_enum)]
    dialect: Option<Dialect>,

    /// Callers, each with one connection
    #[arg(long, default_value_t = 8)]
    callers: usize,

    /// The way of the calls
    #[arg(long, value_enum, default_value = "tool-call")]
    route: Route,

    /// What pages answer: 1kb, 100kb-rows, 1mb-text …
    #[arg(long, default_value = "1kb")]
    result: Payload,

    /// Everything at once for so long (30m), and what the bridge holds meanwhile: pages that reload and
    /// break off, calls that are given up, large results, MCP sessions. Needs --pid; routes, tools,
    /// results and seconds are its own
    #[arg(long, value_name = "TIME", requires = "pid")]
    soak: Option<humantime::Duration>,

    /// What happens in a soak follows from it
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Seconds that are measured
    #[arg(long, default_value_t = 3.0)]
    seconds: f64,

    /// Seconds of calls before
    #[arg(long, default_value_t = 1.0)]
    warm_up: f64,
}

/// How often a soak says what the bridge holds.
const SAMPLES_PER_SOAK: u32 = 60;

impl Arguments {
    fn load(&self) -> Result<Load> {
        Ok(Load {
            address: address(&self.bridge)?,
            target: self.target,
            token: self.token.clone(),
            pages: self.pages,
            tools: self.tools,
            schemas: self.schemas,
            pick: self.pick,
            receipt: self.receipt,
            dialect: self.dialect,
            callers: self.callers,
            route: self.route,
            payload: self.result,
            warm_up: Duration::from_secs_f64(self.warm_up),
            duration: Duration::from_secs_f64(self.seconds),
            meter: self.pid.map(Meter::new),
        })
    }

    async fn soak(&self, lasts: Duration) -> Result<()> {
        let mixed = Soak {
            address: address(&self.bridge)?,
            token: self.token.clone(),
            meter: Meter::new(self.pid.context("`--pid` is missing")?),
            pages: self.pages,
            callers: self.callers,
            duration: lasts,
            sample_interval: (lasts / SAMPLES_PER_SOAK).max(Duration::from_secs(1)),
            seed: self.seed,
        };
        let held = mixed.run(|sample| println!("{sample}")).await?;
        println!("{held}");
        Ok(())
    }

    fn print(&self, figures: &Figures) {
        let route = clap::ValueEnum::to_possible_value(&self.route);
        let target = clap::ValueEnum::to_possible_value(&self.target);
        let name = |value: &Option<clap::builder::PossibleValue>| {
            value
                .as_ref()
                .map_or(String::new(), |value| value.get_name().to_owned())
        };
        let line = json!({
            "target": name(&target),
            "route": name(&route),
            "result": self.result.to_string(),
            "pages": self.pages,
            "callers": self.callers,
            "schemas": self.schemas,
            "figures": figures,
        });
        println!("{line}");
        let cpu = figures
            .cpu_us
            .map_or(String::new(), |cpu| format!("{cpu:.1} µs CPU, "));
        println!(
            "{} {} {}, {} callers: {cpu}p50 {:.0} µs, p99 {:.0} µs, {} calls in {:.1} s",
            name(&target),
            name(&route),
            self.result,
            self.callers,
            figures.p50_us,
            figures.p99_us,
            figures.calls,
            figures.seconds,
        );
    }
}

fn address(url: &str) -> Result<SocketAddr> {
    let host = url.strip_prefix("http://").unwrap_or(url);
    let address = host.trim_end_matches('/').replace("localhost", "127.0.0.1");
    let advice = || format!("`{url}` is not like http://127.0.0.1:3001");
    address.parse().with_context(advice)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let run = async {
        match arguments.soak {
            Some(lasts) => arguments.soak(*lasts).await,
            None => {
                let figures = arguments.load()?.run().await?;
                arguments.print(&figures);
                Ok(())
            }
        }
    };
    match run.await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
