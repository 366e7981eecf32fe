//! The download of a JWK Set over HTTP.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;

use crate::algorithm::Algorithm;
use crate::jwk::parse_jwk_set;
use crate::verification_key::VerificationKey;
use bridge_edge::http_client;
use bridge_edge::http_client::{is_loopback, last_cause};

/// The maximum size of a JWK Set in bytes.
const MAX_SET_BYTES: usize = 1024 * 1024;

/// The timeout of the whole download.
const FETCH_TIMEOUT: Duration = Duration::from_secs(10);

/// The URL of a published JWK Set.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct JwksSource(Url);

impl JwksSource {
    /// Parses the URL, which must be `https://`, or `http://` on this machine: an attacker who can
    /// modify the keys in transit could impersonate every user.
    pub(super) fn new(url: &str) -> Result<Self, String> {
        let url_error = |error| {
            format!("`jwks_url` {error}: allowed are https:// and, on this machine, http://")
        };
        let url = Url::parse(url).map_err(|_| url_error("is not a URL"))?;
        match url.scheme() {
            "https" => Ok(Self(url)),
            "http" if is_loopback(&url) => Ok(Self(url)),
            "http" => Err(url_error("is not encrypted")),
            _ => Err(url_error("is not a web address")),
        }
    }

    /// Fetches the keys. Logs a warning and returns `None` on failure.
    pub(super) async fn fetch_or_warn(&self) -> Option<Vec<Arc<VerificationKey>>> {
        let fetched = tokio::time::timeout(FETCH_TIMEOUT, self.fetch()).await;
        let late = || format!("it did not answer within {} s", FETCH_TIMEOUT.as_secs());
        match fetched.unwrap_or_else(|_| Err(late())) {
            Ok(keys) => Some(keys),
            Err(why) => {
                tracing::warn!(
                    "the keys of signed tokens cannot be fetched from {}: {why}. Keys from before \
                     stay valid for `jwks_max_age`; check `jwks_url`",
                    self.redacted_url()
                );
                None
            }
        }
    }

    async fn fetch(&self) -> Result<Vec<Arc<VerificationKey>>, String> {
        // A new client for each fetch, so that new certificate authorities are used.
        let request = http_client::build(&self.0)?.get(self.0.clone());
        let mut response = request.send().await.map_err(|error| last_cause(&error))?;
        if response.status() != reqwest::StatusCode::OK {
            return Err(format!("it answered {}", response.status()));
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| last_cause(&error))? {
            body.extend_from_slice(&chunk);
            if body.len() > MAX_SET_BYTES {
                return Err(format!("the set has more than {MAX_SET_BYTES} bytes"));
            }
        }
        let text = String::from_utf8(body).map_err(|_| "the set is not text".to_owned())?;
        self.parse_usable_keys(&text)
    }

    /// Parses the keys and ignores those that cannot be used (RFC 7517 section 5).
    fn parse_usable_keys(&self, text: &str) -> Result<Vec<Arc<VerificationKey>>, String> {
        let set = parse_jwk_set(text)?;
        for unusable in &set.errors {
            tracing::debug!("left out from {}: {unusable}", self.redacted_url());
        }
        let mut keys = set.keys;
        // A secret that is published at a URL is not secret.
        keys.retain(|key| key.algorithm != Algorithm::Hs256);
        if keys.is_empty() {
            Err("the set has no keys that can be used".to_owned())
        } else {
            Ok(keys)
        }
    }

    /// The URL without parts that may be credentials.
    fn redacted_url(&self) -> String {
        let host = self.0.host_str().unwrap_or_default();
        let port = self.0.port().map(|port| format!(":{port}"));
        let port = port.unwrap_or_default();
        format!("{}://{host}{port}{}", self.0.scheme(), self.0.path())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_https_and_loopback_urls_are_allowed() {
        for good in [
            "https://id.example/jwks.json",
            "http://localhost:8080/jwks",
            "http://127.0.0.2/jwks",
            "http://[::1]:1/jwks",
        ] {
            assert!(JwksSource::new(good).is_ok(), "{good}");
        }
        for bad in [
            "http://id.example/jwks.json",
            "http://localhost.example/jwks",
            "http://127.0.0.1.example/jwks",
            "file:///etc/jwks.json",
            "jwks.json",
            "",
        ] {
            let why = JwksSource::new(bad).unwrap_err();
            assert!(
                why.contains("`jwks_url`") && why.contains("https://"),
                "{why}"
            );
        }
    }

    #[test]
    fn the_logged_url_has_no_credentials() {
        let source =
            JwksSource::new("https://user:secret@id.example:8443/jwks?key=secret").unwrap();
        assert_eq!(source.redacted_url(), "https://id.example:8443/jwks");
    }

    #[test]
    fn published_secrets_and_empty_sets_are_rejected() {
        let source = JwksSource::new("https://id.example/jwks").unwrap();
        let secret = "A".repeat(43);
        let oct = format!("{{\"keys\": [{{\"kty\": \"oct\", \"k\": \"{secret}\"}}]}}");
        for set in [oct.as_str(), "{\"keys\": []}", "nonsense"] {
            assert!(source.parse_usable_keys(set).is_err(), "{set}");
        }
        let point = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
        let set = format!(
            "{{\"keys\": [{{\"kty\": \"new\"}}, {{\"kty\": \"OKP\", \"crv\": \"Ed25519\", \"x\": \"{point}\"}}]}}"
        );
        assert_eq!(source.parse_usable_keys(&set).unwrap().len(), 1);
    }

    /// Starts an issuer on this machine that answers one request with this many bytes, or never if
    /// `bytes` is `None`.
    async fn issuer(bytes: Option<usize>) -> (JwksSource, tokio::task::JoinHandle<()>) {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/jwks", listener.local_addr().unwrap());
        let answers = tokio::spawn(async move {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                request.push(socket.read_u8().await.unwrap());
            }
            let Some(bytes) = bytes else {
                return std::future::pending().await;
            };
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {bytes}\r\n\r\n");
            socket.write_all(head.as_bytes()).await.unwrap();
            // A client that has read enough closes the connection.
            let _ = socket.write_all(&vec![b' '; bytes]).await;
        });
        (JwksSource::new(&url).unwrap(), answers)
    }

    #[tokio::test]
    async fn a_too_large_set_is_an_error() {
        let (source, answers) = issuer(Some(2 * MAX_SET_BYTES)).await;
        let why = source.fetch().await.unwrap_err();
        assert!(
            why.contains(&format!("more than {MAX_SET_BYTES} bytes")),
            "{why}"
        );
        answers.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_issuer_times_out() {
        let (source, answers) = issuer(None).await;
        let begin = tokio::time::Instant::now();
        assert!(source.fetch_or_warn().await.is_none());
        assert!(begin.elapsed() >= FETCH_TIMEOUT);
        answers.abort();
    }
}
