//! The arguments of the program, and the environment and file that its settings are loaded from with them.

use std::ffi::OsString;
use std::path::PathBuf;

use bridge_output::{LogFilter, LogFormat, log_filter};
use bridge_settings::{LoadError, LoadedSettings};
use clap::{CommandFactory, FromArgMatches, Parser};

use crate::commands;
use crate::config::{BridgeTables, Config};

/// Answers the queries of web pages with a language model that uses the page's own tools.
///
/// The bridge sends it the queries of its pages (PUT /query/{uuid}, DELETE /query/{uuid}), and it
/// answers each with a stream of events. Once it listens, it prints one line on stdout:
/// `listening on http://127.0.0.1:3003/query`.
#[derive(Debug, Parser)]
#[command(
    name = "mcp-web agent",
    bin_name = "mcp-web agent",
    version,
    no_binary_name = true,
    after_long_help = EXAMPLES
)]
pub(super) struct Arguments {
    #[command(flatten)]
    pub(super) settings: Config,

    /// TOML file with settings, under the names of the flags with _ in place of -. Flags and
    /// variables take precedence over it.
    #[arg(
        long,
        env = "MCP_WEB_AGENT_CONFIG",
        help_heading = "Program",
        value_name = "PATH"
    )]
    config: Option<PathBuf>,

    /// Stop also when stdin ends. The agent then stops together with the program that started it,
    /// even if that program is killed.
    #[arg(long, env = "MCP_WEB_AGENT_UNTIL_STDIN_ENDS", help_heading = "Program")]
    pub(super) until_stdin_ends: bool,

    /// Print the configuration in effect as TOML, without secrets, and exit.
    #[arg(long, help_heading = "Program")]
    pub(super) print_config: bool,

    /// Check the configuration as at a start, print the sources and the tools that each profile
    /// allows, and do not start. The exit code is 2 if the agent cannot start, and 1 if it can,
    /// without some of its sources.
    #[arg(long, conflicts_with_all = ["print_config", "print_prompt"], help_heading = "Program")]
    pub(super) check_config: bool,

    /// Print the system prompt that the model gets, with the operator's text, and exit.
    #[arg(long, conflicts_with = "print_config", help_heading = "Program")]
    pub(super) print_prompt: bool,

    /// Log level on stderr: error, warn, info, debug, or a tracing filter.
    #[arg(
        long,
        env = "MCP_WEB_AGENT_LOG",
        help_heading = "Program",
        value_name = "FILTER",
        default_value = "info",
        value_parser = log_filter
    )]
    pub(super) log: LogFilter,

    /// Format of the log on stderr: text, or json with one object a line.
    #[arg(
        long,
        env = "MCP_WEB_AGENT_LOG_FORMAT",
        help_heading = "Program",
        value_name = "FORMAT",
        default_value = "text"
    )]
    pub(super) log_format: LogFormat,
}

const EXAMPLES: &str = "\
Examples:
  ANTHROPIC_API_KEY=… mcp-web agent
  OPENAI_API_KEY=… mcp-web agent --model gpt-6.1-sol
  GEMINI_API_KEY=… mcp-web agent
  mcp-web agent --provider ollama --model qwen3
  mcp-web agent --base-url http://127.0.0.1:8000/v1 --model NAME
  mcp-web agent --provider commands        # no language model, no key: runs `/tool {json}` lines

Other commands:
  mcp-web agent mcp --help                 # the MCP servers whose tools the agent has
  mcp-web agent secrets --help             # the secrets that tools need
  mcp-web agent plugin --help              # sources of tools for other programs

The bridge beside it: mcp-web bridge --agent-url http://127.0.0.1:3003";

/// Returns the command line of `mcp-web agent`.
pub fn command() -> clap::Command {
    Arguments::command().subcommands(commands::command_lines())
}

/// Loads the arguments, the environment and the file of the settings.
pub(super) fn load_arguments(
    given: &[OsString],
) -> Result<(Arguments, LoadedSettings<BridgeTables>), LoadError> {
    let given = given.iter().cloned();
    let loaded = LoadedSettings::<BridgeTables>::load(Arguments::command(), given)?;
    let arguments = Arguments::from_arg_matches(&loaded.matches);
    let mut arguments = arguments.map_err(LoadError::Arguments)?;
    let bridges = loaded.tables().map(|it| it.entries().to_vec());
    arguments.settings.bridges = bridges.unwrap_or_default();
    Ok((arguments, loaded))
}
