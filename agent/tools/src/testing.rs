//! Sources, profiles and their calls for tests, with a source whose behaviour a test chooses.

#![allow(
    clippy::unwrap_used,
    reason = "only tests use it, which end where it panics"
)]

mod fake_source;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bridge_protocol::QueryCaller;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use toml::Spanned;

use crate::audit::CallEntry;
use crate::metrics::Metrics;
use crate::pipeline::{self, CallSteps};
use crate::{
    Approval, AuditLog, CallLimits, CallOutput, OfferedTool, ProfileEntry, Records, ServerTool,
    SourceAccess, SourceLimits, Sources, ToolHints, ToolProfile, ToolSource,
};
pub use fake_source::{FakeSource, Start};

/// The time of a call whose tool has no timeout.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(120);

/// How many calls of one user a source runs at the same time.
pub(crate) const MAX_CALLS_PER_USER: usize = 2;

/// Creates a tool of an MCP server, whose arguments are any object.
pub fn server_tool(name: &str, description: &str) -> ServerTool {
    ServerTool {
        name: name.to_owned(),
        description: Some(description.to_owned()),
        input_schema: json!({ "type": "object" }),
        annotations: ToolHints::default(),
    }
}

/// Creates the sources of an agent, with the profiles of a text as a file of `tools_file` has them.
pub fn sources(profiles: &str, sources: Vec<Arc<dyn ToolSource>>) -> Arc<Sources> {
    sources_with_audit(profiles, sources, AuditLog::default())
}

/// Creates sources whose calls are recorded in a file.
pub fn sources_with_audit(
    profiles: &str,
    sources: Vec<Arc<dyn ToolSource>>,
    audit: AuditLog,
) -> Arc<Sources> {
    let limits = SourceLimits {
        max_calls: 4,
        max_calls_per_user: MAX_CALLS_PER_USER,
    };
    let records = Records {
        audit,
        metrics: Arc::new(Metrics::new()),
        secrets: None,
    };
    Arc::new(
        Sources::new(
            sources,
            Vec::new(),
            parse_profiles(profiles),
            limits,
            records,
        )
        .unwrap(),
    )
}

/// Parses the tables `[profiles.NAME]` of a text, in its order.
fn parse_profiles(text: &str) -> Vec<ToolProfile> {
    #[derive(Deserialize)]
    struct Tables {
        #[serde(default)]
        profiles: BTreeMap<Spanned<String>, ProfileEntry>,
    }
    let tables: Tables = toml::from_str(text).unwrap();
    let mut profiles: Vec<_> = tables.profiles.into_iter().collect();
    profiles.sort_by_key(|(name, _)| name.span().start);
    let profiles = profiles.into_iter();
    profiles
        .map(|(name, entry)| ToolProfile::new(name.get_ref(), entry).unwrap())
        .collect()
}

/// Creates sources whose audit file cannot be written, which was noticed.
pub async fn sources_without_audit(
    profiles: &str,
    sources: Vec<Arc<dyn ToolSource>>,
) -> Arc<Sources> {
    let folder = tempfile::tempdir().unwrap();
    let audit = AuditLog::open(folder.path().join("audit.jsonl")).unwrap();
    drop(folder);
    let sources = sources_with_audit(profiles, sources, audit);
    // The first line cannot be written, which the calls after it notice.
    while let Some(line) = sources.records.audit.reserve() {
        let arguments = serde_json::value::RawValue::from_string("{}".to_owned()).unwrap();
        let entry = CallEntry::new(None, None, &"q".into(), "s", "read", arguments);
        line.write(&entry);
        tokio::task::yield_now().await;
    }
    sources
}

/// Uses the shares of a user until the returned value is dropped.
pub async fn use_shares(sources: &Sources, user: &str) -> impl Sized + use<> {
    let mut permits = Vec::new();
    for source in sources.all() {
        for _ in 0..MAX_CALLS_PER_USER {
            permits.push(source.shares.acquire(user).await);
        }
    }
    permits
}

/// Creates what a query without sources may use.
pub fn no_sources() -> SourceAccess {
    sources("", Vec::new())
        .access("default", None, None, &"q".into())
        .unwrap()
}

/// Creates a caller with a signed token and the role `staff`.
pub fn staff(user: &str) -> QueryCaller {
    QueryCaller {
        user: user.to_owned(),
        sub: Some(user.to_owned()),
        roles: vec!["staff".to_owned()],
        self_made: false,
        app: "todo".to_owned(),
        app_description: None,
        origin: Some("https://todo.example".to_owned()),
        session: "s".into(),
    }
}

/// A call of a query whose person approves everything, or nothing.
struct Steps<'a> {
    access: &'a SourceAccess,
    offered: &'a OfferedTool,
    approval: Approval,
}

impl CallSteps for Steps<'_> {
    type Output = CallOutput;
    type Error = Infallible;

    async fn ask_person(&mut self, _timeout: Duration) -> Approval {
        self.approval
    }

    async fn begin(&mut self) {}

    async fn run(&mut self, arguments: Map<String, Value>) -> Result<CallOutput, Infallible> {
        Ok(self.access.run(self.offered, arguments).await)
    }

    fn shape(&mut self, output: CallOutput) -> CallOutput {
        output
    }
}

/// Calls a tool, with the answer of the person if one is asked.
pub(crate) async fn call_after(
    access: &SourceAccess,
    tool: &str,
    arguments: Value,
    approval: Approval,
) -> CallOutput {
    let known = access.known_tools();
    let offered = known.iter().find(|it| it.name == tool).unwrap();
    let limits = CallLimits {
        time: TIMEOUT,
        must_be_approved: false,
        approval_timeout: TIMEOUT,
    };
    let profile = access.source_profile(offered, Some(limits));
    let mut steps = Steps {
        access,
        offered,
        approval,
    };
    let arguments = arguments.as_object().unwrap().clone();
    let Ok(output) = pipeline::call(&profile, arguments, &mut steps).await;
    output
}

/// Calls a tool whose calls are approved.
pub async fn call(access: &SourceAccess, tool: &str, arguments: Value) -> CallOutput {
    call_after(access, tool, arguments, Approval::Granted).await
}
