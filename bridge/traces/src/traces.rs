//! The traces of one program.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bridge_edge::http_client;
use opentelemetry::trace::TracerProvider;
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{Sampler, SdkTracer, SdkTracerProvider, SpanExporter as _};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::export::{EXPORT_TIMEOUT, ExportTask, SpanCounters, SpanQueue};
use crate::remote_context::RemoteContext;
use crate::scope::TraceScope;
use crate::settings::TraceSettings;

/// How long the last spans may take to be sent when a program stops.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// The traces of one program. Clones share them. By default, they are off.
#[derive(Clone, Debug, Default)]
pub struct Traces(Option<Arc<Inner>>);

#[derive(Debug)]
struct Inner {
    tracer: SdkTracer,
    counters: Arc<SpanCounters>,
    stopping: CancellationToken,
    /// The task that sends spans, until it is stopped.
    task: Mutex<Option<AbortOnDropHandle<()>>>,
}

/// How many spans have had which end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpanCounts {
    /// The collector has accepted them.
    pub sent: u64,
    /// The queue was full.
    pub dropped: u64,
    /// The collector has not accepted them.
    pub failed: u64,
}

impl Traces {
    /// Starts to export spans, or returns traces that are off if there is no endpoint. `service` is the
    /// name of the program. Must be called in a tokio runtime.
    ///
    /// # Errors
    ///
    /// Describes why no connection to the endpoint can be made, such as missing root certificates.
    pub fn start(
        settings: &TraceSettings,
        service: &'static str,
        version: &'static str,
    ) -> Result<Self, String> {
        let Some(endpoint) = &settings.otlp_endpoint else {
            return Ok(Self::default());
        };
        if settings.otlp_headers.is_some() && http_client::exposes_tokens(endpoint.url()) {
            tracing::warn!(
                "`otlp_endpoint` sends `otlp_headers` over http:// to another machine, and anyone who \
                 can read that network can use them: use https://"
            );
        }
        let resource = Resource::builder()
            .with_service_name(service)
            .with_attribute(KeyValue::new("service.version", version))
            .build();
        let mut exporter = exporter(settings, endpoint.url())
            .map_err(|error| format!("`otlp_endpoint` cannot be used: {error}"))?;
        exporter.set_resource(&resource);
        let capacity = settings.max_queued_spans.min(Semaphore::MAX_PERMITS);
        let (sender, spans) = mpsc::channel(capacity);
        let counters = Arc::<SpanCounters>::default();
        let sampler = Sampler::TraceIdRatioBased(settings.trace_ratio);
        let provider = SdkTracerProvider::builder()
            .with_sampler(Sampler::ParentBased(Box::new(sampler)))
            .with_resource(resource)
            .with_span_processor(SpanQueue::new(sender, Arc::clone(&counters)))
            .build();
        let library = InstrumentationScope::builder("mcp-web").with_version(version);
        let stopping = CancellationToken::new();
        let task = ExportTask::new(exporter, spans, Arc::clone(&counters), stopping.clone());
        let task = AbortOnDropHandle::new(tokio::spawn(task.run()));
        Ok(Self(Some(Arc::new(Inner {
            tracer: provider.tracer_with_scope(library.build()),
            counters,
            stopping,
            task: Mutex::new(Some(task)),
        }))))
    }

    /// Whether spans are recorded.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Returns the scope of a trace: of the one that `remote` returns, or of a new one. It is empty, and
    /// `remote` is not called, if traces are off.
    #[inline]
    pub fn scope(&self, remote: impl FnOnce() -> Option<RemoteContext>) -> TraceScope {
        match &self.0 {
            Some(inner) => TraceScope::new(inner.tracer.clone(), remote()),
            None => TraceScope::default(),
        }
    }

    /// Returns how many spans have had which end, or `None` if traces are off.
    pub fn counts(&self) -> Option<SpanCounts> {
        let SpanCounters {
            sent,
            dropped,
            failed,
        } = &*self.0.as_ref()?.counters;
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Some(SpanCounts {
            sent: count(sent),
            dropped: count(dropped),
            failed: count(failed),
        })
    }

    /// Sends the spans that have ended, and stops. This takes no longer than two seconds.
    pub async fn stop(&self) {
        let Some(inner) = &self.0 else { return };
        inner.stopping.cancel();
        let task = inner
            .task
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(task) = task {
            // Dropping the handle ends a task that takes longer.
            let _ = timeout(STOP_TIMEOUT, task).await;
        }
    }
}

/// Creates the exporter. It reads the standard variables `OTEL_EXPORTER_OTLP_HEADERS` and
/// `OTEL_EXPORTER_OTLP_COMPRESSION` itself.
fn exporter(settings: &TraceSettings, url: &url::Url) -> Result<SpanExporter, String> {
    let client = http_client::builder(url)?.timeout(EXPORT_TIMEOUT).build();
    let client = client.map_err(|error| http_client::last_cause(&error))?;
    let headers = settings.otlp_headers.as_ref();
    SpanExporter::builder()
        .with_http()
        .with_http_client(client)
        .with_protocol(Protocol::HttpBinary)
        .with_endpoint(url.as_str())
        .with_timeout(EXPORT_TIMEOUT)
        .with_headers(headers.map(|it| it.to_map()).unwrap_or_default())
        .build()
        .map_err(|error| error.to_string())
}
