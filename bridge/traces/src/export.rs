//! Sends spans to the collector: a bounded queue between the calls and one task.
//!
//! A collector that is down, slow or answers 429 delays only this task. It repeats a request for at most
//! [`EXPORT_TIMEOUT`], drops the batch, and sends the next one after [`FAILURE_PAUSE`]. Meanwhile the
//! queue fills, and further spans are dropped. All are counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use opentelemetry::Context;
use opentelemetry_otlp::SpanExporter;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{Span as SdkSpan, SpanData, SpanExporter as _, SpanProcessor};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

/// The maximum number of spans in one request.
const MAX_BATCH_SPANS: usize = 512;

/// How long a span may wait for others that are sent with it.
const BATCH_INTERVAL: Duration = Duration::from_secs(1);

/// How long a batch may take to be sent, with the repetitions of its request.
pub(crate) const EXPORT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a collector that has not accepted a batch gets no other one.
const FAILURE_PAUSE: Duration = Duration::from_secs(5);

/// How many spans have had which end.
#[derive(Debug, Default)]
pub(crate) struct SpanCounters {
    pub(crate) sent: AtomicU64,
    pub(crate) dropped: AtomicU64,
    pub(crate) failed: AtomicU64,
}

/// The queue of ended spans.
#[derive(Debug)]
pub(crate) struct SpanQueue {
    sender: mpsc::Sender<SpanData>,
    counters: Arc<SpanCounters>,
}

impl SpanQueue {
    pub(crate) fn new(sender: mpsc::Sender<SpanData>, counters: Arc<SpanCounters>) -> Self {
        Self { sender, counters }
    }
}

impl SpanProcessor for SpanQueue {
    fn on_start(&self, _: &mut SdkSpan, _: &Context) {}

    fn on_end(&self, span: SpanData) {
        if self.sender.try_send(span).is_err() {
            self.counters.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }
}

/// The task that sends the spans of the queue.
#[derive(Debug)]
pub(crate) struct ExportTask {
    exporter: SpanExporter,
    spans: mpsc::Receiver<SpanData>,
    counters: Arc<SpanCounters>,
    stopping: CancellationToken,
    /// Whether the last batch was not accepted. The log has one line for each change.
    is_failing: bool,
}

impl ExportTask {
    pub(crate) fn new(
        exporter: SpanExporter,
        spans: mpsc::Receiver<SpanData>,
        counters: Arc<SpanCounters>,
        stopping: CancellationToken,
    ) -> Self {
        Self {
            exporter,
            spans,
            counters,
            stopping,
            is_failing: false,
        }
    }

    /// Sends spans until it is stopped and the queue is empty.
    pub(crate) async fn run(mut self) {
        loop {
            let batch = self.next_batch().await;
            if batch.is_empty() {
                return;
            }
            self.export(batch).await;
            if self.is_failing {
                let _ = timeout(FAILURE_PAUSE, self.stopping.cancelled()).await;
            }
        }
    }

    /// Returns the next spans. There are none at the end.
    async fn next_batch(&mut self) -> Vec<SpanData> {
        let mut batch = Vec::new();
        if self.recv(&mut batch).await == 0 {
            return batch;
        }
        let deadline = Instant::now() + BATCH_INTERVAL;
        while batch.len() < MAX_BATCH_SPANS {
            match timeout_at(deadline, self.recv(&mut batch)).await {
                Ok(received) if received > 0 => {}
                _ => break,
            }
        }
        batch
    }

    /// Receives at least one span, or returns 0 at the end.
    async fn recv(&mut self, batch: &mut Vec<SpanData>) -> usize {
        let limit = MAX_BATCH_SPANS - batch.len();
        let Self {
            spans, stopping, ..
        } = self;
        if !stopping.is_cancelled() {
            tokio::select! {
                received = spans.recv_many(batch, limit) => return received,
                () = stopping.cancelled() => {}
            }
        }
        spans.close();
        spans.recv_many(batch, limit).await
    }

    async fn export(&mut self, batch: Vec<SpanData>) {
        let spans = batch.len() as u64;
        let exported = timeout(EXPORT_TIMEOUT, self.exporter.export(batch)).await;
        let error = match exported {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some(format!("it does not answer within {EXPORT_TIMEOUT:?}")),
        };
        let counter = match &error {
            None => &self.counters.sent,
            Some(_) => &self.counters.failed,
        };
        counter.fetch_add(spans, Ordering::Relaxed);
        let was_failing = std::mem::replace(&mut self.is_failing, error.is_some());
        match error {
            Some(error) if !was_failing => tracing::warn!(
                error,
                "the collector at `otlp_endpoint` does not accept spans: they are dropped until it does"
            ),
            None if was_failing => tracing::info!("the collector accepts spans again"),
            _ => {}
        }
    }
}
