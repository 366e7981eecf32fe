//! `mcp-web agent secrets`: the stored secrets of tools.

use std::ffi::OsString;
use std::io::{IsTerminal, stdin};
use std::path::PathBuf;
use std::process::ExitCode;

use agent_secrets::{generate_key, list_secrets, remove_secret, rotate_key, set_secret};
use bridge_output::print_to_stderr;
use clap::{CommandFactory, Parser, Subcommand};

use super::console::{CommandError, Console};
use crate::config::SecretSettings;

/// Stores the secrets that tools of the agent need, encrypted.
#[derive(Debug, Parser)]
#[command(name = "secrets", bin_name = "mcp-web agent secrets", after_long_help = EXAMPLES)]
struct Arguments {
    #[command(flatten)]
    settings: SecretSettings,

    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  mcp-web agent secrets generate-key master.key
  export MCP_WEB_AGENT_SECRETS_FILE=secrets.json MCP_WEB_AGENT_MASTER_KEY_FILE=master.key
  mcp-web agent secrets set issues < token.txt";

#[derive(Debug, Subcommand)]
enum Command {
    /// Store a secret, which is read from stdin.
    Set {
        /// The name, as in `${secret:NAME}`.
        name: String,
        /// The user whose secret it is, as `user` in the audit file; without it, all share it.
        #[arg(long)]
        user: Option<String>,
    },
    /// List the names of secrets, never their values.
    List,
    /// Remove a secret.
    Remove {
        /// The name of the secret.
        name: String,
        /// The user whose secret it is.
        #[arg(long)]
        user: Option<String>,
    },
    /// Encrypt all secrets under the key in another file, which is created if it does not exist.
    Rotate {
        /// The file with the new key.
        new_key_file: PathBuf,
    },
    /// Create a file with a new master key.
    GenerateKey {
        /// The file, which must not exist.
        path: PathBuf,
    },
}

/// Returns the command line of the command.
pub(super) fn command() -> clap::Command {
    Arguments::command()
}

/// Runs the command. `arguments` begins with `secrets`.
pub(super) fn run(arguments: Vec<OsString>) -> ExitCode {
    match run_command(Arguments::parse_from(arguments)) {
        Ok(text) if text.is_empty() => ExitCode::SUCCESS,
        Ok(text) => match Console::stdio().print(text) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => error.exit(),
        },
        Err(error) => CommandError::Failed(error).exit(),
    }
}

fn run_command(arguments: Arguments) -> Result<String, String> {
    if let Command::GenerateKey { path } = &arguments.command {
        return generate_key(path).map_err(|error| error.to_string());
    }
    let store = arguments.settings.open_if_set()?;
    let store = store.ok_or(
        "which secrets? Set `--secrets-file`, and `--master-key-file` or MCP_WEB_AGENT_MASTER_KEY",
    )?;
    let result = match arguments.command {
        Command::Set { name, user } => {
            if stdin().is_terminal() {
                print_to_stderr(
                    "Write the secret and end it with Ctrl-D. It is shown as you write it.",
                );
            }
            set_secret(&store, &name, user.as_deref(), stdin())
        }
        Command::List => list_secrets(&store),
        Command::Remove { name, user } => remove_secret(&store, &name, user.as_deref()),
        Command::Rotate { new_key_file } => rotate_key(&store, &new_key_file),
        Command::GenerateKey { .. } => return Ok(String::new()),
    };
    result.map_err(|error| error.to_string())
}
