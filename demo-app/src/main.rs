//! `demo-app`: the bridge and the demo page in one process.

use std::process::ExitCode;

use bridge::Config;
use clap::Parser;
use tracing_subscriber::EnvFilter;

/// A kanban board whose tools AI clients can call, with its bridge.
#[derive(Parser)]
#[command(name = "demo-app", version)]
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
    match bridge::serve(arguments.config, demo_app::app()).await {
        Ok(running) => {
            println!("open http://localhost:{}/", running.local_addr().port());
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
