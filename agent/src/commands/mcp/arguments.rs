//! The arguments of `mcp-web agent mcp`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use serde_json::{Value, json};

use crate::config::SecretSettings;

/// Adds, looks at and tries the MCP servers whose tools an agent has.
#[derive(Debug, Parser)]
#[command(name = "mcp", bin_name = "mcp-web agent mcp", after_long_help = EXAMPLES)]
pub(super) struct Arguments {
    /// The file with the servers: `file` of the table `[mcp]` in the agent's `tools_file`. Its pins are
    /// beside it, in a file that ends with `.pins.json`.
    #[arg(
        long,
        env = "MCP_WEB_AGENT_SERVERS_FILE",
        value_name = "PATH",
        default_value = "mcp-servers.json",
        global = true
    )]
    pub(super) file: PathBuf,

    #[command(flatten)]
    pub(super) secrets: SecretSettings,

    #[command(subcommand)]
    pub(super) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  mcp-web agent mcp add time uvx mcp-server-time
  mcp-web agent mcp add --header 'Authorization: Bearer ${TOKEN}' issues https://mcp.example.com/mcp
  mcp-web agent mcp tools time
  mcp-web agent mcp sync
  mcp-web agent mcp call time get_current_time '{\"timezone\": \"Europe/Berlin\"}'";

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Add a server to the file, show its tools, and pin them.
    Add(Addition),
    /// List the servers of the file.
    List,
    /// Remove a server from the file, with its pins.
    Remove {
        /// The name of the server.
        name: String,
    },
    /// Show the complete tools of servers: kind, name in profiles, description and schema.
    Tools {
        /// The servers; without names, all.
        names: Vec<String>,
    },
    /// Show how the tools of servers differ from the pinned ones, and pin the current ones after
    /// `y` on a terminal or with `--yes`. Tools of a server without pins are shown and pinned.
    Sync {
        /// The servers; without names, all.
        names: Vec<String>,
        /// Only show the differences, and fail if there are any.
        #[arg(long, conflicts_with = "yes")]
        check: bool,
        /// Pin the differences without asking.
        #[arg(long)]
        yes: bool,
    },
    /// Call a tool of a server, without any profile.
    Call {
        /// The name of the server.
        name: String,
        /// The name of the tool, as the server has it, or as profiles have it.
        tool: String,
        /// The arguments, as a JSON object.
        #[arg(default_value = "{}")]
        arguments: String,
    },
    /// Start each server, and show its problems.
    Doctor {
        /// The servers; without names, all.
        names: Vec<String>,
    },
}

/// A server to add. Options come before the name: arguments after the command belong to it.
#[derive(Debug, Args)]
pub(super) struct Addition {
    /// Variable of the server's environment; `${VAR}` is replaced when the agent starts.
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_variable)]
    env: Vec<(String, String)>,
    /// Header of requests to a URL; `${VAR}` is replaced when the agent starts.
    #[arg(long, value_name = "NAME: VALUE", value_parser = parse_header)]
    header: Vec<(String, String)>,
    /// Folder in which the server runs.
    #[arg(long, value_name = "PATH")]
    cwd: Option<String>,
    /// Replace the server of this name, if there is one, with its `x-policy`.
    #[arg(long)]
    pub(super) force: bool,
    /// The name: the agent's tools of the server begin with `mcp-NAME-`.
    pub(super) name: String,
    /// The URL of a server over Streamable HTTP, or the command of one over stdio, with its arguments.
    #[arg(required = true, trailing_var_arg = true, value_name = "URL|COMMAND")]
    target: Vec<String>,
}

impl Addition {
    /// Returns the entry of the server.
    pub(super) fn entry(&self) -> Result<Value, String> {
        let (first, rest) = self
            .target
            .split_first()
            .ok_or("write a URL or a command after the name")?;
        let is_http = ["http://", "https://"]
            .iter()
            .any(|scheme| first.starts_with(scheme));
        if is_http && !rest.is_empty() {
            return Err(
                "nothing can follow the URL, and options come before the name, as in \
                 `mcp add --header 'NAME: VALUE' NAME URL`"
                    .to_owned(),
            );
        }
        if is_http && (!self.env.is_empty() || self.cwd.is_some()) {
            return Err("`--env` and `--cwd` belong to a command, and this is a URL".to_owned());
        }
        if !is_http && !self.header.is_empty() {
            return Err(
                "`--header` belongs to a URL, which begins with http:// or https://, and this is a \
                 command"
                    .to_owned(),
            );
        }
        let mut entry = if is_http {
            json!({ "type": "http", "url": first })
        } else {
            json!({ "command": first, "args": rest })
        };
        for (key, values) in [("env", &self.env), ("headers", &self.header)] {
            if !values.is_empty() {
                entry[key] = json!(values.iter().cloned().collect::<BTreeMap<_, _>>());
            }
        }
        if let Some(cwd) = &self.cwd {
            entry["cwd"] = cwd.as_str().into();
        }
        Ok(entry)
    }
}

fn parse_variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

fn parse_header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once(':').ok_or("write 'NAME: VALUE'")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addition(words: &[&str]) -> Result<Addition, String> {
        let words = [&["mcp", "add"], words].concat();
        let arguments = Arguments::try_parse_from(words).map_err(|error| error.to_string())?;
        match arguments.command {
            Command::Add(addition) => Ok(addition),
            other => panic!("{other:?}"),
        }
    }

    fn entry(words: &[&str]) -> Result<Value, String> {
        addition(words)?.entry()
    }

    #[test]
    fn a_command_may_stand_after_two_dashes_or_without_them() {
        let expected = json!({ "command": "uvx", "args": ["time", "-y", "--env", "A=B"] });
        let words = ["uvx", "time", "-y", "--env", "A=B"];
        assert_eq!(entry(&[&["time"], &words[..]].concat()).unwrap(), expected);
        assert_eq!(
            entry(&[&["time", "--"], &words[..]].concat()).unwrap(),
            expected
        );
        let dashes = entry(&["time", "npx", "-y", "time", "--", "-x"]).unwrap();
        assert_eq!(dashes["args"], json!(["-y", "time", "--", "-x"]));
        let options = ["--env", "A=B=C", "--cwd", "/srv", "time", "uvx"];
        let expected =
            json!({ "command": "uvx", "args": [], "env": { "A": "B=C" }, "cwd": "/srv" });
        assert_eq!(entry(&options).unwrap(), expected);
        assert!(addition(&["--force", "time", "uvx"]).unwrap().force);
    }

    #[test]
    fn a_first_word_that_is_a_url_is_the_url() {
        let words = ["--header", "A: b:c", "issues", "https://host/mcp"];
        let expected =
            json!({ "type": "http", "url": "https://host/mcp", "headers": { "A": "b:c" } });
        assert_eq!(entry(&words).unwrap(), expected);
        assert_eq!(
            entry(&["issues", "--", "http://host"]).unwrap()["type"],
            "http"
        );
    }

    #[test]
    fn wrong_arguments_are_refused_with_a_reason() {
        for (words, expected) in [
            (
                &["a", "https://host", "--header", "A: hush"][..],
                "options come before the name",
            ),
            (
                &["--env", "A=hush", "a", "https://host"],
                "belong to a command",
            ),
            (&["--header", "A: hush", "a", "uvx"], "belongs to a URL"),
            (&["a"], "URL|COMMAND"),
            (&["a", "--hush-hush", "uvx"], "unexpected argument"),
        ] {
            let error = entry(words).unwrap_err();
            assert!(error.contains(expected), "{error}");
            assert!(!error.contains("A: hush"), "{error}");
        }
    }
}
