//! The command `doctor`: finds out why a client does not get the tools of a page.
//!
//! `bridge_check` asks who answers at the address, and in which version; `port_users` finds the processes
//! that have it. With the token, `page_check` looks for its page. `client_check` reads the entries of AI clients
//! and runs each `entry_program` for its `version`, and `schema_check` lists tools as each client does. Each
//! check returns a `finding` with its remedy.

mod bridge_check;
mod client_check;
mod entry_program;
mod finding;
mod page_check;
mod schema_check;
mod version;

use std::io::{IsTerminal, stdin};
use std::process::ExitCode;

use bridge_output::print;
use clap::Args;
use client_install::Environment;
use client_stdio::{BearerToken, Config, ConnectionFlags, ToolRoutes};
use tokio::runtime::Builder;

use crate::bridge_request::{describe, fail, warn_if_exposed};
use crate::token_input::{read_token, token_from_environment};

use finding::{Finding, format_findings};

/// The command line of the command.
#[derive(Args)]
pub(crate) struct DoctorCommand {
    #[command(flatten)]
    connection: ConnectionFlags,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command. The exit code is 1 if there is a problem.
pub(crate) fn run(arguments: &DoctorCommand) -> ExitCode {
    let environment = match Environment::of_process() {
        Ok(environment) => environment,
        Err(error) => return fail(&error.to_string()),
    };
    let config = match configure(&arguments.connection) {
        Ok(config) => config,
        Err(error) => return fail(&error),
    };
    warn_if_exposed(&config);
    let runtime = match Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&format!("cannot start: {error}")),
    };
    let findings = runtime.block_on(diagnose(&environment, &config));
    let printed = print(&format_findings(&findings, arguments.json));
    let has_problem = findings.iter().any(Finding::is_problem);
    ExitCode::from(printed.max(has_problem.into()))
}

/// Returns the configuration. Only a person is asked for the token, because the rest can be checked without
/// one: an input that stays open would keep the command from ending.
fn configure(connection: &ConnectionFlags) -> Result<Config, String> {
    let token = token_from_environment();
    let config = Config::new(connection, token.as_deref()).map_err(describe)?;
    if config.has_token() || !stdin().is_terminal() {
        return Ok(config);
    }
    match read_token() {
        Ok(token) => Config::new(connection, Some(&token)).map_err(describe),
        Err(_) => Ok(config),
    }
}

async fn diagnose(environment: &Environment, config: &Config) -> Vec<Finding> {
    let (mut findings, bridge_version) = bridge_check::check(config).await;
    let routes = match (&bridge_version, config.has_token()) {
        (Some(_), true) => ToolRoutes::new(config).ok(),
        (_, false) => {
            let remedy = "set AUTH_TOKEN to the one in the page's configuration panel";
            findings.push(Finding::problem("token", "no token is set", remedy));
            None
        }
        (None, true) => None,
    };
    let mut has_page = false;
    if let (Some(routes), Some(version)) = (&routes, &bridge_version) {
        let (pages, is_connected) = page_check::check(config, routes, version).await;
        findings.extend(pages);
        has_page = is_connected;
    }
    let token = config.token.as_ref().map(BearerToken::expose);
    let (entries, clients) = client_check::check(environment, config, token).await;
    findings.extend(entries);
    if let Some(routes) = routes.filter(|_| has_page) {
        for client in clients {
            findings.extend(schema_check::check(client, &routes).await);
        }
    }
    findings
}
