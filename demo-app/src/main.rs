//! `demo-app`: the bridge and the demo page in one process.

use std::process::ExitCode;

use bridge::ProgramSettings;
use clap::Parser;

/// A kanban board whose tools AI clients can call, with its bridge.
#[derive(Parser)]
#[command(name = "demo-app", version)]
struct Arguments {
    #[command(flatten)]
    settings: ProgramSettings,
}

#[tokio::main]
async fn main() -> ExitCode {
    let Arguments { settings } = bridge::arguments(|it: &mut Arguments| &mut it.settings);
    let open = |running: &bridge::Running| {
        format!("open http://localhost:{}/", running.local_addr().port())
    };
    bridge::run(settings, demo_app::app(), open).await
}
