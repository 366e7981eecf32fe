//! The configuration, from flags and the environment.

use std::ffi::OsString;
use std::time::Duration;

use clap::{CommandFactory, FromArgMatches, Parser};
use http::HeaderValue;
use reqwest::Url;
use tracing::level_filters::LevelFilter;

use crate::loopback::is_loopback_host;
use crate::token_redactor::TokenRedactor;

const AFTER_HELP: &str = "\
Prefer AUTH_TOKEN to --token: other users can read arguments in the list of processes.

The certificate of an https:// bridge must be signed by an authority that the system trusts or,
except on macOS and Windows, by one in the PEM file that SSL_CERT_FILE names.

Add this to the configuration of MCP servers in your AI client:
  { \"mcpServers\": { \"web-page\": {
      \"command\": \"mcp-web-stdio\",
      \"env\": { \"MCP_SERVER_URL\": \"http://localhost:3001/mcp\", \"AUTH_TOKEN\": \"...\" } } } }";

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
    name = "mcp-web-stdio",
    version,
    about = "MCP server over stdin and stdout that forwards everything to the MCP-Web bridge",
    after_help = AFTER_HELP
)]
struct Flags {
    /// The bridge: http://HOST:PORT or https://HOST with or without /mcp; credentials are ignored
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
}

/// A bearer token. It implements neither `Debug` nor `Display`, so that it cannot be logged.
#[derive(Clone)]
pub struct BearerToken(String);

impl BearerToken {
    /// Returns the text of the token, for the `Authorization` header.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

/// The reason why the configuration is invalid.
///
/// The text names the flag, the variable and the allowed values, and never repeats the value.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The URL of the bridge is invalid or does not use HTTP.
    #[error(
        "--url (MCP_SERVER_URL) must be http://HOST:PORT or https://HOST with or without a path, for example http://localhost:3001/mcp"
    )]
    Url,
    /// The token contains characters that are not allowed in an HTTP header.
    #[error(
        "--token (AUTH_TOKEN) must be visible ASCII characters without spaces: copy it again from the page's configuration panel"
    )]
    Token,
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

impl Config {
    /// Parses the flags and the environment. `--help` prints to stdout and exits with 0; an unknown
    /// flag prints a usage error to stderr and exits with 2.
    ///
    /// # Errors
    /// Returns an error when a value is invalid.
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
            max_silence: parse_silence(&flags.max_silence)?,
            log: flags.log.trim().parse().map_err(|_| ConfigError::Log)?,
        })
    }

    /// Returns the redactor that hides the token in text from other sources.
    pub fn token_redactor(&self) -> TokenRedactor {
        TokenRedactor::new(self.token.as_ref().map(BearerToken::expose))
    }

    /// Whether the token crosses the network without encryption.
    pub(crate) fn exposes_token(&self) -> bool {
        let is_plain = self.url.scheme() == "http" && !is_loopback_host(self.url.host_str());
        is_plain && self.token.is_some()
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
const MAX_SILENCE_SECONDS: u64 = 366 * 24 * 60 * 60;

fn parse_silence(text: &str) -> Result<Duration, ConfigError> {
    let text = non_empty(Some(text)).unwrap_or(DEFAULT_MAX_SILENCE);
    let seconds = text.strip_suffix('s').unwrap_or(text).parse().ok();
    let seconds = seconds.filter(|seconds| *seconds >= MIN_SILENCE_SECONDS);
    let seconds: u64 = seconds.ok_or(ConfigError::MaxSilence)?;
    Ok(Duration::from_secs(seconds.min(MAX_SILENCE_SECONDS)))
}

fn parse_token(text: &str) -> Result<BearerToken, ConfigError> {
    let token = text.strip_prefix("Bearer ").unwrap_or(text).trim();
    header_value(token)
        .map(|_| BearerToken(token.to_owned()))
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
            ("18446744073709551615s", seconds(MAX_SILENCE_SECONDS)),
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
        assert_eq!(token(""), Ok(Some("from-the-url".into())));
        assert_eq!(token("Bearer other"), Ok(Some("other".into())));
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
