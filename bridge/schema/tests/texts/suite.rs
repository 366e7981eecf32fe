//! The tests of JSON-Schema-Test-Suite for 2020-12 that every validator must pass, without the
//! optional ones.
//!
//! `cargo xtask test` installs the suite and passes its folder.

use std::fs;
use std::path::{Path, PathBuf};

use bridge_schema::{Effort, TextVerdict, ValidationFailure, Validator};
use serde_json::Value;

const FOLDER: &str = "MCP_WEB_JSON_SCHEMA_SUITE";

const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// Tests whose result differs from the suite, because the bridge asserts `format`.
const ASSERTED_FORMATS: &str = "format.json";

#[derive(Debug, Default)]
struct Counts {
    tests: usize,
    /// The schema cannot be registered: it refers to other documents, for example.
    refused: usize,
    /// The result differs from that of the suite for a known reason.
    asserted_formats: usize,
    /// Found without parsing the text.
    by_text: usize,
    by_crate: usize,
}

#[test]
fn the_verdicts_are_those_of_the_suite() {
    let folder = std::env::var(FOLDER).unwrap_or_else(|_| {
        panic!("{FOLDER} is not set: run `cargo xtask test`, which installs the suite")
    });
    let mut counts = Counts::default();
    let mut failures = Vec::new();
    for path in files(&Path::new(&folder).join("tests/draft2020-12")) {
        let groups: Vec<Value> = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        for group in &groups {
            check_group(&path, group, &mut counts, &mut failures);
        }
    }
    println!("{counts:?}");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    let verdicts = counts.by_text + counts.by_crate;
    assert!(verdicts * 100 >= counts.tests * 90, "{counts:?}");
    assert!(counts.by_text * 100 >= counts.tests * 45, "{counts:?}");
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.is_file());
    files.sort_unstable();
    files
}

fn check_group(path: &Path, group: &Value, counts: &mut Counts, failures: &mut Vec<String>) {
    let schema = &group["schema"];
    // Schemas of another dialect are refused before they are compiled.
    let is_known = schema["$schema"]
        .as_str()
        .is_none_or(|name| name == DIALECT);
    let validator = Validator::new(schema.clone()).map_err(drop);
    let validator = validator.and_then(|validator| is_known.then_some(validator).ok_or(()));
    for test in group["tests"].as_array().unwrap() {
        counts.tests += 1;
        let Ok(validator) = &validator else {
            counts.refused += 1;
            continue;
        };
        let (text, expected) = (test["data"].to_string(), test["valid"] == true);
        let found = validator.text_verdict(&text, Effort::Full);
        let is_valid = match found {
            Some(TextVerdict::Valid) => Some(true),
            Some(TextVerdict::Invalid) => Some(false),
            _ => None,
        };
        let outcome = validator.try_validate_text(&text, Effort::Full).unwrap();
        let outcome = match outcome {
            Ok(()) => true,
            Err(ValidationFailure::InvalidValue { .. }) => false,
            Err(failure) => panic!("{failure}: {text} for {schema}"),
        };
        let is_right = outcome == expected && is_valid.is_none_or(|found| found == expected);
        if !is_right && path.ends_with(ASSERTED_FORMATS) && is_valid.is_none_or(|it| it == outcome)
        {
            counts.asserted_formats += 1;
        } else if !is_right {
            failures.push(format!(
                "{}: {}: {}: {text} for {schema}: {outcome}, {found:?}",
                path.display(),
                group["description"],
                test["description"]
            ));
        } else if is_valid.is_some() {
            counts.by_text += 1;
        } else {
            counts.by_crate += 1;
        }
    }
}
