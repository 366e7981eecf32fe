//! Spans, and the scopes in which they begin.

use std::ops::Deref;
use std::sync::Arc;
use std::time::SystemTime;

use bridge_protocol::TraceContext;
use bridge_protocol::invisible::visible_line;
use futures_util::future::Either;
use opentelemetry::trace::{FutureExt, SpanKind, SpanRef, Status, TraceContextExt, Tracer};
use opentelemetry::{Array, Context, KeyValue, StringValue, Value};
use opentelemetry_sdk::trace::SdkTracer;

use crate::attributes::ERROR_TYPE;
use crate::remote_context::{RemoteContext, to_message};

/// The maximum length of the name of a span and of a text in its attributes. Clients and pages choose
/// some of them.
const MAX_TEXT_CHARS: usize = 256;

/// The tracer of a context of ours.
struct ScopeTracer(SdkTracer);

/// The baggage of a trace, which is passed on as it has arrived.
struct ScopeBaggage(Arc<str>);

/// A place in a trace: the span, here or in another program, whose children begin in it. It is cheap to
/// clone.
///
/// A scope is empty where traces are off. Then no method does anything, and the spans that begin in it
/// are empty too.
#[derive(Clone, Debug, Default)]
pub struct TraceScope(Option<Context>);

impl TraceScope {
    /// Creates the scope of a trace that begins, or of one that another program has begun.
    pub(crate) fn new(tracer: SdkTracer, remote: Option<RemoteContext>) -> Self {
        let mut context = Context::new().with_value(ScopeTracer(tracer));
        if let Some(RemoteContext { span, baggage }) = remote {
            context = context.with_remote_span_context(span);
            if let Some(baggage) = baggage {
                context = context.with_value(ScopeBaggage(baggage));
            }
        }
        Self(Some(context))
    }

    /// Returns the scope in which the current task [runs](Self::run).
    pub fn current() -> Self {
        Self(Context::map_current(|context| {
            let is_ours = context.get::<ScopeTracer>().is_some();
            is_ours.then(|| context.clone())
        }))
    }

    /// Whether this is a place in a trace.
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Runs a future in this scope. It does not reach tasks that the future spawns.
    pub fn run<F: Future>(&self, future: F) -> impl Future<Output = F::Output> + use<F> {
        match &self.0 {
            Some(context) => Either::Left(future.with_context(context.clone())),
            None => Either::Right(future),
        }
    }

    /// Begins a span as a child. `name` is not called in an empty scope.
    #[inline]
    pub fn begin(&self, role: SpanRole, name: impl FnOnce() -> String) -> TraceSpan {
        let Some(context) = &self.0 else {
            return TraceSpan::default();
        };
        TraceSpan(Self(begin_in(context, role, &name())))
    }

    /// Returns the context for another program that continues the trace, or `None` in an empty scope.
    pub fn trace_context(&self) -> Option<TraceContext> {
        let context = self.0.as_ref()?;
        let span = context.span();
        let span = span.span_context();
        let baggage = context.get::<ScopeBaggage>();
        let baggage = baggage.map(|ScopeBaggage(text)| &**text);
        span.is_valid().then(|| to_message(span, baggage))
    }

    /// Sets a text of the span.
    pub fn set_text(&self, key: &'static str, text: &str) {
        if let Some(span) = self.recorded() {
            span.set_attribute(KeyValue::new(key, shown(text)));
        }
    }

    /// Sets a list of texts of the span.
    pub fn set_texts(&self, key: &'static str, texts: &[&str]) {
        if let Some(span) = self.recorded() {
            let texts = texts.iter().map(|text| StringValue::from(shown(text)));
            let texts = Value::Array(Array::String(texts.collect()));
            span.set_attribute(KeyValue::new(key, texts));
        }
    }

    /// Sets a number of the span.
    pub fn set_number(&self, key: &'static str, number: u64) {
        if let Some(span) = self.recorded() {
            let number = i64::try_from(number).unwrap_or(i64::MAX);
            span.set_attribute(KeyValue::new(key, number));
        }
    }

    /// Records that something happened during the span at this time.
    pub fn add_event(&self, name: &'static str, time: SystemTime) {
        if let Some(span) = self.recorded() {
            span.add_event_with_timestamp(name, time, Vec::new());
        }
    }

    /// Marks the span as failed. `error_type` is the class of the error, of which there are few.
    pub fn fail(&self, error_type: &str) {
        if let Some(span) = self.recorded() {
            span.set_attribute(KeyValue::new(ERROR_TYPE, shown(error_type)));
            span.set_status(Status::error(""));
        }
    }

    /// Returns the span if it is of this program and will be exported.
    fn recorded(&self) -> Option<SpanRef<'_>> {
        let span = self.0.as_ref()?.span();
        span.span_context().is_sampled().then_some(span)
    }
}

fn begin_in(parent: &Context, role: SpanRole, name: &str) -> Option<Context> {
    let ScopeTracer(tracer) = parent.get()?;
    let builder = tracer.span_builder(shown(name)).with_kind(role.kind());
    let span = builder.start_with_context(tracer, parent);
    Some(parent.with_span(span))
}

/// Returns the part of a text that a span contains, with invisible characters escaped.
fn shown(text: &str) -> String {
    let end = text.char_indices().nth(MAX_TEXT_CHARS);
    let end = end.map_or(text.len(), |(end, _)| end);
    visible_line(&text[..end]).into_owned()
}

/// A span, which ends when it is dropped. It is also the scope of its children.
#[derive(Debug, Default)]
#[must_use = "it ends when it is dropped"]
pub struct TraceSpan(TraceScope);

impl TraceSpan {
    /// Returns the scope of its children.
    pub fn scope(&self) -> TraceScope {
        self.0.clone()
    }
}

impl Deref for TraceSpan {
    type Target = TraceScope;

    fn deref(&self) -> &TraceScope {
        &self.0
    }
}

impl Drop for TraceSpan {
    fn drop(&mut self) {
        if let Some(context) = &self.0.0 {
            context.span().end();
        }
    }
}

/// The role of a program in a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanRole {
    /// It serves a request of another program.
    Server,
    /// It waits for the response of another program.
    Client,
    /// It works itself.
    Internal,
}

impl SpanRole {
    fn kind(self) -> SpanKind {
        match self {
            Self::Server => SpanKind::Server,
            Self::Client => SpanKind::Client,
            Self::Internal => SpanKind::Internal,
        }
    }
}
