//! The context of a trace that another program has sent.
//!
//! Every client can write anything here, so a value is taken only if it has the format of W3C Trace
//! Context or W3C Baggage and is short. Any other value is ignored, and never an error.

use std::str::FromStr;
use std::sync::Arc;

use bridge_protocol::TraceContext;
use http::HeaderMap;
use opentelemetry::trace::{SpanContext, SpanId, TraceFlags, TraceId, TraceState};

/// The length of a `traceparent` of version 00.
const TRACEPARENT_BYTES: usize = 55;

/// The maximum length of a `traceparent`. Later versions may append fields.
const MAX_TRACEPARENT_BYTES: usize = 256;

/// The maximum length of a `tracestate`. Vendors should propagate as many characters (W3C Trace Context,
/// section 3.3.1.5).
const MAX_TRACESTATE_BYTES: usize = 512;

/// The maximum length of a `baggage`. Platforms must propagate as many bytes (W3C Baggage, section 3.3.2).
const MAX_BAGGAGE_BYTES: usize = 8192;

/// A valid context of a trace from another program.
#[derive(Clone, Debug, PartialEq)]
pub struct RemoteContext {
    pub(crate) span: SpanContext,
    pub(crate) baggage: Option<Arc<str>>,
}

impl RemoteContext {
    /// Parses the values. Returns `None` without a valid `traceparent`.
    ///
    /// # Examples
    ///
    /// ```
    /// use bridge_traces::RemoteContext;
    ///
    /// let traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    /// assert!(RemoteContext::parse(Some(traceparent), None, None).is_some());
    /// assert!(RemoteContext::parse(Some("00-4bf92f"), None, None).is_none());
    /// ```
    pub fn parse(
        traceparent: Option<&str>,
        tracestate: Option<&str>,
        baggage: Option<&str>,
    ) -> Option<Self> {
        let (trace, span, flags) = parse_traceparent(traceparent?)?;
        let state = tracestate.and_then(parse_tracestate).unwrap_or_default();
        let baggage = baggage.filter(|it| is_header_text(it, MAX_BAGGAGE_BYTES));
        Some(Self {
            span: SpanContext::new(trace, span, flags, true, state),
            baggage: baggage.map(Arc::from),
        })
    }

    /// Reads the headers of a request. A header that occurs twice is ignored.
    pub fn from_headers(headers: &HeaderMap) -> Option<Self> {
        let single = |name: &str| {
            let mut values = headers.get_all(name).iter();
            let value = values.next()?.to_str().ok();
            value.filter(|_| values.next().is_none())
        };
        Self::parse(
            single("traceparent"),
            single("tracestate"),
            single("baggage"),
        )
    }

    /// Reads a field of a message.
    pub fn from_message(context: &TraceContext) -> Option<Self> {
        Self::parse(
            Some(&context.traceparent),
            context.tracestate.as_deref(),
            context.baggage.as_deref(),
        )
    }

    /// Returns the context for another program, which then has the same parent.
    pub fn trace_context(&self) -> TraceContext {
        to_message(&self.span, self.baggage.as_deref())
    }
}

/// Writes a context in the formats of W3C.
pub(crate) fn to_message(span: &SpanContext, baggage: Option<&str>) -> TraceContext {
    let (trace, id) = (span.trace_id(), span.span_id());
    let flags = span.trace_flags() & TraceFlags::SAMPLED;
    let state = span.trace_state().header();
    TraceContext {
        traceparent: format!("00-{trace}-{id}-{flags:02x}"),
        tracestate: (!state.is_empty()).then_some(state),
        baggage: baggage.map(str::to_owned),
    }
}

fn parse_traceparent(text: &str) -> Option<(TraceId, SpanId, TraceFlags)> {
    // Later versions may add fields.
    let has_valid_length = match text.as_bytes().get(TRACEPARENT_BYTES) {
        None => text.len() == TRACEPARENT_BYTES,
        Some(next) => {
            text.len() <= MAX_TRACEPARENT_BYTES && *next == b'-' && !text.starts_with("00-")
        }
    };
    if !has_valid_length {
        return None;
    }
    let mut fields = text.get(..TRACEPARENT_BYTES)?.split('-');
    let mut hex_field = |digits: usize| {
        let is_lowercase_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        let field = fields.next()?;
        (field.len() == digits && field.bytes().all(is_lowercase_hex)).then_some(field)
    };
    let (version, trace, span, flags) =
        (hex_field(2)?, hex_field(32)?, hex_field(16)?, hex_field(2)?);
    let trace = TraceId::from_hex(trace).ok()?;
    let span = SpanId::from_hex(span).ok()?;
    let is_valid = version != "ff" && trace != TraceId::INVALID && span != SpanId::INVALID;
    let flags = TraceFlags::new(u8::from_str_radix(flags, 16).ok()?);
    is_valid.then_some((trace, span, flags & TraceFlags::SAMPLED))
}

fn parse_tracestate(text: &str) -> Option<TraceState> {
    if !is_header_text(text, MAX_TRACESTATE_BYTES) {
        return None;
    }
    TraceState::from_str(text).ok()
}

