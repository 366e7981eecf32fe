//! The bridge as an OAuth 2.0 protected resource (RFC 9728; MCP 2025-11-25, "Authorization").
//!
//! Clients compare the resource in the metadata with the URL that they use, so each URL of MCP has
//! its own metadata.

use axum::response::Response;
use bridge_auth::Scope;
use http::header::{HOST, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, StatusCode, Uri};
use serde_json::{Value, json};

use super::problem;
use super::public_url::{PublicUrl, origin, parse_secure_url};
use crate::config::Identity;

/// The well-known path of the metadata. The path of a resource follows it (RFC 9728 section 3.1).
pub(crate) const METADATA_PATH: &str = "/.well-known/oauth-protected-resource";

/// The bridge as a protected resource of OAuth, if it has authorization servers.
#[derive(Clone, Debug)]
pub(crate) struct ProtectedResource {
    authorization_servers: Vec<String>,
    public_url: Option<PublicUrl>,
    /// The scopes that clients request from the servers.
    client_scopes: Vec<String>,
    /// Whether the bridge encrypts itself.
    has_tls: bool,
}

impl ProtectedResource {
    /// Checks the settings.
    pub(crate) fn new(identity: &Identity) -> Result<Self, String> {
        let public_url = identity.public_url.as_deref().map(PublicUrl::parse);
        for server in &identity.authorization_servers {
            parse_secure_url(server).ok_or_else(|| {
                format!(
                    "`authorization_servers` has {server:?}: allowed are https:// and, on this \
                     machine, http:// addresses, separated by commas"
                )
            })?;
        }
        let mut scopes = identity.oauth_scopes.iter();
        if let Some(scope) = scopes.find(|scope| !is_scope_token(scope)) {
            return Err(format!(
                "`oauth_scopes` has {scope:?}: allowed are scopes separated by commas, without \
                 spaces, quotes and backslashes"
            ));
        }
        Ok(Self {
            authorization_servers: identity.authorization_servers.clone(),
            public_url: public_url.transpose()?,
            client_scopes: identity.oauth_scopes.clone(),
            has_tls: false,
        })
    }

    /// Sets whether clients reach the bridge at https:// without a proxy.
    pub(crate) fn with_tls(self, has_tls: bool) -> Self {
        Self { has_tls, ..self }
    }

    /// The configured URL of the bridge.
    pub(crate) fn public_url(&self) -> Option<&PublicUrl> {
        self.public_url.as_ref()
    }

    /// The servers that issue tokens for the bridge.
    pub(crate) fn authorization_servers(&self) -> &[String] {
        &self.authorization_servers
    }

    /// Returns the URL of the metadata for a request with this URI and these headers. Returns `None`
    /// if no authorization servers are configured.
    ///
    /// The URL is below the path of the public URL: a proxy passes it on without more settings.
    pub(crate) fn metadata_url(&self, uri: &Uri, headers: &HeaderMap) -> Option<String> {
        if self.authorization_servers.is_empty() {
            return None;
        }
        let base = self.base_url(uri, headers);
        // Routes other than those of MCP are for clients without OAuth.
        let endpoint = mcp_endpoint(uri.path()).unwrap_or("/mcp");
        Some(format!("{base}{METADATA_PATH}{endpoint}"))
    }

    /// Completes a challenge with the URL of the metadata and, if the request had no valid token, with
    /// the scopes for clients. Scopes that have other names at the servers are replaced by these.
    pub(crate) fn complete_challenge(&self, metadata_url: &str, response: &mut Response) {
        let Some(challenge) = response.headers().get(WWW_AUTHENTICATE) else {
            return;
        };
        let our_challenge = challenge
            .to_str()
            .ok()
            .filter(|challenge| challenge.starts_with(problem::CHALLENGE_PREFIX));
        let Some(challenge) = our_challenge else {
            return;
        };
        let scopes = self.client_scopes.join(" ");
        let scope = match response.status() {
            StatusCode::UNAUTHORIZED if !scopes.is_empty() => format!(", scope=\"{scopes}\""),
            _ => String::new(),
        };
        let challenge = if self.has_own_scope_names() {
            replace_client_scopes(challenge, &scopes)
        } else {
            challenge.to_owned()
        };
        let completed = format!("{challenge}{scope}, resource_metadata=\"{metadata_url}\"");
        if let Ok(completed) = HeaderValue::from_str(&completed) {
            response.headers_mut().insert(WWW_AUTHENTICATE, completed);
        }
    }

