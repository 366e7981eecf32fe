//! The agent's settings as settings of the demo: `--model` of `mcp-web agent` is `--agent-model`
//! here, and `agent_model` in a configuration file. The environment variables have the same names.

use std::ffi::OsString;

use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches};

/// The settings that cannot be changed in the demo, because its agent serves only its own bridge.
const FIXED_SETTINGS: [&str; 6] = [
    "bind",
    "bridge_url",
    "token",
    "token_file",
    "allowed_origins",
    "allowed_hosts",
];

/// The settings of the demo's agent.
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
        let settings = agent_command();
        let arguments = settings
            .get_arguments()
            .flat_map(|arg| given_arguments(arg, matches));
        // `matches` already contains the values from the environment.
        let command = map_agent_arguments(|arg| arg.env(None::<&'static str>));
        let matches = command.try_get_matches_from(arguments)?;
        agent::Config::from_arg_matches(&matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The agent's settings, without those that cannot be changed in the demo.
fn agent_command() -> Command {
    let command = map_agent_arguments(|arg| arg);
    let arguments = command.get_arguments();
    let arguments = arguments.filter(|arg| !FIXED_SETTINGS.contains(&arg.get_id().as_str()));
    Command::new("agent").args(arguments)
}

/// Returns all of the agent's settings, after applying a change to each.
fn map_agent_arguments(change: impl FnMut(Arg) -> Arg) -> Command {
    let command = Command::new("agent").no_binary_name(true);
    agent::Config::augment_args(command).mut_args(change)
}

/// The id of a setting of the agent among those of the demo.
fn demo_id(arg: &Arg) -> String {
    format!("agent_{}", arg.get_id())
}

/// A setting of the agent, with the names that it has in the demo.
fn prefixed(arg: &Arg) -> Arg {
    let long = format!("agent-{}", arg.get_long().unwrap_or_default());
    let heading = arg.get_help_heading().unwrap_or("Agent");
    let heading = format!("The demo's agent: {}", heading.to_lowercase());
    arg.clone()
        .id(demo_id(arg))
        .long(long)
        .help_heading(heading)
}

/// The values of a setting of the demo, as command-line arguments of the agent.
fn given_arguments(arg: &Arg, matches: &ArgMatches) -> Vec<OsString> {
    let values = matches.try_get_raw(&demo_id(arg)).ok().flatten();
    let flag = format!("--{}=", arg.get_long().unwrap_or_default());
    let to_argument = |value| {
        let mut argument = OsString::from(&flag);
        argument.push(value);
        argument
    };
    values.into_iter().flatten().map(to_argument).collect()
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
    fn the_agents_flags_have_the_prefix_agent() {
        let arguments = ["demo", "--agent-model", "m1", "--agent-max-rounds", "3"];
        let program = Program::try_parse_from(arguments).unwrap();
        let agent = program.agent.0;
        assert_eq!(agent.model.model.as_deref(), Some("m1"));
        assert_eq!(agent.limits.max_rounds, 3);
        assert_eq!(
            agent.limits.max_calls,
            agent::Config::default().limits.max_calls
        );
        let invalid = Program::try_parse_from(["demo", "--agent-max-rounds", "0"]);
        assert!(invalid.is_err_and(|error| error.to_string().contains("--agent-max-rounds")));
    }

    #[test]
    fn fixed_settings_have_no_flag() {
        for flag in [
            "--agent-bind=127.0.0.1:1",
            "--agent-allowed-origins=loopback",
        ] {
            assert!(Program::try_parse_from(["demo", flag]).is_err(), "{flag}");
        }
    }

    #[test]
    fn all_other_settings_have_a_flag_and_all_flags_differ() {
        Program::command().debug_assert();
        let all = map_agent_arguments(|arg| arg);
        for arg in all.get_arguments().map(Arg::get_id) {
            let has_flag = agent_command()
                .get_arguments()
                .any(|own| own.get_id() == arg);
            assert_ne!(has_flag, FIXED_SETTINGS.contains(&arg.as_str()), "{arg}");
        }
        assert_eq!(
            all.get_arguments().count(),
            agent_command().get_arguments().count() + FIXED_SETTINGS.len()
        );
    }
}
