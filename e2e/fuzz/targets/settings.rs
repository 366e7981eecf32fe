//! The settings of bridge and agent, from flags and files.

use std::cell::RefCell;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use bridge_settings::{LoadError, LoadedSettings};
use clap::{Args, Command, CommandFactory, Parser};
use tempfile::TempDir;
use toml::Table;

/// Separates the flags, one in each line, from the file.
const SEPARATOR: &str = "---\n";

/// The value of a secret in some inputs, which no output may contain.
const CANARY: &str = "canary-0123456789-0123456789-0123456789";

/// Settings with secrets.
const SECRETS: [&str; 4] = ["agent-token", "state-key", "token", "tokens"];

thread_local! {
    static FOLDER: RefCell<Option<TempDir>> = const { RefCell::new(None) };
}

#[derive(Parser)]
#[command(name = "bridge")]
struct BridgeArguments {
    #[command(flatten)]
    settings: bridge::ProgramSettings,
}

#[derive(Parser)]
#[command(name = "agent")]
struct AgentArguments {
    #[command(flatten)]
    settings: agent::Config,
    #[command(flatten)]
    file: ConfigPath,
}

#[derive(Args)]
struct ConfigPath {
    #[arg(long)]
    config: Option<PathBuf>,
}

#[test]
fn printed_settings_can_be_loaded_again() {
    bolero::check!()
        .with_iterations(0)
        .for_each(|input: &[u8]| {
            let text = String::from_utf8_lossy(input);
            let (flags, file) = text.split_once(SEPARATOR).unwrap_or(("", &text));
            let flags: Vec<&str> = flags.lines().collect();
            let (program, flags) = flags.split_first().unwrap_or((&"", &[]));
            match *program {
                "agent" => check(&text, flags, file, print_agent_config),
                _ => check(&text, flags, file, print_bridge_config),
            }
        });
}

type Print = fn(&[OsString]) -> Result<String, String>;

fn print_bridge_config(arguments: &[OsString]) -> Result<String, String> {
    bridge::fuzz::print_config(BridgeArguments::command(), arguments)
}

fn print_agent_config(arguments: &[OsString]) -> Result<String, String> {
    let command: Command = AgentArguments::command();
    match LoadedSettings::<()>::load(command, arguments.iter().cloned()) {
        Ok(loaded) => Ok(loaded.to_toml()),
        Err(LoadError::Arguments(error)) => Err(error.to_string()),
        Err(LoadError::File(error)) => Err(error.to_string()),
    }
}

fn check(input: &str, flags: &[&str], file: &str, print: Print) {
    let path = write_file(file);
    let mut arguments = vec!["program".into(), "--config".into(), path.clone().into()];
    // `--help` is not an error, and a second `--config` names another file. An argument that is not a flag
    // belongs to no setting, so errors show it.
    let flags = flags
        .iter()
        .filter(|flag| flag.starts_with("--"))
        .filter(|flag| !flag.starts_with("--h") && !flag.starts_with("--config"));
    arguments.extend(flags.map(OsString::from));
    match print(&arguments) {
        Err(error) => {
            check_secrets(input, &error);
            check_error(&error, &path);
        }
        Ok(printed) => {
            check_secrets(input, &printed);
            let path = write_file(&printed);
            let again = print(&["program".into(), "--config".into(), path.into()]);
            let again = again.unwrap_or_else(|error| panic!("{error}\n{printed}"));
            assert_eq!(values(&again), values(&printed));
        }
    }
}

/// An error names the setting, or the place in the file that is not TOML.
fn check_error(error: &str, path: &Path) {
    let file = path.display().to_string();
    let names_setting = error.contains('`') || error.contains("--");
    let is_about_syntax = error.starts_with(&file) && error.contains("this is not TOML");
    // An argument that is not a flag has no name.
    let is_no_flag = error.contains("unexpected argument");
    assert!(names_setting || is_about_syntax || is_no_flag, "{error}");
}

/// A secret is not shown. An input may also have the same text in a setting that is not a secret.
fn check_secrets(input: &str, output: &str) {
    let is_secret = |line: &str| {
        let name = line.trim_start_matches("--").split(['=', ' ']).next();
        SECRETS.contains(&name.unwrap_or_default().replace('_', "-").as_str())
    };
    let mut lines = input.lines().filter(|line| line.contains(CANARY));
    assert!(
        !lines.all(is_secret) || !output.contains(CANARY),
        "{output}"
    );
}

/// The values of a printed configuration, without the comments on where they come from.
fn values(printed: &str) -> Table {
    printed
        .parse()
        .unwrap_or_else(|error| panic!("{error}\n{printed}"))
}

/// Writes the configuration file of this thread.
fn write_file(text: &str) -> PathBuf {
    FOLDER.with_borrow_mut(|folder| {
        let folder = folder.get_or_insert_with(|| TempDir::with_prefix("mcp-web-fuzz-").unwrap());
        let path = folder.path().join("config.toml");
        fs::write(&path, text).unwrap();
        path
    })
}
