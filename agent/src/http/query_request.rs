//! Parses the body of a query: the page's message.

use std::collections::BTreeMap;

use agent_tools::text;
use bridge_protocol::{
    Attachment, ContextItem, ErrorCode, Query, QueryId, QueryTool, SessionId, limits,
};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use uuid::Uuid;

use super::Rejection;
use crate::agent_loop::check_local_time;
use crate::conversations::check_conversation_id;
use crate::queries::check_timeout;

/// A received query, with the session that a frontend selects.
#[derive(Debug)]
pub(super) struct QueryRequest {
    pub(super) query: Query,
    /// The session of the page, in case its token has several.
    pub(super) session_id: Option<SessionId>,
    /// A field of the body that no query has.
    unknown_field: Option<String>,
}

/// The fields of a [`Query`], optional where the path or a default can supply them.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct QueryRequestBody {
    #[serde(default, rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    uuid: Option<QueryId>,
    #[serde(default)]
    session_id: Option<SessionId>,
    prompt: String,
    #[serde(default)]
    context: Vec<ContextItem>,
    #[serde(default)]
    response_tool: Option<QueryTool>,
    #[serde(default)]
    tools: Option<Vec<QueryTool>>,
    #[serde(default)]
    restrict_tools: Option<bool>,
    #[serde(default)]
    timeout: Option<u64>,
    #[serde(default)]
    response_schema: Option<Box<RawValue>>,
    #[serde(default)]
    approve: Option<Vec<String>>,
    #[serde(default)]
    attachments: Vec<Attachment>,
    #[serde(default)]
    conversation: Option<String>,
    #[serde(default)]
    local_time: Option<String>,
    #[serde(default)]
    profile: Option<String>,
    #[serde(flatten)]
    unknown: BTreeMap<String, IgnoredAny>,
}

/// The fields that a frontend may send.
const FIELDS: &str = "prompt, context, responseTool, responseSchema, tools, restrictTools, approve, \
                      attachments, conversation, localTime, profile, timeout, uuid, sessionId and \
                      type";

impl QueryRequest {
    /// Parses a body. The uuid of the path takes precedence over that of the body. If neither has
    /// one, a new one is generated, which the first event contains.
    pub(super) fn parse(body: &[u8], path: Option<QueryId>) -> Result<Self, Rejection> {
        let violation = |message: String| Rejection::new(ErrorCode::ProtocolViolation, message);
        let body: QueryRequestBody = serde_json::from_slice(body).map_err(|error| {
            violation(format!(
                "the body is not a query: {error}; a minimal one is {{\"prompt\": \"…\"}}"
            ))
        })?;
        if body.kind.as_deref().is_some_and(|kind| kind != "query") {
            return Err(violation(
                "the `type` of the body must be `query`".to_owned(),
            ));
        }
        let new = || QueryId(Uuid::new_v4().to_string());
        let uuid = path.or(body.uuid).unwrap_or_else(new);
        if !is_query_id(uuid.as_str()) {
            let message =
                "the uuid of the query is malformed: generate one with crypto.randomUUID()";
            return Err(violation(message.to_owned()));
        }
        let query = Query {
            uuid,
            prompt: body.prompt,
            context: body.context,
            response_tool: body.response_tool,
            tools: body.tools,
            restrict_tools: body.restrict_tools,
            timeout: body.timeout,
            response_schema: body.response_schema,
            approve: body.approve,
            attachments: body.attachments,
            conversation: body.conversation,
            local_time: body.local_time,
            profile: body.profile,
            trace: None,
        };
        Ok(Self {
            query,
            session_id: body.session_id,
            unknown_field: body.unknown.into_keys().next(),
        })
    }

    /// Checks what the bridge has checked for its pages: that there is a prompt, and that no field is
    /// misspelled, because a query without its `restrictTools` may call every tool. A bridge itself
    /// may be newer than the agent and send fields that the agent does not know.
    pub(super) fn check_fields(&self) -> Result<(), Rejection> {
        let violation = |message| Err(Rejection::new(ErrorCode::ProtocolViolation, message));
        if let Some(field) = &self.unknown_field {
            let field = text::shorten_name(field);
            return violation(format!("a query has no field `{field}`, only {FIELDS}"));
        }
        check_local_time(self.query.local_time.as_deref())?;
        if let Some(id) = &self.query.conversation {
            check_conversation_id(id)?;
        }
        check_timeout(self.query.timeout)?;
        if self.query.prompt.trim().is_empty() {
            return violation("the `prompt` of the query is empty: say what to do".to_owned());
        }
        Ok(())
    }
}

/// Returns whether this can be the id of a query at the bridge, where it is a segment of paths.
pub(super) fn is_query_id(id: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    id.len() <= limits::MAX_QUERY_ID_BYTES
        && id.starts_with(|first: char| first.is_ascii_alphanumeric())
        && id.bytes().all(is_allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_message<T: std::fmt::Debug>(result: Result<T, Rejection>) -> String {
        match result {
            Err(Rejection::Failure(failure)) => failure.message,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_uuid_of_the_path_takes_precedence_and_a_missing_one_is_generated() {
        let parse = |body: &str, path: Option<&str>| {
            QueryRequest::parse(body.as_bytes(), path.map(Into::into))
        };
        let both = parse(r#"{"uuid":"b","prompt":"p"}"#, Some("a")).unwrap();
        assert_eq!(both.query.uuid.as_str(), "a");
        let body = parse(
            r#"{"type":"query","uuid":"b","prompt":"p","sessionId":"s"}"#,
            None,
        )
        .unwrap();
        assert_eq!(body.query.uuid.as_str(), "b");
        assert_eq!(body.session_id.unwrap().as_str(), "s");
        let neither = parse(r#"{"prompt":"p"}"#, None).unwrap();
        assert_eq!(neither.query.uuid.as_str().len(), 36);
        for (invalid, part) in [
            (r#"{"uuid":"a"}"#, "missing field `prompt`"),
            (
                r#"{"uuid":"a","prompt":"p","type":"query_cancel"}"#,
                "`type`",
            ),
            (r#"{"uuid":"a b","prompt":"p"}"#, "malformed"),
            (r#"{"uuid":"a/b","prompt":"p"}"#, "malformed"),
            (r#"{"uuid":"..","prompt":"p"}"#, "malformed"),
            (r#"{"uuid":"","prompt":"p"}"#, "malformed"),
            ("[", "not a query"),
        ] {
            let message = error_message(parse(invalid, None));
            assert!(message.contains(part), "{message}");
        }
        let endless = "x".repeat(limits::MAX_QUERY_ID_BYTES + 1);
        assert!(error_message(parse(r#"{"prompt":"p"}"#, Some(&endless))).contains("malformed"));
    }
    #[test]
    fn unknown_fields_and_empty_prompts_are_found() {
        let check = |body: &str| QueryRequest::parse(body.as_bytes(), None)?.check_fields();
        assert!(check(r#"{"prompt":"p","restrictTools":true,"type":"query"}"#).is_ok());
        for (invalid, part) in [
            (
                r#"{"prompt":"p","restricttools":true}"#,
                "no field `restricttools`, only prompt",
            ),
            (r#"{"prompt":" \n"}"#, "`prompt` of the query is empty"),
            (r#"{"prompt":"p","localTime":"noon"}"#, "`localTime`"),
            (r#"{"prompt":"p","conversation":"a b"}"#, "conversation"),
            (
                r#"{"prompt":"p","timeout":0}"#,
                "`timeout` must be at least 1 ms",
            ),
        ] {
            let message = error_message(check(invalid));
            assert!(message.contains(part), "{message}");
        }
    }
}
