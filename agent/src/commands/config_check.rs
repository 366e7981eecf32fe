//! `mcp-web agent --check-config`: checks a start without starting.

use std::process::ExitCode;

use super::console::{CommandError, Console, EXIT_FAILED};
use super::server_listing::count;
use crate::config::Config;
use crate::service::CheckedConfig;

/// The exit code when the agent cannot start.
const EXIT_INVALID: u8 = 2;

/// Checks the settings as a start does, and prints what they amount to. The exit code is 2 if the agent
/// cannot start, and 1 if it can, without some of its sources.
pub(crate) fn check_config(config: &Config) -> ExitCode {
    match CheckedConfig::new(config) {
        Ok(checked) => match print(&mut Console::stdio(), config, &checked) {
            Ok(exit_code) => exit_code,
            Err(error) => error.exit(),
        },
        Err(error) => {
            CommandError::Failed(error.to_string()).exit();
            ExitCode::from(EXIT_INVALID)
        }
    }
}

fn print(
    console: &mut Console,
    config: &Config,
    checked: &CheckedConfig,
) -> Result<ExitCode, CommandError> {
    let problems = checked.sources.problem_count();
    console.print(match problems {
        0 => "configuration is good".to_owned(),
        _ => format!(
            "the agent can start, but {} cannot be used",
            count(problems, "source")
        ),
    })?;
    console.print(format!("address: {}", config.bind))?;
    for bridge in config.bridge_entries().unwrap_or_default() {
        console.print(format!("bridge: {}", bridge.url))?;
    }
    console.print(format!("model: {}", checked.model.label()))?;
    console.print(match &config.tools_file {
        Some(path) => format!("tools: {}", path.display()),
        None => "tools: those of pages only, as `tools_file` is not set".to_owned(),
    })?;
    let described = checked.sources.describe();
    if !described.is_empty() {
        console.print(described)?;
    }
    Ok(match problems {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::from(EXIT_FAILED),
    })
}
