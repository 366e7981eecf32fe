//! Checks the requests of the agent with the types of the providers' SDKs.

use std::fs;

use xtask::{Workspace, provider_types};

use super::succeed;

/// Requests have the types, and no mutant of them has.
#[test]
fn the_types_of_the_sdks_accept_each_request_and_no_mutant() {
    let workspace = Workspace::here();
    let packages = provider_types::ensure_packages(&workspace).unwrap();
    let requests = workspace.path(provider_types::REQUESTS);
    let mut check = provider_types::command(&workspace, &packages, &requests);
    let output = String::from_utf8(succeed(&mut check).stdout).unwrap();
    println!("figures: {}", output.lines().last().unwrap());
}

#[test]
fn a_request_with_a_fault_is_refused() {
    let workspace = Workspace::here();
    let packages = provider_types::ensure_packages(&workspace).unwrap();
    let requests = tempfile::tempdir().unwrap();
    let file = "responses-thinking.json";
    let recorded = workspace.path(provider_types::REQUESTS).join(file);
    let text = fs::read_to_string(recorded).unwrap();
    let faulty = text.replace("\"auto\"", "\"automatic\"");
    fs::write(requests.path().join(file), faulty).unwrap();
    let mut check = provider_types::command(&workspace, &packages, requests.path());
    let output = check.output().unwrap();
    assert!(!output.status.success());
    let output = String::from_utf8(output.stdout).unwrap();
    assert!(output.contains("refused: error TS"), "{output}");
    assert!(
        output.contains("'\"automatic\"' is not assignable"),
        "{output}"
    );
    assert!(
        output.contains("responses-thinking.json, gpt-6.2-astra Low"),
        "{output}"
    );
}
