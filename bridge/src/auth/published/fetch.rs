//! One JWK Set over HTTP.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;

use crate::auth::jwk::read_set;
use crate::auth::keys::{Algorithm, Key};
use crate::outgoing::{self, is_loopback, last_cause};

/// A set may have so many bytes.
const MAX_SET_BYTES: usize = 1024 * 1024;

/// It must be there within this.
const FETCH_WITHIN: Duration = Duration::from_secs(10);

/// Where keys are published.
#[derive(Debug)]
pub(super) struct Source(Url);

impl Source {
    /// `https://`, or `http://` on this machine: who can change the keys can be anybody.
    pub(super) fn new(url: &str) -> Result<Self, String> {
        let wrong =
            |why| format!("`jwks_url` {why}: allowed are https:// and, on this machine, http://");
        let url = Url::parse(url).map_err(|_| wrong("is no URL"))?;
        match url.scheme() {
            "https" => Ok(Self(url)),
            "http" if is_loopback(&url) => Ok(Self(url)),
            "http" => Err(wrong("is not encrypted")),
            _ => Err(wrong("is no web address")),
        }
    }

    /// The keys; `None`, and a warning, when they cannot be had.
    pub(super) async fn keys(&self) -> Option<Vec<Arc<Key>>> {
        let fetched = tokio::time::timeout(FETCH_WITHIN, self.fetch()).await;
        let late = || format!("it did not answer within {} s", FETCH_WITHIN.as_secs());
        match fetched.unwrap_or_else(|_| Err(late())) {
            Ok(keys) => Some(keys),
            Err(why) => {
                tracing::warn!(
                    "the keys of signed tokens cannot be fetched from {}: {why}. The former ones \
                     stay; check `jwks_url`",
                    self.shown()
                );
                None
            }
        }
    }

    async fn fetch(&self) -> Result<Vec<Arc<Key>>, String> {
        // Made anew for each fetch, so that a new certificate authority counts.
        let request = outgoing::client(&self.0)?.get(self.0.clone());
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
        self.usable(&text)
    }

    /// RFC 7517 section 5: keys that are not understood are left out.
    fn usable(&self, text: &str) -> Result<Vec<Arc<Key>>, String> {
        let set = read_set(text)?;
        for unusable in &set.unusable {
            tracing::debug!("left out from {}: {unusable}", self.shown());
        }
        let mut keys = set.keys;
        // A secret that is published is none.
        keys.retain(|key| key.algorithm != Algorithm::Hs256);
        match keys.is_empty() {
            true => Err("the set has no keys that can be used".to_owned()),
            false => Ok(keys),
        }
    }

    /// Without what may be a credential.
    fn shown(&self) -> String {
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
    fn keys_come_over_https_or_from_this_machine() {
        for good in [
            "https://id.example/jwks.json",
            "http://localhost:8080/jwks",
            "http://127.0.0.2/jwks",
            "http://[::1]:1/jwks",
        ] {
            assert!(Source::new(good).is_ok(), "{good}");
        }
        for bad in [
            "http://id.example/jwks.json",
            "http://localhost.example/jwks",
            "http://127.0.0.1.example/jwks",
            "file:///etc/jwks.json",
            "jwks.json",
            "",
        ] {
            let why = Source::new(bad).unwrap_err();
            assert!(
                why.contains("`jwks_url`") && why.contains("https://"),
                "{why}"
            );
        }
    }

    #[test]
    fn a_log_shows_no_credentials_of_the_url() {
        let source = Source::new("https://user:secret@id.example:8443/jwks?key=secret").unwrap();
        assert_eq!(source.shown(), "https://id.example:8443/jwks");
    }

    #[test]
    fn published_secrets_and_sets_without_keys_are_not_used() {
        let source = Source::new("https://id.example/jwks").unwrap();
        let secret = "A".repeat(43);
        let oct = format!("{{\"keys\": [{{\"kty\": \"oct\", \"k\": \"{secret}\"}}]}}");
        for set in [oct.as_str(), "{\"keys\": []}", "nonsense"] {
            assert!(source.usable(set).is_err(), "{set}");
        }
        let point = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
        let set = format!(
            "{{\"keys\": [{{\"kty\": \"new\"}}, {{\"kty\": \"OKP\", \"crv\": \"Ed25519\", \"x\": \"{point}\"}}]}}"
        );
        assert_eq!(source.usable(&set).unwrap().len(), 1);
    }

    /// An issuer on this machine that answers one request with so many bytes, or never.
    async fn issuer(bytes: Option<usize>) -> (Source, tokio::task::JoinHandle<()>) {
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
            // Who has read enough closes.
            let _ = socket.write_all(&vec![b' '; bytes]).await;
        });
        (Source::new(&url).unwrap(), answers)
    }

    #[tokio::test]
    async fn a_set_that_is_too_large_is_given_up() {
        let (source, answers) = issuer(Some(2 * MAX_SET_BYTES)).await;
        let why = source.fetch().await.unwrap_err();
        assert!(
            why.contains(&format!("more than {MAX_SET_BYTES} bytes")),
            "{why}"
        );
        answers.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn a_set_that_does_not_come_is_given_up() {
        let (source, answers) = issuer(None).await;
        let begin = tokio::time::Instant::now();
        assert!(source.keys().await.is_none());
        assert!(begin.elapsed() >= FETCH_WITHIN);
        answers.abort();
    }
}
