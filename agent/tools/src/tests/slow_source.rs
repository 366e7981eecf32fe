//! A source whose calls take as long as a test lets them.

use std::borrow::Cow;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, pending};
use tokio::sync::Semaphore;

use super::*;
use crate::builtin_tool::builtin_tool;
use crate::source::{MAX_SOURCE_PROMPT_BYTES, SourceContext, SourceMeta, SourceTool, ToolSource};

/// A source with the tool `wait`, whose calls end when a permit is added, or with `forever` never.
#[derive(Debug)]
pub(crate) struct SlowSource {
    meta: SourceMeta,
    /// A permit for each call that has begun.
    pub(crate) begun: Semaphore,
    /// A permit for each call that was dropped before it ended.
    pub(crate) dropped: Arc<Semaphore>,
    /// The permits to end.
    pub(crate) ending: Semaphore,
}

/// Counts a call that is dropped.
struct RunningCall(Arc<Semaphore>);

impl Drop for RunningCall {
    fn drop(&mut self) {
        self.0.add_permits(1);
    }
}

impl Default for SlowSource {
    fn default() -> Self {
        Self {
            meta: SourceMeta {
                name: "slow".to_owned(),
                kind: "test",
            },
            begun: Semaphore::new(0),
            dropped: Arc::new(Semaphore::new(0)),
            ending: Semaphore::new(0),
        }
    }
}

impl ToolSource for SlowSource {
    fn meta(&self) -> &SourceMeta {
        &self.meta
    }

    fn tools(&self) -> Arc<[SourceTool]> {
        let class = ToolClass {
            effect: ToolEffect::Read,
            is_open_world: false,
        };
        let properties = json!({ "forever": { "type": "boolean" } });
        [builtin_tool("wait", "Waits", properties, &[], class).unwrap()].into()
    }

    fn call<'a>(
        &'a self,
        _tool: &'a str,
        arguments: Map<String, Value>,
        _context: &'a SourceContext,
    ) -> BoxFuture<'a, CallOutput> {
        async move {
            let running = RunningCall(Arc::clone(&self.dropped));
            self.begun.add_permits(1);
            if arguments.contains_key("forever") {
                pending::<()>().await;
            }
            self.ending.acquire().await.unwrap().forget();
            std::mem::forget(running);
            CallOutput::from_text("done")
        }
        .boxed()
    }

    fn prompt(&self) -> Option<Cow<'_, str>> {
        Some("é".repeat(MAX_SOURCE_PROMPT_BYTES).into())
    }
}
