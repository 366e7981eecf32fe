//! The entry of our server in the form of a client: how it is written, read and recognized.

use std::path::PathBuf;

use bridge_settings::{Secret, parse_credential};
use serde_json::{Map, Value, json};

use crate::client::{Client, DefaultValue, Member, MemberValue};

/// The variable of the stdio client for the address of the bridge.
pub(crate) const URL_VARIABLE: &str = "MCP_SERVER_URL";

/// The variable of the stdio client for the token.
pub(crate) const TOKEN_VARIABLE: &str = "AUTH_TOKEN";

/// The header with the token.
pub(crate) const TOKEN_HEADER: &str = "Authorization";

/// The text in the place of a token that is not known, or not shown.
pub(crate) const PLACEHOLDER: &str = "TOKEN";

/// The arguments with which the program is a stdio client.
pub(crate) const ARGUMENTS: &[&str] = &["stdio"];

/// How a client contacts the bridge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryTransport {
    /// The client starts this program.
    Stdio,
    /// The client sends requests itself.
    Http,
}

/// The server that an entry describes.
#[derive(Clone, Debug)]
pub(crate) struct ClientEntry {
    /// The name of the server.
    pub(crate) name: String,
    /// The path of the program, which must be Unicode.
    pub(crate) program: String,
    /// The address of the MCP endpoint of the bridge.
    pub(crate) url: String,
    /// The token of the page; without one, an existing entry keeps its token.
    pub(crate) token: Option<Secret>,
    pub(crate) transport: EntryTransport,
}

impl ClientEntry {
    /// Returns the members that an entry has in a client, or `None` if the client does not have this
    /// transport.
    pub(crate) fn members(&self, client: &Client) -> Option<&'static [Member]> {
        match self.transport {
            EntryTransport::Stdio => Some(client.stdio),
            EntryTransport::Http => client.http,
        }
    }

    /// Returns the entry with a word in the place of the token.
    pub(crate) fn with_placeholder(&self) -> Self {
        Self {
            token: Some(Secret::from_trusted(PLACEHOLDER.to_owned())),
            ..self.clone()
        }
    }

    /// Returns the value of an entry with these members.
    pub(crate) fn value(&self, members: &[Member]) -> Value {
        let members = members.iter();
        let members = members.map(|it| (it.key.to_owned(), self.content(it.content)));
        Value::Object(members.collect())
    }

    /// Returns the value of a member. Without a token, it lacks the variable or header for it.
    pub(crate) fn content(&self, content: MemberValue) -> Value {
        match content {
            MemberValue::Text(text) => text.into(),
            MemberValue::Name => self.name.as_str().into(),
            MemberValue::Program => self.program.as_str().into(),
            MemberValue::Arguments => json!(ARGUMENTS),
            MemberValue::CommandLine => {
                let words = std::iter::once(self.program.as_str());
                words.chain(ARGUMENTS.iter().copied()).collect()
            }
            MemberValue::Url => self.url.as_str().into(),
            MemberValue::Variables => {
                let mut variables = Map::new();
                variables.insert(URL_VARIABLE.to_owned(), self.url.as_str().into());
                if let Some(token) = &self.token {
                    variables.insert(TOKEN_VARIABLE.to_owned(), token.expose().into());
                }
                variables.into()
            }
            MemberValue::Headers => match &self.token {
                Some(token) => json!({ TOKEN_HEADER: format!("Bearer {}", token.expose()) }),
                None => json!({}),
            },
            MemberValue::Default(DefaultValue::True) => true.into(),
            MemberValue::Default(DefaultValue::False) => false.into(),
            MemberValue::Default(DefaultValue::Number(number)) => number.into(),
            MemberValue::Default(DefaultValue::All) => json!(["*"]),
        }
    }
}

/// The server that an existing entry describes, as far as it is understood.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InstalledServer {
    /// The program and its arguments, if the client starts one.
    pub command: Option<(PathBuf, Vec<String>)>,
    /// The address of the bridge.
    pub url: Option<String>,
    /// The token of the page.
    pub token: Option<Secret>,
}

impl InstalledServer {
    /// Reads the entry of a client.
    pub(crate) fn read(client: &Client, entry: &Value) -> Self {
        let mut server = Self::default();
        for member in client.stdio.iter().chain(client.http.unwrap_or_default()) {
            let value = &entry[member.key];
            match member.content {
                MemberValue::Program => server.read_program(value),
                MemberValue::Arguments => server.read_arguments(value),
                MemberValue::CommandLine => {
                    server.read_program(&value[0]);
                    server.read_arguments(
                        &value
                            .as_array()
                            .map_or(Value::Null, |words| words.iter().skip(1).cloned().collect()),
                    );
                }
                MemberValue::Url => server.read_url(value),
                MemberValue::Variables => {
                    server.read_url(&value[URL_VARIABLE]);
                    server.read_token(value[TOKEN_VARIABLE].as_str());
                }
                MemberValue::Headers => {
                    let header = value[TOKEN_HEADER].as_str();
                    server.read_token(header.and_then(|text| text.strip_prefix("Bearer ")));
                }
                MemberValue::Text(_) | MemberValue::Name | MemberValue::Default(_) => {}
            }
        }
        server
    }

