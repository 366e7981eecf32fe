//! The laboratory: measures what the bridge and the agent cost, and what attacks on them cost others.
//!
//! `lab SECTION` starts the servers that it measures, and prints the Markdown of one section of
//! docs/benchmarks.md. `cargo xtask bench` builds the programs, runs all sections and writes them into
//! the document.
//!
//! Reading order: [`server`] starts a bridge, or the [`floor`] or a [`proxy`] that it is compared with;
//! [`nodes`] starts bridges that serve as one. [`page`] plays pages, with the tools in [`tools`], and
//! [`page_group`] pages that connect again. [`clients`] has the table of real AI clients, whose messages
//! [`request`] prepares, [`connection`] sends and [`answer`] checks. [`caller`] calls with
//! them, and [`load`] measures many callers. [`sections`] has a module for each section, and [`table`]
//! formats its figures.
//!
//! The lab is cheap, because it shares the machine with the server: all messages are prepared
//! beforehand, and of answers it parses only the position of the id.
#![allow(clippy::print_stderr, clippy::print_stdout)] // It prints for the person who runs it.

mod answer;
mod caller;
mod certificates;
mod clients;
mod connection;
mod floor;
mod latency;
mod load;
mod nodes;
mod page;
mod page_group;
mod proxy;
mod request;
mod sections;
mod server;
mod table;
mod tools;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};
use tokio::runtime::{Builder, Runtime};

use proxy::ProxyArguments;
use sections::{attacks, calls, cluster, idle, large, page_tools, queries, restart, sessions};

/// Measures one section of docs/benchmarks.md and prints it.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Take a few minutes for all sections, with fewer pages, sessions and queries
    #[arg(long, global = true)]
    quick: bool,
}

#[derive(Subcommand)]
enum Command {
    /// Calls with small results, by client and by route
    Calls,
    /// Calls with results of up to 10 MB
    Large,
    /// Pages that do nothing
    Idle,
    /// A restart while pages are connected
    Restart,
    /// Several bridges as one: calls and pages at another bridge than that of their token, and its end
    Cluster,
    /// MCP sessions: memory, and processor time of a whole life
    Sessions,
    /// Queries of pages to an agent
    Queries,
    /// Page tools: tokens of a page, and times of actions
    PageTools,
    /// Attacks, and their effect on a client at another address
    Attacks,
    /// Run the server that only passes bytes on
    #[command(hide = true)]
    Floor,
    /// Run a proxy in front of a server
    #[command(hide = true)]
    Proxy(ProxyArguments),
    /// Attack a bridge from another address
    #[command(hide = true)]
    Attacker(attacks::AttackerArguments),
}

impl Command {
    async fn run(self, quick: bool) -> Result<String> {
        match self {
            Self::Calls => calls::measure(quick).await,
            Self::Large => large::measure(quick).await,
            Self::Idle => idle::measure(quick).await,
            Self::Restart => restart::measure(quick).await,
            Self::Cluster => cluster::measure(quick).await,
            Self::Sessions => sessions::measure(quick).await,
            Self::Queries => queries::measure(quick).await,
            Self::PageTools => page_tools::measure(quick).await,
            Self::Attacks => attacks::measure(quick).await,
            Self::Floor => floor::run().await,
            Self::Proxy(arguments) => arguments.run().await,
            Self::Attacker(arguments) => arguments.run().await,
        }
    }

    /// Returns whether server and callers share one core, so that figures do not depend on how the
    /// system distributes them.
    fn is_pinned(&self) -> bool {
        matches!(
            self,
            Self::Calls | Self::Large | Self::Cluster | Self::Sessions
        )
    }

    /// The floor and proxies have the runtime of the bridge. Everything that plays pages and clients has one
    /// thread, and leaves the other cores to the server.
    fn runtime(&self) -> std::io::Result<Runtime> {
        let mut builder = match self {
            Self::Floor | Self::Proxy(_) | Self::Queries | Self::PageTools => {
                Builder::new_multi_thread()
            }
            _ => Builder::new_current_thread(),
        };
        builder.enable_all().build()
    }
}

fn run(arguments: Arguments) -> Result<String> {
    let Arguments { command, quick } = arguments;
    if command.is_pinned() {
        server::pin_to_last_core()?;
    }
    command.runtime()?.block_on(command.run(quick))
}

fn main() -> ExitCode {
    match run(Arguments::parse()) {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
