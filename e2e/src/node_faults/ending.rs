//! How calls end for their callers.

use std::fmt;

use serde_json::Value;

/// The codes of errors that say that no page has run the call, and none will.
const NOT_RUN: [&str; 7] = [
    "-32602",
    "ClusterUnavailable",
    "NoSessionsFound",
    "PageBusy",
    "PageSuspended",
    "SessionNotFound",
    "ToolNotFound",
];

/// How a call ended for its caller.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Ending {
    /// With the result of the page.
    Ok,
    /// With an error: the status of the response and the code of the error, as in `502 NodeLost`.
    Failed(String),
    /// The connection was lost before the response was complete.
    Reset,
    /// The event stream of the response ended without a result.
    StreamEnded,
    /// The server did not accept the connection, so that no call was made.
    NotConnected,
    /// With something that is neither a result of the call nor an error of a bridge.
    Wrong(String),
}

impl Ending {
    /// Returns the ending of a call with a response: JSON.
    pub(super) fn of_response(status: u16, json: &str, call: u64) -> Self {
        let Ok(json) = serde_json::from_str::<Value>(json) else {
            return Self::Wrong(format!("{status}: {json:?}"));
        };
        let result = json.get("result").unwrap_or(&json);
        if status == 200 && result["structuredContent"]["call"] == call {
            return Self::Ok;
        }
        match find_code(&json) {
            Some(code) => Self::Failed(format!("{status} {code}")),
            None => match json["error"]["code"].as_i64() {
                Some(code) => Self::Failed(format!("{status} {code}")),
                None => Self::Wrong(format!("{status}: {json}")),
            },
        }
    }

    /// Returns the ending of a call with an event stream, of which the last event with JSON is the response.
    pub(super) fn of_stream(status: u16, events: &str, call: u64) -> Self {
        let data = events
            .lines()
            .rev()
            .filter_map(|line| line.strip_prefix("data:"));
        let response = data.map(str::trim).find(|data| !data.is_empty());
        response.map_or(Self::StreamEnded, |json| {
            Self::of_response(status, json, call)
        })
    }

    pub(super) fn of_error(error: &reqwest::Error) -> Self {
        if error.is_connect() {
            Self::NotConnected
        } else {
            Self::Reset
        }
    }

    /// Whether the caller learnt that the call has not run.
    pub(super) fn means_not_run(&self) -> bool {
        match self {
            Self::Failed(text) => NOT_RUN.iter().any(|code| text.ends_with(code)),
            Self::NotConnected => true,
            _ => false,
        }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ok => out.write_str("ok"),
            Self::Failed(text) | Self::Wrong(text) => out.write_str(text),
            Self::Reset => out.write_str("reset"),
            Self::StreamEnded => out.write_str("stream ended"),
            Self::NotConnected => out.write_str("not connected"),
        }
    }
}

/// Finds the code of an error of the bridge, which each kind of response has at another place.
fn find_code(json: &Value) -> Option<&str> {
    match json {
        Value::Object(members) => {
            let own = ["code", "error"]
                .iter()
                .find_map(|name| members.get(*name)?.as_str());
            own.or_else(|| members.values().find_map(find_code))
        }
        Value::Array(items) => items.iter().find_map(find_code),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_is_ok_only_with_the_result_of_its_call() {
        let result = r#"{"content":[],"structuredContent":{"call":7}}"#;
        assert_eq!(Ending::of_response(200, result, 7), Ending::Ok);
        let events = format!("event: message\ndata: {{\"id\":1,\"result\":{result}}}\n\n");
        assert_eq!(Ending::of_stream(200, &events, 7), Ending::Ok);
        let first = "id: 1\nretry: 3000\ndata: \n\n";
        assert_eq!(Ending::of_stream(200, first, 7), Ending::StreamEnded);
        let other = Ending::of_response(200, result, 8);
        assert!(matches!(other, Ending::Wrong(_)), "{other}");
    }

    #[test]
    fn errors_have_a_status_and_a_code() {
        let problem = r#"{"error":"NodeLost","message":"…"}"#;
        let tool = r#"{"_meta":{"mcp-web/error":{"code":"ToolNotFound"}},"isError":true}"#;
        let rpc = r#"{"error":{"code":-32000,"data":{"code":"SessionNotFound"}}}"#;
        let unknown = r#"{"error":{"code":-32602,"message":"unknown tool"}}"#;
        for (status, body, expected, means_not_run) in [
            (502, problem, "502 NodeLost", false),
            (200, tool, "200 ToolNotFound", true),
            (404, rpc, "404 SessionNotFound", true),
            (200, unknown, "200 -32602", true),
        ] {
            let ending = Ending::of_response(status, body, 7);
            assert_eq!(ending.to_string(), expected);
            assert_eq!(ending.means_not_run(), means_not_run, "{expected}");
        }
    }
}