/// Whether a text can be the value of a header.
fn is_header_text(text: &str, max_bytes: usize) -> bool {
    let is_allowed = |byte: u8| byte == b'\t' || (b' '..=b'~').contains(&byte);
    !text.is_empty() && text.len() <= max_bytes && text.bytes().all(is_allowed)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    const VALID: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn parse(traceparent: &str) -> Option<RemoteContext> {
        RemoteContext::parse(Some(traceparent), None, None)
    }

    #[test]
    fn valid_contexts_are_taken() {
        let context = RemoteContext::parse(Some(VALID), Some("a=1, b=2"), Some("user=x;p=1"));
        let context = context.unwrap();
        let hex = context.span.trace_id().to_string();
        assert_eq!(hex, "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!(context.span.span_id().to_string(), "00f067aa0ba902b7");
        assert!(context.span.is_sampled() && context.span.is_remote());
        assert_eq!(context.span.trace_state().header(), "a=1,b=2");
        assert_eq!(context.baggage.as_deref(), Some("user=x;p=1"));
        let message = context.trace_context();
        assert_eq!(message.traceparent, VALID);
        assert_eq!(RemoteContext::from_message(&message), Some(context));
        for later in [
            VALID.replacen("00", "01", 1),
            VALID.replacen("00", "fe", 1),
            format!("{}-more", VALID.replacen("00", "01", 1)),
        ] {
            assert!(parse(&later).is_some(), "{later}");
        }
        let unsampled = parse(&VALID.replace("-01", "-00")).unwrap();
        assert!(!unsampled.span.is_sampled());
        // Only the flag that version 00 defines is kept.
        let flags = parse(&VALID.replace("-01", "-ff")).unwrap();
        assert_eq!(flags.span.trace_flags(), TraceFlags::SAMPLED);
    }

    #[test]
    fn hostile_values_are_ignored() {
        let long = format!("01{}-{}", &VALID[2..], "x".repeat(MAX_TRACEPARENT_BYTES));
        let zeros = VALID.replace("4bf92f3577b34da6a3ce929d0e0e4736", &"0".repeat(32));
        let no_parent = VALID.replace("00f067aa0ba902b7", &"0".repeat(16));
        let signed = VALID.replace("-01", "-+1");
        let spaced = format!(" {}", &VALID[1..]);
        let umlaut = VALID.replace("4b", "ä");
        for hostile in [
            "",
            "-",
            "---",
            "00",
            &VALID[..54],
            &format!("{VALID}0"),
            &format!("{VALID}-"),
            &format!("{VALID}-more"),
            &format!("{VALID} "),
            &format!("{VALID}\r\nx: y"),
            &VALID.to_uppercase(),
            &VALID.replacen("00", "ff", 1),
            &VALID.replacen("00", "0g", 1),
            &VALID.replace('-', "_"),
            &VALID.replace("-00f067aa0ba902b7-", "00f067aa0ba902b7--"),
            &long,
            &zeros,
            &no_parent,
            &signed,
            &spaced,
            &umlaut,
            "💥",
        ] {
            assert_eq!(parse(hostile), None, "{hostile:?}");
        }
    }

    #[test]
    fn a_hostile_state_or_baggage_is_left_out() {
        let long = format!("a={}", "x".repeat(MAX_TRACESTATE_BYTES));
        for state in ["", "a", "A=1", "a=1\r\nb: 2", "a=ä", "a=1\0", &long] {
            let context = RemoteContext::parse(Some(VALID), Some(state), None).unwrap();
            assert_eq!(context.span.trace_state().header(), "", "{state:?}");
        }
        let long = "x".repeat(MAX_BAGGAGE_BYTES + 1);
        for baggage in ["", "a=1\r\nb: 2", "a=ä", "a=\u{7f}", &long] {
            let context = RemoteContext::parse(Some(VALID), None, Some(baggage)).unwrap();
            assert_eq!(context.baggage, None, "{baggage:?}");
        }
    }

    #[test]
    fn a_header_counts_once() {
        let mut headers = HeaderMap::new();
        assert_eq!(RemoteContext::from_headers(&headers), None);
        headers.insert("traceparent", HeaderValue::from_static(VALID));
        assert!(RemoteContext::from_headers(&headers).is_some());
        headers.append("traceparent", HeaderValue::from_static(VALID));
        assert_eq!(RemoteContext::from_headers(&headers), None);
        let bytes = HeaderValue::from_bytes(&[0xff; 55]).unwrap();
        headers.insert("traceparent", bytes);
        assert_eq!(RemoteContext::from_headers(&headers), None);
    }

    proptest! {
        #[test]
        fn no_text_panics(traceparent in any::<String>(), state in any::<String>()) {
            let _ = RemoteContext::parse(Some(&traceparent), Some(&state), Some(&state));
            let _ = RemoteContext::parse(Some(VALID), Some(&state), Some(&state));
        }

        #[test]
        fn what_is_taken_has_the_format(text in "[0-9a-f-]{53,57}") {
            if let Some(context) = parse(&text) {
                prop_assert!(context.span.is_valid());
                prop_assert_eq!(text.as_bytes()[2], b'-');
            }
        }
    }
}
