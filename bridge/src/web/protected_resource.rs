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
        Ok(Self {
            authorization_servers: identity.authorization_servers.clone(),
            public_url: public_url.transpose()?,
        })
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
    /// the scopes for clients.
    pub(crate) fn complete_challenge(metadata_url: &str, response: &mut Response) {
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
        let scope = match response.status() {
            StatusCode::UNAUTHORIZED => format!(", scope=\"{}\"", client_scopes()),
            _ => String::new(),
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
            "scopes_supported": Scope::FOR_CLIENTS.map(Scope::as_str),
        }))
    }

    /// Returns the URL at which clients reach this bridge: the configured one, or else that of this
    /// request.
    fn base_url(&self, uri: &Uri, headers: &HeaderMap) -> String {
        if let Some(PublicUrl { origin, path }) = &self.public_url {
            return format!("{origin}{path}");
        }
        let host = headers.get(HOST).and_then(|host| host.to_str().ok());
        let host = host.or_else(|| uri.authority().map(|authority| authority.as_str()));
        origin("http", host.unwrap_or_default())
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

/// Returns the scopes for clients. The scope of pages is left out, because clients request each
/// scope that they see.
fn client_scopes() -> String {
    Scope::FOR_CLIENTS.map(Scope::as_str).join(" ")
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
        let resource = resource("https://id.example", None).unwrap();
        for (host, expected) in [
            ("Bridge.example:8080", "http://bridge.example:8080/mcp"),
            ("bridge.example:80", "http://bridge.example/mcp"),
            ("[::1]:3001", "http://[::1]:3001/mcp"),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, host.parse().unwrap());
            let uri = format!("{METADATA_PATH}/mcp").parse().unwrap();
            let metadata = resource.metadata(&uri, &headers).unwrap();
            assert_eq!(metadata["resource"], expected);
        }
    }
}
