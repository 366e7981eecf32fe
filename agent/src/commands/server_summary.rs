//! A server of the file on one line. Its arguments and its URL may contain secrets.

use std::path::Path;

use agent_tools::{ServerEntry, ServerTransport};
use bridge_protocol::invisible::visible_line;
use url::Url;

use super::server_listing::count;

/// The programs whose first argument names the program that they start, so that it is not a secret.
const LAUNCHERS: [&str; 7] = ["npx", "bunx", "uvx", "pipx", "node", "python", "python3"];

/// The options of launchers that have no value, or whose value names what they start.
const LAUNCHER_OPTIONS: [&str; 3] = ["-y", "--yes", "-m"];

/// Returns name, transport, address and pins of a server, or why it is not used. `pinned` is the number
/// of its pinned tools, if it has pins.
pub(super) fn summarize(server: &ServerEntry, pinned: Option<usize>) -> String {
    let state = match &server.definition {
        Err(error) => format!("off: {error}"),
        Ok(definition) if definition.policy.is_disabled => "disabled".to_owned(),
        Ok(definition) => {
            let pinned = pinned.map_or("not pinned".to_owned(), |tools| {
                format!("{} pinned", count(tools, "tool"))
            });
            format!("{}  {pinned}", address(&definition.transport))
        }
    };
    visible_line(&format!("{}  {state}", server.name)).into_owned()
}

fn address(transport: &ServerTransport) -> String {
    match transport {
        ServerTransport::Stdio { command, args, .. } => {
            format!("stdio  {}", command_line(command, args))
        }
        ServerTransport::Http { url, .. } => format!("http  {}", origin(url)),
    }
}

/// Returns the command, the program of a launcher, and the number of the other arguments: any of
/// them may be a secret, also one that looks like a name.
fn command_line(command: &str, arguments: &[String]) -> String {
    let mut words = vec![if command.contains("${") {
        "…"
    } else {
        command
    }];
    let program = Path::new(command).file_stem();
    if program.is_some_and(|it| LAUNCHERS.iter().any(|launcher| it == *launcher)) {
        let is_option = |word: &&String| LAUNCHER_OPTIONS.contains(&word.as_str());
        let options = arguments.iter().take_while(is_option).count();
        if let Some(target) = arguments.get(options)
            && is_plain(target)
        {
            words.extend(arguments[..=options].iter().map(String::as_str));
        }
    }
    match arguments.len() + 1 - words.len() {
        0 => words.join(" "),
        _ if words.len() == 1 => {
            format!("{} ({})", words[0], count(arguments.len(), "argument"))
        }
        hidden => format!("{} ({})", words.join(" "), count(hidden, "more argument")),
    }
}

/// Returns whether a word can be the name of a package or a path, and no option.
fn is_plain(word: &str) -> bool {
    let is_allowed = |it: char| it.is_ascii_alphanumeric() || "@._-/".contains(it);
    !word.starts_with('-') && word.chars().all(is_allowed)
}

/// Returns the origin of a URL, without user, path and query.
fn origin(url: &str) -> String {
    let origin = Url::parse(url).map(|url| url.origin().ascii_serialization());
    let origin = origin.ok().filter(|it| !it.contains('$'));
    origin.unwrap_or_else(|| "…".to_owned())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use agent_tools::ServersFile;

    fn lines(servers: &str, pinned: Option<usize>) -> Vec<String> {
        let text = format!("{{\"mcpServers\": {{{servers}}}}}");
        let file = ServersFile::parse(Path::new("a.json"), &text).unwrap();
        let servers = file.servers().into_iter();
        servers.map(|server| summarize(&server, pinned)).collect()
    }

    #[test]
    fn a_server_is_a_line_for_people() {
        let time = r#""time": {"command": "uvx", "args": ["mcp-server-time"]}"#;
        assert_eq!(
            lines(time, Some(2)),
            ["time  stdio  uvx mcp-server-time  2 tools pinned"]
        );
        assert_eq!(
            lines(time, Some(1)),
            ["time  stdio  uvx mcp-server-time  1 tool pinned"]
        );
        assert_eq!(
            lines(
                r#""a": {"url": "https://host:8443/mcp?key=hush"},
                   "b": {"command": "b", "x-policy": {"disabled": true}},
                   "c": {"command": "c", "args": 1}"#,
                None
            ),
            [
                "a  http  https://host:8443  not pinned",
                "b  disabled",
                "c  off: the server `c` in a.json: `args` must be a list of strings such as \
                 [\"-y\", \"some-server\"]"
            ]
        );
    }

    #[test]
    fn possible_secrets_are_not_shown() {
        for (command, args, expected) in [
            (
                "npx",
                vec!["-y", "@a/b@1.2", "hush"],
                "npx -y @a/b@1.2 (1 more argument)",
            ),
            (
                "/usr/bin/python3",
                vec!["-m", "a_b"],
                "/usr/bin/python3 -m a_b",
            ),
            (
                "node",
                vec!["/srv/a.mjs", "--key", "hush"],
                "node /srv/a.mjs (2 more arguments)",
            ),
            ("npx", vec!["--token", "hush"], "npx (2 arguments)"),
            ("uvx", vec!["git+https://hush@a/b"], "uvx (1 argument)"),
            ("uvx", vec!["${A:-hush}"], "uvx (1 argument)"),
            ("uvx", vec!["KEY=hush"], "uvx (1 argument)"),
            ("npx", vec!["-y"], "npx (1 argument)"),
            ("server", vec!["hush"], "server (1 argument)"),
            ("${A:-hush}", vec![], "…"),
            ("time", vec![], "time"),
        ] {
            let args: Vec<_> = args.into_iter().map(str::to_owned).collect();
            assert_eq!(command_line(command, &args), expected);
        }
        for (url, expected) in [
            ("https://a.b/hush", "https://a.b"),
            ("https://${HUSH}/mcp", "…"),
            ("${HUSH}", "…"),
            ("https://hush:${A}@b", "https://b"),
        ] {
            assert_eq!(origin(url), expected);
        }
    }
}
