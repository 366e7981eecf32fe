//! Spans from their beginning to a collector.

use std::time::{Duration, SystemTime};

use bridge_output::CapturedLog;
use tokio::net::TcpListener;

use crate::attributes::{ERROR_TYPE, GEN_AI_RESPONSE_FINISH_REASONS, GEN_AI_TOOL_NAME};
use crate::testing::{CollectorAnswer, ReceivedSpan, TraceCollector};
use crate::{RemoteContext, SpanCounts, SpanRole, TraceScope, TraceSettings, Traces};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";

fn remote(flags: &str) -> Option<RemoteContext> {
    let traceparent = format!("00-{TRACE}-{PARENT}-{flags}");
    RemoteContext::parse(Some(&traceparent), Some("vendor=1"), Some("user=ann"))
}

fn start(settings: &TraceSettings) -> Traces {
    Traces::start(settings, "mcp-web-test", "1.2.3").unwrap()
}

fn begin(scope: &TraceScope, name: &'static str) -> crate::TraceSpan {
    scope.begin(SpanRole::Internal, || name.to_owned())
}

fn find<'a>(spans: &'a [ReceivedSpan], name: &str) -> &'a ReceivedSpan {
    spans.iter().find(|span| span.name == name).unwrap()
}

/// Waits until the task has had this effect on the counts.
async fn wait_for_counts(traces: &Traces, are_reached: impl Fn(SpanCounts) -> bool) -> SpanCounts {
    let waiting = async {
        loop {
            let counts = traces.counts().unwrap();
            if are_reached(counts) {
                return counts;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), waiting)
        .await
        .unwrap()
}

#[tokio::test]
async fn without_an_endpoint_nothing_is_asked_for() {
    let traces = start(&TraceSettings::default());
    assert!(!traces.is_on() && traces.counts().is_none());
    let scope = traces.scope(|| panic!("the context is read"));
    let span = scope.begin(SpanRole::Server, || panic!("the name is built"));
    span.set_text(GEN_AI_TOOL_NAME, "t");
    span.fail("E");
    assert!(span.trace_context().is_none());
    let current = span.run(async { TraceScope::current() }).await;
    assert!(current.trace_context().is_none());
    traces.stop().await;
}

#[tokio::test]
async fn spans_have_their_parents_attributes_and_ends() {
    let collector = TraceCollector::start().await;
    let traces = start(&TraceSettings {
        otlp_headers: Some("authorization=Bearer secret-of-collector".parse().unwrap()),
        ..collector.settings()
    });
    let server = traces
        .scope(|| remote("01"))
        .begin(SpanRole::Server, || "serve".to_owned());
    server.set_text(
        GEN_AI_TOOL_NAME,
        &format!("a\u{202e}\n{}", "é".repeat(1000)),
    );
    server.set_texts(GEN_AI_RESPONSE_FINISH_REASONS, &["stop", "length"]);
    server.add_event("received", SystemTime::now());
    let nested = server.run(async {
        let span = TraceScope::current().begin(SpanRole::Client, || "ask".to_owned());
        span.fail("CallTimeout");
        span.trace_context()
    });
    let context = nested.await.unwrap();
    assert!(
        TraceScope::current().trace_context().is_none(),
        "the scope has ended"
    );
    drop(server);
    traces.stop().await;

    let spans = collector.spans();
    let (serve, ask) = (find(&spans, "serve"), find(&spans, "ask"));
    assert_eq!((&*serve.trace, &*serve.parent), (TRACE, PARENT));
    assert_eq!((&*ask.trace, &ask.parent), (TRACE, &serve.id));
    assert_eq!((serve.kind, ask.kind), ("SERVER", "CLIENT"));
    assert_eq!(serve.service, "mcp-web-test");
    assert_eq!(serve.trace_state, "vendor=1");
    assert_eq!(serve.events, ["received"]);
    assert_eq!(
        serve.attributes[GEN_AI_RESPONSE_FINISH_REASONS],
        "stop,length"
    );
    let name = &serve.attributes[GEN_AI_TOOL_NAME];
    assert!(name.starts_with("a\\u{202e}\\u{a}é"), "{name}");
    assert!(name.chars().count() < 300, "{name}");
    assert!(ask.is_error && !serve.is_error);
    assert_eq!(ask.attributes[ERROR_TYPE], "CallTimeout");
    assert_eq!(context.traceparent, format!("00-{TRACE}-{}-01", ask.id));
    assert_eq!(context.tracestate.as_deref(), Some("vendor=1"));
    assert_eq!(context.baggage.as_deref(), Some("user=ann"));
    let requests = collector.wait_for_requests(1).await;
    assert_eq!(requests[0]["authorization"], "Bearer secret-of-collector");
    let sent = SpanCounts {
        sent: 2,
        ..SpanCounts::default()
    };
    assert_eq!(traces.counts(), Some(sent));
}

#[tokio::test]
async fn the_ratio_is_for_traces_that_begin_here() {
    let collector = TraceCollector::start().await;
    let traces = start(&TraceSettings {
        trace_ratio: 0.0,
        ..collector.settings()
    });
    let new = begin(&traces.scope(|| None), "new");
    let context = new.trace_context().unwrap();
    assert!(context.traceparent.ends_with("-00"), "{context:?}");
    drop(new);
    drop(begin(&traces.scope(|| remote("00")), "unsampled"));
    drop(begin(&traces.scope(|| remote("01")), "sampled"));
    traces.stop().await;
    let spans = collector.spans();
    let names: Vec<_> = spans.iter().map(|span| &*span.name).collect();
    assert_eq!(names, ["sampled"]);
}

#[tokio::test]
async fn a_full_queue_drops_spans_and_counts_them() {
    let collector = TraceCollector::start_with(CollectorAnswer::Silence).await;
    let traces = start(&TraceSettings {
        max_queued_spans: 3,
        ..collector.settings()
    });
    let scope = traces.scope(|| None);
    // The task does not run in between.
    for _ in 0..5 {
        drop(begin(&scope, "span"));
    }
    assert_eq!(traces.counts().unwrap().dropped, 2);
    collector.wait_for_requests(1).await;
    // The batch is on its way, and the queue has room again.
    for _ in 0..4 {
        drop(begin(&scope, "span"));
    }
    assert_eq!(traces.counts().unwrap().dropped, 3);
    // A collector that does not answer delays the end of the program only a little.
    let stopping = tokio::time::timeout(Duration::from_secs(30), traces.stop());
    stopping.await.unwrap();
}

#[tokio::test]
async fn a_collector_that_refuses_or_is_down_is_logged_once_and_counted() {
    let (log, _guard) = CapturedLog::start();
    let refusing = TraceCollector::start_with(CollectorAnswer::Refuse(429)).await;
    // Nothing listens at the address of a listener that is closed.
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let closed_url = format!("http://{}", closed.local_addr().unwrap());
    drop(closed);
    for url in [refusing.url(), &closed_url] {
        let traces = start(&TraceSettings {
            otlp_endpoint: Some(url.parse().unwrap()),
            ..TraceSettings::default()
        });
        drop(begin(&traces.scope(|| None), "span"));
        let counts = wait_for_counts(&traces, |counts| counts.failed > 0).await;
        assert_eq!((counts.sent, counts.failed), (0, 1));
        // The pause after a failure does not delay the end.
        drop(begin(&traces.scope(|| None), "last"));
        traces.stop().await;
    }
    let text = log.text();
    assert_eq!(text.matches("does not accept spans").count(), 2, "{text}");
}
