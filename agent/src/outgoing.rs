//! Requests that the agent itself makes over HTTP: what they trust, and where they do not go.

use std::error::Error;
use std::net::IpAddr;
use std::sync::Arc;

use reqwest::redirect::Policy;
use reqwest::{Client, Url};
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;

/// A client for this address. It follows no redirect: a key or a token goes where the operator says
/// and nowhere else. On this machine it goes past every proxy. For `https://` the system's roots of
/// trust are read.
pub(crate) fn client(url: &Url) -> Result<Client, String> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let trusting = match url.scheme() {
        "https" => builder
            .with_platform_verifier()
            .map_err(|error| error.to_string())?,
        // reqwest wants a configuration even when nothing will be encrypted.
        _ => builder.with_root_certificates(RootCertStore::empty()),
    };
    let client = Client::builder()
        .tls_backend_preconfigured(trusting.with_no_client_auth())
        .tcp_nodelay(true)
        .redirect(Policy::none());
    let client = match is_loopback(url) {
        true => client.no_proxy(),
        false => client,
    };
    client.build().map_err(|error| last_cause(&error))
}

/// Whether the address is one of this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || address
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

/// The last cause says most, and shows neither URL nor headers.
pub(crate) fn last_cause(error: &(dyn Error + 'static)) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_known_by_name_and_by_address() {
        for (url, expected) in [
            ("http://localhost:3001", true),
            ("http://127.0.0.2:3001", true),
            ("http://[::1]:3001", true),
            ("https://bridge.example", false),
            ("http://localhost.example", false),
            ("http://192.168.0.7", false),
        ] {
            let url = Url::parse(url).unwrap();
            assert_eq!(is_loopback(&url), expected, "{url}");
            assert!(client(&url).is_ok(), "{url}");
        }
    }
}
