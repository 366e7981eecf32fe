//! The configuration, from flags and the environment.

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use clap::{ArgMatches, Command, CommandFactory, FromArgMatches, Parser};
use http::HeaderValue;
use tracing::level_filters::LevelFilter;
pub use url::Url;

use crate::bearer_token::{BearerToken, header_value};
use crate::connection_flags::{ConnectionFlags, DEFAULT_TOKEN_COMMAND_TIMEOUT};
use crate::local_bridge::LocalBridge;
use crate::loopback::is_loopback_host;
use crate::token_command::TokenCommand;
use crate::token_redactor::TokenRedactor;

const AFTER_HELP: &str = "\
Prefer AUTH_TOKEN to --token: other users can read arguments in the list of processes.

A token that expires comes from a command: MCP_WEB_TOKEN_COMMAND=\"gcloud auth print-identity-token\",
or \"cat /run/secrets/token\" for one that another program replaces. It prints the token to stdout, alone
on one line. It runs at the start, before a signed token expires, and when the bridge refuses the token.
It runs without a shell: write a pipe as \"sh -c 'login | jq -r .access_token'\".

The certificate of an https:// bridge must be signed by an authority that the system trusts or,
except on macOS and Windows, by one in the PEM file that SSL_CERT_FILE names.";

/// The default of `--max-message-bytes`. It is larger than what a bridge with default settings sends to
/// a client without a profile. It bounds the memory for other bridges, for requests and for profiles.
const DEFAULT_MAX_MESSAGE_BYTES: usize = 64 * 1024 * 1024;

/// The lowest value of `--max-message-bytes`. The messages of a handshake must be within the limit.
const MIN_MESSAGE_BYTES: usize = 64 * 1024;

/// The default of `--max-silence`: the strictest proxies drop a silent connection after 30 seconds.
const DEFAULT_MAX_SILENCE: &str = "30s";

/// The lowest value of `--max-silence`. The bridge sends something every four seconds.
const MIN_SILENCE_SECONDS: u64 = 10;

/// The flags as text. They are not parsed by clap, because its errors repeat the value, which may
/// contain a secret.
#[derive(Parser)]
#[command(
    version,
    no_binary_name = true,
    about = "MCP server over stdin and stdout that forwards everything to the MCP-Web bridge"
)]
struct Flags {
    #[command(flatten)]
    connection: ConnectionFlags,
    /// The token of the page, copied from its configuration panel
    #[arg(long, env = "AUTH_TOKEN", value_name = "TOKEN", hide_env_values = true)]
    token: Option<String>,
    /// Use only this session (browser tab); list_active_sessions lists the ids
    #[arg(long, env = "MCP_WEB_SESSION", value_name = "ID")]
    session: Option<String>,
    /// The maximum size of a message in either direction, in bytes; the bridge itself sends at most its
    /// max_stdio_message_bytes (by default 10 MiB), or what a profile allows if that is more
    #[arg(
        long,
        env = "MCP_WEB_MAX_MESSAGE_BYTES",
        value_name = "BYTES",
        default_value_t = DEFAULT_MAX_MESSAGE_BYTES.to_string()
    )]
    max_message_bytes: String,
    /// How long nothing may arrive from the bridge before a request fails, in seconds, once the
    /// bridge has sent a comment in a stream; longer for a large request or a resumed stream
    #[arg(
        long,
        env = "MCP_WEB_MAX_SILENCE",
        value_name = "TIME",
        default_value = DEFAULT_MAX_SILENCE
    )]
    max_silence: String,
    /// The log level of stderr: off, error, warn, info, debug or trace
    #[arg(
        long,
        env = "MCP_WEB_LOG",
        value_name = "LEVEL",
        default_value = "warn"
    )]
    log: String,
}

/// The configuration of the proxy.
#[derive(Clone)]
pub struct Config {
    /// The MCP endpoint of the bridge, without credentials and query.
    pub url: Url,
    /// The token, which also selects the realm of the bridge. Without a token no bridge is
    /// contacted and calls fail with a message that describes what to set.
    pub token: Option<BearerToken>,
    /// The command that prints the token, instead of `token`.
    pub token_command: Option<TokenCommand>,
    /// The page to use, sent with each request in the header `Mcp-Web-Session`.
    pub session: Option<HeaderValue>,
    /// The size limit of messages in both directions, in bytes. A request fails if it or its answer
    /// exceeds the limit.
    pub max_message_bytes: usize,
    /// How long nothing may arrive from a bridge while a request waits for its answer. It applies to
    /// a bridge that has shown that it sends comments in its streams.
    pub max_silence: Duration,
    /// The lowest severity that is logged to stderr.
    pub log: LevelFilter,
    /// The bridge at `url`, if it may have to be started before it is contacted.
    pub local_bridge: Option<Arc<dyn LocalBridge>>,
    redactor: TokenRedactor,
}

