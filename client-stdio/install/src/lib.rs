//! `mcp-web install` and `mcp-web uninstall`: entries of MCP-Web in the configuration files of AI
//! clients. They need neither a bridge nor a network.
//!
//! How an entry is installed:
//! 1. `client_table` says for each client where its file is and what an entry looks like.
//!    `config_path` finds the file in an [`Environment`], and `selected_clients` the clients.
//! 2. `program_path` chooses the path of the program, `page_token` gets the token of the page, and
//!    `client_entry` has the entry in the form of the client.
//! 3. `member_edit` compares it with the entry that is there, and `config_text` changes the text: only the
//!    entry, byte for byte. JSON is changed by `bridge-shared-files`, TOML by `toml_text`; YAML is
//!    printed (`yaml_block`).
//! 4. `difference` shows the change without the token. After the person agrees, `client_file` backs
//!    the file up and replaces it.
//!
//! UserFiles are changed for all clients, and never by a client's own command, such as `claude mcp add`:
//! its arguments would have the token, and other users can read arguments in the list of processes.
//!
//! [`client_statuses`] returns the entries that are there, for a diagnosis. `links` and
//! `print_entries` show what a person can open or paste.

mod arguments;
mod client;
mod client_entry;
mod client_file;
mod client_status;
mod client_table;
mod config_path;
mod config_text;
mod console;
mod difference;
mod environment;
mod error;
mod install;
mod links;
mod member_edit;
mod page_token;
mod print_entries;
mod program_path;
mod selected_clients;
mod toml_text;
mod uninstall;
mod yaml_block;

pub use arguments::{InstallArguments, InstallScope, Selection, UninstallArguments};
pub use client::Client;
pub use client_entry::InstalledServer;
pub use client_status::{ClientStatus, client_statuses};
pub use client_table::CLIENTS;
pub use console::{Console, Terminal};
pub use environment::{Environment, System};
pub use error::InstallError;
pub use install::install;
pub use uninstall::uninstall;

/// Runs `mcp-web install` in the environment of this process, and returns the exit code.
pub fn run_install(arguments: &InstallArguments) -> u8 {
    exit_code(Environment::of_process().and_then(|it| install(arguments, &it, &mut Terminal)))
}

/// Runs `mcp-web uninstall` in the environment of this process, and returns the exit code.
pub fn run_uninstall(arguments: &UninstallArguments) -> u8 {
    exit_code(Environment::of_process().and_then(|it| uninstall(arguments, &it, &mut Terminal)))
}

fn exit_code(result: Result<bool, InstallError>) -> u8 {
    match result {
        Ok(true) => 0,
        Ok(false) => 1,
        Err(error) => {
            bridge_output::print_error(error);
            2
        }
    }
}
