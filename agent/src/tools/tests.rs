//! The policy of calls, with a source that behaves as a test says.

mod fake_source;
mod naming;
mod policy;
mod slow_source;
mod starting;

use std::sync::Arc;
use std::time::Duration;

use bridge_protocol::QueryCaller;
use serde_json::{Map, Value, json};

use super::*;
use crate::failure::Failure;
use crate::metrics::Metrics;
pub(crate) use fake_source::FakeSource;
pub(crate) use slow_source::SlowSource;

/// The time of a call that has none of its own.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Creates the sources of an agent from the text of a `tools_file`, and more sources.
pub(crate) fn sources(tools_file: &str, more: Vec<Arc<dyn source::Source>>) -> Arc<Sources> {
    sources_with_audit(tools_file, more, AuditLog::default())
}

fn sources_with_audit(
    tools_file: &str,
    more: Vec<Arc<dyn source::Source>>,
    audit: AuditLog,
) -> Arc<Sources> {
    let file = ToolsFile::from_text(tools_file);
    let opened = file.sources.iter();
    let opened = opened.map(|it| it.settings.open(&it.name, None, None).unwrap());
    let limits = SourceLimits {
        max_calls: 4,
        max_calls_per_user: 2,
    };
    let sources = opened.chain(more).collect();
    let records = Records {
        audit,
        metrics: Arc::new(Metrics::new()),
        secrets: None,
    };
    Arc::new(Sources::new(sources, Vec::new(), file.profiles, limits, records).unwrap())
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

/// The steps of a query whose person approves everything, or nothing.
struct Steps {
    is_approved: bool,
}

impl CallSteps for Steps {
    async fn approve(&self) -> Result<Option<Approval>, NotApproved> {
        let granted = self.is_approved.then_some(Some(Approval::Granted));
        granted.ok_or_else(|| NotApproved {
            approval: Approval::Denied,
            reason: "The person did not approve this call.".to_owned(),
        })
    }

    async fn begin(&self) {}
}

/// Calls a tool whose calls are approved.
async fn call(access: &SourceAccess, tool: &str, arguments: Value) -> CallOutput {
    let offered = access.find(tool).unwrap();
    let arguments = arguments.as_object().unwrap().clone();
    let steps = Steps { is_approved: true };
    access.call(&offered, arguments, TIMEOUT, &steps).await
}
