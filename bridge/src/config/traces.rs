//! The settings of traces.

use bridge_traces::{
    DEFAULT_MAX_QUEUED_SPANS, DEFAULT_TRACE_RATIO, OtlpEndpoint, OtlpHeaders, TraceSettings,
    parse_ratio,
};
use clap::Args;

use bridge_settings::values;

/// Settings of OpenTelemetry traces.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Traces")]
pub struct BridgeTraces {
    /// OpenTelemetry collector that receives spans, as OTLP over HTTP: `http://localhost:4318`. Without
    /// one, traces are off. `OTEL_EXPORTER_OTLP_ENDPOINT` has no effect.
    #[arg(long, env = "MCP_WEB_OTLP_ENDPOINT", value_name = "URL")]
    pub otlp_endpoint: Option<OtlpEndpoint>,

    /// Headers of each request to the collector, such as `authorization=Bearer SECRET`.
    #[arg(
        long,
        env = "MCP_WEB_OTLP_HEADERS",
        value_name = "NAME=VALUE,…",
        hide_env_values = true
    )]
    pub otlp_headers: Option<OtlpHeaders>,

    /// Share of the traces that begin in the bridge that is recorded, from 0 to 1. A client that sends a
    /// trace decides itself whether it is recorded.
    #[arg(long, env = "MCP_WEB_TRACE_RATIO", value_name = "SHARE", default_value_t = DEFAULT_TRACE_RATIO, value_parser = parse_ratio)]
    pub trace_ratio: f64,

    /// Spans that wait to be sent. Further ones are dropped, and counted in a metric.
    #[arg(long, env = "MCP_WEB_MAX_QUEUED_SPANS", value_name = "N", default_value_t = DEFAULT_MAX_QUEUED_SPANS, value_parser = values::parse_count)]
    pub max_queued_spans: usize,
}

impl BridgeTraces {
    pub(crate) fn settings(&self) -> TraceSettings {
        TraceSettings {
            otlp_endpoint: self.otlp_endpoint.clone(),
            otlp_headers: self.otlp_headers.clone(),
            trace_ratio: self.trace_ratio,
            max_queued_spans: self.max_queued_spans,
        }
    }
}

impl Default for BridgeTraces {
    fn default() -> Self {
        Self {
            otlp_endpoint: None,
            otlp_headers: None,
            trace_ratio: DEFAULT_TRACE_RATIO,
            max_queued_spans: DEFAULT_MAX_QUEUED_SPANS,
        }
    }
}
