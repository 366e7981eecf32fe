//! The check of `Host` and `Origin` headers, which protects from DNS rebinding and from pages of
//! foreign origins (RFC 6454; Fetch standard, "CORS protocol").

use arc_swap::ArcSwap;
use http::header::{HOST, ORIGIN};
use http::uri::Authority;
use http::{HeaderMap, HeaderValue, Uri};

/// The entry of a list that means `localhost`, `127.0.0.1` and `[::1]` on any port.
pub const LOOPBACK: &str = "loopback";

/// The result of the check of a request's `Host` header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostCheck {
    /// The service has this name.
    Allowed,
    /// The service does not have this name.
    Foreign(String),
    /// The request has several `Host` headers, which must be answered with 400 (RFC 9112
    /// section 3.2): a proxy in front of the service may have checked another one of them.
    Repeated,
}

impl HostCheck {
    /// The message for a request that has several `Host` headers.
    pub const REPEATED: &str = "the request has several `Host` headers: send one";
}

/// The result of the check of a request's `Origin` header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OriginCheck {
    /// The header is absent: the client is not a browser, or the request is a navigation.
    Absent,
    /// A page of this origin may use the service.
    Allowed(String),
    /// A page of this origin may not use the service.
    Foreign(String),
}

/// The hosts and origins that a service accepts.
#[derive(Debug)]
pub struct HostOriginPolicy {
    allows_own_origin: bool,
    lists: ArcSwap<AllowedLists>,
}

/// The entries of the configuration.
#[derive(Debug)]
struct AllowedLists {
    hosts: Vec<AuthorityPattern>,
    origins: Vec<OriginPattern>,
}

/// A host and, unless any port is allowed, a port.
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
    /// The allowed scheme; `None` allows http and https.
    scheme: Option<String>,
    authority: AuthorityPattern,
}

impl HostOriginPolicy {
    /// Parses the lists of the configuration. `service` is the name of the service in error
    /// messages, such as `bridge`.
    ///
    /// # Errors
    ///
    /// The error contains the invalid entry and what is allowed.
    pub fn new(service: &str, hosts: &[String], origins: &[String]) -> Result<Self, String> {
        if hosts.is_empty() {
            return Err(format!(
                "`allowed_hosts` is empty, so every request would be refused: set `{LOOPBACK}`, or \
                 the names of this {service}"
            ));
        }
        let hosts = hosts.iter().map(|text| parse_host_pattern(text));
        let origins = origins.iter().map(|text| parse_origin_pattern(text));
        let lists = AllowedLists {
            hosts: hosts.collect::<Result<_, _>>()?,
            origins: origins.collect::<Result<_, _>>()?,
        };
        Ok(Self {
            allows_own_origin: true,
            lists: ArcSwap::from_pointee(lists),
        })
    }

    /// Accepts the hosts and origins of another policy from now on, and no others.
    pub fn replace(&self, other: &Self) {
        self.lists.store(other.lists.load_full());
    }

    /// Returns a policy for a service that serves no pages: an origin is not allowed merely because
    /// it is the host of the request.
    pub fn without_own_origin(self) -> Self {
        Self {
            allows_own_origin: false,
            ..self
        }
    }

    /// Checks the `Host` of a request, or the authority of its URI.
    pub fn check_host(&self, uri: &Uri, headers: &HeaderMap) -> HostCheck {
        if headers.get_all(HOST).iter().nth(1).is_some() {
            return HostCheck::Repeated;
        }
        let lists = self.lists.load();
        // The authority of an absolute URI overrides `Host` (RFC 9112 section 3.2.2).
        if let Some(authority) = uri.authority()
            && !lists.is_authority_allowed(authority)
        {
            return HostCheck::Foreign(authority.to_string());
        }
        if lists.is_host_allowed(uri, headers) {
            return HostCheck::Allowed;
        }
        let host = headers.get(HOST).map(HeaderValue::as_bytes);
        let host = String::from_utf8_lossy(host.unwrap_or_default());
        HostCheck::Foreign(host.into_owned())
    }

    /// Checks the `Origin` of a request. A page of the request's own host is allowed, except after
    /// [`without_own_origin`](Self::without_own_origin).
    pub fn check_origin(&self, uri: &Uri, headers: &HeaderMap) -> OriginCheck {
        let Some(value) = headers.get(ORIGIN) else {
            return OriginCheck::Absent;
        };
        let text = String::from_utf8_lossy(value.as_bytes()).into_owned();
        // A browser sends one.
        if headers.get_all(ORIGIN).iter().nth(1).is_some() {
            return OriginCheck::Foreign(text);
        }
        let Some((scheme, authority)) = split_origin(&text) else {
            return OriginCheck::Foreign(text);
        };
        let port = authority.port_u16().or_else(|| default_port(&scheme));
        let is_own = |host: Authority| {
            let own_port = host.port_u16().or_else(|| default_port(&scheme));
            host.host().eq_ignore_ascii_case(authority.host()) && own_port == port
        };
        let own = self.allows_own_origin && request_host(uri, headers).is_some_and(is_own);
        let listed = || {
            let lists = self.lists.load();
            lists.origins.iter().any(|origin| {
                origin
                    .scheme
                    .as_deref()
                    .is_none_or(|allowed| allowed == scheme)
                    && origin.authority.matches(authority.host(), port)
            })
        };
        if own || listed() {
            OriginCheck::Allowed(text)
        } else {
            OriginCheck::Foreign(text)
        }
    }
}

impl AllowedLists {
    fn is_host_allowed(&self, uri: &Uri, headers: &HeaderMap) -> bool {
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
        request_host(uri, headers).is_some_and(|host| self.is_authority_allowed(&host))
    }

