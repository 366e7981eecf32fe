//! The challenge in the header `WWW-Authenticate` (RFC 6750 section 3).

use http::HeaderMap;
use http::header::WWW_AUTHENTICATE;

/// The challenge of a response that rejects a token.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct WwwAuthenticate {
    /// Whether the error code is `insufficient_scope`.
    pub(crate) is_insufficient_scope: bool,
    /// The scope that the token lacks, if it is named.
    pub(crate) scope: Option<String>,
}

impl WwwAuthenticate {
    /// Parses the challenges of a response. A challenge about a missing scope takes precedence.
    pub(crate) fn from_headers(headers: &HeaderMap) -> Self {
        let values = headers.get_all(WWW_AUTHENTICATE);
        let texts = values.iter().filter_map(|value| value.to_str().ok());
        let challenges = texts.map(Self::parse);
        challenges
            .max_by_key(|challenge| challenge.is_insufficient_scope)
            .unwrap_or_default()
    }

    fn parse(text: &str) -> Self {
        let is_insufficient_scope = parameter(text, "error") == Some("insufficient_scope");
        let scope = parameter(text, "scope").filter(|scope| is_scope(scope));
        Self {
            is_insufficient_scope,
            scope: scope.filter(|_| is_insufficient_scope).map(str::to_owned),
        }
    }
}

/// Returns the value of `name="value"`. RFC 6750 allows no quotes and no backslashes in the values
/// of `error` and `scope`.
fn parameter<'a>(challenge: &'a str, name: &str) -> Option<&'a str> {
    let mut rest = challenge;
    loop {
        let (before, after) = rest.split_once("=\"")?;
        let (value, next) = after.split_once('"')?;
        let key = before.rsplit([' ', ',']).next();
        if key.is_some_and(|key| key.eq_ignore_ascii_case(name)) {
            return Some(value);
        }
        rest = next;
    }
}

/// Returns whether a text may be a scope (RFC 6749 section 3.3). It is checked because it becomes
/// part of a message for people and models.
fn is_scope(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_graphic() || byte == b' ';
    !text.is_empty() && text.len() <= 200 && text.bytes().all(is_allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_missing_scope_is_parsed() {
        for (text, is_insufficient_scope, scope) in [
            (
                r#"Bearer realm="mcp-web", error="insufficient_scope", scope="tools:call""#,
                true,
                Some("tools:call"),
            ),
            (
                r#"Bearer scope="a b",error="insufficient_scope",resource_metadata="https://x/?a=b""#,
                true,
                Some("a b"),
            ),
            (r#"Bearer error="insufficient_scope""#, true, None),
            (r#"Bearer error="invalid_token", scope="a""#, false, None),
            (r#"Bearer error_description="scope", error="x"#, false, None),
            ("Basic", false, None),
        ] {
            let expected = WwwAuthenticate {
                is_insufficient_scope,
                scope: scope.map(str::to_owned),
            };
            assert_eq!(WwwAuthenticate::parse(text), expected, "{text}");
        }
    }
}
