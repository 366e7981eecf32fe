//! What the user can set, as flags or in the environment.

use std::ffi::OsString;

use clap::{CommandFactory, FromArgMatches, Parser};
use http::HeaderValue;
use reqwest::Url;
use tracing::level_filters::LevelFilter;

const AFTER_HELP: &str = "\
Prefer AUTH_TOKEN to --token: arguments can be read in the list of processes.

Certificates of https:// bridges are checked against the authorities that the system trusts, or,
except on macOS and Windows, those in the PEM file that SSL_CERT_FILE names.

Configuration of an AI client, to be pasted where it keeps its MCP servers:
  { \"mcpServers\": { \"web-page\": {
      \"command\": \"mcp-web-stdio\",
      \"env\": { \"MCP_SERVER_URL\": \"http://localhost:3001/mcp\", \"AUTH_TOKEN\": \"...\" } } } }";

/// The longest message by default. A result of 10 MiB (the bridge's default limit) is about 25 MiB
/// once it stands in a text block as well, where each of its quotes is escaped.
const MAX_MESSAGE_BYTES: usize = 64 * 1024 * 1024;

/// The greetings of both sides must pass.
const LEAST_MESSAGE_BYTES: usize = 64 * 1024;

/// The flags as given: text, because a wrong value must not be echoed when it may hold a secret.
#[derive(Parser)]
#[command(
    name = "mcp-web-stdio",
    version,
    about = "MCP server over stdin and stdout that carries everything to the MCP-Web bridge",
    after_help = AFTER_HELP
)]
struct Flags {
    /// The bridge, http://HOST:PORT or https://HOST with or without /mcp; credentials in it are not used
    #[arg(
        long,
        env = "MCP_SERVER_URL",
        value_name = "URL",
        default_value = "http://localhost:3001/mcp"
    )]
    url: String,
    /// The token of the page, copied from its configuration panel
    #[arg(long, env = "AUTH_TOKEN", value_name = "TOKEN", hide_env_values = true)]
    token: Option<String>,
    /// Use this session (browser tab) only; list_active_sessions shows their ids
    #[arg(long, env = "MCP_WEB_SESSION", value_name = "ID")]
    session: Option<String>,
    /// The longest message that passes in either direction, in bytes
    #[arg(
        long,
        env = "MCP_WEB_MAX_MESSAGE_BYTES",
        value_name = "BYTES",
        default_value_t = MAX_MESSAGE_BYTES.to_string()
    )]
    max_message_bytes: String,
    /// What is logged to stderr: off, error, warn, info, debug or trace
    #[arg(
        long,
        env = "MCP_WEB_LOG",
        value_name = "LEVEL",
        default_value = "warn"
    )]
    log: String,
}

/// Where the bridge is and who asks.
#[derive(Clone)]
pub struct Config {
    /// The MCP endpoint, without credentials and query.
    pub url: Url,
    /// Names the realm at the bridge. Without one nothing is sent: each call says what to set.
    pub token: Option<Token>,
    /// Sent as `Mcp-Web-Session` with each request.
    pub session: Option<HeaderValue>,
    /// The longest line of the client and the longest message of the bridge that passes, in bytes. A
    /// request that has no answer for this reason fails.
    pub max_message_bytes: usize,
    /// The least severe events that reach stderr.
    pub log: LevelFilter,
}

/// A bearer token. Has no `Debug` and no `Display`, so that it cannot get into a log.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

/// A value that cannot be used. The text names the flag, the variable and what is allowed, and
/// never repeats the value.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// Not a URL, or not one of HTTP.
    #[error(
        "--url (MCP_SERVER_URL) must be http://HOST:PORT or https://HOST with or without a path, for example http://localhost:3001/mcp"
    )]
    Url,
    /// Cannot stand in an HTTP header.
    #[error(
        "--token (AUTH_TOKEN) must be visible ASCII characters without spaces: copy it again from the page's configuration panel"
    )]
    Token,
    /// Cannot stand in an HTTP header.
    #[error(
        "--session (MCP_WEB_SESSION) must be the id of a session, visible ASCII characters: list_active_sessions shows the ids"
    )]
    Session,
    /// Not a number of bytes.
    #[error(
        "--max-message-bytes (MCP_WEB_MAX_MESSAGE_BYTES) must be a whole number of bytes from {LEAST_MESSAGE_BYTES} up, for example {MAX_MESSAGE_BYTES}"
    )]
    MaxMessageBytes,
    /// Not one of the levels.
    #[error("--log (MCP_WEB_LOG) must be one of off, error, warn, info, debug, trace")]
    Log,
}

impl Config {
    /// Reads flags and environment. `--help` and unknown flags end the process as usual for
    /// command lines: help on stdout with 0, a usage error on stderr with 2.
    ///
    /// # Errors
    /// When a value cannot be used.
    pub fn from_command_line(
        arguments: impl Iterator<Item = OsString>,
    ) -> Result<Self, ConfigError> {
        let matches = Flags::command().get_matches_from(arguments);
        let flags = Flags::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
        Self::from_flags(&flags)
    }

    fn from_flags(flags: &Flags) -> Result<Self, ConfigError> {
        let (url, token_in_url) = parse_endpoint(&flags.url)?;
        let token = non_empty(flags.token.as_deref())
            .map(str::to_owned)
            .or(token_in_url);
        let session = non_empty(flags.session.as_deref())
            .map(header_value)
            .transpose();
        Ok(Self {
            url,
            token: token.as_deref().map(parse_token).transpose()?,
            session: session.map_err(|_| ConfigError::Session)?,
            max_message_bytes: parse_message_bytes(&flags.max_message_bytes)?,
            log: flags.log.trim().parse().map_err(|_| ConfigError::Log)?,
        })
    }
}