/// The reason why the configuration is invalid.
///
/// The text names the flag, the variable and the allowed values, and never repeats the value.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The URL of the bridge is invalid or does not use HTTP.
    #[error(
        "--url (MCP_SERVER_URL) must be http://HOST:PORT or https://HOST with or without a path, for example http://127.0.0.1:3001/mcp"
    )]
    Url,
    /// The token contains characters that are not allowed in an HTTP header.
    #[error(
        "--token (AUTH_TOKEN) must be visible ASCII characters without spaces: copy it again from the page's configuration panel"
    )]
    Token,
    /// The command has no words, or a quote in it is not closed.
    #[error(
        "--token-command (MCP_WEB_TOKEN_COMMAND) must be a program and its arguments, with closed quotes, for example: gcloud auth print-identity-token"
    )]
    TokenCommand,
    /// A token and a command that prints one are both set.
    #[error(
        "--token (AUTH_TOKEN) and --token-command (MCP_WEB_TOKEN_COMMAND) are both set: leave one of them out"
    )]
    TwoTokens,
    /// The time is not a number of seconds or too low.
    #[error(
        "--token-command-timeout (MCP_WEB_TOKEN_COMMAND_TIMEOUT) must be whole seconds from 1s up, for example {DEFAULT_TOKEN_COMMAND_TIMEOUT}"
    )]
    TokenCommandTimeout,
    /// The id of the session contains characters that are not allowed in an HTTP header.
    #[error(
        "--session (MCP_WEB_SESSION) must be the id of a session, visible ASCII characters: list_active_sessions shows the ids"
    )]
    Session,
    /// The limit is not a number of bytes or too low.
    #[error(
        "--max-message-bytes (MCP_WEB_MAX_MESSAGE_BYTES) must be a whole number of bytes from {MIN_MESSAGE_BYTES} up, for example {DEFAULT_MAX_MESSAGE_BYTES}"
    )]
    MaxMessageBytes,
    /// The limit is not a number of seconds or too low.
    #[error(
        "--max-silence (MCP_WEB_MAX_SILENCE) must be whole seconds from {MIN_SILENCE_SECONDS}s up, for example {DEFAULT_MAX_SILENCE}"
    )]
    MaxSilence,
    /// The log level is unknown.
    #[error("--log (MCP_WEB_LOG) must be one of off, error, warn, info, debug, trace")]
    Log,
}

/// Returns the command line of the program with this name, such as `mcp-web stdio`.
pub fn command(name: &'static str) -> Command {
    Flags::command()
        .name(name)
        .bin_name(name)
        .after_help(format!("{AFTER_HELP}\n\n{}", client_entry(name)))
}

/// Returns the example of an entry in the configuration of an AI client.
fn client_entry(name: &str) -> String {
    let command = match name.split_once(' ') {
        None => format!("\"command\": \"{name}\","),
        Some((program, argument)) => {
            format!("\"command\": \"{program}\", \"args\": [\"{argument}\"],")
        }
    };
    format!(
        "Add this to the configuration of MCP servers in your AI client:\n  \
         {{ \"mcpServers\": {{ \"web-page\": {{\n      {command}\n      \
         \"env\": {{ \"MCP_SERVER_URL\": \"http://127.0.0.1:3001/mcp\", \"AUTH_TOKEN\": \"...\" }} }} }} }}"
    )
}

impl Config {
    /// Parses the flags and the environment of the program with this name. `--help` prints to stdout and
    /// exits with 0; an unknown flag prints a usage error to stderr and exits with 2.
    ///
    /// # Errors
    /// Returns an error when a value is invalid.
    pub fn from_command_line(
        name: &'static str,
        arguments: Vec<OsString>,
    ) -> Result<Self, ConfigError> {
        Self::from_matches(&command(name).get_matches_from(arguments))
    }

    /// Creates the configuration from parsed arguments of [`command`], to which a program may have added its
    /// own.
    ///
    /// # Errors
    /// Returns an error when a value is invalid.
    pub fn from_matches(matches: &ArgMatches) -> Result<Self, ConfigError> {
        let flags = Flags::from_arg_matches(matches).unwrap_or_else(|error| error.exit());
        Self::from_flags(&flags)
    }

    fn from_flags(flags: &Flags) -> Result<Self, ConfigError> {
        let config = Self::new(&flags.connection, flags.token.as_deref())?;
        let session = non_empty(flags.session.as_deref())
            .map(header_value)
            .transpose();
        Ok(Self {
            session: session.map_err(|_| ConfigError::Session)?,
            max_message_bytes: parse_message_bytes(&flags.max_message_bytes)?,
            max_silence: parse_silence(&flags.max_silence)?,
            log: flags.log.trim().parse().map_err(|_| ConfigError::Log)?,
            ..config
        })
    }

