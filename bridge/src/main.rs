//! `mcp-web-bridge`: the bridge as a program.

use std::process::ExitCode;

use bridge::Config;
use clap::Parser;
use tracing_subscriber::EnvFilter;

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
    bridge::log_to_stderr(arguments.log);
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

/// The one line on stdout, for people and for scripts that wait for it.
#[allow(clippy::print_stdout, reason = "the line is the program's answer")]
fn announce(url: &str) {
    println!("listening on {url}");
}
