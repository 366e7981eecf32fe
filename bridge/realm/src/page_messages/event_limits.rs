//! Limits the size of progress, log messages and client requests, because they may be queued for a
//! slow client.

use bridge_protocol::{CallLog, CallProgress, ClientRequest};
use serde_json::value::to_raw_value;

use crate::realm::{CallerEvent, MAX_REQUEST_KEY_BYTES, MAX_REQUESTS_PER_CALL};

/// The maximum size of the data of a log message, in bytes of JSON. Larger data is replaced by a
/// note with its size.
const MAX_LOG_BYTES: usize = 64 * 1024;

/// The maximum length in characters of a progress message and of the name of a logger.
const MAX_TEXT_CHARS: usize = 4096;

/// Builds the event for a progress message, whose text is truncated.
pub(super) fn progress_event(mut progress: CallProgress) -> CallerEvent {
    progress.message = progress.message.map(truncate);
    CallerEvent::Progress(progress)
}

/// Builds the event for a log message, whose logger name is truncated and whose large data is
/// replaced.
pub(super) fn log_event(mut log: CallLog) -> CallerEvent {
    log.logger = log.logger.map(truncate);
    let bytes = log.data.get().len();
    if bytes > MAX_LOG_BYTES {
        let replacement = format!("{bytes} bytes were logged, and {MAX_LOG_BYTES} is the limit");
        if let Ok(replacement) = to_raw_value(&replacement) {
            log.data = replacement;
        }
    }
    CallerEvent::Log(log)
}

/// The multiple of the limit per call up to which excess requests are refused one by one. A message
/// with more requests closes the connection.
const REQUEST_FACTOR: usize = 4;

/// Whether all requests of a message may be answered. The size of the keys counts, because each
/// refusal repeats the key of its request.
pub(super) fn is_answerable(requests: &[ClientRequest]) -> bool {
    let keys: usize = requests.iter().map(|request| request.key.len()).sum();
    requests.len() <= REQUEST_FACTOR * MAX_REQUESTS_PER_CALL
        && keys <= MAX_REQUESTS_PER_CALL * MAX_REQUEST_KEY_BYTES
}

fn truncate(text: String) -> String {
    match text.char_indices().nth(MAX_TEXT_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use bridge_protocol::LogLevel;
    use serde_json::json;

    use super::*;

    #[test]
    fn too_long_log_data_is_replaced_and_texts_are_truncated() {
        for (chars, expected_bytes) in [(MAX_LOG_BYTES - 2, MAX_LOG_BYTES), (MAX_LOG_BYTES - 1, 49)]
        {
            let event = log_event(CallLog {
                request_id: "c".into(),
                level: LogLevel::Info,
                logger: Some("l".repeat(MAX_TEXT_CHARS + 1)),
                data: to_raw_value(&"x".repeat(chars)).unwrap(),
            });
            let CallerEvent::Log(log) = event else {
                panic!()
            };
            assert_eq!(log.data.get().len(), expected_bytes, "{}", log.data);
            assert_eq!(log.logger.unwrap().chars().count(), MAX_TEXT_CHARS + 1);
        }
        let event = progress_event(CallProgress {
            request_id: "c".into(),
            progress: 1.into(),
            total: None,
            message: Some("é".repeat(MAX_TEXT_CHARS + 1)),
        });
        let CallerEvent::Progress(progress) = event else {
            panic!()
        };
        let message = json!(progress.message);
        assert!(message.as_str().unwrap().ends_with("é…"));
    }
}