    /// Creates a configuration without a session and with default limits. A token in the URL
    /// is used if no other is given.
    ///
    /// # Errors
    /// Returns an error when a value is invalid.
    pub fn new(connection: &ConnectionFlags, token: Option<&str>) -> Result<Self, ConfigError> {
        let (url, token_in_url) = parse_endpoint(&connection.url)?;
        let own_token = non_empty(token).map(str::to_owned);
        let token_command = parse_token_command(connection)?;
        if own_token.is_some() && token_command.is_some() {
            return Err(ConfigError::TwoTokens);
        }
        let token = own_token.or(token_in_url.filter(|_| token_command.is_none()));
        let token = token.as_deref().map(parse_token).transpose()?;
        Ok(Self {
            url,
            redactor: match &token_command {
                Some(_) => TokenRedactor::for_renewed_tokens(),
                None => TokenRedactor::new(token.as_ref().map(BearerToken::expose)),
            },
            token,
            token_command,
            session: None,
            max_message_bytes: DEFAULT_MAX_MESSAGE_BYTES,
            max_silence: parse_silence(DEFAULT_MAX_SILENCE)?,
            log: LevelFilter::WARN,
            local_bridge: None,
        })
    }

    /// Returns the endpoint that the URL of a bridge names, without credentials.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Url`] when it is not one of a bridge.
    pub fn endpoint(url: &str) -> Result<Url, ConfigError> {
        parse_endpoint(url).map(|(endpoint, _)| endpoint)
    }

    /// Returns whether the bridge is on this machine.
    pub fn is_local(&self) -> bool {
        is_loopback_host(self.url.host_str())
    }

    /// Returns the redactor that hides the token in text from other sources, also one that a command
    /// will print.
    pub fn token_redactor(&self) -> TokenRedactor {
        self.redactor.clone()
    }

    /// Returns whether a bridge can be asked: a token is set, or a command prints one.
    pub fn has_token(&self) -> bool {
        self.token.is_some() || self.token_command.is_some()
    }

    /// Returns whether the token crosses the network without encryption.
    pub fn exposes_token(&self) -> bool {
        self.url.scheme() == "http" && !self.is_local() && self.has_token()
    }
}

/// Parses the URL of the bridge into the endpoint and the token in its query. Pages of version 0.1
/// show a URL with a token.
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

/// Treats an empty value like one that is not set, because the configuration files of AI clients
/// contain empty fields.
fn non_empty(value: Option<&str>) -> Option<&str> {
    value.map(str::trim).filter(|value| !value.is_empty())
}

fn parse_message_bytes(text: &str) -> Result<usize, ConfigError> {
    let bytes = non_empty(Some(text)).map_or(Ok(DEFAULT_MAX_MESSAGE_BYTES), str::parse);
    bytes
        .ok()
        .filter(|bytes| *bytes >= MIN_MESSAGE_BYTES)
        .ok_or(ConfigError::MaxMessageBytes)
}

/// The longest time that a clock can add. A longer one means no limit.
const MAX_SECONDS: u64 = 366 * 24 * 60 * 60;

fn parse_silence(text: &str) -> Result<Duration, ConfigError> {
    let seconds = parse_seconds(text, DEFAULT_MAX_SILENCE, MIN_SILENCE_SECONDS);
    seconds.ok_or(ConfigError::MaxSilence)
}

fn parse_seconds(text: &str, default: &str, min: u64) -> Option<Duration> {
    let text = non_empty(Some(text)).unwrap_or(default);
    let seconds: u64 = text.strip_suffix('s').unwrap_or(text).parse().ok()?;
    (seconds >= min).then(|| Duration::from_secs(seconds.min(MAX_SECONDS)))
}

fn parse_token_command(flags: &ConnectionFlags) -> Result<Option<TokenCommand>, ConfigError> {
    let timeout = &flags.token_command_timeout;
    let timeout = parse_seconds(timeout, DEFAULT_TOKEN_COMMAND_TIMEOUT, 1);
    let timeout = timeout.ok_or(ConfigError::TokenCommandTimeout)?;
    let command = non_empty(flags.token_command.as_deref());
    let parse = |text| TokenCommand::parse(text, timeout).ok_or(ConfigError::TokenCommand);
    command.map(parse).transpose()
}

