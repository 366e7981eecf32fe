//! Runs `module/*.test.mjs` with Node.js.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn the_module_works_on_a_server() {
    run("server.test.mjs");
}

#[test]
fn a_certificate_that_node_does_not_accept_is_named() {
    let certificate = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = certificate.signing_key.serialize_pem();
    let variables = [
        ("CERTIFICATE", certificate.cert.pem()),
        ("CERTIFICATE_KEY", key),
    ];
    run_with("certificate.test.mjs", &variables);
}

#[test]
fn the_module_reports_that_its_wasm_cannot_be_loaded() {
    run("unloadable.test.mjs");
}

#[test]
fn the_check_finds_reads_that_elements_of_a_page_could_hide() {
    run("clobbering-lint.test.mjs");
}

#[test]
fn definitions_that_clients_reject_cause_warnings() {
    run("dev-warnings.test.mjs");
}

#[test]
fn schemas_of_libraries_are_published_and_validate() {
    run("schemas.test.mjs");
}

#[test]
fn queries_work_without_a_browser() {
    run("query.test.mjs");
}

#[test]
fn questions_and_answers_of_the_element_work_without_a_browser() {
    run("ask.test.mjs");
}

#[test]
fn invisible_characters_are_shown() {
    run("visible-text.test.mjs");
}

/// Uses the built module in `target/sdk`.
#[test]
fn state_tools_pass_the_list_of_cases() {
    run("state-cases.test.mjs");
}

/// Uses the built module in `target/sdk`.
#[test]
fn state_tools_keep_values_set_by_any_sequence_of_calls() {
    run("state-properties.test.mjs");
}

/// Uses the built module in `target/sdk`.
#[test]
fn state_tools_run_in_order_and_work_with_each_library() {
    run("state.test.mjs");
}

/// Uses the built module in `target/sdk`.
#[test]
fn stores_are_offered_as_in_the_guide() {
    run("state-stores.test.mjs");
}

/// Uses the wasm in `target/sdk`.
#[test]
fn hooks_offer_the_items_of_mounted_components() {
    run("frameworks.test.mjs");
}

#[test]
fn tools_are_shared_with_the_browser() {
    run("webmcp.test.mjs");
}

#[test]
fn tools_of_the_browser_are_imported() {
    run("webmcp-import.test.mjs");
}

#[test]
fn the_module_works_in_a_browser() {
    run("page.test.mjs");
}

#[test]
fn roles_and_names_of_a_page_are_those_of_chromium() {
    run("accessibility.test.mjs");
}

#[test]
fn a_hidden_tab_is_driven() {
    run("hidden-tab.test.mjs");
}

fn run(file: &str) {
    run_with(file, &[]);
}

fn run_with(file: &str, variables: &[(&str, String)]) {
    let folder = crate_folder().join("../tests/sdk/module");
    let file = folder.join(file);
    let output = Command::new(node())
        .arg("--import")
        .arg(folder.join("packages.mjs"))
        .arg("--test")
        .arg(file)
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
}

fn node() -> PathBuf {
    let node = env::var_os("MCP_WEB_NODE").map(PathBuf::from);
    let node = node.unwrap_or_else(|| crate_folder().join("../../target/tools/node22/bin/node"));
    assert!(
        node.is_file(),
        "{} is missing: run `cargo xtask test`",
        node.display()
    );
    node
}

fn crate_folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
