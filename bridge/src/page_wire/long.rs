//! An answer that is long: read in one pass, and left where it came.

use bridge_protocol::CallId;
use tokio_tungstenite::tungstenite::Utf8Bytes;

use crate::json::{Json, Within};

/// How `call-response` begins, as the SDK writes it.
const HEAD: &str = "{\"type\":\"call-response\",\"requestId\":\"";

/// What stands behind the id, before the value.
const RESULT: &str = "\",\"result\":";

/// The call and the value of an answer that is written as the SDK writes it. `None`: it has to be
/// read as any other message, be it to say what is wrong with it.
pub(crate) fn long_answer(message: &Utf8Bytes) -> Option<(CallId, Json)> {
    let rest = message.strip_prefix(HEAD)?;
    let id = &rest[..rest.find('"')?];
    let is_plain = !id.bytes().any(|byte| byte == b'\\' || byte < b' ');
    let begin = HEAD.len() + id.len() + RESULT.len();
    if !is_plain || !rest[id.len()..].starts_with(RESULT) {
        return None;
    }
    let (value, behind) = Within::read(message, begin)?;
    (behind == "}").then(|| (id.into(), Json::Within(Box::new(value))))
}

#[cfg(test)]
mod tests {
    use bridge_protocol::PageToBridge;

    use super::*;

    /// The call and the value, as the message is read otherwise.
    fn decoded(message: &str) -> Option<(CallId, String)> {
        match PageToBridge::decode(message).ok()? {
            PageToBridge::CallResponse(response) => {
                Some((response.request_id, response.result?.get().to_owned()))
            }
            _ => None,
        }
    }

    fn long(message: &str) -> Option<(CallId, String)> {
        let (call, value) = long_answer(&message.into())?;
        Some((call, value.get().to_owned()))
    }

    #[test]
    fn an_answer_as_the_sdk_writes_it_is_read_as_any_other_is() {
        for value in [
            "{\"rows\":[1.50,{\"a\":\"b\"}]}",
            "\"text\\n\"",
            "[]",
            "1",
            "null",
        ] {
            let message =
                format!("{{\"type\":\"call-response\",\"requestId\":\"c-1\",\"result\":{value}}}");
            assert_eq!(long(&message), Some(("c-1".into(), value.to_owned())));
            assert_eq!(long(&message), decoded(&message));
            // Cut off anywhere, it is read otherwise, and refused.
            for length in 0..message.len() {
                assert_eq!(long(&message[..length]), None, "{length}");
                assert_eq!(decoded(&message[..length]), None, "{length}");
            }
        }
    }

    #[test]
    fn whatever_is_written_otherwise_is_read_otherwise() {
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
            assert_eq!(long(message), None, "{message}");
        }
    }
}
