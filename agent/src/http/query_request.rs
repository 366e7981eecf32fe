//! The body of a query: the page's message.

use bridge_protocol::{ContextItem, ErrorCode, Query, QueryId, QueryTool, SessionId, limits};
use serde::Deserialize;
use uuid::Uuid;

use super::Problem;

/// A query, and whose it is if a frontend asks.
#[derive(Debug)]
pub(super) struct QueryRequest {
    pub(super) query: Query,
    /// The session of the page, where its token has several.
    pub(super) session_id: Option<SessionId>,
}

/// The fields of `Query`, none of them where a path or a default can say it.
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
}

impl QueryRequest {
    /// Reads it. The uuid of the path wins over that of the body; where there is none, one is made,
    /// which the first event tells.
    pub(super) fn parse(body: &[u8], path: Option<QueryId>) -> Result<Self, Problem> {
        let wrong = |message: String| Problem::new(ErrorCode::ProtocolViolation, message);
        let written: QueryRequestBody = serde_json::from_slice(body).map_err(|error| {
            wrong(format!(
                "the body is no query: {error}; the least is {{\"prompt\": \"…\"}}"
            ))
        })?;
        if written.kind.as_deref().is_some_and(|kind| kind != "query") {
            return Err(wrong("the `type` of the body must be `query`".to_owned()));
        }
        let new = || QueryId(Uuid::new_v4().to_string());
        let uuid = path.or(written.uuid).unwrap_or_else(new);
        let most = limits::MAX_QUERY_ID_BYTES;
        let fits = !uuid.as_str().is_empty() && uuid.as_str().len() <= most;
        if !fits || !uuid.as_str().bytes().all(|byte| byte.is_ascii_graphic()) {
            let message = "the uuid of the query is malformed: make one with crypto.randomUUID()";
            return Err(wrong(message.to_owned()));
        }
        let query = Query {
            uuid,
            prompt: written.prompt,
            context: written.context,
            response_tool: written.response_tool,
            tools: written.tools,
            restrict_tools: written.restrict_tools,
            timeout: written.timeout,
        };
        Ok(Self {
            query,
            session_id: written.session_id,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_message(read: Result<QueryRequest, Problem>) -> String {
        match read {
            Err(Problem::Failure(failure)) => failure.message,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_uuid_of_the_path_wins_and_where_there_is_none_one_is_made() {
        let read = |body: &str, path: Option<&str>| {
            QueryRequest::parse(body.as_bytes(), path.map(Into::into))
        };
        let both = read(r#"{"uuid":"b","prompt":"p"}"#, Some("a")).unwrap();
        assert_eq!(both.query.uuid.as_str(), "a");
        let body = read(
            r#"{"type":"query","uuid":"b","prompt":"p","sessionId":"s"}"#,
            None,
        )
        .unwrap();
        assert_eq!(body.query.uuid.as_str(), "b");
        assert_eq!(body.session_id.unwrap().as_str(), "s");
        let neither = read(r#"{"prompt":"p"}"#, None).unwrap();
        assert_eq!(neither.query.uuid.as_str().len(), 36);
        for (wrong, part) in [
            (r#"{"uuid":"a"}"#, "missing field `prompt`"),
            (
                r#"{"uuid":"a","prompt":"p","type":"query_cancel"}"#,
                "`type`",
            ),
            (r#"{"uuid":"a b","prompt":"p"}"#, "malformed"),
            ("[", "no query"),
        ] {
            let said = error_message(read(wrong, None));
            assert!(said.contains(part), "{said}");
        }
        let endless = "x".repeat(limits::MAX_QUERY_ID_BYTES + 1);
        assert!(error_message(read(r#"{"prompt":"p"}"#, Some(&endless))).contains("malformed"));
    }
}
