//! What a suite leaves behind: a folder with `checks.json` per scenario, and what it prints.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// What became of a suite.
#[derive(Debug)]
pub struct Report {
    /// In the order in which they ran.
    pub scenarios: Vec<Scenario>,
}

/// One scenario.
#[derive(Debug)]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// Why the suite runs it without demanding that it passes.
    pub not_scored: Option<String>,
    /// What it checked.
    pub checks: Vec<Check>,
}

/// One check.
#[derive(Debug)]
pub struct Check {
    /// Its id; a scenario may use one several times.
    pub id: String,
    /// How it ended.
    pub status: Status,
    /// What it is about, and what went wrong.
    pub message: String,
}

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// As it should.
    Success,
    /// Against a MUST.
    Failure,
    /// Against a SHOULD.
    Warning,
    /// Not at all.
    Skipped,
    /// It is no check but a remark.
    Info,
}

impl Report {
    /// Reads what the suite wrote into `folder` and printed.
    pub(super) fn load(folder: &Path, printed: &str) -> Self {
        let names = printed
            .lines()
            .filter_map(|line| line.strip_prefix("=== Running scenario: "))
            .map(|line| line.trim_end_matches(" ===").to_owned());
        let scenarios = names.map(|name| Scenario {
            checks: load_checks(folder, &name),
            not_scored: not_scored_reason(printed, &name),
            name,
        });
        Self {
            scenarios: scenarios.collect(),
        }
    }

    pub(super) fn checks(&self) -> impl Iterator<Item = (&Scenario, &Check)> {
        self.scenarios
            .iter()
            .flat_map(|scenario| scenario.checks.iter().map(move |check| (scenario, check)))
    }
}

/// A scenario that broke down has no file.
fn load_checks(folder: &Path, scenario: &str) -> Vec<Check> {
    let written = find_folder(folder, scenario)
        .and_then(|folder| fs::read_to_string(folder.join("checks.json")).ok());
    let Some(written) = written else {
        return vec![Check {
            id: scenario.to_owned(),
            status: Status::Failure,
            message: "the scenario broke down".to_owned(),
        }];
    };
    let checks: Vec<Value> = serde_json::from_str(&written).unwrap();
    checks.iter().map(Check::parse).collect()
}

/// The folders are called `server-SCENARIO-TIME`.
fn find_folder(folder: &Path, scenario: &str) -> Option<PathBuf> {
    let prefix = format!("server-{scenario}-");
    let mut entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let entry = entries.find(|entry| {
        let name = entry.file_name();
        let time = name.to_str().and_then(|name| name.strip_prefix(&prefix));
        time.is_some_and(|time| time.starts_with(|first: char| first.is_ascii_digit()))
    });
    entry.map(|entry| entry.path())
}

/// Lines such as `  ✗ tasks-lifecycle (extension)`, after the one that begins with `Not scored`.
fn not_scored_reason(printed: &str, scenario: &str) -> Option<String> {
    let (_, list) = printed.split_once("\nNot scored for ")?;
    let found = list.lines().find_map(|line| {
        let (name, reason) = line.trim().split_once(' ')?.1.split_once(" (")?;
        (name == scenario).then_some(reason)
    });
    found.map(|reason| reason.trim_end_matches(')').to_owned())
}

impl Check {
    fn parse(written: &Value) -> Self {
        let text = |key: &str| written[key].as_str().unwrap_or_default();
        let status = match text("status") {
            "SUCCESS" => Status::Success,
            "WARNING" => Status::Warning,
            "SKIPPED" => Status::Skipped,
            "INFO" => Status::Info,
            _ => Status::Failure,
        };
        let message = match text("errorMessage") {
            "" => text("description").to_owned(),
            error => format!("{}: {error}", text("description")),
        };
        Self {
            id: text("id").to_owned(),
            status,
            message,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "Running requirements 2026-07-28 (2 scenarios)\n\n\
        === Running scenario: caching ===\n\n\
        === Running scenario: tasks-lifecycle ===\n\n\
        Not scored for 2026-07-28: 1 scenario(s) run, 1 failing. These do not affect it.\n  \
        ✗ tasks-lifecycle (extension)\n";

    #[test]
    fn reads_scenarios_and_their_checks() {
        let folder = folder();
        let caching = folder
            .path()
            .join("server-caching-2026-11-22T01-00-00-000Z");
        fs::create_dir(&caching).unwrap();
        let checks = r#"[{"id":"a","status":"SUCCESS","description":"Is so"},
                {"id":"b","status":"WARNING","description":"Should be so","errorMessage":"is not"},
                {"id":"c","status":"INFO"},{"id":"d","status":"NEW"}]"#;
        fs::write(caching.join("checks.json"), checks).unwrap();
        let report = Report::load(folder.path(), PRINTED);
        let caching = &report.scenarios[0];
        assert_eq!(caching.name, "caching");
        assert_eq!(caching.not_scored, None);
        assert_eq!(caching.checks[1].message, "Should be so: is not");
        let statuses = [
            Status::Success,
            Status::Warning,
            Status::Info,
            Status::Failure,
        ];
        let found: Vec<Status> = caching.checks.iter().map(|check| check.status).collect();
        assert_eq!(found, statuses, "an unknown status is a failure");
    }

    #[test]
    fn a_scenario_without_a_file_failed() {
        let report = Report::load(folder().path(), PRINTED);
        assert_eq!(report.scenarios.len(), 2);
        for (scenario, check) in report.checks() {
            assert_eq!(check.status, Status::Failure, "{}", scenario.name);
        }
        let tasks = report.scenarios[1].not_scored.as_deref();
        assert_eq!(tasks, Some("extension"));
    }

    fn folder() -> tempfile::TempDir {
        tempfile::TempDir::new().unwrap()
    }
}
