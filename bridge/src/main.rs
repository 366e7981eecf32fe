//! `mcp-web-bridge`: the bridge as a program.

use std::process::ExitCode;

use bridge::Config;
use clap::Parser;
use tracing::{Level, Metadata};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// MCP server whose tools live in web pages.
///
/// Pages connect to ws://ADDR/ws with the SDK at /sdk/mcp-web.js, AI clients to http://ADDR/mcp
/// with the page's token as bearer. Plain HTTP: POST /tool-call, GET /sessions, /tools, /healthz.
#[derive(Parser)]
#[command(name = "mcp-web-bridge", version)]
struct Arguments {
    #[command(flatten)]
    config: Config,

    /// What to log, to stderr: error, warn, info, debug, or a tracing filter.
    #[arg(
        long,
        env = "MCP_WEB_LOG",
        value_name = "FILTER",
        default_value = "info"
    )]
    log: EnvFilter,
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    tracing_subscriber::fmt()
        .with_env_filter(arguments.log)
        .with_writer(std::io::stderr)
        .finish()
        .with(filter_fn(|event| !shows_frames(event)))
        .init();
    match bridge::serve(arguments.config, bridge::App::default()).await {
        Ok(running) => {
            announce(&running.url());
            bridge::stop_requested().await;
            running.shutdown().await;
            ExitCode::SUCCESS
        }
        Err(error) => {
            tracing::error!("{error}");
            ExitCode::from(2)
        }
    }
}

/// The WebSocket library traces whole frames, and the first one carries the token.
fn shows_frames(event: &Metadata<'_>) -> bool {
    *event.level() == Level::TRACE && event.target().starts_with("tungstenite")
}

/// The one line on stdout, for people and for scripts that wait for it.
#[allow(clippy::print_stdout, reason = "the line is the program's answer")]
fn announce(url: &str) {
    println!("listening on {url}");
}