    fn is_authority_allowed(&self, authority: &Authority) -> bool {
        let mut patterns = self.hosts.iter();
        patterns.any(|pattern| pattern.matches(authority.host(), authority.port_u16()))
    }
}

impl AuthorityPattern {
    fn matches(&self, host: &str, port: Option<u16>) -> bool {
        let host_matches = match &self.host {
            HostPattern::Loopback => is_loopback_host(host),
            HostPattern::Name(name) => name.eq_ignore_ascii_case(host),
        };
        host_matches && self.port.is_none_or(|allowed| port == Some(allowed))
    }
}

/// Whether the host is `127.0.0.1` or `localhost` in lower case, with or without a port. These are
/// the most common hosts and need no parsing.
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

/// Whether a host is `localhost`, `127.0.0.1` or `[::1]`.
pub fn is_loopback_host(host: &str) -> bool {
    ["localhost", "127.0.0.1", "[::1]"]
        .iter()
        .any(|name| name.eq_ignore_ascii_case(host))
}

/// Whether an entry of `allowed_hosts` allows only loopback hosts.
pub fn is_loopback_entry(entry: &str) -> bool {
    let entry = entry.trim();
    entry == LOOPBACK || Authority::try_from(entry).is_ok_and(|it| is_loopback_host(it.host()))
}

fn request_host(uri: &Uri, headers: &HeaderMap) -> Option<Authority> {
    match headers.get(HOST) {
        Some(host) => Authority::try_from(host.as_bytes()).ok(),
        None => uri.authority().cloned(),
    }
    .filter(is_plain)
}

/// Splits an origin into its scheme and authority. Returns `None` for `null` and for everything
/// that is not a web origin.
fn split_origin(origin: &str) -> Option<(String, Authority)> {
    let (scheme, rest) = origin.split_once("://")?;
    let scheme = scheme.to_ascii_lowercase();
    let authority = Authority::try_from(rest).ok().filter(is_plain)?;
    matches!(scheme.as_str(), "http" | "https").then_some((scheme, authority))
}

/// Whether an authority consists of a host and an optional port.
fn is_plain(authority: &Authority) -> bool {
    !authority.as_str().contains('@') && !authority.host().is_empty()
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
    let authority = Authority::try_from(text).ok().filter(is_plain);
    let authority = authority.ok_or_else(|| {
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
        let authority = AuthorityPattern {
            host: HostPattern::Loopback,
            port: None,
        };
        return Ok(OriginPattern {
            scheme: None,
            authority,
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
        HostOriginPolicy::new("bridge", &own(hosts), &own(origins)).unwrap()
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
    fn several_host_headers_are_refused_even_if_each_is_allowed() {
        let policy = policy(&[LOOPBACK], &[]);
        let mut several = headers("localhost", None);
        let uri = Uri::from_static("/");
        assert_eq!(policy.check_host(&uri, &several), HostCheck::Allowed);
        several.append(HOST, HeaderValue::from_static("localhost"));
        assert_eq!(policy.check_host(&uri, &several), HostCheck::Repeated);
        let foreign = HostCheck::Foreign("evil.example".to_owned());
        let evil = headers("evil.example", None);
        assert_eq!(policy.check_host(&uri, &evil), foreign);
    }

    #[test]
    fn the_authority_of_an_absolute_uri_must_also_be_allowed() {
        let policy = policy(&[LOOPBACK], &[]);
        let check = |uri: &'static str| {
            policy.check_host(&Uri::from_static(uri), &headers("localhost", None))
        };
        assert_eq!(check("http://localhost/mcp"), HostCheck::Allowed);
        let foreign = HostCheck::Foreign("evil.example".to_owned());
        assert_eq!(check("http://evil.example/mcp"), foreign);
    }

    #[test]
    fn several_origins_are_refused_even_if_each_is_allowed() {
        let policy = policy(&[LOOPBACK], &[LOOPBACK]);
        let mut several = headers("localhost", Some("http://localhost"));
        let uri = Uri::from_static("/");
        let allowed = OriginCheck::Allowed("http://localhost".to_owned());
        assert_eq!(policy.check_origin(&uri, &several), allowed);
        several.append(ORIGIN, HeaderValue::from_static("http://localhost"));
        let refused = OriginCheck::Foreign("http://localhost".to_owned());
        assert_eq!(policy.check_origin(&uri, &several), refused);
    }

    #[test]
    fn loopback_hosts_are_allowed_on_any_port_and_no_others() {
        let policy = policy(&[LOOPBACK, "bridge.example.com:443"], &[LOOPBACK]);
        let lists = policy.lists.load();
        let allowed =
            |host: &str| lists.is_host_allowed(&Uri::from_static("/"), &headers(host, None));
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
    fn a_same_origin_page_is_allowed_unless_the_service_has_no_pages() {
        let new = || policy(&["bridge.example.com"], &["https://app.example.com"]);
        let policy = new();
        let uri = Uri::from_static("/");
        let own = headers("bridge.example.com", Some("https://bridge.example.com"));
        assert!(matches!(
            policy.check_origin(&uri, &own),
            OriginCheck::Allowed(_)
        ));
        let without = new().without_own_origin();
        assert!(matches!(
            without.check_origin(&uri, &own),
            OriginCheck::Foreign(_)
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
        let error = HostOriginPolicy::new(
            "bridge",
            &[LOOPBACK.to_owned()],
            &["app.example.com".to_owned()],
        )
        .unwrap_err();
        assert!(
            error.contains("app.example.com") && error.contains("https://host"),
            "{error}"
        );
    }

    #[test]
    fn a_list_without_hosts_is_refused() {
        let error = HostOriginPolicy::new("agent", &[], &[]).unwrap_err();
        assert!(
            error.contains("is empty") && error.contains("this agent"),
            "{error}"
        );
    }
}
