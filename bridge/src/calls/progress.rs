//! Progress notifications of a call: the reports of the page whose value increases (MCP,
//! "Progress": the value MUST increase), and keepalives while the page sends none.

use std::time::Duration;

use bridge_protocol::{CallId, CallProgress};
use serde_json::Number;
use tokio::time::Instant;

use super::CallOptions;
use crate::hub::Hub;
use bridge_realm::realm::CallerEvent;

/// Keepalives stay within this fraction of a step above the page's last report.
const KEEPALIVE_STEP: f64 = 0.001;

/// Creates the progress notifications of one call.
pub(super) struct ProgressReporter<'a> {
    name: &'a str,
    started: Instant,
    /// `None` if only the reports of the page are sent.
    keepalive_interval: Option<Duration>,
    last_report: Instant,
    progress: MonotonicProgress,
}

impl<'a> ProgressReporter<'a> {
    /// Creates a reporter for the call of `name`.
    pub(super) fn new(
        hub: &Hub,
        caller: &CallOptions<'_>,
        name: &'a str,
        started: Instant,
    ) -> Self {
        let interval = hub.config.calls.progress_every;
        let is_enabled = caller.call_context.progress && !interval.is_zero();
        Self {
            name,
            started,
            keepalive_interval: is_enabled.then_some(interval),
            last_report: if is_enabled { Instant::now() } else { started },
            progress: MonotonicProgress::default(),
        }
    }

    /// Returns the event to forward to the client, or `None` for a progress report that does not
    /// increase.
    pub(super) fn on_event(&mut self, event: CallerEvent) -> Option<CallerEvent> {
        let CallerEvent::Progress(report) = event else {
            return Some(event);
        };
        let report = self.progress.on_page_report(report)?;
        self.last_report = Instant::now();
        Some(CallerEvent::Progress(report))
    }

    /// Waits until no progress has been reported for an interval, and returns a keepalive. Its
    /// message states whether the page is still working or waits for the client.
    pub(super) async fn next_keepalive(
        &mut self,
        call: &CallId,
        waits_for_client: bool,
    ) -> Option<CallerEvent> {
        let Some(interval) = self.keepalive_interval else {
            return std::future::pending().await;
        };
        tokio::time::sleep_until(self.last_report + interval).await;
        self.last_report = Instant::now();
        let (name, seconds) = (self.name, self.started.elapsed().as_secs());
        let message = if waits_for_client {
            format!("`{name}` waits for the answer to what it asks ({seconds} s)")
        } else {
            format!("`{name}` is still running in the page ({seconds} s)")
        };
        let report = self.progress.keepalive(call, message)?;
        Some(CallerEvent::Progress(report))
    }
}

/// The progress values that have been sent to a client.
#[derive(Debug, Default)]
struct MonotonicProgress {
    last_value: Option<f64>,
    /// The last report of the page that was forwarded.
    last_page_report: Option<PageReport>,
    /// The number of keepalives since that report.
    keepalives: u32,
}

/// A progress report of the page that was forwarded.
#[derive(Clone, Debug)]
struct PageReport {
    progress: f64,
    total: Option<Number>,
    /// The difference to the previous report.
    step: f64,
}

impl MonotonicProgress {
    /// Records a report of the page. Returns `None` for a report that must not be sent, because its
    /// value does not increase.
    fn on_page_report(&mut self, report: CallProgress) -> Option<CallProgress> {
        let progress = report.progress.as_f64()?;
        if self.last_value.is_some_and(|last| progress <= last) {
            return None;
        }
        let before = self
            .last_page_report
            .as_ref()
            .map_or(0.0, |page| page.progress);
        self.last_page_report = Some(PageReport {
            progress,
            total: report.total.clone(),
            step: progress - before,
        });
        self.last_value = Some(progress);
        self.keepalives = 0;
        Some(report)
    }

