//! The URL at which clients reach the bridge, which may have a path in front of the bridge's routes.

use bridge_edge::host_origin::is_loopback_host;
use http::Uri;

/// The first segments of the bridge's own routes. A proxy may remove the path of the public URL, so
/// it must differ from them.
pub(crate) const RESERVED_SEGMENTS: [&str; 13] = [
    "mcp",
    "ws",
    "tool-call",
    "query",
    "conversations",
    "sessions",
    "tools",
    "healthz",
    "readyz",
    "metrics",
    "cluster",
    "sdk",
    ".well-known",
];

/// A URL at which clients reach the bridge, without a slash at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PublicUrl {
    /// The scheme and the authority, in lower case and without the default port.
    pub(super) origin: String,
    /// The path, which is empty or begins with a slash.
    pub(super) path: String,
}

impl PublicUrl {
    /// Parses the setting `public_url`.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let wrong = |reason: &str| {
            format!(
                "`public_url` is {text:?}: {reason}. Give the URL that clients use, with https:// \
                 or, on this machine, http://"
            )
        };
        let url = parse_secure_url(text);
        let url = url.as_ref();
        let (Some(url), Some(scheme), Some(authority)) = (
            url,
            url.and_then(Uri::scheme_str),
            url.and_then(Uri::authority),
        ) else {
            return Err(wrong("it is not such a URL, or has a user or a fragment"));
        };
        if url.query().is_some() {
            return Err(wrong("it has a query"));
        }
        let path = url.path().trim_end_matches('/');
        let mut segments = path.split('/').skip(1);
        // Clients remove these segments before they send a request.
        if segments.clone().any(|it| matches!(it, "" | "." | "..")) {
            return Err(wrong(
                "its path has a segment that is empty or has only dots",
            ));
        }
        if let Some(first) = segments.next()
            && RESERVED_SEGMENTS.contains(&first)
        {
            return Err(wrong(&format!(
                "its path begins with `/{first}`, which is a route of the bridge: leave it out"
            )));
        }
        Ok(Self {
            origin: origin(scheme, authority.as_str()),
            path: path.to_owned(),
        })
    }

    /// Returns the URL at which clients reach a route, which begins with a slash or is empty.
    pub(crate) fn join(&self, route: &str) -> String {
        let Self { origin, path } = self;
        format!("{origin}{path}{route}")
    }

    /// Whether the URL begins with `https://`.
    pub(crate) fn is_https(&self) -> bool {
        self.origin.starts_with("https://")
    }

    /// Returns the value of `Host` in the requests of clients.
    pub(crate) fn authority(&self) -> &str {
        let authority = self.origin.split_once("://");
        authority.map_or("", |(_, authority)| authority)
    }

    /// Returns the URI of a request without the path of the public URL. Returns `None` if a proxy
    /// has removed the path, or there is none.
    pub(crate) fn without_path(&self, uri: &Uri) -> Option<Uri> {
        let rest = self.strip_path(uri.path())?;
        (!self.path.is_empty()).then(|| with_path(uri, rest))
    }

    /// Returns the rest of a path that begins with the path of the public URL.
    pub(super) fn strip_path<'a>(&self, path: &'a str) -> Option<&'a str> {
        let rest = path.strip_prefix(&self.path)?;
        (rest.is_empty() || rest.starts_with('/')).then_some(rest)
    }
}

/// Returns a URI with another path, which is the root if it is empty.
pub(crate) fn with_path(uri: &Uri, path: &str) -> Uri {
    let path = if path.is_empty() { "/" } else { path };
    let path_and_query = match uri.query() {
        Some(query) => format!("{path}?{query}"),
        None => path.to_owned(),
    };
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = path_and_query.parse().ok();
    Uri::from_parts(parts).unwrap_or_else(|_| uri.clone())
}

/// Returns an origin as clients compare it: in lower case, and without the default port.
pub(super) fn origin(scheme: &str, authority: &str) -> String {
    let default_port = match scheme {
        "https" => ":443",
        _ => ":80",
    };
    let authority = authority.strip_suffix(default_port).unwrap_or(authority);
    format!("{scheme}://{authority}").to_ascii_lowercase()
}

/// Parses a URL that begins with `https://`, or with `http://` on this machine (RFC 9728 section
/// 1.2, RFC 8414 section 2).
pub(super) fn parse_secure_url(text: &str) -> Option<Uri> {
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

    #[test]
    fn a_public_url_is_normalized_or_refused_with_a_reason() {
        for (text, origin, path) in [
            ("https://h.example", "https://h.example", ""),
            ("HTTPS://H.example:443/", "https://h.example", ""),
            ("https://h.example:8443", "https://h.example:8443", ""),
            ("http://localhost:80/a/", "http://localhost", "/a"),
            ("http://[::1]:3001", "http://[::1]:3001", ""),
            (
                "https://h.example:80/Tools/b//",
                "https://h.example:80",
                "/Tools/b",
            ),
        ] {
            let parsed = PublicUrl::parse(text).unwrap();
            assert_eq!((&*parsed.origin, &*parsed.path), (origin, path), "{text}");
        }
        for (text, reason) in [
            ("h", "not such a URL"),
            ("http://h.example", "not such a URL"),
            ("https://u:p@h.example", "a user"),
            ("https://h.example/#a", "a fragment"),
            ("https://h.example?a", "a query"),
            ("https://h.example/a//b", "empty"),
            ("https://h.example/a/../b", "only dots"),
            (
                "https://h.example/mcp",
                "`/mcp`, which is a route of the bridge",
            ),
            ("https://h.example/tools/a", "`/tools`, which is a route"),
        ] {
            let error = PublicUrl::parse(text).unwrap_err();
            assert!(
                error.contains("public_url") && error.contains(reason),
                "{error}"
            );
        }
    }

    #[test]
    fn a_request_is_served_with_and_without_the_path() {
        let url = PublicUrl::parse("https://h.example/a").unwrap();
        for (uri, expected) in [
            ("/a", Some("/")),
            ("/a?b=/a", Some("/?b=/a")),
            ("/a/", Some("/")),
            ("/a/mcp?c", Some("/mcp?c")),
            ("/a/a", Some("/a")),
            ("http://h.example/a/ws", Some("http://h.example/ws")),
            ("/mcp", None),
            ("/ab", None),
            ("/A/mcp", None),
            ("*", None),
        ] {
            let uri: Uri = uri.parse().unwrap();
            let served = url.without_path(&uri).map(|it| it.to_string());
            assert_eq!(served.as_deref(), expected, "{uri}");
        }
        let bare = PublicUrl::parse("https://h.example").unwrap();
        assert_eq!(bare.without_path(&"/mcp".parse().unwrap()), None);
    }
}
