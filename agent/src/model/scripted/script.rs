//! Parses the commands in a prompt.

use std::fmt;

use serde_json::{Map, Value};

/// The commands of a prompt, in blocks. The commands of one block run at the same time.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Script {
    pub(super) blocks: Vec<Vec<ScriptCommand>>,
}

/// A call of a tool: `/tool {"name": "value"}`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ScriptCommand {
    pub(super) tool: String,
    pub(super) arguments: Map<String, Value>,
}

/// A line that begins like a command and is malformed.
#[derive(Debug, PartialEq)]
pub(super) struct ScriptError {
    /// The number of the line, from 1.
    number: usize,
    tool: String,
    reason: String,
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            number,
            tool,
            reason,
        } = self;
        write!(
            f,
            "Line {number}: what follows /{tool} must be one JSON object: {reason}. Nothing was run."
        )
    }
}

impl Script {
    /// Parses all lines, and ignores those that are not commands. No command is run if one is
    /// malformed.
    pub(super) fn parse(prompt: &str) -> Result<Self, ScriptError> {
        let mut script = Self::default();
        let mut block = Vec::new();
        for (index, line) in prompt.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() {
                script.push_block(&mut block);
            } else if let Some(command) = line.strip_prefix('/') {
                block.extend(ScriptCommand::parse(index + 1, command)?);
            }
        }
        script.push_block(&mut block);
        Ok(script)
    }

    fn push_block(&mut self, block: &mut Vec<ScriptCommand>) {
        if !block.is_empty() {
            self.blocks.push(std::mem::take(block));
        }
    }

    /// Returns the last command that calls this tool.
    pub(super) fn last_command(&self, tool: &str) -> Option<&ScriptCommand> {
        let commands = self.blocks.iter().flatten();
        commands.rev().find(|command| command.tool == tool)
    }
}

impl ScriptCommand {
    /// Parses the text after the slash. Returns `None` for a path or a comment, which does not
    /// begin with the name of a tool.
    fn parse(number: usize, command: &str) -> Result<Option<Self>, ScriptError> {
        let (tool, rest) = match command.split_once(char::is_whitespace) {
            Some((tool, rest)) => (tool, rest.trim()),
            None => (command, ""),
        };
        if !is_tool_name(tool) {
            return Ok(None);
        }
        let arguments = match rest {
            "" => Ok(Map::new()),
            json => serde_json::from_str(json).map_err(|error| error.to_string()),
        };
        match arguments {
            Ok(arguments) => Ok(Some(Self {
                tool: tool.to_owned(),
                arguments,
            })),
            Err(reason) => Err(ScriptError {
                number,
                tool: tool.to_owned(),
                reason,
            }),
        }
    }
}

/// Returns whether a bridge publishes names of tools in this form.
fn is_tool_name(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    !text.is_empty() && text.bytes().all(is_allowed)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn command(tool: &str, arguments: Value) -> ScriptCommand {
        ScriptCommand {
            tool: tool.to_owned(),
            arguments: arguments.as_object().unwrap().clone(),
        }
    }

    #[test]
    fn consecutive_commands_form_blocks_and_other_text_is_ignored() {
        let prompt =
            "Please:\r\n/add {\"n\": 1}\r\n  /add {\"n\": 2}\n\n\n// a comment\n/list\n/a/path";
        let script = Script::parse(prompt).unwrap();
        let add = |n: u8| command("add", json!({ "n": n }));
        assert_eq!(script.blocks.len(), 2);
        assert_eq!(script.blocks[0], [add(1), add(2)]);
        assert_eq!(script.blocks[1], [command("list", json!({}))]);
        assert_eq!(script.last_command("add"), Some(&add(2)));
        assert_eq!(script.last_command("drop"), None);
    }

    #[test]
    fn a_command_without_a_json_object_is_an_error() {
        for (prompt, number) in [
            ("/add {\"n\":", 1),
            ("/list\n\n/add [1]", 3),
            ("/add {} {}", 1),
        ] {
            let error = Script::parse(prompt).unwrap_err();
            assert_eq!(error.number, number, "{error}");
            assert!(error.to_string().contains("/add must be one JSON object"));
        }
    }

    #[test]
    fn a_prompt_without_commands_has_no_block() {
        assert_eq!(Script::parse("Plan my day"), Ok(Script::default()));
        assert_eq!(Script::parse(""), Ok(Script::default()));
    }
}
