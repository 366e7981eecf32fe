//! `demo-app`: the bridge, an agent and the demo page in one process.

use std::process::ExitCode;

use bridge::ProgramSettings;
use bridge_output::print_error;
use clap::Parser;
use demo_app::{AgentHost, AgentSettings};

/// A kanban board whose tools AI clients can call, with its bridge, and with an agent that answers the
/// page's questions: by the model whose key is in the environment, by the one that --agent-base-url
/// and other settings name, or without a model.
#[derive(Parser)]
#[command(name = "demo-app", version)]
struct Arguments {
    #[command(flatten)]
    settings: ProgramSettings,

    #[command(flatten)]
    agent: AgentSettings,
}

fn main() -> ExitCode {
    agent::run_hidden_command().unwrap_or_else(run)
}

#[tokio::main]
async fn run() -> ExitCode {
    let Arguments {
        mut settings,
        mut agent,
    } = bridge::parse_arguments(|it: &mut Arguments| &mut it.settings);
    settings.exclude_from_log(agent::logs_content);
    agent.0.own_program = std::env::current_exe().ok();
    keep_state(settings.bridge_mut());
    let agent_host = match AgentHost::bind(agent, settings.bridge_mut()).await {
        Ok(agent_host) => agent_host,
        Err(error) => {
            print_error(format_args!("the demo's agent: {error}"));
            return ExitCode::from(2);
        }
    };
    let app = demo_app::app(agent_host.info());
    let mut agent = None;
    let on_start = |bridge: &bridge::ServerHandle| {
        match agent_host.serve(bridge) {
            Ok(server) => agent = server,
            Err(error) => tracing::error!("the demo's agent: {error}"),
        }
        format!("open http://localhost:{}/", bridge.local_addr().port())
    };
    let code = bridge::run(settings, app, on_start).await;
    if let Some(agent) = agent {
        agent.shutdown().await;
    }
    code
}

/// Lets MCP sessions survive restarts of the demo at its default address, unless a setting decides: in
/// a folder beside this program.
fn keep_state(bridge: &mut bridge::Config) {
    let is_default = bridge.network.bind == bridge::Config::default().network.bind;
    let state = &mut bridge.state;
    if is_default && state.state_key.is_none() && state.state_dir.is_none() {
        let program = std::env::current_exe().ok();
        state.state_dir = program.map(|it| it.with_file_name("demo-app-state"));
    }
}
