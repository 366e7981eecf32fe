//! Which `Host` and `Origin` headers are accepted: the guard against DNS rebinding and foreign
//! pages (RFC 6454; Fetch standard, "CORS protocol").

use http::header::{HOST, ORIGIN};
use http::uri::Authority;
use http::{HeaderMap, Uri};

use crate::config::LOOPBACK;

/// What the `Origin` header says about a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// There is none: not a browser, or a navigation.
    Absent,
    /// A page that may use the bridge.
    Allowed(String),
    /// A page that may not.
    Foreign(String),
}

/// The configured hosts and origins.
#[derive(Clone, Debug)]
pub(crate) struct Policy {
    hosts: Vec<Pattern>,
    origins: Vec<OriginPattern>,
}

/// A host and, unless any will do, a port.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Pattern {
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
    pattern: Pattern,
}

impl Policy {
    /// Reads the configured lists; the error names the entry and what is allowed.
    pub(crate) fn new(hosts: &[String], origins: &[String]) -> Result<Self, String> {
        let origins = origins.iter().map(|text| origin_pattern(text));
        let policy = Self {
            origins: origins.collect::<Result<_, _>>()?,
            hosts: hosts
                .iter()
                .map(|text| host_pattern(text))
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
    pub(crate) fn host_allowed(&self, uri: &Uri, headers: &HeaderMap) -> bool {
        let loopback = || {
            self.hosts
                .iter()
                .any(|host| host.host == HostPattern::Loopback)
        };
        if headers
            .get(HOST)
            .is_some_and(|it| is_plain_loopback(it.as_bytes()))
            && loopback()
        {
            return true;
        }
        host_of(uri, headers).is_some_and(|host| {
            self.hosts
                .iter()
                .any(|pattern| pattern.matches(host.host(), host.port_u16()))
        })
    }

    /// What the request's origin may do. A page of the bridge's own host is never foreign.
    pub(crate) fn origin(&self, uri: &Uri, headers: &HeaderMap) -> Origin {
        let Some(value) = headers.get(ORIGIN) else {
            return Origin::Absent;
        };
        let text = String::from_utf8_lossy(value.as_bytes()).into_owned();
        let Some((scheme, authority)) = split(&text) else {
            return Origin::Foreign(text);
        };
        let port = authority.port_u16().or_else(|| default_port(&scheme));
        let own = host_of(uri, headers).is_some_and(|host| {
            let own_port = host.port_u16().or_else(|| default_port(&scheme));
            host.host().eq_ignore_ascii_case(authority.host()) && own_port == port
        });
        let listed = self.origins.iter().any(|origin| {
            origin
                .scheme
                .as_deref()
                .is_none_or(|wanted| wanted == scheme)
                && origin.pattern.matches(authority.host(), port)
        });
        if own || listed {
            Origin::Allowed(text)
        } else {
            Origin::Foreign(text)
        }
    }
}

impl Pattern {
    fn matches(&self, host: &str, port: Option<u16>) -> bool {
        let host_fits = match &self.host {
            HostPattern::Loopback => is_loopback(host),
            HostPattern::Name(name) => name.eq_ignore_ascii_case(host),
        };
        host_fits && self.port.is_none_or(|wanted| port == Some(wanted))
    }
}

/// As most programs write it, so that it need not be read.
fn is_plain_loopback(host: &[u8]) -> bool {
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

pub(crate) fn is_loopback(host: &str) -> bool {
    ["localhost", "127.0.0.1", "[::1]"]
        .iter()
        .any(|name| name.eq_ignore_ascii_case(host))
}

/// Whether an entry of `allowed_hosts` names nothing but this machine.
pub(crate) fn is_this_machine(entry: &str) -> bool {
    let entry = entry.trim();
    entry == LOOPBACK || Authority::try_from(entry).is_ok_and(|it| is_loopback(it.host()))
}

fn host_of(uri: &Uri, headers: &HeaderMap) -> Option<Authority> {
    match headers.get(HOST) {
        Some(host) => Authority::try_from(host.as_bytes()).ok(),
        None => uri.authority().cloned(),
    }
    .filter(|authority| !authority.as_str().contains('@'))
}

/// Scheme and authority of an origin; `None` for `null` and everything that is no web origin.
fn split(origin: &str) -> Option<(String, Authority)> {
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

fn host_pattern(text: &str) -> Result<Pattern, String> {
    let text = text.trim();
    if text == LOOPBACK {
        return Ok(Pattern {
            host: HostPattern::Loopback,
            port: None,
        });
    }
    let authority = Authority::try_from(text).map_err(|_| {
        format!("`allowed_hosts` has {text:?}: allowed are `host`, `host:port` and `{LOOPBACK}`")
    })?;
    let port = authority.port_u16();
    Ok(Pattern {
        host: HostPattern::Name(authority.host().to_owned()),
        port,
    })
}

fn origin_pattern(text: &str) -> Result<OriginPattern, String> {
    let text = text.trim();
    if text == LOOPBACK {
        let pattern = Pattern {
            host: HostPattern::Loopback,
            port: None,
        };
        return Ok(OriginPattern {
            scheme: None,
            pattern,
        });
    }
    let (base, any_port) = match text.strip_suffix(":*") {
        Some(base) => (base, true),
        None => (text, false),
    };
    let (scheme, authority) = split(base).ok_or_else(|| {
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
        pattern: Pattern { host, port },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(hosts: &[&str], origins: &[&str]) -> Policy {
        let own = |list: &[&str]| {
            list.iter()
                .map(|text| (*text).to_owned())
                .collect::<Vec<_>>()
        };
        Policy::new(&own(hosts), &own(origins)).unwrap()
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
            |host: &str| policy.host_allowed(&Uri::from_static("/"), &headers(host, None));
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
    fn origins_are_compared_whole() {
        let policy = policy(
            &[LOOPBACK],
            &[LOOPBACK, "https://app.example.com", "http://10.0.0.5:*"],
        );
        let verdict = |origin: &str| {
            policy.origin(
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
            assert_eq!(verdict(origin), Origin::Allowed(origin.to_owned()));
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
            assert_eq!(verdict(origin), Origin::Foreign(origin.to_owned()));
        }
    }

    #[test]
    fn a_page_of_the_bridge_itself_is_not_foreign() {
        let policy = policy(&["bridge.example.com"], &["https://app.example.com"]);
        let uri = Uri::from_static("/");
        let own = headers("bridge.example.com", Some("https://bridge.example.com"));
        assert!(matches!(policy.origin(&uri, &own), Origin::Allowed(_)));
        let foreign = headers("bridge.example.com", Some("http://localhost"));
        assert!(matches!(policy.origin(&uri, &foreign), Origin::Foreign(_)));
        assert_eq!(
            policy.origin(&uri, &headers("bridge.example.com", None)),
            Origin::Absent
        );
    }

    #[test]
    fn a_wrong_entry_is_named() {
        let error = Policy::new(&[], &["app.example.com".to_owned()]).unwrap_err();
        assert!(
            error.contains("app.example.com") && error.contains("https://host"),
            "{error}"
        );
    }
}
