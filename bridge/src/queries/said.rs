//! What an agent says in its stream of events: the messages that a page hears.

use std::borrow::Cow;

use bridge_protocol::{ErrorCode, QueryId};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::Report;
use super::events::{Event, shown};
use crate::realm::QueryFailed;

/// One message of an agent.
#[derive(Debug)]
pub(super) enum Said {
    /// It has taken the query, which its status has said before.
    Accepted,
    Report(Report),
    /// A later agent may say more than this bridge knows.
    Unknown,
}

/// The fields of all messages.
#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    uuid: Option<Cow<'a, str>>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    error: Option<String>,
    reason: Option<String>,
    #[serde(borrow)]
    code: Option<Cow<'a, str>>,
}

/// What an event of the agent of this query means.
pub(super) fn read(event: &Event, id: &QueryId) -> Result<Said, QueryFailed> {
    let bad = |what: &str| Err(malformed(event, what));
    let message: Message<'_> = match serde_json::from_str(&event.data) {
        Ok(message) => message,
        Err(_) if !is_known(&event.name) => return Ok(Said::Unknown),
        Err(error) => return bad(&error.to_string()),
    };
    let kind = message.kind.as_deref().unwrap_or(&event.name);
    if !is_known(kind) {
        return Ok(Said::Unknown);
    }
    if message.uuid.is_some_and(|uuid| uuid != id.as_str()) {
        return bad("its uuid is that of another query");
    }
    Ok(Said::Report(match kind {
        "query_accepted" => return Ok(Said::Accepted),
        "query_progress" => match message.content {
            Some(content) => Report::Progress(content.to_owned()),
            None => return bad("it has no `content`"),
        },
        "query_complete" => Report::Complete(message.result.map(ToOwned::to_owned)),
        "query_failure" => {
            let error = message
                .error
                .unwrap_or_else(|| "The agent failed".to_owned());
            Report::Fail(QueryFailed::of_agent(
                error,
                message.reason,
                message.code.as_deref(),
            ))
        }
        _ => Report::Cancel(message.reason),
    }))
}

fn is_known(kind: &str) -> bool {
    matches!(
        kind,
        "query_accepted" | "query_progress" | "query_complete" | "query_failure" | "query_cancel"
    )
}

fn malformed(event: &Event, what: &str) -> QueryFailed {
    let name = shown(&event.name);
    let error = format!("The agent sent a malformed event {name:?}: {what}");
    let remedy = "the agent and the bridge do not understand each other: update both";
    QueryFailed::new(ErrorCode::AgentFailed, error, Some(remedy))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, data: &str) -> Result<Said, QueryFailed> {
        let event = Event {
            name: name.to_owned(),
            data: data.to_owned(),
        };
        read(&event, &QueryId::from("q"))
    }

    #[test]
    fn what_an_agent_says_is_what_a_page_hears() {
        let progress = of(
            "query_progress",
            r#"{"type":"query_progress","uuid":"q","content":{"type":"text","text":"a"}}"#,
        );
        let Ok(Said::Report(Report::Progress(content))) = progress else {
            panic!("{progress:?}");
        };
        assert_eq!(content.get(), r#"{"type":"text","text":"a"}"#);
        let accepted = of("", r#"{"type":"query_accepted","uuid":"q"}"#);
        assert!(matches!(accepted, Ok(Said::Accepted)));
        for (data, has_result) in [("{}", false), (r#"{"result":"r"}"#, true)] {
            let Ok(Said::Report(Report::Complete(result))) = of("query_complete", data) else {
                panic!("{data}");
            };
            assert_eq!(result.is_some(), has_result);
        }
        let cancelled = of("query_cancel", r#"{"uuid":"q","reason":"r"}"#);
        assert!(matches!(cancelled, Ok(Said::Report(Report::Cancel(Some(why)))) if why == "r"));
    }

    #[test]
    fn codes_that_agents_may_use_pass_and_others_do_not() {
        for (code, expected) in [
            ("ModelRateLimited", ErrorCode::ModelRateLimited),
            ("ResponseToolNotCalled", ErrorCode::ResponseToolNotCalled),
            ("QueryTimeout", ErrorCode::QueryTimeout),
            ("InvalidAuthentication", ErrorCode::AgentFailed),
            ("NoSuchCode", ErrorCode::AgentFailed),
        ] {
            let data = format!(r#"{{"error":"e","reason":"r","code":"{code}"}}"#);
            let Ok(Said::Report(Report::Fail(failed))) = of("query_failure", &data) else {
                panic!("{code}");
            };
            assert_eq!((failed.code, &*failed.error), (expected, "e"));
            assert_eq!(failed.reason.as_deref(), Some("r"));
        }
    }

    #[test]
    fn what_is_unknown_is_passed_over_and_what_is_malformed_is_not() {
        for (name, data) in [
            ("ping", "not JSON"),
            ("", r#"{"type":"query_later","uuid":"x"}"#),
            ("", "[]"),
        ] {
            assert!(matches!(of(name, data), Ok(Said::Unknown)), "{data}");
        }
        for (name, data) in [
            ("query_progress", "not JSON"),
            ("query_progress", r#"{"uuid":"q"}"#),
            ("query_complete", r#"{"uuid":"other"}"#),
            ("query_failure", r#"{"uuid":"q","error":5}"#),
        ] {
            assert_eq!(of(name, data).unwrap_err().code, ErrorCode::AgentFailed);
        }
    }
}
