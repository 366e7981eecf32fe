//! Builds a connection: the description of a program, its bridge and its token.

use std::fmt;
use std::io::{Write, stderr};
use std::sync::Arc;

use http::Uri;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::app::McpWeb;
use crate::connection::Warn;
use crate::json;
use crate::program_info::ProgramInfo;
use crate::token::{Source, Token};

const DEFAULT_BRIDGE: &str = "http://localhost:3001";
/// Maximum length of a session id that a bridge accepts, in bytes.
const MAX_SESSION_ID_BYTES: usize = 128;
/// Minimum length of a token that a bridge accepts, in characters.
const MIN_TOKEN_CHARACTERS: usize = 16;

impl McpWeb {
    /// Starts to build a connection for a program with this name, which people see.
    pub fn builder(name: impl Into<String>) -> Builder {
        Builder::new(name.into())
    }
}

/// Builds an [`McpWeb`]; see [`McpWeb::builder`].
#[derive(Clone)]
#[must_use = "call build()"]
pub struct Builder {
    name: String,
    fields: Map<String, Value>,
    bridge: String,
    token: Option<Token>,
    session_id: Option<String>,
    session_name: Option<String>,
    warn: Warn,
}

impl Builder {
    fn new(name: String) -> Self {
        Self {
            name,
            fields: Map::new(),
            bridge: DEFAULT_BRIDGE.to_owned(),
            token: None,
            session_id: None,
            session_name: None,
            warn: Arc::new(|message| {
                // A failing stderr must not end the connection.
                let _ = writeln!(stderr(), "mcp-web: {message}");
            }),
        }
    }

    /// Describes the purpose of the program, so that a model can decide when to use it.
    pub fn describe(self, description: impl Into<String>) -> Self {
        self.field("description", description.into())
    }

    /// Sets the version of the program.
    pub fn version(self, version: impl Into<String>) -> Self {
        self.field("version", version.into())
    }

    /// Sets the URL of an icon, at most 32 KiB.
    pub fn icon(self, url: impl Into<String>) -> Self {
        self.field("icon", url.into())
    }

    /// Sets the address of the bridge: `http`, `https`, `ws` or `wss`, optionally with a path. The
    /// default is `http://localhost:3001`.
    pub fn bridge(mut self, url: impl Into<String>) -> Self {
        self.bridge = url.into();
        self
    }

    /// Sets the token that the program and its AI clients share.
    pub fn token(mut self, token: Token) -> Self {
        self.token = Some(token);
        self
    }

    /// Sets the id of the session, at most 128 bytes. It is random by default. A program with the
    /// same id and token takes over the session of an older one, whose status becomes `Failed` with
    /// the code `SessionSuperseded`.
    pub fn session_id(mut self, id: impl Into<String>) -> Self {
        self.session_id = Some(id.into());
        self
    }

    /// Sets a name for the session, by which a client can select it.
    pub fn session_name(mut self, name: impl Into<String>) -> Self {
        self.session_name = Some(name.into());
        self
    }

    /// Sets the receiver of warnings for the developer, for example that the bridge rejects a
    /// definition. By default they are written to stderr.
    pub fn on_warning(mut self, warn: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.warn = Arc::new(warn);
        self
    }

    /// Builds the connection. [`McpWeb::connect`] or [`McpWeb::spawn`] opens it.
    ///
    /// # Errors
    /// Fails if there is no token, or if a name, an address, a token or a session id is invalid.
    pub fn build(self) -> Result<McpWeb, BuildError> {
        if self.name.trim().is_empty() {
            return Err(BuildError("the program needs a name".to_owned()));
        }
        let token = self.token.ok_or_else(|| {
            BuildError(
                "the program needs a token: Token::kept(\"app\") keeps one on this machine".into(),
            )
        })?;
        if let Source::Fixed(text) = &token.0
            && text.chars().count() < MIN_TOKEN_CHARACTERS
        {
            let message = format!("a token has at least {MIN_TOKEN_CHARACTERS} characters");
            return Err(BuildError(message));
        }
        let session_id = self
            .session_id
            .unwrap_or_else(|| Uuid::new_v4().simple().to_string());
        if session_id.is_empty() || session_id.len() > MAX_SESSION_ID_BYTES {
            let message = format!("a session id has 1 to {MAX_SESSION_ID_BYTES} bytes");
            return Err(BuildError(message));
        }
        let mut app = Map::new();
        app.insert("name".to_owned(), self.name.into());
        app.extend(self.fields);
        let program = ProgramInfo {
            bridge_url: bridge_url(&self.bridge)?,
            app: json::text(&app),
            session_id,
            session_name: self.session_name,
        };
        Ok(McpWeb::new(program, token, self.warn))
    }

    fn field(mut self, name: &str, value: String) -> Self {
        self.fields.insert(name.to_owned(), value.into());
        self
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("name", &self.name)
            .field("bridge", &self.bridge)
            .field("session_id", &self.session_id)
            .finish_non_exhaustive()
    }
}

/// Why a connection could not be built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildError(String);

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BuildError {}

/// Returns the address with `http` or `https`, and without a trailing slash.
fn bridge_url(given: &str) -> Result<String, BuildError> {
    let refused = || {
        BuildError(format!(
            "the bridge {given:?} is not an address: give one such as {DEFAULT_BRIDGE}"
        ))
    };
    let uri: Uri = given.parse().map_err(|_| refused())?;
    let scheme = match uri.scheme_str() {
        Some("http" | "ws") => "http",
        Some("https" | "wss") => "https",
        _ => return Err(refused()),
    };
    let authority = uri.authority().ok_or_else(refused)?;
    // A password in an address would be printed with it.
    if authority.as_str().contains('@') {
        let message = "the address of a bridge has no user and no password";
        return Err(BuildError(message.to_owned()));
    }
    let path = uri.path().trim_end_matches('/');
    Ok(format!("{scheme}://{authority}{path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_checked() {
        let url = |given: &str| bridge_url(given).map_err(|error| error.to_string());
        assert_eq!(
            url("http://localhost:3001/").unwrap(),
            "http://localhost:3001"
        );
        assert_eq!(
            url("wss://example.com/a/").unwrap(),
            "https://example.com/a"
        );
        let error = url("http://u:secret@x").unwrap_err();
        assert!(error.contains("no password") && !error.contains("secret"));
        for given in ["", "localhost:3001", "ftp://x", "/a"] {
            assert!(
                url(given).unwrap_err().contains("is not an address"),
                "{given}"
            );
        }
    }

    #[test]
    fn invalid_values_are_rejected_with_a_reason() {
        let builder = || McpWeb::builder("App").token(Token::random());
        let error = |builder: Builder| builder.build().unwrap_err().to_string();
        assert!(error(McpWeb::builder("App")).contains("needs a token"));
        assert!(error(McpWeb::builder(" ").token(Token::random())).contains("needs a name"));
        assert!(error(builder().token(Token::new("short"))).contains("at least 16"));
        assert!(error(builder().session_id("x".repeat(129))).contains("1 to 128"));
        assert!(builder().session_id("x".repeat(128)).build().is_ok());
    }
}
