//! Which forms of a response a client accepts.

use http::HeaderMap;
use http::header::ACCEPT;

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

/// Returns whether the client accepts an event stream but no JSON body. `None` if it does not accept
/// what a server must be free to send (MCP 2025-11-25, "Sending Messages to the Server").
///
/// A client that lists one of the two types is accepted, and so is `*/*` or no header, as current
/// clients send them.
pub(crate) fn accepts_only_events(headers: &HeaderMap) -> Option<bool> {
    let first = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok());
    let Some(first) = first.filter(|accept| !accept.contains("*/*")) else {
        return Some(false);
    };
    match (first.contains(JSON), first.contains(EVENTS)) {
        (true, false) => Some(false),
        (false, true) => Some(true),
        _ => {
            let accepts = |media_type| accepted_types(headers).any(|it| is_same(it, media_type));
            (accepts(JSON) && accepts(EVENTS)).then_some(false)
        }
    }
}

/// Whether the client accepts an event stream, which is the only response to GET.
pub(super) fn accepts_events(headers: &HeaderMap) -> bool {
    let first = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok());
    first.is_none_or(|accept| accept.contains("*/*"))
        || accepted_types(headers).any(|it| is_same(it, EVENTS))
}

fn is_same(accepted: &str, media_type: &str) -> bool {
    accepted.eq_ignore_ascii_case(media_type)
}

/// Returns the media types that the client accepts, without those of weight zero (RFC 9110 section
/// 12.4.2). A malformed weight counts as none.
fn accepted_types(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let values = headers.get_all(ACCEPT).iter();
    let entries = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| split_unquoted(value, ','));
    entries.filter_map(|entry| {
        let mut parts = split_unquoted(entry, ';');
        let media_type = parts.next()?.trim();
        let is_refused = parts.any(|parameter| {
            let (name, value) = parameter.split_once('=').unwrap_or_default();
            name.trim().eq_ignore_ascii_case("q") && is_zero_weight(value.trim())
        });
        (!is_refused).then_some(media_type)
    })
}

fn is_zero_weight(weight: &str) -> bool {
    matches!(weight, "0" | "0." | "0.0" | "0.00" | "0.000")
}

/// Splits where the separator is not in quotes.
fn split_unquoted(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    text.split(move |character| {
        let was_escaped = std::mem::take(&mut is_escaped);
        match character {
            _ if was_escaped => false,
            '\\' => {
                is_escaped = is_quoted;
                false
            }
            '"' => {
                is_quoted = !is_quoted;
                false
            }
            _ => character == separator && !is_quoted,
        }
    })
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn accepts(values: &[&'static str]) -> Option<bool> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(ACCEPT, HeaderValue::from_static(value));
        }
        accepts_only_events(&headers)
    }

    #[test]
    fn accept_decides_the_form_of_a_response() {
        assert_eq!(accepts(&[]), Some(false));
        for both in [
            "*/*",
            "application/json",
            "application/json, text/event-stream",
            "text/event-stream,application/json",
            "text/html, */*;q=0",
            "Application/JSON, Text/Event-Stream",
            "application/json;q=0.5, text/event-stream;q=x",
            "application/json;a=\",;q=0\", text/event-stream",
        ] {
            assert_eq!(accepts(&[both]), Some(false), "{both}");
        }
        assert_eq!(
            accepts(&["text/html", "application/json, text/event-stream"]),
            Some(false)
        );
        assert_eq!(accepts(&["text/event-stream"]), Some(true));
        for refused in [
            "text/html",
            "",
            "application/*",
            "Application/JSON",
            "application/json;q=0, text/event-stream",
            "application/json, text/event-stream;Q=0.000",
        ] {
            assert_eq!(accepts(&[refused]), None, "{refused}");
        }
        assert_eq!(accepts(&["text/html", "*/*"]), None);
    }
}
