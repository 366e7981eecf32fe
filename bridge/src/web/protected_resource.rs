//! The bridge as an OAuth 2.0 protected resource (RFC 9728; MCP 2025-11-25, "Authorization").

use axum::response::Response;
use bridge_auth::Scope;
use bridge_edge::host_origin::is_loopback_host;
use http::header::{HOST, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, StatusCode, Uri};
use serde_json::{Value, json};

use super::problem;
use crate::config::Identity;

/// The well-known path of the metadata of the host.
pub(crate) const METADATA_PATH: &str = "/.well-known/oauth-protected-resource";
/// The path of the metadata of `/mcp`: the well-known path, followed by that of the resource (RFC
/// 9728 section 3.1). Both paths serve the same metadata.
pub(crate) const MCP_METADATA_PATH: &str = "/.well-known/oauth-protected-resource/mcp";

/// The bridge as a protected resource of OAuth, with its authorization servers.
#[derive(Clone, Debug)]
pub(crate) struct ProtectedResource {
    authorization_servers: Vec<String>,
    public_url: Option<String>,
}

impl ProtectedResource {
    /// Returns `None` if no authorization servers are configured.
    pub(crate) fn new(identity: &Identity) -> Result<Option<Self>, String> {
        let public_url = identity
            .public_url
            .as_deref()
            .map(parse_public_url)
            .transpose()?;
        for server in &identity.authorization_servers {
            parse_secure_url(server).ok_or_else(|| {
                format!(
                    "`authorization_servers` has {server:?}: allowed are https:// and, on this \
                     machine, http:// addresses, separated by commas"
                )
            })?;
        }
        Ok((!identity.authorization_servers.is_empty()).then(|| Self {
            authorization_servers: identity.authorization_servers.clone(),
            public_url,
        }))
    }

    /// Completes a challenge with the address of the metadata and, if the request had no valid
    /// token, with the scopes for clients.
    pub(crate) fn complete_challenge(&self, base: &str, response: &mut Response) {
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
        let completed =
            format!("{challenge}{scope}, resource_metadata=\"{base}{MCP_METADATA_PATH}\"");
        if let Ok(completed) = HeaderValue::from_str(&completed) {
            response.headers_mut().insert(WWW_AUTHENTICATE, completed);
        }
    }

    /// Returns the URL at which clients reach this bridge: the configured one, or else that of this
    /// request.
    pub(crate) fn base_url(&self, uri: &Uri, headers: &HeaderMap) -> String {
        let host = || match headers.get(HOST).and_then(|host| host.to_str().ok()) {
            Some(host) => host.to_owned(),
            None => uri.authority().map(ToString::to_string).unwrap_or_default(),
        };
        let from_host = || format!("http://{}", host());
        self.public_url.clone().unwrap_or_else(from_host)
    }

    /// Returns the metadata document (RFC 9728 section 2).
    pub(crate) fn metadata(&self, base: &str) -> Value {
        json!({
            "resource": format!("{base}/mcp"),
            "authorization_servers": self.authorization_servers,
            "bearer_methods_supported": ["header"],
            "scopes_supported": Scope::FOR_CLIENTS.map(Scope::as_str),
        })
    }
}

/// Returns the scopes for clients. The scope of pages is left out, because clients request each
/// scope that they see.
fn client_scopes() -> String {
    Scope::FOR_CLIENTS.map(Scope::as_str).join(" ")
}

fn parse_public_url(text: &str) -> Result<String, String> {
    let wrong = || {
        format!(
            "`public_url` is {text:?}: allowed is https://HOST or https://HOST:PORT, and http:// \
             on this machine, without a path"
        )
    };
    let url = parse_secure_url(text).ok_or_else(wrong)?;
    match (url.scheme_str(), url.authority(), url.path(), url.query()) {
        (Some(scheme), Some(authority), "/", None) => {
            Ok(format!("{scheme}://{authority}").to_ascii_lowercase())
        }
        _ => Err(wrong()),
    }
}

/// Parses a URL that begins with `https://`, or with `http://` on this machine (RFC 9728 section
/// 1.2, RFC 8414 section 2).
fn parse_secure_url(text: &str) -> Option<Uri> {
    let url: Uri = text.parse().ok()?;
    let authority = url.authority()?.as_str();
    // The parser drops a fragment.
    let bare = !authority.contains('@') && !text.contains('#');
    let safe = match url.scheme_str()? {
        "https" => true,
        "http" => is_loopback_host(url.host()?),
        _ => false,
    };
    (bare && safe).then_some(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(server: &str, public_url: Option<&str>) -> Identity {
        Identity {
            authorization_servers: vec![server.to_owned()],
            public_url: public_url.map(str::to_owned),
            ..Identity::default()
        }
    }

    #[test]
    fn urls_must_be_https_or_loopback() {
        assert!(
            ProtectedResource::new(&Identity::default())
                .unwrap()
                .is_none()
        );
        for good in ["https://id.example/tenant", "http://localhost:8080"] {
            assert!(
                ProtectedResource::new(&identity(good, None))
                    .unwrap()
                    .is_some()
            );
        }
        for bad in [
            "http://id.example",
            "id.example",
            "https://u:p@id.example",
            "",
        ] {
            let why = ProtectedResource::new(&identity(bad, None)).unwrap_err();
            assert!(why.contains("authorization_servers"), "{why}");
        }
        let server = "https://id.example";
        for bad in [
            "https://h.example/x",
            "https://h.example?a",
            "https://h.example/#a",
            "http://h.example",
            "h",
        ] {
            let why = ProtectedResource::new(&identity(server, Some(bad))).unwrap_err();
            assert!(why.contains("public_url"), "{why}");
        }
        let resource = identity(server, Some("https://Bridge.example:8443/"));
        let resource = ProtectedResource::new(&resource).unwrap().unwrap();
        let base = resource.base_url(&Uri::default(), &HeaderMap::new());
        assert_eq!(base, "https://bridge.example:8443");
    }
}
