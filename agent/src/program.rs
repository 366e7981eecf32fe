//! The agent as a program: parses its settings, logs to stderr, serves, prints its address, and
//! stops when it is asked to.

use std::path::PathBuf;
use std::process::ExitCode;

use bridge_edge::http_client;
use bridge_edge::{shutdown_signal, stdin_closed};
use bridge_output::{LogFilter, announce, log_filter, print, print_error};
use bridge_settings::{LoadError, LoadedSettings};
use clap::{CommandFactory, FromArgMatches, Parser};
use futures_util::future::OptionFuture;

use crate::commands;
use crate::config::Config;
use crate::logging::log_to_stderr;
use crate::service::{ServerHandle, StartError, bind, load_system_prompts, load_tools_file};

/// The exit code when a setting is invalid, or the agent cannot start.
const EXIT_INVALID_SETTINGS: u8 = 2;

/// Answers the queries of web pages with a language model that uses the page's own tools.
///
/// The bridge sends it the queries of its pages (PUT /query/{uuid}, DELETE /query/{uuid}), and it
/// answers each with a stream of events. Once it listens, it prints one line on stdout:
/// `listening on http://127.0.0.1:3003/query`.
#[derive(Debug, Parser)]
#[command(name = "mcp-web-agent", version, after_long_help = EXAMPLES)]
struct Arguments {
    #[command(flatten)]
    settings: Config,

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
    until_stdin_ends: bool,

    /// Print the configuration in effect as TOML, without secrets, and exit.
    #[arg(long, help_heading = "Program")]
    print_config: bool,

    /// Check the configuration as at a start, print the sources and the tools that each profile
    /// allows, and do not start. The exit code is 2 if the agent cannot start, and 1 if it can,
    /// without some of its sources.
    #[arg(long, conflicts_with_all = ["print_config", "print_prompt"], help_heading = "Program")]
    check_config: bool,

    /// Print the system prompt that the model gets, with the operator's text, and exit.
    #[arg(long, conflicts_with = "print_config", help_heading = "Program")]
    print_prompt: bool,

    /// Log level on stderr: error, warn, info, debug, or a tracing filter.
    #[arg(
        long,
        env = "MCP_WEB_AGENT_LOG",
        help_heading = "Program",
        value_name = "FILTER",
        default_value = "info",
        value_parser = log_filter
    )]
    log: LogFilter,
}

const EXAMPLES: &str = "\
Examples:
  ANTHROPIC_API_KEY=… mcp-web-agent
  OPENAI_API_KEY=… mcp-web-agent --model gpt-6.1-sol
  GEMINI_API_KEY=… mcp-web-agent
  mcp-web-agent --provider ollama --model qwen3
  mcp-web-agent --base-url http://127.0.0.1:8000/v1 --model NAME
  mcp-web-agent --provider commands        # no language model, no key: runs `/tool {json}` lines

Other commands:
  mcp-web-agent mcp --help                 # the MCP servers whose tools the agent has
  mcp-web-agent secrets --help             # the secrets that tools need
  mcp-web-agent plugin --help              # sources of tools for other programs

The bridge beside it: mcp-web-bridge --agent-url http://127.0.0.1:3003";

/// Runs the program until it is asked to stop. A program calls [`run_hidden_command`](crate::run_hidden_command) first. If it cannot start, it prints the reason on stderr,
/// and its exit code is 2.
///
/// # Panics
///
/// Panics when the process has a global tracing subscriber already.
pub async fn run() -> ExitCode {
    if let Some(exit_code) = commands::run(std::env::args_os().collect()).await {
        return exit_code;
    }
    let Arguments {
        mut settings,
        log,
        until_stdin_ends,
        check_config,
        ..
    } = parse_arguments();
    let log = log_to_stderr(log);
    if check_config {
        return commands::check_config(&settings);
    }
    settings.own_program = std::env::current_exe().ok();
    bridge_edge::raise_open_file_limit();
    if http_client::exposes_tokens(settings.bridge_url.url()) {
        tracing::warn!(
            "`bridge_url` sends the tokens of queries over http:// to another machine, and anyone \
             who can read that network can use them: use https://"
        );
    }
    // Both futures listen from now on, because a parent process that reads the address may stop the
    // agent at once.
    let shutdown_signal = shutdown_signal();
    let stdin_closed = OptionFuture::from(until_stdin_ends.then(stdin_closed));
    match start(settings).await {
        Ok(running) => {
            tracing::info!("{} answers", running.model_label());
            announce(&format!("listening on {}", running.url()), &log);
            tokio::select! {
                () = shutdown_signal => {}
                Some(()) = stdin_closed => {}
            }
            running.shutdown().await;
            ExitCode::SUCCESS
        }
        Err(error) => {
            tracing::error!("{error}");
            ExitCode::from(EXIT_INVALID_SETTINGS)
        }
    }
}

async fn start(settings: Config) -> Result<ServerHandle, StartError> {
    let bridge_url = settings.bridge_url.to_string();
    bind(settings).await?.serve(&bridge_url)
}

fn parse_arguments() -> Arguments {
    let loaded = match LoadedSettings::<()>::load(Arguments::command(), std::env::args_os()) {
        Ok(loaded) => loaded,
        Err(LoadError::Arguments(error)) => error.exit(),
        Err(LoadError::File(error)) => {
            print_error(error);
            std::process::exit(EXIT_INVALID_SETTINGS.into());
        }
    };
    let arguments =
        Arguments::from_arg_matches(&loaded.matches).unwrap_or_else(|error| error.exit());
    if arguments.print_config {
        std::process::exit(print(&loaded.to_toml()).into());
    }
    if arguments.print_prompt {
        let settings = &arguments.settings;
        let prompts = load_tools_file(settings).and_then(|it| load_system_prompts(settings, &it));
        match prompts {
            Ok(prompts) => {
                let text = format!("{}\n", prompts.for_profile(None));
                std::process::exit(print(&text).into());
            }
            Err(error) => {
                print_error(error);
                std::process::exit(EXIT_INVALID_SETTINGS.into());
            }
        }
    }
    arguments
}