    /// Returns the metadata document (RFC 9728 section 2) for a request to [`METADATA_PATH`] or a path
    /// below it. Returns `None` if there is no such resource, or no authorization server.
    ///
    /// The root has no slash at the end (MCP 2025-11-25, "Canonical Server URI").
    pub(crate) fn metadata(&self, uri: &Uri, headers: &HeaderMap) -> Option<Value> {
        if self.authorization_servers.is_empty() {
            return None;
        }
        let path = uri.path().strip_prefix(METADATA_PATH)?;
        // Clients insert the well-known path before that of the public URL.
        let public_url = self.public_url.as_ref();
        let path = public_url
            .and_then(|it| it.strip_path(path))
            .unwrap_or(path);
        let (base, endpoint) = (self.base_url(uri, headers), mcp_endpoint(path)?);
        Some(json!({
            "resource": format!("{base}{endpoint}"),
            "authorization_servers": self.authorization_servers,
            "bearer_methods_supported": ["header"],
            "scopes_supported": self.client_scopes,
        }))
    }

    /// Whether the servers name the scopes of clients differently.
    fn has_own_scope_names(&self) -> bool {
        self.client_scopes != Scope::FOR_CLIENTS.map(Scope::as_str)
    }

    /// Returns the URL at which clients reach this bridge: the configured one, or else that of this
    /// request.
    fn base_url(&self, uri: &Uri, headers: &HeaderMap) -> String {
        if let Some(public_url) = &self.public_url {
            return public_url.join("");
        }
        let host = headers.get(HOST).and_then(|host| host.to_str().ok());
        let host = host.or_else(|| uri.authority().map(|authority| authority.as_str()));
        let scheme = if self.has_tls { "https" } else { "http" };
        origin(scheme, host.unwrap_or_default())
    }
}

/// Returns the end of the resource's URL for a path of MCP, as the client has written it.
fn mcp_endpoint(path: &str) -> Option<&'static str> {
    match path {
        "" | "/" => Some(""),
        "/mcp" => Some("/mcp"),
        "/mcp/" => Some("/mcp/"),
        _ => None,
    }
}

/// Replaces the scopes of a challenge, unless one is not for clients.
fn replace_client_scopes(challenge: &str, scopes: &str) -> String {
    const START: &str = ", scope=\"";
    let parts = challenge.split_once(START);
    let parts = parts.and_then(|(before, rest)| Some((before, rest.split_once('"')?)));
    let is_for_clients = |name| Scope::FOR_CLIENTS.map(Scope::as_str).contains(&name);
    match parts {
        Some((before, (names, after))) if names.split(' ').all(is_for_clients) => {
            format!("{before}{START}{scopes}\"{after}")
        }
        _ => challenge.to_owned(),
    }
}

/// Whether a text is a scope (RFC 6749 section 3.3), which may be quoted in a challenge.
fn is_scope_token(text: &str) -> bool {
    let is_allowed = |byte| matches!(byte, b'!'..=b'~') && !matches!(byte, b'"' | b'\\');
    !text.is_empty() && text.bytes().all(is_allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(server: &str, public_url: Option<&str>) -> Result<ProtectedResource, String> {
        ProtectedResource::new(&Identity {
            authorization_servers: vec![server.to_owned()],
            public_url: public_url.map(str::to_owned),
            ..Identity::default()
        })
    }

    #[test]
    fn authorization_servers_must_be_https_or_loopback() {
        for good in ["https://id.example/tenant", "http://localhost:8080"] {
            assert!(resource(good, None).is_ok());
        }
        for bad in [
            "http://id.example",
            "id.example",
            "https://u:p@id.example",
            "",
        ] {
            let why = resource(bad, None).unwrap_err();
            assert!(why.contains("authorization_servers"), "{why}");
        }
    }

    #[test]
    fn without_a_public_url_the_host_of_the_request_counts() {
        let plain = resource("https://id.example", None).unwrap();
        let encrypted = plain.clone().with_tls(true);
        for (resource, host, expected) in [
            (
                &plain,
                "Bridge.example:8080",
                "http://bridge.example:8080/mcp",
            ),
            (&plain, "bridge.example:80", "http://bridge.example/mcp"),
            (&plain, "[::1]:3001", "http://[::1]:3001/mcp"),
            (
                &encrypted,
                "bridge.example:443",
                "https://bridge.example/mcp",
            ),
            (
                &encrypted,
                "bridge.example:80",
                "https://bridge.example:80/mcp",
            ),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, host.parse().unwrap());
            let uri = format!("{METADATA_PATH}/mcp").parse().unwrap();
            let metadata = resource.metadata(&uri, &headers).unwrap();
            assert_eq!(metadata["resource"], expected);
        }
    }
}
