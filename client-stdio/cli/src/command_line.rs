//! The commands of the program.

use std::ffi::OsString;
use std::io::{IsTerminal, stdin, stdout};
use std::process::ExitCode;

use bridge_output::{print, print_error};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::Shell;
use client_install::{InstallArguments, UninstallArguments, run_install, run_uninstall};

use crate::bridge_request;
use crate::call::{self, CallCommand};
use crate::doctor::{self, DoctorCommand};
use crate::started_bridge::{self, release_address};
use crate::stdio;
use crate::tools::{self, ToolsCommand};

const NAME: &str = "mcp-web";

/// The exit code when the arguments are wrong.
const EXIT_USAGE: u8 = 2;

/// A command that a library has.
struct LibraryCommand {
    name: &'static str,
    /// Returns the command line, for the help and for completions.
    command: fn() -> clap::Command,
    /// Runs the command with the arguments after its name.
    main: fn(Vec<OsString>) -> ExitCode,
}

/// The commands that libraries have, in the order of the help.
const LIBRARY_COMMANDS: [LibraryCommand; 5] = [
    LibraryCommand {
        name: "demo",
        command: demo_app::command,
        main: run_demo,
    },
    LibraryCommand {
        name: "bridge",
        command: bridge::command,
        main: run_bridge,
    },
    LibraryCommand {
        name: "agent",
        command: agent::command,
        main: agent::main,
    },
    LibraryCommand {
        name: "stdio",
        command: stdio::command,
        main: stdio::main,
    },
    LibraryCommand {
        name: "admin",
        command: bridge::admin_command,
        main: bridge::admin_main,
    },
];

/// Tools of web pages for AI clients.
///
/// Without a command, it runs the demo on a terminal.
#[derive(Parser)]
#[command(name = NAME, version, next_display_order = LIBRARY_COMMANDS.len())]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Install(InstallArguments),
    Uninstall(UninstallArguments),
    /// List the tools of the pages that are connected to a bridge.
    #[command(after_help = bridge_request::AFTER_HELP)]
    Tools(ToolsCommand),
    /// Call a tool of a page and print its result.
    #[command(after_help = bridge_request::AFTER_HELP)]
    Call(CallCommand),
    /// Find out why a client does not get the tools of a page.
    ///
    /// Checks the bridge, the page of the token, the entries of AI clients, and the schemas that they get.
    /// The exit code is 1 if there is a problem.
    #[command(after_help = bridge_request::AFTER_HELP)]
    Doctor(DoctorCommand),
    /// Print the completions of a shell.
    Completions {
        /// The shell.
        shell: Shell,
    },
}

/// Runs the command that the first argument names.
pub(crate) fn run(mut arguments: Vec<OsString>) -> ExitCode {
    let Some(name) = arguments.first() else {
        return run_without_command();
    };
    if let Some(command) = LIBRARY_COMMANDS.iter().find(|it| name == it.name) {
        arguments.remove(0);
        return (command.main)(arguments);
    }
    if name == started_bridge::COMMAND {
        arguments.remove(0);
        return started_bridge::run(arguments);
    }
    let arguments = [NAME.into()].into_iter().chain(arguments);
    let matches = command_line().get_matches_from(arguments);
    let arguments = Arguments::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    match arguments.command {
        Command::Install(arguments) => ExitCode::from(run_install(&arguments)),
        Command::Uninstall(arguments) => ExitCode::from(run_uninstall(&arguments)),
        Command::Tools(arguments) => tools::run(&arguments),
        Command::Call(arguments) => call::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::Completions { shell } => ExitCode::from(print(&completions(shell))),
    }
}

/// Runs the demo for a person. A program that starts this one must name a command: AI clients would wait
/// for the messages of `stdio`.
fn run_without_command() -> ExitCode {
    if stdin().is_terminal() && stdout().is_terminal() {
        return run_demo(Vec::new());
    }
    print_error(
        "a command is missing: write `mcp-web stdio` in an AI client, `mcp-web bridge` for the \
         bridge, or `mcp-web demo` to see both; `mcp-web --help` lists all",
    );
    ExitCode::from(EXIT_USAGE)
}

fn run_bridge(arguments: Vec<OsString>) -> ExitCode {
    bridge::main(arguments, release_address)
}

/// Runs the demo, which prints this program by the name with which it was started.
fn run_demo(arguments: Vec<OsString>) -> ExitCode {
    let name = std::env::args_os().next().unwrap_or_else(|| NAME.into());
    demo_app::main(&name.to_string_lossy(), arguments, release_address)
}

/// Returns the command line with all commands.
fn command_line() -> clap::Command {
    let commands = LIBRARY_COMMANDS.iter().enumerate().map(|(order, it)| {
        let command = (it.command)().name(it.name);
        command.display_order(order)
    });
    Arguments::command().subcommands(commands)
}

fn completions(shell: Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command_line(), NAME, &mut script);
    let script = String::from_utf8_lossy(&script);
    // For bash, clap_complete 4.6 writes the hyphen of the program in two ways, so that no command after
    // the first word is completed.
    script.replace("mcp__subcmd__web", "mcp__web")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        command_line().debug_assert();
    }

    #[test]
    fn no_command_of_this_crate_has_the_name_of_a_library_command() {
        let own = Arguments::command();
        for command in &LIBRARY_COMMANDS {
            assert!(own.find_subcommand(command.name).is_none());
        }
    }
}
