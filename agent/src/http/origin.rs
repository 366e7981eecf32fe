//! Which `Host` and `Origin` headers are accepted: the guard against DNS rebinding and foreign
//! pages (RFC 6454; Fetch standard, "CORS protocol").

use http::header::HOST;
use http::uri::Authority;
use http::{HeaderMap, HeaderValue, Uri};

use crate::config::LOOPBACK;

/// The configured hosts and origins.
#[derive(Clone, Debug)]
pub(crate) struct Policy {
    hosts: Vec<Place>,
    /// With their schemes; `None` is http or https.
    origins: Vec<(Option<String>, Place)>,
}

/// A host and, unless any will do, a port.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    /// `None`: any name of this machine.
    host: Option<String>,
    port: Option<u16>,
}

const THIS_MACHINE: Place = Place {
    host: None,
    port: None,
};

impl Policy {
    /// Reads the configured lists; the error names the entry and what is allowed.
    pub(crate) fn new(hosts: &[String], origins: &[String]) -> Result<Self, String> {
        if hosts.is_empty() {
            return Err(format!(
                "`allowed_hosts` is empty, so every request would be refused: set `{LOOPBACK}`, or \
                 the names of this agent"
            ));
        }
        Ok(Self {
            hosts: hosts.iter().map(|it| host(it)).collect::<Result<_, _>>()?,
            origins: origins
                .iter()
                .map(|it| origin(it))
                .collect::<Result<_, _>>()?,
        })
    }

    /// Whether a request may be for this agent at all.
    pub(super) fn host_allowed(&self, uri: &Uri, headers: &HeaderMap) -> bool {
        let authority = match headers.get(HOST) {
            Some(host) => Authority::try_from(host.as_bytes()).ok(),
            None => uri.authority().cloned(),
        };
        authority
            .filter(is_plain)
            .is_some_and(|it| self.hosts.iter().any(|place| place.is(&it, it.port_u16())))
    }

    /// Whether pages of this origin may use it.
    pub(super) fn allows(&self, origin: &HeaderValue) -> bool {
        let Some((scheme, authority, port)) = origin.to_str().ok().and_then(split) else {
            return false;
        };
        self.origins.iter().any(|(wanted, place)| {
            wanted.as_ref().is_none_or(|wanted| *wanted == scheme)
                && place.is(&authority, Some(port))
        })
    }
}

impl Place {
    fn is(&self, authority: &Authority, port: Option<u16>) -> bool {
        let host = authority.host();
        let host_fits = match &self.host {
            None => ["localhost", "127.0.0.1", "[::1]"]
                .iter()
                .any(|name| name.eq_ignore_ascii_case(host)),
            Some(name) => name.eq_ignore_ascii_case(host),
        };
        host_fits && self.port.is_none_or(|wanted| port == Some(wanted))
    }
}

fn is_plain(authority: &Authority) -> bool {
    !authority.as_str().contains('@') && !authority.host().is_empty()
}

/// Scheme, host and port of an origin; `None` for `null` and everything that is no web origin.
fn split(origin: &str) -> Option<(String, Authority, u16)> {
    let (scheme, rest) = origin.split_once("://")?;
    let scheme = scheme.to_ascii_lowercase();
    let default = match scheme.as_str() {
        "http" => 80,
        "https" => 443,
        _ => return None,
    };
    let authority = Authority::try_from(rest).ok().filter(is_plain)?;
    let port = authority.port_u16().unwrap_or(default);
    Some((scheme, authority, port))
}

fn host(text: &str) -> Result<Place, String> {
    if text.trim() == LOOPBACK {
        return Ok(THIS_MACHINE);
    }
    match Authority::try_from(text.trim()) {
        Ok(it) if is_plain(&it) => Ok(Place {
            host: Some(it.host().to_owned()),
            port: it.port_u16(),
        }),
        _ => Err(format!(
            "`allowed_hosts` has {text:?}: allowed are `host`, `host:port` and `{LOOPBACK}`"
        )),
    }
}

fn origin(text: &str) -> Result<(Option<String>, Place), String> {
    let text = text.trim();
    if text == LOOPBACK {
        return Ok((None, THIS_MACHINE));
    }
    let (base, any_port) = match text.strip_suffix(":*") {
        Some(base) => (base, true),
        None => (text, false),
    };
    let (scheme, authority, port) = split(base).ok_or_else(|| {
        format!(
            "`allowed_origins` has {text:?}: allowed are `https://host`, `http://host:port`, \
             `http://host:*` and `{LOOPBACK}`"
        )
    })?;
    let place = Place {
        host: Some(authority.host().to_owned()),
        port: (!any_port).then_some(port),
    };
    Ok((Some(scheme), place))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(hosts: &[&str], origins: &[&str]) -> Result<Policy, String> {
        let own = |list: &[&str]| -> Vec<String> { list.iter().map(ToString::to_string).collect() };
        Policy::new(&own(hosts), &own(origins))
    }

    #[test]
    fn only_hosts_of_the_list_are_served() {
        let policy = policy(&[LOOPBACK, "agent.example.com:443"], &[]).unwrap();
        let allowed = |host: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, host.parse().unwrap());
            policy.host_allowed(&Uri::from_static("/"), &headers)
        };
        for host in [
            "localhost",
            "127.0.0.1:3003",
            "[::1]:1",
            "agent.example.com:443",
        ] {
            assert!(allowed(host), "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1@evil.example",
            "agent.example.com",
            "[",
            "",
        ] {
            assert!(!allowed(host), "{host}");
        }
    }

    #[test]
    fn origins_are_compared_whole_and_by_default_there_are_none() {
        let origins = [LOOPBACK, "https://app.example.com", "http://10.0.0.5:*"];
        let listed = policy(&[LOOPBACK], &origins).unwrap();
        let none = policy(&[LOOPBACK], &[]).unwrap();
        for origin in [
            "http://localhost:5173",
            "https://[::1]",
            "https://app.example.com",
            "https://app.example.com:443",
            "http://10.0.0.5:1234",
        ] {
            let origin: HeaderValue = origin.parse().unwrap();
            assert!(
                listed.allows(&origin) && !none.allows(&origin),
                "{origin:?}"
            );
        }
        for origin in [
            "null",
            "http://app.example.com",
            "https://app.example.com:8443",
            "https://app.example.com.evil.example",
            "file://",
            "http://localhost@evil.example",
        ] {
            assert!(!listed.allows(&origin.parse().unwrap()), "{origin}");
        }
    }

    #[test]
    fn a_wrong_entry_is_named() {
        for (hosts, origins, part) in [
            (["a b"], [LOOPBACK], "\"a b\""),
            ([LOOPBACK], ["app.example.com"], "`https://host`"),
        ] {
            let error = policy(&hosts, &origins).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
        assert!(policy(&[], &[]).unwrap_err().contains("is empty"));
    }
}
