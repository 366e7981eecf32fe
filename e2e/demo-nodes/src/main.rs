//! `demo-nodes`: the demo with several bridges. See the library of this crate.
#![allow(clippy::print_stderr, clippy::print_stdout)] // It prints for the person who runs it.

mod child;
mod nats;
mod node;

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Parser;
use demo_nodes::Balancer;
use futures_util::StreamExt;
use futures_util::future::try_join_all;
use futures_util::stream::FuturesUnordered;
use rustix::process::Signal;
use tokio::net::TcpListener;
use tokio::signal::unix::{self, SignalKind, signal};

use child::signal_group;
use nats::Nats;
use node::{DemoAgent, DemoNode, NodeSettings};

/// The demo with several bridges that serve as one, and a balancer in front of them.
#[derive(Parser)]
#[command(name = "demo-nodes", version)]
struct Arguments {
    /// The number of bridges
    #[arg(long, default_value_t = 3)]
    nodes: u8,
    /// The address of the balancer
    #[arg(long, env = "MCP_WEB_BIND", default_value = "127.0.0.1:3001")]
    bind: SocketAddr,
    /// The program of the NATS server
    #[arg(long, env = "MCP_WEB_NATS_SERVER", default_value = "nats-server")]
    nats_server: PathBuf,
    /// The arguments of each demo
    #[arg(last = true)]
    demo: Vec<String>,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: Arguments) -> Result<()> {
    let mut stops = StopSignals::listen()?;
    let bind = arguments.bind;
    let listener = TcpListener::bind(bind).await.with_context(|| {
        format!(
            "cannot listen on {bind}: end the other demo, or set MCP_WEB_BIND to another address"
        )
    })?;
    let nats = Nats::start(&arguments.nats_server).await?;
    let mut settings = NodeSettings::new(&nats.url, arguments.demo);
    // It ends with this process.
    let agent = tokio::select! {
        started = start_agent(&settings, &listener) => started?,
        _ = stops.recv() => return Ok(()),
    };
    settings.agent_url = agent.as_ref().map(|agent| agent.url.clone());
    let (nodes, balancer) = tokio::select! {
        started = start_nodes(arguments.nodes, &settings, listener) => started?,
        // The children end with their handles.
        _ = stops.recv() => return Ok(()),
    };
    print_summary(&nodes, &balancer, &settings).await;
    let served = serve(nodes, &mut stops).await;
    nats.stop().await;
    served
}

/// Starts the agent of all bridges, which reaches them through the balancer, unless they use another one.
async fn start_agent(settings: &NodeSettings, balancer: &TcpListener) -> Result<Option<DemoAgent>> {
    if settings.has_other_agent() {
        return Ok(None);
    }
    let mut address = balancer.local_addr()?;
    if address.ip().is_unspecified() {
        address.set_ip(Ipv4Addr::LOCALHOST.into());
    }
    DemoAgent::start(settings, address).await.map(Some)
}

/// Starts the bridges side by side, and waits until all are ready.
async fn start_nodes(
    count: u8,
    settings: &NodeSettings,
    listener: TcpListener,
) -> Result<(Vec<DemoNode>, Balancer)> {
    let nodes = (1..=count).map(|number| DemoNode::start(number, settings));
    let mut nodes = try_join_all(nodes).await?;
    let balancer = Balancer::start(listener, nodes.iter().map(|node| node.address))?;
    for (index, node) in nodes.iter_mut().enumerate() {
        tokio::select! {
            () = balancer.wait_until(index, true) => {}
            status = node.child.ended() => bail!("{} has ended ({status})", node.name),
        }
    }
    Ok((nodes, balancer))
}

async fn print_summary(nodes: &[DemoNode], balancer: &Balancer, settings: &NodeSettings) {
    for node in nodes {
        let id = node.id(settings).await.unwrap_or_default();
        println!(
            "    {} is node {id}: http://{}/metrics",
            node.name, node.address
        );
    }
    println!(
        "    metrics need the header Authorization: Bearer {}",
        settings.metrics_token
    );
    if let Some(url) = &settings.agent_url {
        println!("    one agent answers the questions of all bridges: {url}");
    }
    println!("open http://localhost:{}/", balancer.address().port());
}

/// Passes signals on to the bridges, and returns when all have ended.
async fn serve(nodes: Vec<DemoNode>, stops: &mut StopSignals) -> Result<()> {
    let groups = nodes.iter().map(|it| (it.name.clone(), it.child.group()));
    let mut running: BTreeMap<_, _> = groups.collect();
    let mut endings: FuturesUnordered<_> = nodes.into_iter().map(DemoNode::ended).collect();
    let mut is_stopping = false;
    while !running.is_empty() {
        tokio::select! {
            Some((name, status)) = endings.next() => {
                running.remove(&name);
                if !is_stopping {
                    eprintln!("{name} has ended ({status}): {} still run", running.len());
                }
            }
            signal = stops.recv() => {
                is_stopping = true;
                for group in running.values() {
                    signal_group(*group, signal);
                }
            }
        }
    }
    if !is_stopping {
        bail!("all bridges have ended");
    }
    Ok(())
}

/// The signals that stop this program.
struct StopSignals {
    interrupt: unix::Signal,
    terminate: unix::Signal,
}

impl StopSignals {
    fn listen() -> Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn recv(&mut self) -> Signal {
        tokio::select! {
            _ = self.interrupt.recv() => Signal::INT,
            _ = self.terminate.recv() => Signal::TERM,
        }
    }
}
