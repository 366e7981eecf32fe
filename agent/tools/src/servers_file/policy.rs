//! How the agent may use a server: `x-policy`, which other programs do not use.

use std::num::NonZeroU64;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};

/// How the agent may use a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerPolicy {
    /// Patterns for the names of the tools that may be used, such as `read_*`. Without any list, all
    /// tools may be used; with an empty one, none.
    pub(crate) allow: Option<Vec<String>>,
    /// The timeout of a call, if it is not that of the agent.
    pub(crate) timeout: Option<Duration>,
    /// The time without calls after which the server is stopped, if it is not that of the agent.
    pub(crate) idle: Option<Duration>,
    /// Whether each user has a separate process or MCP session.
    pub(crate) is_per_user: bool,
    /// Whether the server is not used.
    pub is_disabled: bool,
}

/// The value of `x-policy`. Errors of the derived parser quote values, which are not secrets here.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct PolicyEntry {
    tools: ToolsEntry,
    timeout_ms: Option<NonZeroU64>,
    idle_ms: Option<NonZeroU64>,
    isolation: Isolation,
    disabled: bool,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ToolsEntry {
    allow: Option<Vec<String>>,
}

/// The users who share a process or an MCP session.
#[derive(Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Isolation {
    #[default]
    Shared,
    PerUser,
}

impl ServerPolicy {
    /// Parses the policy of a server's entry. Unlike the entry, it must not have unknown keys.
    pub(super) fn parse(entry: &Map<String, Value>) -> Result<Self, String> {
        let policy = match entry.get("x-policy") {
            Some(value @ Value::Object(_)) => PolicyEntry::deserialize(value).map_err(invalid)?,
            Some(_) => return Err(invalid("it is not an object")),
            None => PolicyEntry::default(),
        };
        // Several clients have these keys in the entry itself.
        let is_disabled = switch(entry, "disabled")?.unwrap_or(false)
            || !switch(entry, "enabled")?.unwrap_or(true);
        let duration = |milliseconds: NonZeroU64| Duration::from_millis(milliseconds.get());
        Ok(Self {
            allow: policy.tools.allow,
            timeout: policy.timeout_ms.map(duration),
            idle: policy.idle_ms.map(duration),
            is_per_user: policy.isolation == Isolation::PerUser,
            is_disabled: is_disabled || policy.disabled,
        })
    }
}

fn switch(entry: &Map<String, Value>, key: &str) -> Result<Option<bool>, String> {
    match entry.get(key) {
        Some(Value::Bool(is_on)) => Ok(Some(*is_on)),
        Some(_) => Err(format!("`{key}` must be true or false, without quotes")),
        None => Ok(None),
    }
}

fn invalid(problem: impl std::fmt::Display) -> String {
    format!(
        "`x-policy` is invalid: {problem}. An example with everything that it may have: {{\"tools\": \
         {{\"allow\": [\"read_*\"]}}, \"timeoutMs\": 60000, \"idleMs\": 600000, \"isolation\": \
         \"per-user\" or \"shared\", \"disabled\": true}}"
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(entry: Value) -> Result<ServerPolicy, String> {
        ServerPolicy::parse(entry.as_object().unwrap())
    }

    #[test]
    fn a_policy_has_tools_durations_isolation_and_a_switch() {
        let default = ServerPolicy {
            allow: None,
            timeout: None,
            idle: None,
            is_per_user: false,
            is_disabled: false,
        };
        assert_eq!(parse(json!({})), Ok(default));
        let policy = parse(json!({ "x-policy": {
            "tools": { "allow": ["read_*", "list"] },
            "timeoutMs": 1500,
            "idleMs": 600000,
            "isolation": "per-user",
            "disabled": true,
        }}));
        let expected = ServerPolicy {
            allow: Some(vec!["read_*".to_owned(), "list".to_owned()]),
            timeout: Some(Duration::from_millis(1500)),
            idle: Some(Duration::from_secs(600)),
            is_per_user: true,
            is_disabled: true,
        };
        assert_eq!(policy, Ok(expected));
    }

    #[test]
    fn users_share_a_server_unless_the_policy_separates_them() {
        let is_per_user = |policy| parse(json!({ "x-policy": policy })).unwrap().is_per_user;
        assert!(!is_per_user(json!({})));
        assert!(is_per_user(json!({ "isolation": "per-user" })));
        assert!(!is_per_user(json!({ "isolation": "shared" })));
    }

    #[test]
    fn an_empty_list_of_tools_is_not_the_same_as_none() {
        let allow = |tools| {
            parse(json!({ "x-policy": { "tools": tools } }))
                .unwrap()
                .allow
        };
        assert_eq!(allow(json!({})), None);
        assert_eq!(allow(json!({ "allow": [] })), Some(Vec::new()));
    }

    #[test]
    fn a_server_is_disabled_by_its_entry_or_its_policy() {
        for (entry, is_disabled) in [
            (json!({ "disabled": true }), true),
            (json!({ "enabled": false }), true),
            (json!({ "enabled": true }), false),
            (json!({ "disabled": false }), false),
            (
                json!({ "disabled": true, "x-policy": { "disabled": false } }),
                true,
            ),
            (
                json!({ "disabled": false, "x-policy": { "disabled": true } }),
                true,
            ),
        ] {
            assert_eq!(parse(entry).unwrap().is_disabled, is_disabled);
        }
    }

    #[test]
    fn an_invalid_policy_is_refused_with_words() {
        for (policy, words) in [
            (json!([]), "it is not an object"),
            (json!([["read_*"]]), "it is not an object"),
            (json!({ "timeout": 5 }), "unknown field `timeout`"),
            (json!({ "tools": "a" }), "invalid type"),
            (
                json!({ "tools": { "deny": [] } }),
                "unknown field `deny`, expected `allow`",
            ),
            (json!({ "tools": { "allow": "a" } }), "expected a sequence"),
            (json!({ "tools": { "allow": [1] } }), "expected a string"),
            (json!({ "timeoutMs": 0 }), "expected a nonzero u64"),
            (json!({ "timeoutMs": "60s" }), "expected a nonzero u64"),
            (json!({ "idleMs": 1.5 }), "expected a nonzero u64"),
            (
                json!({ "isolation": "none" }),
                "expected `shared` or `per-user`",
            ),
            (json!({ "disabled": "true" }), "expected a boolean"),
        ] {
            let problem = parse(json!({ "x-policy": policy })).unwrap_err();
            assert!(problem.contains(words), "{problem}");
            let help = "everything that it may have: {\"tools\": {\"allow\": [\"read_*\"]}";
            assert!(problem.contains(help), "{problem}");
        }
        let problem = parse(json!({ "disabled": 1 })).unwrap_err();
        assert!(
            problem.starts_with("`disabled` must be true or false"),
            "{problem}"
        );
    }
}
