//! URIs that every client can parse. One that a client cannot parse costs it the whole list or
//! result, and some clients use the parser of web browsers (WHATWG, "URL").

use std::net::{Ipv4Addr, Ipv6Addr};

use super::uri_template::MAX_URI_BYTES;

/// The schemes whose URIs always have a host.
const SCHEMES_WITH_HOST: [&str; 5] = ["http", "https", "ws", "wss", "ftp"];

/// Characters that no host can have.
const FORBIDDEN_IN_HOST: [char; 9] = ['<', '>', '[', ']', '^', '|', '\\', '"', '`'];

/// Checks that a URI has a scheme (RFC 3986 section 3), that its host and port are valid if it has
/// any, and that it is not too long.
///
/// # Errors
///
/// Describes what is wrong, and how to write it.
pub fn check_uri(uri: &str) -> Result<(), String> {
    if uri.len() > MAX_URI_BYTES {
        return Err(format!(
            "the URI has {} bytes, and {MAX_URI_BYTES} is the limit: shorten it",
            uri.len()
        ));
    }
    let is_scheme = |scheme: &str| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    };
    let parts = uri.split_once(':').filter(|(scheme, _)| is_scheme(scheme));
    let is_text = !uri.chars().any(|c| c.is_whitespace() || c.is_control());
    let Some((scheme, rest)) = parts.filter(|_| is_text) else {
        return Err(
            "it is not a URI: write it as `scheme:…`, such as `board://cards`, with %20 for a blank"
                .to_owned(),
        );
    };
    let scheme = scheme.to_ascii_lowercase();
    let needs_host = SCHEMES_WITH_HOST.contains(&scheme.as_str());
    let authority = match rest.strip_prefix("//") {
        Some(rest) => rest.split(['/', '?', '#']).next().unwrap_or_default(),
        None if needs_host => "",
        None => return Ok(()),
    };
    let is_valid = match authority {
        "" => !needs_host,
        authority => is_authority(authority, needs_host),
    };
    if is_valid {
        Ok(())
    } else {
        Err(format!(
            "`{authority}` is where a URI has its host and port, and some clients refuse every \
             item of a list because of it: write a URI without a host as `{scheme}:///…`"
        ))
    }
}

/// Whether an authority is a host with an optional user and an optional port.
fn is_authority(authority: &str, is_domain: bool) -> bool {
    let host_and_port = authority
        .rsplit_once('@')
        .map_or(authority, |(_, rest)| rest);
    if let Some(rest) = host_and_port.strip_prefix('[') {
        return rest.split_once(']').is_some_and(|(address, port)| {
            address.parse::<Ipv6Addr>().is_ok()
                && (port.is_empty() || port.strip_prefix(':').is_some_and(is_port))
        });
    }
    let (host, port) = host_and_port.split_once(':').unwrap_or((host_and_port, ""));
    if host.is_empty() || !is_port(port) || host.contains(FORBIDDEN_IN_HOST) {
        return false;
    }
    // The host of the other schemes is any text.
    let last = host.trim_end_matches('.').rsplit('.').next();
    let is_number = last.is_some_and(is_number);
    !is_domain || !host.contains('%') && (!is_number || host.parse::<Ipv4Addr>().is_ok())
}

/// Whether a label makes its host an IPv4 address (WHATWG, "ends in a number").
fn is_number(label: &str) -> bool {
    let hex = label.strip_prefix("0x").or(label.strip_prefix("0X"));
    !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_digit())
        || hex.is_some_and(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn is_port(port: &str) -> bool {
    port.is_empty() || port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_that_every_client_parses_are_accepted() {
        for uri in [
            "a:b",
            "urn:isbn:1",
            "board:",
            "board://",
            "board:///cards",
            "board://cards/1?a=b#c",
            "board://Karten-ä/1",
            "board://user:word@host:1/x",
            "data:text/plain,a%20b",
            "mailto:a@b",
            "file:///etc/hosts",
            "https://example.com",
            "HTTPS://1.2.3.4:443/x",
            "http://[::1]:80/",
            "http://localhost:",
            "http://3f2a9c81d0e4:8080/x",
            "http://1c-server/",
            "https://7zip/",
            "http://0xyz/",
            "x://a%20b/",
            "ui://app/tool",
        ] {
            assert_eq!(check_uri(uri), Ok(()), "{uri}");
        }
    }

    #[test]
    fn uris_that_some_client_cannot_parse_are_refused() {
        for uri in [
            "",
            "cards",
            "/cards",
            "1:b",
            ":b",
            "a b:c",
            "a:b c",
            "a:\u{7}",
            "http:",
            "http://",
            "https:///x",
            "http://?a",
            "http://[bad",
            "http://[::1",
            "http://a:b",
            "http://a:99999",
            "http://a:-1",
            "http://a<b/",
            "http://1.2.3.4.5/",
            "http://example.999/",
            "http://example.0x1f/",
            "http://0x/",
            "board://cards:today",
            "board://cards:123456/",
            "board://:80/",
            "board://a[1]/",
            "board://a^b",
            "board://a|b",
        ] {
            assert!(check_uri(uri).is_err(), "{uri}");
        }
        let long = format!("a:{}", "b".repeat(MAX_URI_BYTES));
        assert!(check_uri(&long).unwrap_err().contains("shorten it"));
    }
}
