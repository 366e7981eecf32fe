//! A source with its state. It is started when it is first needed, once for all waiting calls.

use std::sync::Arc;

use bridge_protocol::ErrorCode;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use tokio::time::timeout;

use crate::failure::AgentFailure;
use crate::output::CallOutput;
use crate::refusal::unavailable;
use crate::shared_attempt::SharedAttempt;
use crate::source::{SourceContext, SourceState, ToolSource};
use crate::timeouts::{START_GRACE, START_TIMEOUT};
use crate::user_shares::UserShares;

/// A source with its state.
#[derive(Debug)]
pub(crate) struct ManagedSource {
    pub(super) source: Arc<dyn ToolSource>,
    pub(super) shares: UserShares,
    start: SharedAttempt<()>,
}

impl ManagedSource {
    pub(super) fn new(source: Arc<dyn ToolSource>, shares: UserShares) -> Self {
        Self {
            source,
            shares,
            start: SharedAttempt::default(),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.source.meta().name
    }

    /// Starts the source, unless it was started.
    pub(super) async fn started(&self) -> Result<(), AgentFailure> {
        let source = &self.source;
        self.start.get(|| start(Arc::clone(source))).await
    }

    /// Calls a tool, once the source has started. Dropping the future cancels the call.
    pub(super) async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        user: &str,
    ) -> CallOutput {
        if let Err(failure) = self.started().await {
            return unavailable(self.name(), &failure.message);
        }
        let context = SourceContext {
            user: user.to_owned(),
        };
        self.source.call(tool, arguments, &context).await
    }

    /// Returns whether the source can be used at the moment.
    pub(super) fn state(&self) -> SourceState {
        if self.is_started() {
            return self.source.state().unwrap_or(SourceState::Running);
        }
        if self.start.has_failed() {
            SourceState::Failed
        } else {
            SourceState::Idle
        }
    }

    /// Returns whether the source was started.
    pub(super) fn is_started(&self) -> bool {
        self.start.value().is_some()
    }
}

fn start(source: Arc<dyn ToolSource>) -> BoxFuture<'static, Result<(), AgentFailure>> {
    async move {
        let started = timeout(START_TIMEOUT + START_GRACE, source.start()).await;
        let started = started.unwrap_or_else(|_| {
            let message = format!("it has not started within {START_TIMEOUT:?}");
            Err(AgentFailure::new(ErrorCode::AgentUnavailable, message))
        });
        started.inspect_err(|failure| {
            let source = &source.meta().name;
            tracing::warn!(
                source,
                error = failure.log_message.as_ref().unwrap_or(&failure.message),
                "a source of tools cannot start"
            );
        })
    }
    .boxed()
}