/// The endpoint, and the token that v1 pages put into the query.
fn parse_endpoint(text: &str) -> Result<(Url, Option<String>), ConfigError> {
    let mut url = Url::parse(text.trim()).map_err(|_| ConfigError::Url)?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(ConfigError::Url);
    }
    let token = url
        .query_pairs()
        .find(|(key, _)| key == "token")
        .map(|(_, value)| value.into_owned());
    url.set_query(None);
    url.set_fragment(None);
    url.set_username("").map_err(|()| ConfigError::Url)?;
    url.set_password(None).map_err(|()| ConfigError::Url)?;
    if url.path() == "/" {
        url.set_path("/mcp");
    }
    Ok((url, token))
}

/// An empty variable is one that is not set: AI clients keep empty fields in their files.
fn non_empty(value: Option<&str>) -> Option<&str> {
    value.map(str::trim).filter(|value| !value.is_empty())
}

fn parse_message_bytes(text: &str) -> Result<usize, ConfigError> {
    let bytes = non_empty(Some(text)).map_or(Ok(MAX_MESSAGE_BYTES), str::parse);
    bytes
        .ok()
        .filter(|bytes| *bytes >= LEAST_MESSAGE_BYTES)
        .ok_or(ConfigError::MaxMessageBytes)
}

fn parse_token(text: &str) -> Result<Token, ConfigError> {
    let token = text.strip_prefix("Bearer ").unwrap_or(text).trim();
    header_value(token)
        .map(|_| Token(token.to_owned()))
        .map_err(|_| ConfigError::Token)
}

fn header_value(text: &str) -> Result<HeaderValue, ()> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(());
    }
    HeaderValue::from_str(text).map_err(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(arguments: &[&str]) -> Result<Config, ConfigError> {
        let arguments = ["mcp-web-stdio", "--token", "sixteen-characters"]
            .iter()
            .chain(arguments);
        let flags = Flags::try_parse_from(arguments).expect("flags are known");
        Config::from_flags(&flags)
    }

    #[test]
    fn the_path_may_be_left_out() {
        for (given, used) in [
            ("http://localhost:3001", "http://localhost:3001/mcp"),
            ("http://localhost:3001/", "http://localhost:3001/mcp"),
            ("http://localhost:3001/mcp", "http://localhost:3001/mcp"),
            ("https://host", "https://host/mcp"),
            (" http://host/behind/a/proxy ", "http://host/behind/a/proxy"),
            (
                "http://user:secret@host:1/mcp?token=abc#x",
                "http://host:1/mcp",
            ),
        ] {
            assert_eq!(
                config(&["--url", given]).map(|config| config.url.to_string()),
                Ok(used.into())
            );
        }
    }

    #[test]
    fn the_longest_message_is_64_mib_unless_set() {
        for (given, used) in [
            ("", Ok(64 * 1024 * 1024)),
            ("65536", Ok(65536)),
            ("4294967296", Ok(4 * 1024 * 1024 * 1024)),
            ("65535", Err(ConfigError::MaxMessageBytes)),
            ("64MiB", Err(ConfigError::MaxMessageBytes)),
        ] {
            let config = config(&["--max-message-bytes", given]);
            assert_eq!(config.map(|config| config.max_message_bytes), used);
        }
        assert_eq!(
            config(&[]).map(|config| config.max_message_bytes),
            Ok(MAX_MESSAGE_BYTES)
        );
    }

    #[test]
    fn a_token_in_the_url_is_used_when_there_is_no_other() {
        let flags = |token: &str| {
            let arguments = [
                "x",
                "--token",
                token,
                "--url",
                "http://host/?token=from-the-url",
            ];
            let flags = Flags::try_parse_from(arguments).expect("flags are known");
            Config::from_flags(&flags)
                .map(|config| config.token.map(|token| token.expose().to_owned()))
        };
        assert_eq!(flags(""), Ok(Some("from-the-url".into())));
        assert_eq!(flags("Bearer other"), Ok(Some("other".into())));
    }

    #[test]
    fn a_wrong_value_names_flag_and_variable_but_not_the_value() {
        for (arguments, flag, variable) in [
            (["--url", "not-a-url-s3cret"], "--url", "MCP_SERVER_URL"),
            (["--url", "ftp://s3cret@host"], "--url", "MCP_SERVER_URL"),
            (
                ["--session", "two words s3cret"],
                "--session",
                "MCP_WEB_SESSION",
            ),
            (["--log", "loud-s3cret"], "--log", "MCP_WEB_LOG"),
            (
                ["--max-message-bytes", "s3cret"],
                "--max-message-bytes",
                "MCP_WEB_MAX_MESSAGE_BYTES",
            ),
        ] {
            let text = config(&arguments).err().expect("refused").to_string();
            assert!(text.contains(flag) && text.contains(variable), "{text}");
            assert!(!text.contains("s3cret"), "{text}");
        }
        let flags =
            Flags::try_parse_from(["x", "--token", "with a space"]).expect("flags are known");
        assert_eq!(Config::from_flags(&flags).err(), Some(ConfigError::Token));
    }
}
