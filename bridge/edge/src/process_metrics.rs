//! The metrics that every program has: its version, and the usage of its process.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

use crate::ResourceUsage;

/// Creates a registry with the metrics of this process, under the names that Prometheus's clients use,
/// and with `build_info` under the prefix. Returns the part of it that `register` adds to with the
/// prefix.
///
/// # Examples
///
/// ```
/// use prometheus_client::encoding::text::encode;
///
/// let registry = bridge_edge::process_metrics::registry("app", "1.2.3", |_| {});
/// let mut text = String::new();
/// encode(&mut text, &registry).unwrap();
/// assert!(text.contains("app_build_info{version=\"1.2.3\"} 1"));
/// assert!(text.contains("process_cpu_seconds_total"));
/// ```
pub fn registry(
    prefix: &str,
    version: &'static str,
    register: impl FnOnce(&mut Registry),
) -> Registry {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(ProcessCollector));
    let own = registry.sub_registry_with_prefix(prefix);
    let build = Info::new(vec![("version", version)]);
    own.register("build", "The version of the program", build);
    register(own);
    registry
}

/// Reads the usage of this process at each scrape.
#[derive(Debug)]
struct ProcessCollector;

impl Collector for ProcessCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Some(usage) = ResourceUsage::of_this_process() else {
            return Ok(());
        };
        let (seconds, bytes) = (Some(&Unit::Seconds), Some(&Unit::Bytes));
        let help = "Processor time of all threads";
        encoder
            .encode_descriptor("process_cpu", help, seconds, MetricType::Counter)?
            .encode_counter::<NoLabelSet, f64, f64>(&usage.cpu_time.as_secs_f64(), None)?;
        let help = "When the process was started, since the Unix epoch";
        encoder
            .encode_descriptor("process_start_time", help, seconds, MetricType::Gauge)?
            .encode_gauge(&usage.started_at)?;
        let help = "Memory that is not swapped out";
        encoder
            .encode_descriptor("process_resident_memory", help, bytes, MetricType::Gauge)?
            .encode_gauge(&usage.resident_bytes)?;
        let files = [
            ("process_open_fds", "Open files", usage.open_files),
            (
                "process_max_fds",
                "The limit of open files",
                usage.max_open_files,
            ),
        ];
        for (name, help, count) in files {
            if let Some(count) = count {
                encoder
                    .encode_descriptor(name, help, None, MetricType::Gauge)?
                    .encode_gauge(&count)?;
            }
        }
        Ok(())
    }
}