fn parse_token(text: &str) -> Result<BearerToken, ConfigError> {
    BearerToken::parse(text).ok_or(ConfigError::Token)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn config(arguments: &[&str]) -> Result<Config, ConfigError> {
        let arguments = ["--token", "sixteen-characters"].iter().chain(arguments);
        let flags = Flags::try_parse_from(arguments).expect("flags are known");
        Config::from_flags(&flags)
    }

    #[test]
    fn a_missing_path_becomes_mcp_and_credentials_are_removed() {
        for (given, expected) in [
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
                Ok(expected.into())
            );
        }
    }

    #[test]
    fn the_help_has_an_entry_for_clients_with_the_name_of_the_program() {
        for (name, expected) in [
            ("mcp-web-stdio", json!({ "command": "mcp-web-stdio" })),
            (
                "mcp-web stdio",
                json!({ "command": "mcp-web", "args": ["stdio"] }),
            ),
        ] {
            let help = command(name).render_long_help().to_string();
            assert!(help.contains(&format!("Usage: {name} ")), "{help}");
            let (_, entry) = help.split_once("in your AI client:\n").unwrap();
            let mut entry: Value = serde_json::from_str(entry).unwrap();
            let mut entry = entry["mcpServers"]["web-page"].take();
            assert!(entry["env"].take()["AUTH_TOKEN"].is_string());
            entry.as_object_mut().unwrap().remove("env");
            assert_eq!(entry, expected);
        }
    }

    #[test]
    fn the_default_message_limit_is_64_mib() {
        for (given, expected) in [
            ("", Ok(64 * 1024 * 1024)),
            ("65536", Ok(65536)),
            ("4294967296", Ok(4 * 1024 * 1024 * 1024)),
            ("65535", Err(ConfigError::MaxMessageBytes)),
            ("64MiB", Err(ConfigError::MaxMessageBytes)),
        ] {
            let config = config(&["--max-message-bytes", given]);
            assert_eq!(config.map(|config| config.max_message_bytes), expected);
        }
        assert_eq!(
            config(&[]).map(|config| config.max_message_bytes),
            Ok(DEFAULT_MAX_MESSAGE_BYTES)
        );
    }

    #[test]
    fn the_default_silence_limit_is_30_seconds() {
        let seconds = |seconds| Ok(Duration::from_secs(seconds));
        for (given, expected) in [
            ("", seconds(30)),
            ("10s", seconds(10)),
            (" 45 ", seconds(45)),
            ("18446744073709551615s", seconds(MAX_SECONDS)),
            ("9s", Err(ConfigError::MaxSilence)),
            ("1m", Err(ConfigError::MaxSilence)),
        ] {
            let config = config(&["--max-silence", given]);
            assert_eq!(config.map(|config| config.max_silence), expected, "{given}");
        }
        assert_eq!(config(&[]).map(|config| config.max_silence), seconds(30));
    }

    #[test]
    fn a_token_in_the_url_is_used_when_there_is_no_other() {
        let token = |token: &str| {
            let arguments = ["--token", token, "--url", "http://host/?token=from-the-url"];
            let flags = Flags::try_parse_from(arguments).expect("flags are known");
            Config::from_flags(&flags)
                .map(|config| config.token.map(|token| token.expose().to_owned()))
        };
        assert_eq!(token(""), Ok(Some("from-the-url".into())));
        assert_eq!(token("Bearer other"), Ok(Some("other".into())));
    }

    #[test]
    fn a_token_command_takes_the_place_of_other_tokens() {
        let arguments = ["--token", " ", "--token-command", "login --user 'a b'"];
        let arguments = arguments
            .iter()
            .chain(&["--url", "http://host/?token=from-the-url"]);
        let flags = Flags::try_parse_from(arguments).expect("flags are known");
        let config = Config::from_flags(&flags).expect("valid");
        assert!(config.token.is_none() && config.exposes_token());
        let timeout = Duration::from_secs(30);
        assert_eq!(
            config.token_command,
            TokenCommand::parse("login --user 'a b'", timeout)
        );
    }

    #[test]
    fn an_error_names_flag_and_variable_but_not_the_value() {
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
            (
                ["--max-silence", "s3cret"],
                "--max-silence",
                "MCP_WEB_MAX_SILENCE",
            ),
            (
                ["--token-command", "'s3cret"],
                "--token-command",
                "MCP_WEB_TOKEN_COMMAND",
            ),
            (
                ["--token-command", "login s3cret"],
                "--token (AUTH_TOKEN)",
                "MCP_WEB_TOKEN_COMMAND",
            ),
            (
                ["--token-command-timeout", "0s"],
                "--token-command-timeout",
                "MCP_WEB_TOKEN_COMMAND_TIMEOUT",
            ),
        ] {
            let text = config(&arguments).err().expect("refused").to_string();
            assert!(text.contains(flag) && text.contains(variable), "{text}");
            assert!(!text.contains("s3cret"), "{text}");
        }
        let flags = Flags::try_parse_from(["--token", "with a space"]).expect("flags are known");
        assert_eq!(Config::from_flags(&flags).err(), Some(ConfigError::Token));
    }
}
