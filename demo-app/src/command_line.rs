//! The command line `mcp-web demo`: the bridge, an agent and the demo page in one process.

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

use bridge::{AgentUrl, ProgramSettings, ReleaseAddress, Secret};
use bridge_edge::user_folders::state_folder;
use bridge_output::{LogFormat, announce, log_filter, log_to_stderr, print_error};
use clap::{CommandFactory, Parser};

use crate::{AgentHost, AgentSettings, bind_agent};

/// A kanban board whose tools AI clients can call, with its bridge and an agent.
///
/// The agent answers the page's questions: by the model whose key is in the environment, by the one that
/// --agent-base-url and other settings name, or without a model.
#[derive(Parser)]
#[command(
    name = "mcp-web demo",
    bin_name = "mcp-web demo",
    version,
    no_binary_name = true
)]
struct Arguments {
    #[command(flatten)]
    settings: ProgramSettings,

    #[command(flatten)]
    agent: AgentSettings,

    /// Run only the agent, for the bridges behind this URL, until stdin ends. `demo-nodes` sets it.
    #[arg(long, value_name = "URL", hide = true, requires = "agent_token")]
    only_agent_for: Option<String>,

    /// Use the agent that another process of the demo runs at this URL. `demo-nodes` sets it.
    #[arg(long, value_name = "URL", hide = true)]
    shared_agent: Option<AgentUrl>,
}

/// Returns the command line of `mcp-web demo`.
pub fn command() -> clap::Command {
    Arguments::command()
}

/// Runs `mcp-web demo` with the arguments after it until it is asked to stop. A program calls
/// [`agent::run_hidden_command`] first. `program` is the name by which a person starts it, and `release` is
/// called when the address of its bridge is in use.
pub fn main(program: &str, arguments: Vec<OsString>, release: ReleaseAddress) -> ExitCode {
    run(program, arguments, release)
}

#[tokio::main]
async fn run(program: &str, arguments: Vec<OsString>, release: ReleaseAddress) -> ExitCode {
    let Arguments {
        mut settings,
        mut agent,
        only_agent_for,
        shared_agent,
    } = bridge::parse_arguments(arguments, |it: &mut Arguments| &mut it.settings);
    settings.exclude_from_log(agent::logs_content);
    settings.release_address(release);
    agent.0.own_program = std::env::current_exe().ok();
    let bridge = settings.bridge_mut();
    if let (Some(bridges), Some(credential)) = (only_agent_for, bridge.agent.agent_token.clone()) {
        let ended = run_agent(agent, credential, &bridges).await;
        return ended.map_or_else(agent_error, |()| ExitCode::SUCCESS);
    }
    keep_state(bridge);
    let agent_host = match shared_agent {
        Some(url) => Ok(AgentHost::shared(&agent, url, bridge)),
        None => AgentHost::bind(agent, bridge).await,
    };
    let agent_host = match agent_host {
        Ok(agent_host) => agent_host,
        Err(error) => return agent_error(error),
    };
    let app = crate::app(agent_host.info());
    let mut agent = None;
    let on_start = |bridge: &bridge::ServerHandle| {
        match agent_host.serve(bridge) {
            Ok(server) => agent = server,
            Err(error) => tracing::error!("the demo's agent: {error}"),
        }
        announcement(program, bridge.local_addr().port())
    };
    let code = bridge::run(settings, app, on_start).await;
    if let Some(agent) = agent {
        agent.shutdown().await;
    }
    code
}

/// Returns the address of a demo, and the commands to connect AI clients and to call a tool.
fn announcement(program: &str, port: u16) -> String {
    let bridge = format!("http://127.0.0.1:{port}");
    let url_flag = if port == bridge::Config::default().network.bind.port() {
        String::new()
    } else {
        format!(" --url {bridge}/mcp")
    };
    let quotes = if program.contains(' ') { "\"" } else { "" };
    format!(
        "open http://localhost:{port}/\n\
         to connect AI clients: {quotes}{program}{quotes} install{url_flag}\n\
         to call a tool, with the token that the page shows in place of TOKEN:\n\
         curl {bridge}/tool-call -H 'Authorization: Bearer TOKEN' -H 'Content-Type: application/json' \
         -d '{{\"toolName\":\"add_card\",\"toolInput\":{{\"title\":\"Buy milk\"}}}}'"
    )
}

/// Runs the agent of several bridges until stdin ends.
async fn run_agent(
    agent: AgentSettings,
    credential: Secret,
    bridges: &str,
) -> Result<(), agent::StartError> {
    let log = log_to_stderr(
        log_filter("info").unwrap_or_default(),
        LogFormat::default().into(),
        agent::logs_content,
    );
    let agent = bind_agent(agent, credential).await?.serve(bridges)?;
    tracing::info!("{} answers", agent.model_label());
    announce(&format!("listening on {}", agent.url()), &log);
    let stdin = || io::copy(&mut io::stdin(), &mut io::sink());
    // An error ends it as well.
    let _ = tokio::task::spawn_blocking(stdin).await;
    agent.shutdown().await;
    Ok(())
}

fn agent_error(error: agent::StartError) -> ExitCode {
    print_error(format_args!("the demo's agent: {error}"));
    ExitCode::from(2)
}

/// Lets MCP sessions survive restarts of the demo at its default address, unless a setting decides: in
/// the user's folder, because the folder of an installed program is not writable.
fn keep_state(bridge: &mut bridge::Config) {
    let is_default = bridge.network.bind == bridge::Config::default().network.bind;
    let state = &mut bridge.state;
    if is_default && state.state_key.is_none() && state.state_dir.is_none() {
        state.state_dir = state_folder().map(|it| it.join("mcp-web/demo"));
    }
}
