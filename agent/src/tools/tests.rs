//! Sources, profiles and the calls of sources, with a source that behaves as a test says.

mod fake_source;
mod naming;
mod pipeline;
mod slow_source;
mod starting;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bridge_protocol::QueryCaller;
use serde_json::{Map, Value, json};

use super::pipeline::CallSteps;
use super::*;
use crate::failure::AgentFailure;
use crate::metrics::Metrics;
pub(crate) use fake_source::FakeSource;
pub(crate) use slow_source::SlowSource;

/// The time of a call that has none of its own.
const TIMEOUT: Duration = Duration::from_secs(120);

/// How many calls of one user a source runs at the same time.
const MAX_CALLS_PER_USER: usize = 2;

/// Creates the sources of an agent from the text of a `tools_file`, and more sources.
pub(crate) fn sources(tools_file: &str, more: Vec<Arc<dyn source::ToolSource>>) -> Arc<Sources> {
    sources_with_audit(tools_file, more, AuditLog::default())
}

/// Creates sources whose calls are recorded in a file.
pub(crate) fn sources_with_audit(
    tools_file: &str,
    more: Vec<Arc<dyn source::ToolSource>>,
    audit: AuditLog,
) -> Arc<Sources> {
    let file = ToolsFile::from_text(tools_file);
    let opened = file.sources.iter();
    let opened = opened.map(|it| it.settings.open(&it.name, None, None).unwrap());
    let limits = SourceLimits {
        max_calls: 4,
        max_calls_per_user: MAX_CALLS_PER_USER,
    };
    let sources = opened.chain(more).collect();
    let records = Records {
        audit,
        metrics: Arc::new(Metrics::new()),
        secrets: None,
    };
    Arc::new(Sources::new(sources, Vec::new(), file.profiles, limits, records).unwrap())
}

/// Creates sources whose audit file cannot be written, which was noticed.
pub(crate) async fn sources_without_audit(
    tools_file: &str,
    more: Vec<Arc<dyn source::ToolSource>>,
) -> Arc<Sources> {
    let folder = tempfile::tempdir().unwrap();
    let audit = AuditLog::open(folder.path().join("audit.jsonl")).unwrap();
    drop(folder);
    let sources = sources_with_audit(tools_file, more, audit);
    // The first line cannot be written, which the calls after it notice.
    while let Some(line) = sources.records.audit.reserve() {
        let arguments = serde_json::value::RawValue::from_string("{}".to_owned()).unwrap();
        let entry = audit::AuditEntry::new(None, None, &"q".into(), "s", "read", arguments);
        line.write(&entry);
        tokio::task::yield_now().await;
    }
    sources
}

/// Uses the shares of a user until the returned value is dropped.
pub(crate) async fn use_shares(sources: &Sources, user: &str) -> impl Sized + use<> {
    let mut permits = Vec::new();
    for source in sources.all() {
        for _ in 0..MAX_CALLS_PER_USER {
            permits.push(source.shares.acquire(user).await);
        }
    }
    permits
}

/// Creates what a query without sources may use.
pub(crate) fn no_sources() -> SourceAccess {
    sources("", Vec::new())
        .access(None, None, &"q".into())
        .unwrap()
}

/// Creates a caller with a signed token and the role `staff`.
pub(crate) fn staff(user: &str) -> QueryCaller {
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

/// Calls a tool, with what the person says if one is asked.
async fn call_after(
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
    let Ok(output) = super::pipeline::call(&profile, arguments, &mut steps).await;
    output
}

/// Calls a tool whose calls are approved.
pub(crate) async fn call(access: &SourceAccess, tool: &str, arguments: Value) -> CallOutput {
    call_after(access, tool, arguments, Approval::Granted).await
}
