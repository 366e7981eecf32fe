//! A collector for tests, which decodes the spans that it receives.

use std::collections::BTreeMap;
use std::future::pending;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use http::header::RETRY_AFTER;
use http::{HeaderMap, StatusCode};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::Span as ProtoSpan;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind as ProtoSpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode as ProtoStatusCode;
use prost::Message;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

use crate::settings::TraceSettings;

/// How long a test waits for spans.
const DEADLINE: Duration = Duration::from_secs(60);

/// A span as a collector receives it.
#[derive(Clone, Debug, PartialEq)]
pub struct ReceivedSpan {
    /// The name of the program.
    pub service: String,
    /// The name of the span.
    pub name: String,
    /// `SERVER`, `CLIENT` or `INTERNAL`.
    pub kind: &'static str,
    /// The id of the trace in hexadecimal digits.
    pub trace: String,
    /// The id of the span in hexadecimal digits.
    pub id: String,
    /// The id of its parent; empty for the first span of a trace.
    pub parent: String,
    /// The attributes, as texts.
    pub attributes: BTreeMap<String, String>,
    /// The names of its events.
    pub events: Vec<String>,
    /// Whether it has failed.
    pub is_error: bool,
    /// The state of the trace at vendors.
    pub trace_state: String,
}

/// How a collector answers.
#[derive(Clone, Copy, Debug)]
pub enum CollectorAnswer {
    /// It accepts all spans.
    Accept,
    /// It answers with this status, and asks to wait for a minute.
    Refuse(u16),
    /// It never answers.
    Silence,
}

/// A collector on a free port.
#[derive(Debug)]
pub struct TraceCollector {
    url: String,
    state: CollectorState,
    _server: AbortOnDropHandle<()>,
}

#[derive(Clone, Debug)]
struct CollectorState {
    answer: CollectorAnswer,
    spans: watch::Sender<Vec<ReceivedSpan>>,
    /// The headers of the requests.
    requests: watch::Sender<Vec<HeaderMap>>,
}

impl TraceCollector {
    /// Starts a collector that accepts all spans.
    pub async fn start() -> Self {
        Self::start_with(CollectorAnswer::Accept).await
    }

    /// Starts a collector that answers like this.
    pub async fn start_with(answer: CollectorAnswer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let state = CollectorState {
            answer,
            spans: watch::Sender::default(),
            requests: watch::Sender::default(),
        };
        let router = Router::new()
            .route("/v1/traces", post(receive))
            .layer(DefaultBodyLimit::disable())
            .with_state(state.clone());
        let server = tokio::spawn(async move {
            axum::serve(listener, router).await.unwrap();
        });
        Self {
            url,
            state,
            _server: AbortOnDropHandle::new(server),
        }
    }

    /// Returns its URL, as an operator writes it.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the settings of a program that sends all spans here.
    pub fn settings(&self) -> TraceSettings {
        TraceSettings {
            otlp_endpoint: Some(self.url.parse().unwrap()),
            ..TraceSettings::default()
        }
    }

    /// Returns the spans that have arrived.
    pub fn spans(&self) -> Vec<ReceivedSpan> {
        self.state.spans.borrow().clone()
    }

    /// Waits until the spans that have arrived are those of a test, and returns them.
    pub async fn wait_for(
        &self,
        are_complete: impl Fn(&[ReceivedSpan]) -> bool,
    ) -> Vec<ReceivedSpan> {
        let mut spans = self.state.spans.subscribe();
        let waiting = spans.wait_for(|spans| are_complete(spans));
        match timeout(DEADLINE, waiting).await {
            Ok(spans) => spans.unwrap().clone(),
            Err(_) => panic!("these spans have arrived: {:#?}", self.spans()),
        }
    }

    /// Waits until this many requests have arrived, and returns their headers.
    pub async fn wait_for_requests(&self, count: usize) -> Vec<HeaderMap> {
        let mut requests = self.state.requests.subscribe();
        let waiting = requests.wait_for(|requests| requests.len() >= count);
        timeout(DEADLINE, waiting).await.unwrap().unwrap().clone()
    }
}

async fn receive(State(state): State<CollectorState>, headers: HeaderMap, body: Bytes) -> Response {
    state
        .requests
        .send_modify(|requests| requests.push(headers));
    match state.answer {
        CollectorAnswer::Accept => {
            let request = ExportTraceServiceRequest::decode(body).unwrap();
            let received = spans_of(request);
            state.spans.send_modify(|spans| spans.extend(received));
            StatusCode::OK.into_response()
        }
        CollectorAnswer::Refuse(status) => {
            let status = StatusCode::from_u16(status).unwrap();
            (status, [(RETRY_AFTER, "60")]).into_response()
        }
        CollectorAnswer::Silence => pending().await,
    }
}

fn spans_of(request: ExportTraceServiceRequest) -> Vec<ReceivedSpan> {
    let mut received = Vec::new();
    for of_resource in request.resource_spans {
        let resource = of_resource.resource.unwrap_or_default();
        let resource = attributes(resource.attributes);
        let service = &resource["service.name"];
        let scopes = of_resource.scope_spans.into_iter();
        let spans = scopes.flat_map(|scope| scope.spans);
        received.extend(spans.map(|span| received_span(service, span)));
    }
    received
}

fn received_span(service: &str, span: ProtoSpan) -> ReceivedSpan {
    let status = span.status.unwrap_or_default();
    ReceivedSpan {
        service: service.to_owned(),
        kind: match span.kind {
            kind if kind == ProtoSpanKind::Server as i32 => "SERVER",
            kind if kind == ProtoSpanKind::Client as i32 => "CLIENT",
            _ => "INTERNAL",
        },
        name: span.name,
        trace: hex(&span.trace_id),
        id: hex(&span.span_id),
        parent: hex(&span.parent_span_id),
        attributes: attributes(span.attributes),
        events: span.events.into_iter().map(|event| event.name).collect(),
        is_error: status.code == ProtoStatusCode::Error as i32,
        trace_state: span.trace_state,
    }
}

fn attributes(entries: Vec<KeyValue>) -> BTreeMap<String, String> {
    let entries = entries.into_iter();
    entries.map(|it| (it.key, text(it.value))).collect()
}

fn text(value: Option<AnyValue>) -> String {
    match value.and_then(|value| value.value) {
        Some(Value::StringValue(text)) => text,
        Some(Value::IntValue(number)) => number.to_string(),
        Some(Value::ArrayValue(list)) => {
            let texts = list.values.into_iter().map(|value| text(Some(value)));
            texts.collect::<Vec<_>>().join(",")
        }
        other => format!("{other:?}"),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
