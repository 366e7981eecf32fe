//! The request of a run: `RunAgentInput`.

use agent_tools::{AgentFailure, text};
use bridge_protocol::{ErrorCode, QueryTool, is_conversation_id, limits};
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::messages::{AguiMessage, null_as_default};
use crate::agent_loop::check_local_time;
use crate::queries::check_timeout;

/// The maximum number of tools that a client brings.
const MAX_CLIENT_TOOLS: usize = 128;

/// The maximum length of the name of a client's tool, in bytes. Providers of models accept no more.
const MAX_TOOL_NAME_BYTES: usize = 64;

/// The request of a run.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunInput {
    pub(crate) thread_id: String,
    pub(crate) run_id: String,
    /// Absent in requests of clients from before version 1.0.
    #[serde(default)]
    pub(crate) protocol_version: Option<String>,
    #[serde(default)]
    pub(crate) parent_run_id: Option<String>,
    #[serde(default)]
    pub(crate) state: Option<Value>,
    /// The whole thread.
    pub(crate) messages: Vec<AguiMessage>,
    /// The client's own tools.
    #[serde(default, deserialize_with = "null_as_default")]
    pub(crate) tools: Vec<ClientTool>,
    #[serde(default, deserialize_with = "null_as_default")]
    pub(crate) context: Vec<AguiContext>,
    #[serde(default, deserialize_with = "object_or_default")]
    pub(crate) forwarded_props: ForwardedProps,
    /// The answers to the interrupts of the run before.
    #[serde(default, deserialize_with = "null_as_default")]
    pub(crate) resume: Vec<ResumeEntry>,
}

/// The identity of a run.
#[derive(Clone, Debug)]
pub(crate) struct RunIdentity {
    pub(crate) thread_id: String,
    pub(crate) run_id: String,
    pub(crate) parent_run_id: Option<String>,
    /// Whether the client declares a version of the protocol.
    pub(crate) is_versioned: bool,
}

/// A tool that the client executes itself.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ClientTool {
    pub(crate) name: String,
    #[serde(default, deserialize_with = "null_as_default")]
    pub(crate) description: String,
    /// The JSON Schema of the arguments.
    #[serde(default)]
    pub(crate) parameters: Option<Value>,
}

/// A piece of information for the model.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct AguiContext {
    #[serde(default, deserialize_with = "null_as_default")]
    pub(crate) description: String,
    #[serde(default)]
    pub(crate) value: Value,
}

/// The fields of a query that AG-UI has no place for. Other members are those of the application,
/// and are not read.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ForwardedProps {
    /// The session of the page, in case its token has several.
    #[serde(default)]
    pub(crate) session_id: Option<String>,
    /// The page's tools that the model may call, with `restrict_tools`.
    #[serde(default)]
    pub(crate) tools: Option<Vec<QueryTool>>,
    #[serde(default)]
    pub(crate) restrict_tools: Option<bool>,
    /// The names of the tools whose calls a person must approve.
    #[serde(default)]
    pub(crate) approve: Option<Vec<String>>,
    /// In milliseconds.
    #[serde(default)]
    pub(crate) timeout: Option<u64>,
    #[serde(default)]
    pub(crate) local_time: Option<String>,
    /// The profile of the agent's own tools.
    #[serde(default)]
    pub(crate) profile: Option<String>,
}

/// Reads the members of an object. The protocol also allows any other value.
fn object_or_default<'de, D>(deserializer: D) -> Result<ForwardedProps, D::Error>
where
    D: Deserializer<'de>,
{
    let value = Value::deserialize(deserializer)?;
    if value.is_object() {
        serde_json::from_value(value).map_err(D::Error::custom)
    } else {
        Ok(ForwardedProps::default())
    }
}

/// The answer to an interrupt.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ResumeEntry {
    pub(crate) interrupt_id: String,
    pub(crate) status: ResumeStatus,
    #[serde(default)]
    pub(crate) payload: Option<Value>,
}

/// Whether an interrupt was answered or given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ResumeStatus {
    Resolved,
    Cancelled,
}

