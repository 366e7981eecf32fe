//! Requests that the bridge itself makes over HTTP: what each of them trusts, and how it fails.

use std::net::IpAddr;
use std::sync::Arc;

use reqwest::redirect::Policy;
use reqwest::{Client, Url};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;

/// A client for this address. It follows no redirect: a credential, or trust, goes where the
/// operator says and nowhere else. For `https://` the system's roots of trust are read, which takes
/// milliseconds.
pub(crate) fn client(url: &Url) -> Result<Client, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let tls = match url.scheme() {
        "https" => builder
            .with_platform_verifier()
            .map_err(|error| error.to_string())?,
        // reqwest wants a configuration even when nothing will be encrypted.
        _ => builder.with_root_certificates(RootCertStore::empty()),
    };
    let client = Client::builder()
        .tls_backend_preconfigured(tls.with_no_client_auth())
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
    let address = address.parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// The last cause says most, and shows neither URL nor headers.
pub(crate) fn last_cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    match error.is_redirect() || error.is_builder() {
        true => "the request cannot be made".to_owned(),
        false => cause.to_string(),
    }
}
