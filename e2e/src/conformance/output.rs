//! The output of a suite: a folder with `checks.json` per scenario, and what it prints.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// The results of a suite.
#[derive(Debug)]
pub struct Report {
    /// The scenarios, in the order in which they ran.
    pub scenarios: Vec<Scenario>,
}

/// The results of a scenario.
#[derive(Debug)]
pub struct Scenario {
    /// The name of the scenario.
    pub name: String,
    /// Why the suite does not score the scenario, if it does not.
    pub not_scored: Option<String>,
    /// The checks of the scenario.
    pub checks: Vec<Check>,
}

/// The result of a check.
#[derive(Debug)]
pub struct Check {
    /// The id, which a scenario may use several times.
    pub id: String,
    /// The status of the check.
    pub status: Status,
    /// The subject of the check, and what went wrong.
    pub message: String,
}

/// The status of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The check passed.
    Success,
    /// A MUST is violated.
    Failure,
    /// A SHOULD is violated.
    Warning,
    /// The check was not run.
    Skipped,
    /// The entry is a remark.
    Info,
}

impl Report {
    /// Loads the files in `folder`, and parses what the suite printed.
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

/// Loads the checks of a scenario. One without a file has crashed, which is a failure.
fn load_checks(folder: &Path, scenario: &str) -> Vec<Check> {
    let text = find_folder(folder, scenario)
        .and_then(|folder| fs::read_to_string(folder.join("checks.json")).ok());
    let Some(text) = text else {
        return vec![Check {
            id: scenario.to_owned(),
            status: Status::Failure,
            message: "the scenario crashed".to_owned(),
        }];
    };
    let checks: Vec<Value> = serde_json::from_str(&text).unwrap();
    checks.iter().map(Check::parse).collect()
}

/// Finds the folder of a scenario, which is called `server-SCENARIO-TIME`.
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

/// Finds the reason in a line such as `  ✗ tasks-lifecycle (extension)` after `Not scored`.
fn not_scored_reason(printed: &str, scenario: &str) -> Option<String> {
    let (_, list) = printed.split_once("\nNot scored for ")?;
    let found = list.lines().find_map(|line| {
        let (name, reason) = line.trim().split_once(' ')?.1.split_once(" (")?;
        (name == scenario).then_some(reason)
    });
    found.map(|reason| reason.trim_end_matches(')').to_owned())
}

impl Check {
    fn parse(json: &Value) -> Self {
        let text = |key: &str| json[key].as_str().unwrap_or_default();
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
    fn scenarios_and_checks_are_parsed() {
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
    fn a_scenario_without_a_file_is_a_failure() {
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