impl ResumeEntry {
    /// Returns whether the person approves the call. Only `{ "approved": true }` is an approval:
    /// clients send other payloads for other interrupts.
    pub(crate) fn is_approval(&self) -> bool {
        let approved = self.payload.as_ref().and_then(|it| it.get("approved"));
        self.status == ResumeStatus::Resolved && approved == Some(&Value::Bool(true))
    }
}

impl RunInput {
    /// Parses and checks the body of a request.
    pub(crate) fn parse(body: &[u8]) -> Result<Self, AgentFailure> {
        let input: Self = serde_json::from_slice(body).map_err(|error| {
            violation(format!("the body is not a RunAgentInput of AG-UI: {error}"))
                .with_remedy("send it with `HttpAgent` of @ag-ui/client, or as its schema says")
        })?;
        input.check_ids()?;
        input.check_tools()?;
        check_local_time(input.forwarded_props.local_time.as_deref())?;
        check_timeout(input.forwarded_props.timeout)?;
        Ok(input)
    }

    /// Returns the identity of the run that is requested.
    pub(crate) fn identity(&self) -> RunIdentity {
        RunIdentity {
            thread_id: self.thread_id.clone(),
            run_id: self.run_id.clone(),
            parent_run_id: self.parent_run_id.clone(),
            is_versioned: self.protocol_version.is_some(),
        }
    }

    fn check_ids(&self) -> Result<(), AgentFailure> {
        let run_id = &self.run_id;
        let is_run_id = (1..=limits::MAX_QUERY_ID_BYTES).contains(&run_id.len())
            && run_id.bytes().all(|byte| byte.is_ascii_graphic());
        let (name, max) = if !is_conversation_id(&self.thread_id) {
            ("threadId", limits::MAX_CONVERSATION_ID_BYTES)
        } else if !is_run_id {
            ("runId", limits::MAX_QUERY_ID_BYTES)
        } else {
            return Ok(());
        };
        let message = format!("the `{name}` is not 1 to {max} bytes of visible ASCII");
        Err(violation(message).with_remedy("generate one with crypto.randomUUID()"))
    }

    fn check_tools(&self) -> Result<(), AgentFailure> {
        let count = self.tools.len();
        if count > MAX_CLIENT_TOOLS {
            let message = format!(
                "the request brings {count} `tools`, and at most {MAX_CLIENT_TOOLS} are taken"
            );
            return Err(violation(message).with_remedy("leave some out"));
        }
        for (index, tool) in self.tools.iter().enumerate() {
            let name = &tool.name;
            let is_valid = (1..=MAX_TOOL_NAME_BYTES).contains(&name.len())
                && (name.bytes()).all(|it| it.is_ascii_alphanumeric() || it == b'_' || it == b'-');
            let message = if !is_valid {
                let name = text::shorten_name(name);
                format!(
                    "the tool name {name:?} is not 1 to {MAX_TOOL_NAME_BYTES} of A-Z, a-z, 0-9, `_` \
                     and `-`, as providers of models require"
                )
            } else if self.tools[..index].iter().any(|it| it.name == *name) {
                format!("the request brings the tool `{name}` twice")
            } else if (tool.parameters.as_ref()).is_some_and(|it| !it.is_object() && !it.is_null())
            {
                format!(
                    "the `parameters` of the tool `{name}` are not a JSON Schema that is an object"
                )
            } else {
                continue;
            };
            return Err(violation(message).with_remedy("correct it"));
        }
        Ok(())
    }
}