    /// Returns a report of the bridge itself, or `None` if no higher value would be below the
    /// total.
    fn keepalive(&mut self, call: &CallId, message: String) -> Option<CallProgress> {
        let base = self
            .last_page_report
            .as_ref()
            .map_or(0.0, |page| page.progress);
        let left = self.remaining();
        let room = KEEPALIVE_STEP * self.expected_step().min(left);
        self.keepalives += 1;
        let count = f64::from(self.keepalives);
        // Approaches `base + room` without reaching it. Next to very large values there may be no
        // number in between: then the next higher one is used.
        let next = self.last_value.map_or(f64::NEG_INFINITY, f64::next_up);
        let progress = (base + room * (count / (count + 1.0))).max(next);
        if progress >= base + left {
            return None;
        }
        self.last_value = Some(progress);
        Some(CallProgress {
            request_id: call.clone(),
            progress: Number::from_f64(progress)?,
            total: self
                .last_page_report
                .as_ref()
                .and_then(|page| page.total.clone()),
            message: Some(message),
        })
    }

    /// Returns the difference between the total and the last report, which is infinite without a
    /// total.
    fn remaining(&self) -> f64 {
        let total = |page: &PageReport| Some(page.total.as_ref()?.as_f64()? - page.progress);
        self.last_page_report
            .as_ref()
            .and_then(total)
            .unwrap_or(f64::INFINITY)
    }

    /// Returns the expected difference to the page's next report: that of the last one, at most 1.
    fn expected_step(&self) -> f64 {
        let step = self.last_page_report.as_ref().map_or(1.0, |page| page.step);
        if step > 0.0 { step.min(1.0) } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(progress: f64, total: Option<f64>) -> CallProgress {
        CallProgress {
            request_id: CallId::from("c"),
            progress: Number::from_f64(progress).unwrap(),
            total: total.and_then(Number::from_f64),
            message: None,
        }
    }

    fn keepalive(progress: &mut MonotonicProgress) -> Option<CallProgress> {
        progress.keepalive(&CallId::from("c"), "still".to_owned())
    }

    fn value(report: &CallProgress) -> f64 {
        report.progress.as_f64().unwrap()
    }

    #[test]
    fn keepalives_increase_and_stay_below_the_next_page_report() {
        for (first, next, total) in [
            (None, 1.0, None),
            (None, 0.01, Some(1.0)),
            (Some(1.0), 2.0, None),
            (Some(0.01), 0.02, None),
            (Some(3.0), 4.0, Some(10.0)),
            (Some(0.999), 1.0, Some(1.0)),
            (Some(1e9), 1e9 + 1.0, Some(2e9)),
        ] {
            let mut progress = MonotonicProgress::default();
            let mut last = f64::NEG_INFINITY;
            if let Some(first) = first {
                assert!(progress.on_page_report(report(first, total)).is_some());
                last = first;
            }
            // An hour with a report every ten seconds.
            for _ in 0..360 {
                let Some(own) = keepalive(&mut progress) else {
                    panic!("no keepalive after {last}")
                };
                assert!(value(&own) > last);
                assert_eq!(own.total, first.and(total).and_then(Number::from_f64));
                last = value(&own);
            }
            let next = progress.on_page_report(report(next, total));
            assert!(next.is_some(), "{next:?} after {last}");
        }
    }

    #[test]
    fn progress_that_does_not_increase_is_dropped() {
        let mut progress = MonotonicProgress::default();
        let sent = [1.0, 1.0, 0.5, 2.0, -1.0].map(|n| progress.on_page_report(report(n, None)));
        let sent: Vec<_> = sent.iter().flatten().map(value).collect();
        assert_eq!(sent, [1.0, 2.0]);
    }

    #[test]
    fn no_keepalive_reaches_the_total() {
        let mut progress = MonotonicProgress::default();
        assert!(progress.on_page_report(report(5.0, Some(5.0))).is_some());
        assert!(keepalive(&mut progress).is_none());
        assert!(progress.on_page_report(report(7.0, Some(6.0))).is_some());
        assert!(keepalive(&mut progress).is_none());
    }
}
