//! Which `Host` and `OriginCheck` headers are accepted: the guard against DNS rebinding and foreign
//! pages (RFC 6454; Fetch standard, "CORS protocol").

use http::header::{HOST, ORIGIN};
use http::uri::Authority;
use http::{HeaderMap, Uri};

use crate::config::LOOPBACK;

/// What the `OriginCheck` header says about a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OriginCheck {
    /// There is none: not a browser, or a navigation.
    Absent,
    /// A page that may use the bridge.
    Allowed(String),
    /// A page that may not.
    Foreign(String),
}

/// The configured hosts and origins.
#[derive(Clone, Debug)]
pub(crate) struct HostOriginPolicy {
    hosts: Vec<AuthorityPattern>,
    origins: Vec<OriginPattern>,
}

/// A host and, unless any will do, a port.
#[derive(Clone, Debug, PartialEq, Eq)]
struct AuthorityPattern {
    host: HostPattern,
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum HostPattern {
    Loopback,
    Name(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct OriginPattern {
    /// `None`: http or https.
    scheme: Option<String>,
    authority: AuthorityPattern,
}

impl HostOriginPolicy {
    /// Reads the configured lists; the error names the entry and what is allowed.
    pub(crate) fn new(hosts: &[String], origins: &[String]) -> Result<Self, String> {
        let origins = origins.iter().map(|text| parse_origin_pattern(text));
        let policy = Self {
            origins: origins.collect::<Result<_, _>>()?,
            hosts: hosts
                .iter()
                .map(|text| parse_host_pattern(text))
                .collect::<Result<_, _>>()?,
        };
        if policy.hosts.is_empty() {
            return Err(format!(
                "`allowed_hosts` is empty, so every request would be refused: set `{LOOPBACK}`, or \
                 the names of this bridge"
            ));
        }
        Ok(policy)
    }

    /// Whether a request may be for this bridge at all.
    pub(crate) fn is_host_allowed(&self, uri: &Uri, headers: &HeaderMap) -> bool {
        let loopback = || {
            self.hosts
                .iter()
                .any(|host| host.host == HostPattern::Loopback)
        };
        if headers
            .get(HOST)
            .is_some_and(|it| is_common_loopback(it.as_bytes()))
            && loopback()
        {
            return true;
        }
        request_host(uri, headers).is_some_and(|host| {
            self.hosts
                .iter()
                .any(|pattern| pattern.matches(host.host(), host.port_u16()))
        })
    }

    /// What the request's origin may do. A page of the bridge's own host is never foreign.
    pub(crate) fn check_origin(&self, uri: &Uri, headers: &HeaderMap) -> OriginCheck {
        let Some(value) = headers.get(ORIGIN) else {
            return OriginCheck::Absent;
        };
        let text = String::from_utf8_lossy(value.as_bytes()).into_owned();
        let Some((scheme, authority)) = split_origin(&text) else {
            return OriginCheck::Foreign(text);
        };
        let port = authority.port_u16().or_else(|| default_port(&scheme));
        let own = request_host(uri, headers).is_some_and(|host| {
            let own_port = host.port_u16().or_else(|| default_port(&scheme));
            host.host().eq_ignore_ascii_case(authority.host()) && own_port == port
        });
        let listed = self.origins.iter().any(|origin| {
            origin
                .scheme
                .as_deref()
                .is_none_or(|allowed_scheme| allowed_scheme == scheme)
                && origin.authority.matches(authority.host(), port)
        });
        if own || listed {
            OriginCheck::Allowed(text)
        } else {
            OriginCheck::Foreign(text)
        }
    }
}

impl AuthorityPattern {
    fn matches(&self, host: &str, port: Option<u16>) -> bool {
        let host_fits = match &self.host {
            HostPattern::Loopback => is_loopback_host(host),
            HostPattern::Name(name) => name.eq_ignore_ascii_case(host),
        };
        host_fits && self.port.is_none_or(|wanted| port == Some(wanted))
    }
}

/// As most programs write it, so that it need not be read.
fn is_common_loopback(host: &[u8]) -> bool {
    let names: [&[u8]; 2] = [b"127.0.0.1", b"localhost"];
    let port = names.iter().find_map(|name| host.strip_prefix(*name));
    port.is_some_and(|port| match port {
        [] => true,
        [b':', number @ ..] => {
            (1..=5).contains(&number.len()) && number.iter().all(u8::is_ascii_digit)
        }
        _ => false,
    })
}

pub(crate) fn is_loopback_host(host: &str) -> bool {
    ["localhost", "127.0.0.1", "[::1]"]
        .iter()
        .any(|name| name.eq_ignore_ascii_case(host))
}

/// Whether an entry of `allowed_hosts` names nothing but this machine.
pub(crate) fn is_loopback_entry(entry: &str) -> bool {
    let entry = entry.trim();
    entry == LOOPBACK || Authority::try_from(entry).is_ok_and(|it| is_loopback_host(it.host()))
}

fn request_host(uri: &Uri, headers: &HeaderMap) -> Option<Authority> {
    match headers.get(HOST) {
        Some(host) => Authority::try_from(host.as_bytes()).ok(),
        None => uri.authority().cloned(),
    }
    .filter(|authority| !authority.as_str().contains('@'))
}

/// Scheme and authority of an origin; `None` for `null` and everything that is no web origin.
fn split_origin(origin: &str) -> Option<(String, Authority)> {
    let (scheme, rest) = origin.split_once("://")?;
    let scheme = scheme.to_ascii_lowercase();
    let authority = Authority::try_from(rest).ok()?;
    (matches!(scheme.as_str(), "http" | "https") && !authority.as_str().contains('@'))
        .then_some((scheme, authority))
}

fn default_port(scheme: &str) -> Option<u16> {
    match scheme {
        "http" => Some(80),
        "https" => Some(443),
        _ => None,
    }
}

fn parse_host_pattern(text: &str) -> Result<AuthorityPattern, String> {
    let text = text.trim();
    if text == LOOPBACK {
        return Ok(AuthorityPattern {
            host: HostPattern::Loopback,
            port: None,
        });
    }
    let authority = Authority::try_from(text).map_err(|_| {
        format!("`allowed_hosts` has {text:?}: allowed are `host`, `host:port` and `{LOOPBACK}`")
    })?;
    let port = authority.port_u16();
    Ok(AuthorityPattern {
        host: HostPattern::Name(authority.host().to_owned()),
        port,
    })
}

fn parse_origin_pattern(text: &str) -> Result<OriginPattern, String> {
    let text = text.trim();
    if text == LOOPBACK {
        let pattern = AuthorityPattern {
            host: HostPattern::Loopback,
            port: None,
        };
        return Ok(OriginPattern {
            scheme: None,
            authority: pattern,
        });
    }
    let (base, any_port) = match text.strip_suffix(":*") {
        Some(base) => (base, true),
        None => (text, false),
    };
    let (scheme, authority) = split_origin(base).ok_or_else(|| {
        format!(
            "`allowed_origins` has {text:?}: allowed are `https://host`, `http://host:port`, \
             `http://host:*` and `{LOOPBACK}`"
        )
    })?;
    let port = authority
        .port_u16()
        .or_else(|| default_port(&scheme))
        .filter(|_| !any_port);
    let host = HostPattern::Name(authority.host().to_owned());
    Ok(OriginPattern {
        scheme: Some(scheme),
        authority: AuthorityPattern { host, port },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(hosts: &[&str], origins: &[&str]) -> HostOriginPolicy {
        let own = |list: &[&str]| {
            list.iter()
                .map(|text| (*text).to_owned())
                .collect::<Vec<_>>()
        };
        HostOriginPolicy::new(&own(hosts), &own(origins)).unwrap()
    }

    fn headers(host: &str, origin: Option<&str>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(ORIGIN, origin.parse().unwrap());
        }
        headers
    }

    #[test]
    fn loopback_hosts_are_allowed_on_any_port_and_no_others() {
        let policy = policy(&[LOOPBACK, "bridge.example.com:443"], &[LOOPBACK]);
        let allowed =
            |host: &str| policy.is_host_allowed(&Uri::from_static("/"), &headers(host, None));
        for host in [
            "localhost",
            "localhost:3001",
            "127.0.0.1:1",
            "[::1]:3001",
            "LOCALHOST",
            "bridge.example.com:443",
        ] {
            assert!(allowed(host), "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example",
            "[",
            "",
            "127.0.0.1@evil.example",
            "bridge.example.com",
        ] {
            assert!(!allowed(host), "{host}");
        }
    }

    #[test]
    fn origins_must_match_exactly() {
        let policy = policy(
            &[LOOPBACK],
            &[LOOPBACK, "https://app.example.com", "http://10.0.0.5:*"],
        );
        let verdict = |origin: &str| {
            policy.check_origin(
                &Uri::from_static("/"),
                &headers("localhost:3001", Some(origin)),
            )
        };
        for origin in [
            "http://localhost:5173",
            "https://127.0.0.1",
            "http://[::1]:8080",
            "https://app.example.com",
            "https://app.example.com:443",
            "http://10.0.0.5:1234",
        ] {
            assert_eq!(verdict(origin), OriginCheck::Allowed(origin.to_owned()));
        }
        for origin in [
            "null",
            "https://evil.example",
            "http://app.example.com",
            "https://app.example.com:8443",
            "https://app.example.com.evil.example",
            "file://",
            "chrome-extension://abc",
            "http://localhost@evil.example",
        ] {
            assert_eq!(verdict(origin), OriginCheck::Foreign(origin.to_owned()));
        }
    }

    #[test]
    fn a_same_origin_page_is_allowed() {
        let policy = policy(&["bridge.example.com"], &["https://app.example.com"]);
        let uri = Uri::from_static("/");
        let own = headers("bridge.example.com", Some("https://bridge.example.com"));
        assert!(matches!(
            policy.check_origin(&uri, &own),
            OriginCheck::Allowed(_)
        ));
        let foreign = headers("bridge.example.com", Some("http://localhost"));
        assert!(matches!(
            policy.check_origin(&uri, &foreign),
            OriginCheck::Foreign(_)
        ));
        assert_eq!(
            policy.check_origin(&uri, &headers("bridge.example.com", None)),
            OriginCheck::Absent
        );
    }

    #[test]
    fn an_invalid_entry_is_named_in_the_error() {
        let error = HostOriginPolicy::new(&[], &["app.example.com".to_owned()]).unwrap_err();
        assert!(
            error.contains("app.example.com") && error.contains("https://host"),
            "{error}"
        );
    }
}
