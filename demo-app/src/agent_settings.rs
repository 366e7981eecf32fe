//! The agent's own settings, as settings of the demo: `--model` of `mcp-web-agent` is
//! `--agent-model` here, and `agent_model` in a configuration file. Their variables stay as they are.

use std::ffi::OsString;

use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches};

/// What the demo decides: its agent listens for its bridge alone.
const FIXED_SETTINGS: [&str; 6] = [
    "bind",
    "bridge_url",
    "token",
    "token_file",
    "allowed_origins",
    "allowed_hosts",
];

/// Settings of the agent in the demo.
#[derive(Debug)]
pub struct AgentSettings(pub agent::Config);

impl Args for AgentSettings {
    fn augment_args(command: Command) -> Command {
        command.args(agent_command().get_arguments().map(prefixed))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for AgentSettings {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let known = agent_command();
        let arguments = known
            .get_arguments()
            .flat_map(|arg| given_arguments(arg, matches));
        // Whatever comes from the environment is among them.
        let alone = map_agent_arguments(|arg| arg.env(None::<&'static str>));
        let read = alone.try_get_matches_from(arguments)?;
        agent::Config::from_arg_matches(&read).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The settings of an agent that the demo does not decide.
fn agent_command() -> Command {
    let all = map_agent_arguments(|arg| arg);
    let arguments = all.get_arguments();
    let arguments = arguments.filter(|arg| !FIXED_SETTINGS.contains(&arg.get_id().as_str()));
    Command::new("agent").args(arguments)
}

fn map_agent_arguments(change: impl FnMut(Arg) -> Arg) -> Command {
    let command = Command::new("agent").no_binary_name(true);
    agent::Config::augment_args(command).mut_args(change)
}

fn name(arg: &Arg) -> String {
    format!("agent_{}", arg.get_id())
}

fn prefixed(arg: &Arg) -> Arg {
    let long = format!("agent-{}", arg.get_long().unwrap_or_default());
    let heading = arg.get_help_heading().unwrap_or("Agent");
    let heading = format!("The demo's agent: {}", heading.to_lowercase());
    arg.clone().id(name(arg)).long(long).help_heading(heading)
}

/// What was given for the demo's setting, as arguments of the agent.
fn given_arguments(arg: &Arg, matches: &ArgMatches) -> Vec<OsString> {
    let values = matches.try_get_raw(&name(arg)).ok().flatten();
    let flag = format!("--{}=", arg.get_long().unwrap_or_default());
    let written = |value| {
        let mut argument = OsString::from(&flag);
        argument.push(value);
        argument
    };
    values.into_iter().flatten().map(written).collect()
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        bridge: bridge::ProgramSettings,
        #[command(flatten)]
        agent: AgentSettings,
    }

    #[test]
    fn flags_of_the_agent_have_its_name_before_them() {
        let arguments = ["demo-app", "--agent-model", "m1", "--agent-max-rounds", "3"];
        let program = Program::try_parse_from(arguments).unwrap();
        let agent = program.agent.0;
        assert_eq!(agent.model.model.as_deref(), Some("m1"));
        assert_eq!(agent.limits.max_rounds, 3);
        assert_eq!(
            agent.limits.max_calls,
            agent::Config::default().limits.max_calls
        );
        let wrong = Program::try_parse_from(["demo-app", "--agent-max-rounds", "0"]);
        assert!(wrong.is_err_and(|error| error.to_string().contains("--agent-max-rounds")));
    }

    #[test]
    fn what_the_demo_decides_cannot_be_set() {
        for flag in [
            "--agent-bind=127.0.0.1:1",
            "--agent-allowed-origins=loopback",
        ] {
            assert!(
                Program::try_parse_from(["demo-app", flag]).is_err(),
                "{flag}"
            );
        }
    }

    #[test]
    fn every_other_setting_of_the_agent_is_there_and_no_name_is_taken_twice() {
        Program::command().debug_assert();
        let all = map_agent_arguments(|arg| arg);
        for arg in all.get_arguments().map(Arg::get_id) {
            let known = agent_command()
                .get_arguments()
                .any(|own| own.get_id() == arg);
            assert_ne!(known, FIXED_SETTINGS.contains(&arg.as_str()), "{arg}");
        }
        assert_eq!(
            all.get_arguments().count(),
            agent_command().get_arguments().count() + FIXED_SETTINGS.len()
        );
    }
}
