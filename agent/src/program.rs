//! The agent as a program: it reads its settings, logs, serves, announces, and stops when asked.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use bridge_service::{shutdown_signal, stdin_closed};
use clap::{CommandFactory, FromArgMatches, Parser};
use futures_util::future::OptionFuture;
use tracing::{Level, Metadata};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::config::{self, Config, LoadError};
use crate::service::{ServerHandle, StartError, bind};

/// The exit code when settings are wrong.
const EXIT_INVALID_SETTINGS: u8 = 2;

/// Answers what web pages ask: a language model that uses the page's own tools meanwhile.
///
/// The bridge sends it the queries of its pages (PUT /query/{uuid}, DELETE /query/{uuid}), and it
/// answers each with a stream of events. Once it listens it prints one line on stdout:
/// `listening on http://127.0.0.1:3003/query`.
#[derive(Debug, Parser)]
#[command(name = "mcp-web-agent", version, after_long_help = EXAMPLES)]
struct Arguments {
    #[command(flatten)]
    settings: Config,

    /// TOML file with settings, under the names of the flags with _ in place of -. Flags and
    /// variables win over it.
    #[arg(
        long,
        env = "MCP_WEB_AGENT_CONFIG",
        help_heading = "Program",
        value_name = "PATH"
    )]
    config: Option<PathBuf>,

    /// Stop when stdin ends, too: a program that starts the agent and holds the other end leaves none
    /// behind when it is killed.
    #[arg(long, env = "MCP_WEB_AGENT_UNTIL_STDIN_ENDS", help_heading = "Program")]
    until_stdin_ends: bool,

    /// Print the configuration in effect as TOML, without secrets, and end.
    #[arg(long, help_heading = "Program")]
    print_config: bool,

    /// What to log, to stderr: error, warn, info, debug, or a tracing filter.
    #[arg(
        long,
        env = "MCP_WEB_AGENT_LOG",
        help_heading = "Program",
        value_name = "FILTER",
        default_value = "info",
        value_parser = log_filter
    )]
    log: EnvFilter,
}

const EXAMPLES: &str = "\
Examples:
  ANTHROPIC_API_KEY=… mcp-web-agent
  OPENAI_API_KEY=… mcp-web-agent --model gpt-5
  GEMINI_API_KEY=… mcp-web-agent
  mcp-web-agent --provider ollama --model qwen3
  mcp-web-agent --provider openai --base-url http://127.0.0.1:8000/v1 --model NAME
  mcp-web-agent --provider commands        # no language model, no key: runs `/tool {json}` lines

The bridge beside it: mcp-web-bridge --agent-url http://127.0.0.1:3003";

/// Runs the program until somebody asks it to stop. Why it cannot start is said on stderr, and the
/// exit code is 2.
///
/// # Panics
///
/// When the process has a global tracing subscriber already.
pub async fn run() -> ExitCode {
    let Arguments {
        settings,
        log,
        until_stdin_ends,
        ..
    } = parse_arguments();
    log_to_stderr(log);
    // Both listen from here on: whoever has read the announcement may stop the program at once.
    let shutdown_signal = shutdown_signal();
    let stdin_closed = OptionFuture::from(until_stdin_ends.then(stdin_closed));
    match start(settings).await {
        Ok(running) => {
            tracing::info!("{} answers", running.model_label());
            println!("listening on {}", running.url());
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
    let command = Arguments::command();
    let matches = match config::load(&command, std::env::args_os()) {
        Ok(matches) => matches,
        Err(LoadError::Arguments(error)) => error.exit(),
        Err(LoadError::File(error)) => {
            eprintln!("error: {error}");
            std::process::exit(EXIT_INVALID_SETTINGS.into());
        }
    };
    let arguments = Arguments::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    if arguments.print_config {
        let text = config::to_toml(&command, &matches);
        // Whoever reads may have read enough: that is no error.
        let _ = std::io::stdout().write_all(text.as_bytes());
        std::process::exit(0);
    }
    arguments
}

/// Strictly: what is wrong in a filter is not passed over.
fn log_filter(text: &str) -> Result<EnvFilter, String> {
    EnvFilter::try_new(text).map_err(|error| {
        format!("allowed are error, warn, info, debug, trace, or a tracing filter: {error}")
    })
}

fn log_to_stderr(filter: EnvFilter) {
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        // Colours are for people: in a file or a journal they hide what is searched for.
        .with_ansi(std::io::stderr().is_terminal())
        .finish()
        .with(filter_fn(|event| !logs_content(event)))
        .init();
}

/// Libraries that log what is said: prompts, answers of providers, headers when they trace.
fn logs_content(event: &Metadata<'_>) -> bool {
    let is_of = |name: &str| event.target().starts_with(name);
    // They log as errors what fails a query, providers' bodies included: its failure says what
    // matters of that.
    ["genai", "rmcp"].into_iter().any(is_of)
        || (*event.level() >= Level::DEBUG && ["hyper", "reqwest"].into_iter().any(is_of))
}
