//! The findings of a diagnosis, and how they are printed.

use bridge_protocol::invisible::{escape_in_json, visible_line};
use serde::Serialize;
use serde_json::json;

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    /// The part of the set-up that was checked, such as `bridge` or a client.
    subject: String,
    status: FindingStatus,
    /// The observation.
    text: String,
    /// The remedy of a problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

/// Whether a finding needs a remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum FindingStatus {
    Ok,
    Problem,
}

impl Finding {
    /// Returns a finding that needs no remedy.
    pub(super) fn ok(subject: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            subject: subject.into(),
            status: FindingStatus::Ok,
            text: text.into(),
            remedy: None,
        }
    }

    /// Returns a problem with its remedy.
    pub(super) fn problem(
        subject: impl Into<String>,
        text: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            subject: subject.into(),
            status: FindingStatus::Problem,
            text: text.into(),
            remedy: Some(remedy.into()),
        }
    }

    pub(super) fn is_problem(&self) -> bool {
        self.status == FindingStatus::Problem
    }

    fn line(&self) -> String {
        let Self { subject, text, .. } = self;
        let line = match &self.remedy {
            None => format!("ok: {subject}: {text}"),
            Some(remedy) => format!("problem: {subject}: {text}: {remedy}"),
        };
        format!("{}\n", visible_line(&line))
    }
}

/// Returns the findings as lines, or as JSON. Texts of other programs cannot control the terminal.
pub(super) fn format_findings(findings: &[Finding], as_json: bool) -> String {
    if !as_json {
        return findings.iter().map(Finding::line).collect();
    }
    let ok = !findings.iter().any(Finding::is_problem);
    let json = json!({ "ok": ok, "findings": findings }).to_string();
    format!("{}\n", escape_in_json(&json))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_is_one_line_or_a_member_of_json() {
        let findings = [
            Finding::ok("bridge", "runs\n\u{1b}[2J"),
            Finding::problem("page", "closed", "open it"),
        ];
        let lines = format_findings(&findings, false);
        assert_eq!(lines.lines().count(), 2);
        assert!(!lines.contains('\u{1b}'), "{lines:?}");
        assert!(
            lines.ends_with("problem: page: closed: open it\n"),
            "{lines}"
        );
        let json: serde_json::Value =
            serde_json::from_str(&format_findings(&findings, true)).unwrap();
        assert_eq!(json["ok"], false);
        assert_eq!(json["findings"][0]["status"], "ok");
        assert_eq!(json["findings"][1]["remedy"], "open it");
    }
}
