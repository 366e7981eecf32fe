//! `cargo xtask demo`: the demo, from a fresh checkout to a running page.

use std::env;
use std::os::unix::process::CommandExt;

use anyhow::{Result, anyhow, bail};
use clap::Args;

use crate::local_model::{self, LocalModel};
use crate::process::{cargo, run};
use crate::step::{Outcome, step};
use crate::{Workspace, nats_server, sdk};

const LOCAL_MODEL: &str = "--local-model";
const NODES: &str = "--nodes";

/// The model that answers in the demo, the number of its bridges, and the arguments of the demo.
#[derive(Debug, Args)]
pub struct Options {
    /// Answer questions with SmolLM2-135M-Instruct on this machine: short English, often wrong, no
    /// calls of tools
    #[arg(long)]
    local_model: bool,
    /// Start this many bridges that serve as one, 2 to 9, a NATS server and a balancer in front of them
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(2..=9))]
    nodes: Option<u8>,
    /// The arguments of the demo
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

/// Builds what the demo needs and replaces this process with the demo, so that Ctrl-C and signals
/// reach the demo.
///
/// # Errors
///
/// Returns an error if a build fails or the demo does not start.
pub fn start(workspace: &Workspace, options: &Options) -> Result<()> {
    options.check()?;
    sdk::ensure(workspace)?;
    step("building the demo", || {
        let mut build = cargo(workspace);
        build.args(["build", "--package", "mcp-web-cli"]);
        if options.nodes.is_some() {
            build.args(["--package", "demo-nodes"]);
        }
        run(&mut build, "fix the errors above")?;
        Ok(Outcome::Done(()))
    })?;
    let mut demo = cargo(workspace);
    demo.args(["run", "--quiet", "--package"]);
    match options.nodes {
        None => demo.args(["mcp-web-cli", "--", "demo"]),
        Some(nodes) => demo
            .args(["demo-nodes", "--", NODES, &nodes.to_string(), "--"])
            .env("MCP_WEB_NATS_SERVER", nats_server::ensure(workspace)?),
    };
    demo.args(&options.arguments);
    if options.local_model {
        let model = local_model::start(workspace)?;
        // A key of the user for another server would be used instead.
        demo.env_remove("MCP_WEB_AGENT_API_KEY_FILE");
        demo.envs(environment(workspace, &model));
    } else if !options.chooses_model() {
        println!(
            "    to answer questions with a small model on this machine: cargo xtask demo {LOCAL_MODEL}"
        );
    }
    Err(anyhow!("the demo does not start: {}", demo.exec()))
}

impl Options {
    fn check(&self) -> Result<()> {
        for option in [LOCAL_MODEL, NODES] {
            if self.has_argument(option) {
                bail!("put {option} before the arguments of the demo");
            }
        }
        if self.nodes.is_some() && self.has_argument("--bind") {
            bail!(
                "each of several bridges has its own address: set MCP_WEB_BIND to that of the balancer"
            );
        }
        Ok(())
    }

    fn has_argument(&self, name: &str) -> bool {
        let mut arguments = self.arguments.iter();
        arguments.any(|it| it.split('=').next() == Some(name))
    }

    /// Whether arguments or environment choose a model.
    fn chooses_model(&self) -> bool {
        const VARIABLES: [&str; 5] = [
            "ANTHROPIC_API_KEY",
            "GEMINI_API_KEY",
            "MCP_WEB_AGENT_BASE_URL",
            "MCP_WEB_AGENT_PROVIDER",
            "OPENAI_API_KEY",
        ];
        let mut arguments = self.arguments.iter();
        arguments.any(|it| it.starts_with("--agent-"))
            || VARIABLES.iter().any(|name| env::var_os(name).is_some())
    }
}

/// Returns the settings of the demo's agent for the local model. Arguments of the demo override them.
fn environment(workspace: &Workspace, model: &LocalModel) -> [(&'static str, String); 6] {
    let rules = workspace.path("e2e/llama-cpp/model-rules.toml");
    [
        ("MCP_WEB_AGENT_PROVIDER", "openai".to_owned()),
        ("MCP_WEB_AGENT_BASE_URL", format!("{}/v1", model.url)),
        ("MCP_WEB_AGENT_MODEL", local_model::NAME.to_owned()),
        ("MCP_WEB_AGENT_MODEL_RULES", rules.display().to_string()),
        // The default would be the whole context of the model.
        ("MCP_WEB_AGENT_MAX_OUTPUT_TOKENS", "1024".to_owned()),
        ("OPENAI_API_KEY", model.key.clone()),
    ]
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        options: Options,
    }

    fn parse(arguments: &[&str]) -> Options {
        let arguments = ["demo"].iter().chain(arguments);
        Program::try_parse_from(arguments).unwrap().options
    }

    #[test]
    fn the_local_model_is_chosen_before_the_arguments_of_the_demo() {
        let options = parse(&[
            "--local-model",
            "--bind",
            "127.0.0.1:1",
            "--agent-max-rounds=3",
        ]);
        assert!(options.local_model && options.check().is_ok());
        assert_eq!(
            options.arguments,
            ["--bind", "127.0.0.1:1", "--agent-max-rounds=3"]
        );
        let options = parse(&["--bind", "127.0.0.1:1", "--local-model"]);
        let error = options.check().unwrap_err().to_string();
        assert!(error.contains("before the arguments"), "{error}");
        assert!(!parse(&[]).local_model);
        assert!(parse(&["--agent-provider=commands"]).chooses_model());
    }

    #[test]
    fn several_bridges_are_chosen_before_the_arguments_of_the_demo() {
        let options = parse(&["--nodes", "3", "--agent-max-rounds=3"]);
        assert!(options.nodes == Some(3) && options.check().is_ok());
        assert_eq!(options.arguments, ["--agent-max-rounds=3"]);
        assert_eq!(parse(&[]).nodes, None);
        for number in ["1", "10", "x"] {
            assert!(Program::try_parse_from(["demo", "--nodes", number]).is_err());
        }
        let check = |arguments: &[&str]| parse(arguments).check().unwrap_err().to_string();
        let late = check(&["--agent-max-rounds=3", "--nodes=3"]);
        assert!(late.contains("before the arguments"), "{late}");
        for bind in [&["--bind", "127.0.0.1:1"][..], &["--bind=127.0.0.1:1"]] {
            let error = check(&[&["--nodes", "3"], bind].concat());
            assert!(error.contains("MCP_WEB_BIND"), "{error}");
        }
        assert!(parse(&["--bind=127.0.0.1:1"]).check().is_ok());
    }

    #[test]
    fn the_agent_uses_the_local_model_with_its_key_and_rules() {
        let workspace = Workspace::here();
        let model = LocalModel {
            url: "http://127.0.0.1:1".to_owned(),
            key: "k".to_owned(),
        };
        let variables = environment(&workspace, &model);
        let value = |name: &str| {
            let variable = variables.iter().find(|(variable, _)| *variable == name);
            variable.map(|(_, value)| value.as_str())
        };
        assert_eq!(
            value("MCP_WEB_AGENT_BASE_URL"),
            Some("http://127.0.0.1:1/v1")
        );
        assert_eq!(value("OPENAI_API_KEY"), Some("k"));
        let rules = value("MCP_WEB_AGENT_MODEL_RULES").unwrap();
        assert!(
            std::fs::read_to_string(rules)
                .unwrap()
                .contains("SmolLM2-*")
        );
    }
}
