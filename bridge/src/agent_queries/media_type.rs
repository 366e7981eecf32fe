//! The media types of an agent's responses.

use http::HeaderMap;
use http::header::CONTENT_TYPE;
use mediatype::MediaType;

/// Whether the content has this media type, with any parameters.
pub(super) fn is(headers: &HeaderMap, essence: &str) -> bool {
    let media_type = headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
    let media_type = media_type.and_then(|it| MediaType::parse(it).ok());
    media_type.is_some_and(|it| it.essence().to_string().eq_ignore_ascii_case(essence))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn only_the_media_type_of_json_is_json() {
        for (media_type, expected) in [
            ("application/json", true),
            ("application/json; charset=utf-8", true),
            ("Application/JSON ;charset=utf-8", true),
            ("application/json-seq", false),
            ("application/jsonl", false),
            ("application/problem+json", false),
            ("text/html; application/json", false),
            ("", false),
        ] {
            let header = (CONTENT_TYPE, HeaderValue::from_static(media_type));
            let headers = HeaderMap::from_iter([header]);
            assert_eq!(is(&headers, "application/json"), expected, "{media_type}");
        }
        assert!(!is(&HeaderMap::new(), "application/json"));
    }
}
