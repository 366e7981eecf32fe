//! The token of an HTTP request.

use std::borrow::Cow;

use http::HeaderMap;
use http::header::AUTHORIZATION;

/// Finds the token of a request, in `Authorization: Bearer …` or, if allowed, in `?token=`.
pub fn bearer_token<'a>(
    headers: &'a HeaderMap,
    query: Option<&'a str>,
    allow_in_url: bool,
) -> Option<Cow<'a, str>> {
    let header = headers
        .get(AUTHORIZATION)
        .and_then(|value| value.to_str().ok());
    if let Some(value) = header {
        let (scheme, token) = value.split_once(' ').unwrap_or(("", value));
        return (scheme.is_empty() || scheme.eq_ignore_ascii_case("bearer"))
            .then(|| token.trim().into());
    }
    if !allow_in_url {
        return None;
    }
    form_urlencoded::parse(query?.as_bytes())
        .find(|(key, _)| key == "token")
        .map(|(_, token)| token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_wins_and_url_tokens_must_be_allowed() {
        let mut headers = HeaderMap::new();
        let query = Some("a=b&token=from%2Durl");
        assert_eq!(bearer_token(&headers, query, false), None);
        assert_eq!(
            bearer_token(&headers, query, true).as_deref(),
            Some("from-url")
        );
        headers.insert(AUTHORIZATION, "bearer from-header".parse().unwrap());
        assert_eq!(
            bearer_token(&headers, query, true).as_deref(),
            Some("from-header")
        );
        headers.insert(AUTHORIZATION, "Basic Zm9v".parse().unwrap());
        assert_eq!(bearer_token(&headers, query, true), None);
    }
}
