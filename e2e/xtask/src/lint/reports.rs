//! Checks the log of public reports, `e2e/tests/reports.tsv`: its form, and that the tests that it names
//! exist.

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context, Result, bail};

use crate::Workspace;
use crate::step::{Outcome, step};

const LOG: &str = "e2e/tests/reports.tsv";

/// The verdicts, and whether a test must show them.
const VERDICTS: [(&str, bool); 4] = [
    ("holds", false),
    ("mended", true),
    ("open", false),
    ("theirs", false),
];

/// Fails if a line of the log has another form, or names a test that does not exist.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    step("tests in the log of public reports", || {
        let log =
            fs::read_to_string(workspace.path(LOG)).with_context(|| format!("restore {LOG}"))?;
        let violations = violations(&log, |path| fs::read_to_string(workspace.path(path)).ok());
        if !violations.is_empty() {
            println!("{}", violations.join("\n"));
            bail!("correct {LOG}: its first lines describe the columns");
        }
        Ok(Outcome::Done(()))
    })
}

/// Returns a description of each wrong line. `read` returns the text of a file, if it exists.
fn violations(log: &str, read: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let mut all = Vec::new();
    for (index, line) in log.lines().enumerate() {
        if line.starts_with('#') {
            continue;
        }
        let mut add = |what: String| all.push(format!("{LOG}:{}: {what}", index + 1));
        let [report, _kind, verdict, tests] = *line.split('\t').collect::<Vec<_>>() else {
            add("a report has four columns, separated by tabs".to_owned());
            continue;
        };
        if !is_report(report) {
            add(format!("{report:?} is not like owner/repository#1"));
        }
        if !seen.insert(report) {
            add(format!("{report} has two lines"));
        }
        let verdict = VERDICTS.iter().find(|(name, _)| *name == verdict);
        match verdict {
            None => add(format!("the verdict is not one of {VERDICTS:?}")),
            Some((name, true)) if tests == "-" => add(format!("{name}, but no test shows it")),
            Some(_) => {}
        }
        for test in tests.split(' ').filter(|test| *test != "-") {
            let found = test.split_once("::").and_then(|(path, name)| {
                let text = read(path)?;
                has_test(&text, name).then_some(())
            });
            if found.is_none() {
                add(format!("no test {test}"));
            }
        }
    }
    all
}

fn is_report(text: &str) -> bool {
    let Some((repository, number)) = text.split_once('#') else {
        return false;
    };
    let parts: Vec<_> = repository.split('/').collect();
    parts.len() == 2 && parts.iter().all(|part| !part.is_empty()) && number.parse::<u32>().is_ok()
}

/// Returns whether a file has a test: a function of Rust, or the name of a test of JavaScript in quotes.
fn has_test(text: &str, name: &str) -> bool {
    let function = format!("fn {name}(");
    text.contains(&function) || text.contains(&format!("\"{}\"", name.replace('_', " ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &str) -> Option<String> {
        (path == "a/tests/b.rs").then(|| "#[test]\nfn works() {}\n".to_owned())
    }

    #[test]
    fn lines_with_existing_tests_are_accepted() {
        let log = "# report\tkind\tverdict\ttest\n\
a/b#1\tunions\tmended\ta/tests/b.rs::works\n\
a/b#2\tnames\tholds\t-\n\
a/b#3\tnames\tholds\ta/tests/b.rs::works a/tests/b.rs::works\n";
        assert_eq!(violations(log, read), Vec::<String>::new());
    }

    #[test]
    fn each_wrong_line_is_described() {
        for (line, problem) in [
            ("a/b#1\tunions\tmended", "four columns"),
            ("a/b\tunions\tholds\t-", "is not like"),
            ("a#1\tunions\tholds\t-", "is not like"),
            ("a/b#x\tunions\tholds\t-", "is not like"),
            ("a/b#1\tunions\tfine\t-", "the verdict"),
            ("a/b#1\tunions\tmended\t-", "no test shows it"),
            ("a/b#1\tunions\tholds\ta/tests/b.rs::breaks", "no test"),
            ("a/b#1\tunions\tholds\ta/tests/c.rs::works", "no test"),
            ("a/b#1\tunions\tholds\tworks", "no test"),
            (
                "a/b#1\tunions\tholds\t-\na/b#1\tunions\tholds\t-",
                "two lines",
            ),
        ] {
            let found = violations(line, read);
            assert!(
                found.len() == 1 && found[0].contains(problem),
                "{line}: {found:?}"
            );
        }
    }
}
