//! A source whose behaviour a test chooses.

use std::borrow::Cow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, pending};
use serde_json::{Map, Value, json};

use crate::builtin_tool::builtin_tool;
use crate::class::{ToolClass, ToolEffect};
use crate::failure::AgentFailure;
use crate::output::CallOutput;
use crate::source::{SourceContext, SourceMeta, SourceTool, ToolSource};

/// A source with the tools `read`, `write`, `destroy` and `search`, which return their arguments.
#[derive(Debug)]
pub struct FakeSource {
    pub(crate) meta: SourceMeta,
    pub(crate) tools: Mutex<Arc<[SourceTool]>>,
    /// The behaviour of each start, last first: wait for ever, or fail. It succeeds if none is
    /// left.
    pub starts: Mutex<Vec<Start>>,
    pub(crate) start_count: AtomicUsize,
    pub(crate) stop_count: AtomicUsize,
    /// The number of calls that were made.
    pub call_count: AtomicUsize,
    /// The number of calls that run.
    pub running: AtomicUsize,
    pub(crate) max_running: AtomicUsize,
    /// Whether calls never end.
    pub hangs: bool,
    pub(crate) has_known_tools: bool,
}

/// The behaviour of a start.
#[derive(Clone, Copy, Debug)]
pub enum Start {
    /// It never ends.
    Hang,
    /// It fails.
    Fail,
}

fn tool(name: &str, effect: ToolEffect, is_open_world: bool) -> SourceTool {
    let class = ToolClass {
        effect,
        is_open_world,
    };
    let text = json!({ "type": "string" });
    builtin_tool(name, "A tool", json!({ "text": text }), &[], class).unwrap()
}

impl FakeSource {
    /// Creates a source that starts at once, and whose calls end at once.
    pub fn new(name: &str) -> Self {
        Self::with_tools(
            name,
            vec![
                tool("read", ToolEffect::Read, false),
                tool("write", ToolEffect::Write, false),
                tool("destroy", ToolEffect::Destructive, false),
                tool("search", ToolEffect::Read, true),
            ],
        )
    }

    /// Creates a source whose tools have these names, and only read.
    pub fn with_names(name: &str, tools: &[&str]) -> Self {
        let tools = tools.iter();
        Self::with_tools(
            name,
            tools
                .map(|name| tool(name, ToolEffect::Read, false))
                .collect(),
        )
    }

    fn with_tools(name: &str, tools: Vec<SourceTool>) -> Self {
        Self {
            meta: SourceMeta {
                name: name.to_owned(),
                kind: "fake",
            },
            tools: Mutex::new(tools.into()),
            starts: Mutex::default(),
            start_count: AtomicUsize::new(0),
            stop_count: AtomicUsize::new(0),
            call_count: AtomicUsize::new(0),
            running: AtomicUsize::new(0),
            max_running: AtomicUsize::new(0),
            hangs: false,
            has_known_tools: true,
        }
    }

    /// Sets the time of each call.
    pub fn set_timeout(&self, timeout: Duration) {
        let mut tools = self.tools.lock().unwrap();
        let tool = |tool: &SourceTool| SourceTool {
            timeout: Some(timeout),
            ..tool.clone()
        };
        *tools = tools.iter().map(tool).collect();
    }

    /// Replaces the tools.
    pub fn set_tools(&self, names: &[&str]) {
        let tools = names.iter().map(|name| tool(name, ToolEffect::Read, false));
        *self.tools.lock().unwrap() = tools.collect();
    }
}

impl ToolSource for FakeSource {
    fn meta(&self) -> &SourceMeta {
        &self.meta
    }

    fn start(&self) -> BoxFuture<'_, Result<(), AgentFailure>> {
        self.start_count.fetch_add(1, Ordering::SeqCst);
        match self.starts.lock().unwrap().pop() {
            None => async { Ok(()) }.boxed(),
            Some(Start::Hang) => pending().boxed(),
            Some(Start::Fail) => {
                let code = bridge_protocol::ErrorCode::AgentUnavailable;
                async move { Err(AgentFailure::new(code, "it is broken")) }.boxed()
            }
        }
    }

    fn tools(&self) -> Arc<[SourceTool]> {
        Arc::clone(&self.tools.lock().unwrap())
    }

    fn has_known_tools(&self) -> bool {
        self.has_known_tools
    }

    fn call<'a>(
        &'a self,
        tool: &'a str,
        arguments: Map<String, Value>,
        context: &'a SourceContext,
    ) -> BoxFuture<'a, CallOutput> {
        async move {
            self.call_count.fetch_add(1, Ordering::SeqCst);
            let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
            self.max_running.fetch_max(running, Ordering::SeqCst);
            if self.hangs {
                let () = pending().await;
            }
            tokio::task::yield_now().await;
            self.running.fetch_sub(1, Ordering::SeqCst);
            let text = json!({ "tool": tool, "arguments": arguments, "user": context.user });
            CallOutput::from_text(text.to_string())
        }
        .boxed()
    }

    fn prompt(&self) -> Option<Cow<'_, str>> {
        Some(format!("the source {}", self.meta.name).into())
    }

    fn stop(&self) -> BoxFuture<'_, ()> {
        self.stop_count.fetch_add(1, Ordering::SeqCst);
        async {}.boxed()
    }
}