    /// Whether the entry starts our stdio client, in any version, from any folder or by a package runner.
    pub(crate) fn starts_our_program(&self) -> bool {
        let Some((program, arguments)) = &self.command else {
            return false;
        };
        // A path of Windows has no separators for other systems.
        let program = program.to_string_lossy();
        let name = program.rsplit(['/', '\\']).next().unwrap_or_default();
        let stem = [".exe", ".cmd"]
            .iter()
            .find_map(|ending| name.strip_suffix(ending));
        let mut words = arguments.iter().map(String::as_str);
        match stem.unwrap_or(name) {
            "mcp-web-stdio" => true,
            "mcp-web" => words.next() == Some(ARGUMENTS[0]),
            "npx" | "bunx" | "uvx" => {
                let package = words.find(|it| !it.starts_with('-'));
                package.is_some_and(is_package) && words.next() == Some(ARGUMENTS[0])
            }
            _ => false,
        }
    }

    /// Whether the entry starts no program, and has the address of the bridge. A person can have written
    /// such an entry as well: before one is removed, its name is compared.
    pub(crate) fn is_bridge(&self, url: &str) -> bool {
        self.command.is_none() && self.url.as_deref() == Some(url)
    }

    /// Whether the entry starts the stdio client of the program with this path.
    pub(crate) fn starts(&self, program: &str) -> bool {
        let command = self.command.as_ref();
        command.is_some_and(|(command, arguments)| {
            command.as_os_str() == program && arguments.first().is_some_and(|it| it == ARGUMENTS[0])
        })
    }

    /// Whether our entry may replace this one: it starts our program, or is the address of the bridge.
    pub(crate) fn is_ours(&self, program: &str, url: &str) -> bool {
        self.starts_our_program() || self.starts(program) || self.is_bridge(url)
    }

    fn read_program(&mut self, value: &Value) {
        if let Some(program) = value.as_str() {
            self.command.get_or_insert_default().0 = program.into();
        }
    }

    fn read_arguments(&mut self, value: &Value) {
        if let (Some((_, arguments)), Some(words)) = (&mut self.command, value.as_array()) {
            let words = words.iter().filter_map(Value::as_str);
            *arguments = words.map(str::to_owned).collect();
        }
    }

    fn read_url(&mut self, value: &Value) {
        self.url = value.as_str().map(str::to_owned).or(self.url.take());
    }

    fn read_token(&mut self, text: Option<&str>) {
        let token = text.and_then(|text| parse_credential(text).ok());
        self.token = token.or(self.token.take());
    }
}

/// Whether an argument of `npx`, `bunx` or `uvx` is our package, with or without a version.
fn is_package(argument: &str) -> bool {
    argument == "mcp-web" || argument.starts_with("mcp-web@")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client_table::{CLIENTS, client};

    fn entry(transport: EntryTransport) -> ClientEntry {
        ClientEntry {
            name: "web".to_owned(),
            program: "/opt/mcp-web".to_owned(),
            url: "http://127.0.0.1:3001/mcp".to_owned(),
            token: Some(Secret::from_trusted("a-token".to_owned())),
            transport,
        }
    }

    #[test]
    fn an_entry_of_each_client_is_read_back() {
        for client in CLIENTS {
            for transport in [EntryTransport::Stdio, EntryTransport::Http] {
                let entry = entry(transport);
                let Some(members) = entry.members(client) else {
                    continue;
                };
                let server = InstalledServer::read(client, &entry.value(members));
                assert_eq!(
                    server.url.as_deref(),
                    Some(entry.url.as_str()),
                    "{client:?}"
                );
                assert_eq!(server.token, entry.token, "{client:?}");
                let command = ("/opt/mcp-web".into(), vec!["stdio".to_owned()]);
                let expected = (transport == EntryTransport::Stdio).then_some(command);
                assert_eq!(server.command, expected, "{client:?}");
                assert_eq!(server.starts_our_program(), server.command.is_some());
                assert_eq!(server.is_bridge(&entry.url), server.command.is_none());
            }
        }
    }

    #[test]
    fn our_program_is_recognized_wherever_it_is() {
        let starts = |command: &str, arguments: &[&str]| {
            let entry = json!({ "command": command, "args": arguments });
            let server = InstalledServer::read(client("cursor").unwrap(), &entry);
            server.starts_our_program()
        };
        for command in [
            "mcp-web",
            "/old/mcp-web",
            "mcp-web-stdio",
            r"C:\a\mcp-web.exe",
            "C:/mcp-web-stdio.exe",
        ] {
            assert!(starts(command, &["stdio"]), "{command}");
        }
        assert!(starts(
            "npx",
            &["-y", "--prefer-offline", "mcp-web@0.2.0", "stdio"]
        ));
        assert!(starts("uvx", &["mcp-web", "stdio"]));
        for command in ["mcp-web-other", "/mcp-web/node", "my-mcp-web", ""] {
            assert!(!starts(command, &["stdio"]), "{command}");
        }
        assert!(!starts("npx", &["mcp-web-other"]));
        assert!(!starts("npx", &["-y", "other", "mcp-web", "stdio"]));
        assert!(!starts("sh", &["-c", "true", "mcp-web", "stdio"]));
        assert!(!starts("mcp-web", &["agent", "plugin", "serve"]));
        let cursor = client("cursor").unwrap();
        for entry in [
            json!(null),
            json!([1]),
            json!({ "command": 1 }),
            json!("mcp-web"),
        ] {
            assert!(!InstalledServer::read(cursor, &entry).starts_our_program());
        }
    }

    #[test]
    fn a_token_is_not_shown() {
        let shown = format!("{:?}", entry(EntryTransport::Stdio));
        assert!(!shown.contains("a-token"), "{shown}");
    }
}
