//! Parses a `call-response` as the SDK writes it, in one pass.

use bridge_protocol::CallId;
use tungstenite::Utf8Bytes;

use bridge_raw_json::JsonSlice;

/// The start of a `call-response` as the SDK writes it.
const RESPONSE_HEAD: &str = "{\"type\":\"call-response\",\"requestId\":\"";

/// The text between the id and the value.
const RESULT_KEY: &str = "\",\"result\":";

/// The call and the value of a response that is written exactly as the SDK writes it. For all
/// others, including invalid ones, the result is `None`, and the regular decoder handles the
/// message.
pub fn parse_compact_response(message: &Utf8Bytes) -> Option<(CallId, JsonSlice)> {
    let rest = message.strip_prefix(RESPONSE_HEAD)?;
    let id = &rest[..rest.find('"')?];
    let is_plain = !id.bytes().any(|byte| byte == b'\\' || byte < b' ');
    let begin = RESPONSE_HEAD.len() + id.len() + RESULT_KEY.len();
    if !is_plain || !rest[id.len()..].starts_with(RESULT_KEY) {
        return None;
    }
    let (value, rest) = JsonSlice::parse_at(message, begin)?;
    (rest == "}").then(|| (id.into(), value))
}

#[cfg(test)]
mod tests {
    use bridge_protocol::PageToBridge;

    use super::*;

    /// The call and the value according to the regular decoder.
    fn decoded(message: &str) -> Option<(CallId, String)> {
        match PageToBridge::decode(message).ok()? {
            PageToBridge::CallResponse(response) => {
                Some((response.request_id, response.result?.get().to_owned()))
            }
            _ => None,
        }
    }

    fn parsed(message: &str) -> Option<(CallId, String)> {
        let (call, value) = parse_compact_response(&message.into())?;
        Some((call, value.get().to_owned()))
    }

    #[test]
    fn a_response_as_the_sdk_writes_it_parses_like_any_other() {
        for value in [
            "{\"rows\":[1.50,{\"a\":\"b\"}]}",
            "\"text\\n\"",
            "[]",
            "1",
            "null",
        ] {
            let message =
                format!("{{\"type\":\"call-response\",\"requestId\":\"c-1\",\"result\":{value}}}");
            assert_eq!(parsed(&message), Some(("c-1".into(), value.to_owned())));
            assert_eq!(parsed(&message), decoded(&message));
            // A truncated message is left to the regular decoder, which refuses it.
            for length in 0..message.len() {
                assert_eq!(parsed(&message[..length]), None, "{length}");
                assert_eq!(decoded(&message[..length]), None, "{length}");
            }
        }
    }

    #[test]
    fn a_response_in_another_spelling_is_not_parsed_in_one_pass() {
        for message in [
            r#"{"type":"call-response","requestId":"a\"b","result":1}"#,
            r#"{"type":"call-response","requestId":"c","content":[]}"#,
            r#"{"type":"call-response","requestId":"c"}"#,
            r#"{"type":"call-response","requestId":"c","result":1,"_meta":{}}"#,
            r#"{"type":"call-response","requestId":"c","result":1,"result":2}"#,
            r#"{"type":"call-response","requestId":"c","result":1} "#,
            r#"{"type":"call-response","requestId":"c","result": 1}"#,
            r#"{"type":"call-response","requestId":"c","result":1}}"#,
            r#"{"type":"call-response","requestId":"c","result":01}"#,
            r#"{"requestId":"c","type":"call-response","result":1}"#,
            r#"{"type":"call-responses","requestId":"c","result":1}"#,
        ] {
            assert_eq!(parsed(message), None, "{message}");
        }
    }
}
