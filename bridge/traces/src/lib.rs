//! OpenTelemetry traces of bridge and agent: the time that each program spends on a call.
//!
//! Only this crate knows OpenTelemetry. A program begins a [`TraceSpan`] in a [`TraceScope`], describes it with
//! the names in [`attributes`], and passes its [`TraceContext`](bridge_protocol::TraceContext) on.
//!
//! - [`Traces`] exist once in a program, and are off without an endpoint ([`TraceSettings`]). Then each
//!   scope is empty: to begin a span is one branch, and allocates nothing.
//! - [`RemoteContext`] is the context that a request brings, in `_meta` (MCP, SEP-414) or in headers.
//!   One that does not have the format of W3C Trace Context is ignored.
//! - A span ends when it is dropped. [`export`] sends ended spans from a bounded queue, in a task that
//!   no call waits for.
//!
//! Spans contain names of tools and models, durations, sizes and error codes. They never contain
//! arguments, results, prompts, tokens, or the messages of errors, which may quote these.

pub mod attributes;
mod export;
mod remote_context;
mod scope;
mod settings;
#[cfg(any(test, feature = "testing"))]
#[allow(clippy::unwrap_used, reason = "for tests")]
pub mod testing;
#[cfg(test)]
mod tests;
mod traces;

pub use remote_context::RemoteContext;
pub use scope::{SpanRole, TraceScope, TraceSpan};
pub use settings::{
    DEFAULT_MAX_QUEUED_SPANS, DEFAULT_TRACE_RATIO, OtlpEndpoint, OtlpHeaders, TraceSettings,
    parse_ratio,
};
pub use traces::{SpanCounts, Traces};
