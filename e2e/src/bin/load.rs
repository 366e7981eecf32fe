//! The `load` program: puts a bridge or a floor under load and prints what a call costs.
#![allow(clippy::print_stderr, clippy::print_stdout)]

use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Parser;
use e2e::load::soak::Soak;
use e2e::load::{Dialect, Figures, Load, Meter, Payload, Receipt, Route, Target, TargetSelection};
use serde_json::json;

/// Puts a server under load with pages and callers, and measures what a call costs. Every answer is
/// checked.
///
/// Prints one line of JSON and one for humans.
#[derive(Parser)]
struct Arguments {
    /// The URL of the server: http://127.0.0.1:PORT
    #[arg(long, value_name = "URL")]
    bridge: String,

    /// The kind of server
    #[arg(long, value_enum, default_value = "bridge")]
    target: Target,

    /// The server's process, whose processor time is measured
    #[arg(long)]
    pid: Option<u32>,

    /// The token of pages and callers
    #[arg(long, default_value = "a-token-for-one-load-0123456789")]
    token: String,

    /// The number of pages
    #[arg(long, default_value_t = 16)]
    pages: usize,

    /// The number of tools of each page
    #[arg(long, default_value_t = 10)]
    tools: usize,

    /// Give the tools an input and an output schema (results of rows match it)
    #[arg(long)]
    schemas: bool,

    /// How a call selects its page
    #[arg(long, value_enum, default_value = "tool")]
    pick: TargetSelection,

    /// How pages acknowledge a call
    #[arg(long, value_enum, default_value = "together")]
    receipt: Receipt,

    /// The protocol of the pages; by default v2, and v1 with the route v1
    #[arg(long, value_enum)]
    dialect: Option<Dialect>,

    /// The number of callers, each with one connection
    #[arg(long, default_value_t = 8)]
    callers: usize,

    /// The route of the calls
    #[arg(long, value_enum, default_value = "tool-call")]
    route: Route,

    /// The result of the pages' tools: 1kb, 100kb-rows, 1mb-text …
    #[arg(long, default_value = "1kb")]
    result: Payload,

    /// Run a mixed load for this time (30m) and print what the bridge holds: pages reload and lose
    /// their connection, calls are cancelled, results are large, MCP sessions come and go. Needs
    /// --pid; routes, tools, results and seconds are its own
    #[arg(long, value_name = "TIME", requires = "pid")]
    soak: Option<humantime::Duration>,

    /// Only open the pages, print a line, and keep them until this program is stopped
    #[arg(long)]
    only_pages: bool,

    /// The seed that determines what happens in a soak
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// The duration of the measured phase in seconds
    #[arg(long, default_value_t = 3.0)]
    seconds: f64,

    /// The duration of the calls before it in seconds
    #[arg(long, default_value_t = 1.0)]
    warm_up: f64,
}

/// The number of samples that a soak prints.
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
            callers: if self.only_pages { 0 } else { self.callers },
            route: self.route,
            payload: self.result,
            warm_up: Duration::from_secs_f64(self.warm_up),
            duration: Duration::from_secs_f64(self.seconds),
            meter: self.pid.map(Meter::new),
        })
    }

    async fn soak(&self, duration: Duration) -> Result<()> {
        let soak = Soak {
            address: address(&self.bridge)?,
            token: self.token.clone(),
            meter: Meter::new(self.pid.context("`--pid` is missing")?),
            pages: self.pages,
            callers: self.callers,
            duration,
            sample_interval: (duration / SAMPLES_PER_SOAK).max(Duration::from_secs(1)),
            seed: self.seed,
        };
        let series = soak.run(|sample| println!("{sample}")).await?;
        println!("{series}");
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
        let record = json!({
            "target": name(&target),
            "route": name(&route),
            "result": self.result.to_string(),
            "pages": self.pages,
            "callers": self.callers,
            "schemas": self.schemas,
            "figures": figures,
        });
        println!("{record}");
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
            Some(duration) => arguments.soak(*duration).await,
            None if arguments.only_pages => {
                let load = arguments.load()?;
                load.keep_pages(|| println!("the pages are open")).await
            }
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
