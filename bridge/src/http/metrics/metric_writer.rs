//! Writes metrics in the text format of OpenMetrics.

use std::fmt;

use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Unit;

/// The labels of one time series.
pub(super) type Labels<'a> = &'a [(&'static str, &'a str)];

/// Writes metrics one after another.
pub(super) struct MetricWriter<'a>(DescriptorEncoder<'a>);

impl<'a> MetricWriter<'a> {
    pub(super) fn new(encoder: DescriptorEncoder<'a>) -> Self {
        Self(encoder)
    }

    pub(super) fn describe<'s>(
        &'s mut self,
        name: &'s str,
        help: &str,
        unit: Option<&'s Unit>,
        kind: MetricType,
    ) -> Result<MetricEncoder<'s>, fmt::Error> {
        self.0.encode_descriptor(name, help, unit, kind)
    }

    pub(super) fn counters<'s>(
        &'s mut self,
        name: &'s str,
        help: &str,
    ) -> Result<MetricEncoder<'s>, fmt::Error> {
        self.describe(name, help, None, MetricType::Counter)
    }

    pub(super) fn gauges<'s>(
        &'s mut self,
        name: &'s str,
        help: &str,
    ) -> Result<MetricEncoder<'s>, fmt::Error> {
        self.describe(name, help, None, MetricType::Gauge)
    }

    pub(super) fn gauge(&mut self, name: &str, help: &str, value: usize) -> fmt::Result {
        self.gauges(name, help)?.encode_gauge(&to_u64(value))
    }
}

/// Writes the time series of one metric.
pub(super) trait WriteSeries {
    fn write_counter(&mut self, labels: Labels<'_>, value: u64) -> fmt::Result;
    fn write_gauge(&mut self, labels: Labels<'_>, value: usize) -> fmt::Result;
}

impl WriteSeries for MetricEncoder<'_> {
    fn write_counter(&mut self, labels: Labels<'_>, value: u64) -> fmt::Result {
        self.encode_family(&labels)?
            .encode_counter::<NoLabelSet, u64, f64>(&value, None)
    }

    fn write_gauge(&mut self, labels: Labels<'_>, value: usize) -> fmt::Result {
        self.encode_family(&labels)?.encode_gauge(&to_u64(value))
    }
}

fn to_u64(value: usize) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}
