//! What a client hears of the progress of its call: what the page reports, as far as it grows (MCP,
//! "Progress": the value MUST increase), and that the page is still at work when it says nothing.

use std::time::Duration;

use bridge_protocol::{CallId, CallProgress};
use serde_json::Number;
use tokio::time::Instant;

use super::Caller;
use crate::hub::Hub;
use crate::realm::CallEvent;

/// The bridge's own reports stay so close above the page's last one: a thousandth of a step.
const NEARNESS: f64 = 0.001;

/// What a client hears while it waits for a call.
pub(super) struct News<'a> {
    name: &'a str,
    started: Instant,
    /// `None`: only what the page says.
    every: Option<Duration>,
    last: Instant,
    progress: Progress,
}

impl<'a> News<'a> {
    /// Of the call of `name`, from now on.
    pub(super) fn of(hub: &Hub, caller: &Caller<'_>, name: &'a str, started: Instant) -> Self {
        let every = hub.config.results.progress_every;
        let wanted = caller.context.progress && !every.is_zero();
        Self {
            name,
            started,
            every: wanted.then_some(every),
            last: if wanted { Instant::now() } else { started },
            progress: Progress::default(),
        }
    }

    /// What the client hears of what the page says.
    pub(super) fn heard(&mut self, event: CallEvent) -> Option<CallEvent> {
        let CallEvent::Progress(report) = event else {
            return Some(event);
        };
        let report = self.progress.reported(report)?;
        self.last = Instant::now();
        Some(CallEvent::Progress(report))
    }

    /// When nothing was said for long enough: that the page is still at work, or that it waits for
    /// the client itself.
    pub(super) async fn still(&mut self, call: &CallId, is_asking: bool) -> Option<CallEvent> {
        let Some(every) = self.every else {
            return std::future::pending().await;
        };
        tokio::time::sleep_until(self.last + every).await;
        self.last = Instant::now();
        let (name, seconds) = (self.name, self.started.elapsed().as_secs());
        let message = if is_asking {
            format!("`{name}` waits for the answer to what it asks ({seconds} s)")
        } else {
            format!("`{name}` is still running in the page ({seconds} s)")
        };
        let report = self.progress.still(call, message)?;
        Some(CallEvent::Progress(report))
    }
}

/// The progress that a client has heard of.
#[derive(Debug, Default)]
struct Progress {
    heard: Option<f64>,
    /// The page's last report that was passed on.
    page: Option<Report>,
    /// The bridge's own since then.
    own: u32,
}

#[derive(Clone, Debug)]
struct Report {
    progress: f64,
    total: Option<Number>,
    /// How far it is from the one before.
    step: f64,
}

impl Progress {
    /// The page reports. `None` when the client cannot hear it: it is no progress.
    fn reported(&mut self, report: CallProgress) -> Option<CallProgress> {
        let progress = report.progress.as_f64()?;
        if self.heard.is_some_and(|heard| progress <= heard) {
            return None;
        }
        let before = self.page.as_ref().map_or(0.0, |page| page.progress);
        self.page = Some(Report {
            progress,
            total: report.total.clone(),
            step: progress - before,
        });
        self.heard = Some(progress);
        self.own = 0;
        Some(report)
    }

    /// The page has said nothing for a while. `None` when every higher value would contradict it.
    fn still(&mut self, call: &CallId, message: String) -> Option<CallProgress> {
        let base = self.page.as_ref().map_or(0.0, |page| page.progress);
        let left = self.left();
        let room = NEARNESS * self.step().min(left);
        self.own += 1;
        let own = f64::from(self.own);
        // Ever nearer to `base + room`, and never there; in very large numbers there is little
        // between the two.
        let next = self.heard.map_or(f64::NEG_INFINITY, f64::next_up);
        let progress = (base + room * (own / (own + 1.0))).max(next);
        if progress >= base + left {
            return None;
        }
        self.heard = Some(progress);
        Some(CallProgress {
            request_id: call.clone(),
            progress: Number::from_f64(progress)?,
            total: self.page.as_ref().and_then(|page| page.total.clone()),
            message: Some(message),
        })
    }

    /// How far it is to the end, as far as the page said.
    fn left(&self) -> f64 {
        let total = |page: &Report| Some(page.total.as_ref()?.as_f64()? - page.progress);
        self.page.as_ref().and_then(total).unwrap_or(f64::INFINITY)
    }

    /// How far it may be to the page's next report: as far as to the last, at most 1.
    fn step(&self) -> f64 {
        let step = self.page.as_ref().map_or(1.0, |page| page.step);
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

    fn still(progress: &mut Progress) -> Option<CallProgress> {
        progress.still(&CallId::from("c"), "still".to_owned())
    }

    fn value(report: &CallProgress) -> f64 {
        report.progress.as_f64().unwrap()
    }

    #[test]
    fn the_bridges_own_reports_grow_and_leave_room_for_the_pages() {
        for (first, next, total) in [
            (None, 1.0, None),
            (None, 0.01, Some(1.0)),
            (Some(1.0), 2.0, None),
            (Some(0.01), 0.02, None),
            (Some(3.0), 4.0, Some(10.0)),
            (Some(0.999), 1.0, Some(1.0)),
            (Some(1e9), 1e9 + 1.0, Some(2e9)),
        ] {
            let mut progress = Progress::default();
            let mut last = f64::NEG_INFINITY;
            if let Some(first) = first {
                assert!(progress.reported(report(first, total)).is_some());
                last = first;
            }
            // An hour with a report every ten seconds.
            for _ in 0..360 {
                let Some(own) = still(&mut progress) else {
                    panic!("nothing after {last}")
                };
                assert!(value(&own) > last);
                assert_eq!(own.total, first.and(total).and_then(Number::from_f64));
                last = value(&own);
            }
            let next = progress.reported(report(next, total));
            assert!(next.is_some(), "{next:?} after {last}");
        }
    }

    #[test]
    fn what_does_not_grow_is_not_passed_on() {
        let mut progress = Progress::default();
        let heard = [1.0, 1.0, 0.5, 2.0, -1.0].map(|n| progress.reported(report(n, None)));
        let heard: Vec<_> = heard.iter().flatten().map(value).collect();
        assert_eq!(heard, [1.0, 2.0]);
    }

    #[test]
    fn nothing_is_said_beyond_the_total() {
        let mut progress = Progress::default();
        assert!(progress.reported(report(5.0, Some(5.0))).is_some());
        assert!(still(&mut progress).is_none());
        assert!(progress.reported(report(7.0, Some(6.0))).is_some());
        assert!(still(&mut progress).is_none());
    }
}
