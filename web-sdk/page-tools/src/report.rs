//! The report of a call: the log of its actions, and why it ended.

use crate::log::LogEntry;
use crate::text::{decimal, join_text, one_line};
use crate::value::{ObjectBuilder, Value};

/// The report of a call.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Report {
    /// The actions that ran, in their order.
    pub log: Vec<LogEntry>,
    /// The address that the page navigated to, which ended the list.
    pub navigated: Option<String>,
    /// The number of actions that did not run.
    pub skipped: usize,
    /// Why they did not run, if not because of a navigation.
    pub stopped: Option<Stopped>,
}

/// Why a list ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// An action failed, and the client has not asked to continue after failures.
    ActionFailed,
    /// The client cancelled the call.
    Cancelled,
    /// The actions exceeded the time limit of a call.
    TimedOut,
    /// The person at the page first had to answer a question, and did not.
    PersonAsked,
}

impl Report {
    /// Returns the number of failed actions.
    #[must_use]
    pub fn failures(&self) -> usize {
        let failed = self.log.iter().filter(|entry| entry.failure.is_some());
        failed.count()
    }

    /// Writes the log as lines.
    pub fn write(&self, out: &mut String) {
        for entry in &self.log {
            entry.write(out);
        }
        let skipped = match self.skipped {
            0 => String::new(),
            1 => ", 1 action skipped".into(),
            count => join_text![", ", decimal(count), " actions skipped"],
        };
        if let Some(place) = &self.navigated {
            let place = crate::encode::quote(&one_line(place, 200));
            let skipped = match self.stopped {
                None => &*skipped,
                Some(_) => "",
            };
            out.push_str(&join_text!["went to ", place, skipped, "\n"]);
        }
        match self.stopped {
            None => {}
            Some(Stopped::ActionFailed) => {
                let failed = self.log.last().map_or(0, |entry| entry.index);
                out.push_str(&join_text![
                    "stopped because action ",
                    decimal(failed),
                    " failed",
                    skipped,
                    ": nothing after it was done; look at the page, then call again with the rest\n"
                ]);
            }
            Some(Stopped::Cancelled) => {
                out.push_str(&join_text![
                    "cancelled",
                    skipped,
                    ": what ran before stays\n"
                ]);
            }
            Some(Stopped::PersonAsked) => {
                out.push_str(&join_text!["stopped for the person", skipped, "\n"]);
            }
            Some(Stopped::TimedOut) => {
                out.push_str(&join_text!["the time of the call is over", skipped, "\n"]);
            }
        }
    }

    /// Returns the state for the next document, which continues the call.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let log: Vec<_> = self.log.iter().map(LogEntry::to_value).collect();
        let is_stopped = self.stopped == Some(Stopped::ActionFailed);
        ObjectBuilder::default()
            .with("log", log)
            .with("skipped", number(self.skipped))
            .with("stopped", is_stopped)
            .build()
    }

    /// Returns the report of an earlier document that navigated to another one.
    #[must_use]
    pub fn from_value(value: &Value, navigated: String) -> Self {
        let log = value
            .get("log")
            .and_then(Value::as_array)
            .unwrap_or_default();
        let mut log: Vec<_> = log.iter().map(LogEntry::from_value).collect();
        if let Some(last) = log.last_mut() {
            last.navigated = Some(navigated.clone());
        }
        let skipped = value
            .get("skipped")
            .and_then(Value::as_number)
            .unwrap_or_default();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a call has at most 1000 actions"
        )]
        Self {
            log,
            navigated: Some(navigated),
            skipped: skipped as usize,
            stopped: value
                .get("stopped")
                .is_some_and(Value::is_true)
                .then_some(Stopped::ActionFailed),
        }
    }
}

/// Returns a count as a number.
pub(crate) fn number(count: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
    let number = count as f64;
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(report: &Report) -> String {
        let mut text = String::new();
        report.write(&mut text);
        text
    }

    #[test]
    fn the_text_says_why_a_list_ended() {
        let mut report = Report {
            navigated: Some("details".into()),
            skipped: 1,
            ..Report::default()
        };
        assert_eq!(text_of(&report), "went to \"details\", 1 action skipped\n");
        report.navigated = None;
        report.skipped = 2;
        report.stopped = Some(Stopped::Cancelled);
        assert_eq!(
            text_of(&report),
            "cancelled, 2 actions skipped: what ran before stays\n"
        );
        report.stopped = Some(Stopped::TimedOut);
        assert_eq!(
            text_of(&report),
            "the time of the call is over, 2 actions skipped\n"
        );
    }

    #[test]
    fn a_report_is_restored_in_the_next_document() {
        let entry = LogEntry {
            index: 1,
            kind: "triggerEvent".into(),
            ..LogEntry::default()
        };
        let report = Report {
            log: vec![entry],
            skipped: 3,
            ..Report::default()
        };
        let resumed = Report::from_value(&report.to_value(), "/next".into());
        assert_eq!(resumed.log[0].navigated.as_deref(), Some("/next"));
        assert_eq!(resumed.skipped, 3);
        assert!(text_of(&resumed).ends_with("went to \"/next\", 3 actions skipped\n"));
    }
}
