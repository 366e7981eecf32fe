//! What a refusal asks for in `WWW-Authenticate` (RFC 6750 section 3).

use http::header::WWW_AUTHENTICATE;
use reqwest::Response;

/// What a valid token lacks.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct WwwAuthenticate {
    pub(crate) is_insufficient_scope: bool,
    pub(crate) scope: Option<String>,
}

impl WwwAuthenticate {
    pub(crate) fn from_response(response: &Response) -> Self {
        let headers = response.headers().get_all(WWW_AUTHENTICATE);
        let texts = headers.iter().filter_map(|header| header.to_str().ok());
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

/// The value of `name="value"`. RFC 6750 allows no quotes and no backslash in those that matter.
fn parameter<'a>(challenge: &'a str, name: &str) -> Option<&'a str> {
    let mut rest = challenge;
    loop {
        let (before, after) = rest.split_once("=\"")?;
        let (value, next) = after.split_once('"')?;
        let found = before.rsplit([' ', ',']).next();
        if found.is_some_and(|found| found.eq_ignore_ascii_case(name)) {
            return Some(value);
        }
        rest = next;
    }
}

/// As RFC 6749 section 3.3 has it: it is shown to people and to models.
fn is_scope(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_graphic() || byte == b' ';
    !text.is_empty() && text.len() <= 200 && text.bytes().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_missing_scope_is_found() {
        for (text, wants_scope, scope) in [
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
            let scope = scope.map(str::to_owned);
            let expected = WwwAuthenticate {
                is_insufficient_scope: wants_scope,
                scope,
            };
            assert_eq!(WwwAuthenticate::parse(text), expected, "{text}");
        }
    }
}
