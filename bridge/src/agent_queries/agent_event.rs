//! The events in the stream of an agent, which have the format of messages to a page.

use std::borrow::Cow;

use bridge_protocol::{ErrorCode, QueryId, QueryToolCall, present, to_well_formed};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::report::AgentReport;
use bridge_realm::realm::{CompletedQuery, QueryError};

/// One event of an agent.
#[derive(Debug)]
pub(super) enum AgentEvent {
    /// The agent has accepted the query, as its HTTP status has already shown.
    Accepted,
    Report(AgentReport),
    /// An event of a newer agent that this bridge does not know.
    Unknown,
}

/// The fields of all message types.
#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    uuid: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "present")]
    content: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    #[serde(borrow, rename = "toolCalls")]
    tool_calls: Option<&'a RawValue>,
    error: Option<String>,
    reason: Option<String>,
    #[serde(borrow)]
    code: Option<Cow<'a, str>>,
}

/// Parses an event of the agent of this query, from its name and its data. Surrogates without a
/// partner become U+FFFD.
pub(super) fn parse(name: &str, data: &str, id: &QueryId) -> Result<AgentEvent, QueryError> {
    let malformed_event = |what: &str| Err(malformed(name, what));
    let data = to_well_formed(data);
    let message: Message<'_> = match serde_json::from_str(&data) {
        Ok(message) => message,
        Err(_) if !is_known_type(name) => return Ok(AgentEvent::Unknown),
        Err(error) => return malformed_event(&error.to_string()),
    };
    let kind = message.kind.as_deref().unwrap_or(name);
    if !is_known_type(kind) {
        return Ok(AgentEvent::Unknown);
    }
    if message.uuid.is_some_and(|uuid| uuid != id.as_str()) {
        return malformed_event("its uuid is that of another query");
    }
    Ok(AgentEvent::Report(match kind {
        "query_accepted" => return Ok(AgentEvent::Accepted),
        "query_progress" => match message.content {
            Some(content) => AgentReport::Progress(content.to_owned()),
            None => return malformed_event("it has no `content`"),
        },
        "query_complete" => AgentReport::Complete(CompletedQuery {
            value: message.result.map(ToOwned::to_owned),
            usage: message.usage.map(ToOwned::to_owned),
            tool_calls: message.tool_calls.map(foreign_calls).unwrap_or_default(),
        }),
        "query_failure" => {
            let error = message
                .error
                .unwrap_or_else(|| "The agent failed".to_owned());
            AgentReport::Fail(QueryError::from_agent(
                error,
                message.reason,
                message.code.as_deref(),
            ))
        }
        _ => AgentReport::Cancel(message.reason),
    }))
}

/// Parses the tool calls of an agent that have a source. Others are not needed, because the bridge
/// knows the calls of the page's tools, and what another agent lists in their place is ignored.
pub(crate) fn foreign_calls(calls: &RawValue) -> Vec<QueryToolCall> {
    let calls: Vec<&RawValue> = serde_json::from_str(calls.get()).unwrap_or_default();
    let calls = calls.into_iter();
    let calls = calls.filter_map(|call| serde_json::from_str::<QueryToolCall>(call.get()).ok());
    calls.filter(|call| call.source.is_some()).collect()
}

fn is_known_type(kind: &str) -> bool {
    matches!(
        kind,
        "query_accepted" | "query_progress" | "query_complete" | "query_failure" | "query_cancel"
    )
}

fn malformed(name: &str, what: &str) -> QueryError {
    let name = excerpt(name);
    let error = format!("The agent sent a malformed event {name:?}: {what}");
    let remedy = "the agent and the bridge do not understand each other: update both";
    QueryError::new(ErrorCode::AgentFailed, error, Some(remedy))
}

