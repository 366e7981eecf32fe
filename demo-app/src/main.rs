//! `demo-app`: the bridge, an agent and the demo page in one process.

use std::process::ExitCode;

use bridge::ProgramSettings;
use clap::Parser;
use demo_app::{AgentHost, AgentSettings};

/// A kanban board whose tools AI clients can call, with its bridge, and with an agent that answers
/// what the page asks: the model whose key is in the environment, or the one that --agent-base-url
/// and its like name, or none.
#[derive(Parser)]
#[command(name = "demo-app", version)]
struct Arguments {
    #[command(flatten)]
    settings: ProgramSettings,

    #[command(flatten)]
    agent: AgentSettings,
}

#[tokio::main]
async fn main() -> ExitCode {
    let Arguments {
        mut settings,
        agent,
    } = bridge::arguments(|it: &mut Arguments| &mut it.settings);
    let answerer = match AgentHost::bind(agent, settings.bridge_mut()).await {
        Ok(answerer) => answerer,
        Err(error) => {
            eprintln!("error: the demo's agent: {error}");
            return ExitCode::from(2);
        }
    };
    let app = demo_app::app(answerer.info());
    let mut agent = None;
    let open = |running: &bridge::ServerHandle| {
        match answerer.serve(running) {
            Ok(serving) => agent = serving,
            Err(error) => eprintln!("error: the demo's agent: {error}"),
        }
        format!("open http://localhost:{}/", running.local_addr().port())
    };
    let code = bridge::run(settings, app, open).await;
    if let Some(agent) = agent {
        agent.shutdown().await;
    }
    code
}
