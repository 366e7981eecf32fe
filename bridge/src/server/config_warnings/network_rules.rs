//! Rules about proxies, hosts and TLS.

use bridge_edge::{ForwardedHeader, HostCheck, HostOriginPolicy};
use http::header::HOST;
use http::{HeaderMap, HeaderValue, Uri};

use crate::config::Config;
use crate::web::ProtectedResource;

/// Behind a proxy that is not named, all users have the address of the proxy.
pub(super) fn no_trusted_proxies(config: &Config) -> Option<String> {
    let resource = ProtectedResource::new(&config.identity).ok()?;
    let network = &config.network;
    let is_encrypted_elsewhere = resource.public_url()?.is_https() && !config.tls.is_enabled();
    let is_behind_proxy = is_encrypted_elsewhere && network.bind.ip().is_loopback();
    (is_behind_proxy && network.trusted_proxies.is_empty()).then(|| {
        "`public_url` is https and `bind` a loopback address, so there is a proxy, but \
         `trusted_proxies` is empty: all users share what one address may have. Set it to the \
         address of the proxy, such as 127.0.0.1"
            .to_owned()
    })
}

pub(super) fn unused_forwarded_header(config: &Config) -> Option<String> {
    let network = &config.network;
    let is_set = network.forwarded_header != ForwardedHeader::default();
    (is_set && network.trusted_proxies.is_empty()).then(|| {
        "`forwarded_header` has no effect without `trusted_proxies`: set them to the proxies that \
         send it"
            .to_owned()
    })
}

/// A proxy passes on the `Host` of clients, or its own name for the bridge.
pub(super) fn public_host_not_allowed(config: &Config) -> Option<String> {
    let resource = ProtectedResource::new(&config.identity).ok()?;
    let authority = resource.public_url()?.authority();
    let hosts = &config.network.allowed_hosts;
    let policy = HostOriginPolicy::new("bridge", hosts, &config.effective_origins()).ok()?;
    let mut headers = HeaderMap::new();
    headers.insert(HOST, HeaderValue::from_str(authority).ok()?);
    let check = policy.check_host(&Uri::from_static("/"), &headers);
    (check != HostCheck::Allowed).then(|| {
        format!(
            "`allowed_hosts` does not have {authority}, the host of `public_url`: requests are \
             refused, unless the proxy replaces `Host`. Add it"
        )
    })
}

/// Whoever reads the packets of a connection without TLS has the tokens in them.
pub(super) fn no_tls(config: &Config) -> Option<String> {
    let network = &config.network;
    let is_exposed = !network.bind.ip().is_loopback() && network.trusted_proxies.is_empty();
    (is_exposed && !config.tls.is_enabled()).then(|| {
        format!(
            "other machines reach {} without TLS, and their tokens can be read on the way: set \
             `tls_cert` and `tls_key`, bind to 127.0.0.1 behind a proxy with TLS, or name a proxy on \
             another machine in `trusted_proxies`",
            network.bind
        )
    })
}