/// Returns the first 64 characters of a text, for messages.
fn excerpt(text: &str) -> Cow<'_, str> {
    const EXCERPT_CHARS: usize = 64;
    match text.char_indices().nth(EXCERPT_CHARS) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_data(name: &str, data: &str) -> Result<AgentEvent, QueryError> {
        parse(name, data, &QueryId::from("q"))
    }

    #[test]
    fn each_message_type_is_parsed() {
        let progress = parse_data(
            "query_progress",
            r#"{"type":"query_progress","uuid":"q","content":{"type":"text","text":"a"}}"#,
        );
        let Ok(AgentEvent::Report(AgentReport::Progress(content))) = progress else {
            panic!("{progress:?}");
        };
        assert_eq!(content.get(), r#"{"type":"text","text":"a"}"#);
        let accepted = parse_data("", r#"{"type":"query_accepted","uuid":"q"}"#);
        assert!(matches!(accepted, Ok(AgentEvent::Accepted)));
        let null = parse_data("query_progress", r#"{"uuid":"q","content":null}"#);
        assert!(
            matches!(&null, Ok(AgentEvent::Report(AgentReport::Progress(it))) if it.get() == "null"),
            "{null:?}"
        );
        for (data, expected) in [
            ("{}", None),
            (r#"{"result":"r"}"#, Some(r#""r""#)),
            (r#"{"result":null}"#, Some("null")),
        ] {
            let Ok(AgentEvent::Report(AgentReport::Complete(result))) =
                parse_data("query_complete", data)
            else {
                panic!("{data}");
            };
            assert_eq!(result.value.as_deref().map(RawValue::get), expected);
        }
        let cancelled = parse_data("query_cancel", r#"{"uuid":"q","reason":"r"}"#);
        assert!(
            matches!(cancelled, Ok(AgentEvent::Report(AgentReport::Cancel(Some(why)))) if why == "r")
        );
    }

    #[test]
    fn a_completion_has_any_result_the_usage_and_the_calls_with_a_source() {
        let data = r#"{"result":{"z":1.0},"usage":{"milliseconds":7},"toolCalls":[
            {"tool":"own","arguments":{}},
            {"tool":"search","arguments":{"q":1},"result":null,"source":"files"},
            {"tool":"no arguments","source":"files"}, 5]}"#;
        let Ok(AgentEvent::Report(AgentReport::Complete(result))) =
            parse_data("query_complete", data)
        else {
            panic!("{data}");
        };
        assert_eq!(result.value.unwrap().get(), r#"{"z":1.0}"#);
        assert_eq!(result.usage.unwrap().get(), r#"{"milliseconds":7}"#);
        let calls = serde_json::to_string(&result.tool_calls).unwrap();
        assert_eq!(
            calls,
            r#"[{"tool":"search","arguments":{"q":1},"result":null,"source":"files"}]"#
        );
        for other in ["5", "{}", "null"] {
            let data = format!(r#"{{"toolCalls":{other},"usage":{other}}}"#);
            let parsed = parse_data("query_complete", &data);
            assert!(
                matches!(&parsed, Ok(AgentEvent::Report(AgentReport::Complete(it))) if it.tool_calls.is_empty()),
                "{parsed:?}"
            );
        }
    }

    #[test]
    fn only_codes_allowed_to_agents_pass() {
        for (code, expected) in [
            ("ModelRateLimited", ErrorCode::ModelRateLimited),
            ("ResponseToolNotCalled", ErrorCode::ResponseToolNotCalled),
            ("QueryTimeout", ErrorCode::QueryTimeout),
            ("ProtocolViolation", ErrorCode::ProtocolViolation),
            ("ToolNotFound", ErrorCode::ToolNotFound),
            ("InvalidAuthentication", ErrorCode::AgentFailed),
            ("NoSuchCode", ErrorCode::AgentFailed),
        ] {
            let data = format!(r#"{{"error":"e","reason":"r","code":"{code}"}}"#);
            let Ok(AgentEvent::Report(AgentReport::Fail(failed))) =
                parse_data("query_failure", &data)
            else {
                panic!("{code}");
            };
            assert_eq!((failed.code, &*failed.error), (expected, "e"));
            assert_eq!(failed.reason.as_deref(), Some("r"));
        }
    }

    #[test]
    fn unknown_events_are_ignored_and_malformed_ones_fail() {
        for (name, data) in [
            ("ping", "not JSON"),
            ("", r#"{"type":"query_later","uuid":"x"}"#),
            ("", "[]"),
        ] {
            assert!(
                matches!(parse_data(name, data), Ok(AgentEvent::Unknown)),
                "{data}"
            );
        }
        for (name, data) in [
            ("query_progress", "not JSON"),
            ("query_progress", r#"{"uuid":"q"}"#),
            ("query_complete", r#"{"uuid":"other"}"#),
            ("query_failure", r#"{"uuid":"q","error":5}"#),
        ] {
            assert_eq!(
                parse_data(name, data).unwrap_err().code,
                ErrorCode::AgentFailed
            );
        }
    }
}