fn violation(message: impl Into<String>) -> AgentFailure {
    AgentFailure::new(ErrorCode::ProtocolViolation, message)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(changes: Value) -> Result<RunInput, AgentFailure> {
        let mut input = json!({ "threadId": "t", "runId": "r", "messages": [] });
        let changes = changes.as_object().unwrap().clone();
        input.as_object_mut().unwrap().extend(changes);
        RunInput::parse(input.to_string().as_bytes())
    }

    #[test]
    fn absent_fields_and_nulls_mean_the_same() {
        let absent = parse(json!({})).unwrap();
        let nulls = json!({ "state": null, "tools": null, "context": null, "forwardedProps": null,
            "resume": null, "parentRunId": null, "protocolVersion": null });
        let nulls = parse(nulls).unwrap();
        assert_eq!(format!("{absent:?}"), format!("{nulls:?}"));
        assert!(!absent.identity().is_versioned);
        let versioned = parse(json!({ "protocolVersion": "1.0" })).unwrap();
        assert!(versioned.identity().is_versioned);
    }

    #[test]
    fn members_that_the_agent_does_not_know_are_ignored() {
        let input = parse(json!({ "later": 1, "forwardedProps": { "theme": "dark",
            "sessionId": "page" } }));
        let session = input.unwrap().forwarded_props.session_id;
        assert_eq!(session.as_deref(), Some("page"));
        assert!(parse(json!({ "forwardedProps": "dark" })).is_ok());
        let misspelled = parse(json!({ "forwardedProps": { "approve": true } }));
        assert!(misspelled.is_err(), "a person would not be asked");
    }

    #[test]
    fn limits_are_checked_with_a_remedy() {
        let tools = |names: Vec<String>| {
            let tools = names
                .iter()
                .map(|name| json!({ "name": name, "description": "" }));
            parse(json!({ "tools": tools.collect::<Vec<_>>() }))
        };
        let numbered = |count: usize| tools((0..count).map(|n| format!("tool_{n}")).collect());
        assert!(numbered(MAX_CLIENT_TOOLS).is_ok());
        assert!(tools(vec!["x".repeat(MAX_TOOL_NAME_BYTES)]).is_ok());
        assert!(
            parse(json!({ "threadId": "t".repeat(limits::MAX_CONVERSATION_ID_BYTES) })).is_ok()
        );
        for (result, part) in [
            (numbered(MAX_CLIENT_TOOLS + 1), "at most 128"),
            (tools(vec!["x".repeat(MAX_TOOL_NAME_BYTES + 1)]), "1 to 64"),
            (tools(vec!["a b".to_owned()]), "\"a b\""),
            (tools(vec!["a".to_owned(), "a".to_owned()]), "twice"),
            (
                parse(json!({ "tools": [{ "name": "a", "description": "", "parameters": true }] })),
                "JSON Schema",
            ),
            (parse(json!({ "threadId": "" })), "threadId"),
            (
                parse(json!({ "forwardedProps": { "localTime": "noon" } })),
                "`localTime`",
            ),
            (
                parse(json!({ "forwardedProps": { "timeout": 0 } })),
                "`timeout` must be",
            ),
            (
                parse(json!({ "threadId": "t".repeat(limits::MAX_CONVERSATION_ID_BYTES + 1) })),
                "threadId",
            ),
            (parse(json!({ "runId": "a b" })), "runId"),
            (RunInput::parse(b"{}"), "missing field `threadId`"),
            (
                parse(json!({ "messages": [{ "id": "1", "role": "user" }] })),
                "missing field `content`",
            ),
        ] {
            let failure = result.unwrap_err();
            assert!(failure.message.contains(part), "{failure}");
            assert!(failure.remedy.is_some(), "{failure}");
        }
    }

    #[test]
    fn only_a_resolved_yes_is_an_approval() {
        let entry = |status: &str, payload: Value| {
            let entry = json!({ "interruptId": "i", "status": status, "payload": payload });
            serde_json::from_value::<ResumeEntry>(entry).unwrap()
        };
        assert!(entry("resolved", json!({ "approved": true })).is_approval());
        for entry in [
            entry("resolved", json!(true)),
            entry("resolved", json!("approved")),
            entry("resolved", json!([{ "approved": true }])),
            entry("resolved", json!({ "approved": { "approved": true } })),
            entry("resolved", json!({ "approved": false })),
            entry("resolved", json!({ "approved": "yes" })),
            entry("resolved", json!(null)),
            entry("resolved", json!({})),
            entry("cancelled", json!({ "approved": true })),
        ] {
            assert!(!entry.is_approval(), "{entry:?}");
        }
    }
}
