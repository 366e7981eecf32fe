//! `--quick`: the checks to run before each commit.

use anyhow::{Result, ensure};

use super::build::TestProgram;
use super::job::Job;
use super::options::Suite;
use super::runner::SuiteRun;
use super::tools::Tools;
use crate::Workspace;

/// A journey of each feature, in Chromium.
const JOURNEYS: [&str; 23] = [
    "ask_ai::a_day_is_planned_with_openai",
    "ask_ai::a_destructive_call_is_made_only_if_the_person_allows_it",
    "ask_element::a_question_is_answered_with_a_tool_of_the_page_and_followed_up",
    "bridge_restart::a_crash_fails_a_running_call_over_http",
    "cancel::by_ending_the_request_over_http_2026",
    "cancel_while_asking::elicitation_over_http_2025",
    "connected_clients::an_http_client_of_2025_is_listed_while_connected",
    "demo_order::inspector_orders_copies_2026",
    "demo_page::inspector_over_http_2026",
    "demo_page::inspector_over_stdio_2025",
    "frameworks::react",
    "hand_over::a_link_is_followed_and_the_next_document_answers",
    "large_results::a_page_in_chromium_fails_results_over_the_limit",
    "native_page_tools::a_client_reads_the_window_and_acts_on_it",
    "native_program::everything_of_the_protocol_over_stdio_2026",
    "node_app::everything_of_the_protocol_in_2026",
    "page_query::a_reloaded_page_resumes_its_query_but_a_copied_tab_does_not",
    "page_tools::rules::each_rule_of_all_user_interfaces_holds",
    "person_only::a_model_does_not_approve_its_own_call",
    "state_tools::two_clients_that_write_at_once_lose_nothing",
    "two_users::another_token_function_ends_the_session_of_the_former_user",
    "v1_page::it_keeps_working_after_a_reload",
    "webmcp::the_demo_marks_the_tools_of_the_browser",
];

/// The job with these journeys.
const NAME: &str = "e2e: journeys";

/// Returns the job for a program: all unit tests of a crate, or the journeys.
pub(super) fn job(workspace: &Workspace, program: &TestProgram, tools: &Tools) -> Option<Job> {
    let mut job = Job::new_whole(workspace, program, tools, None);
    match Suite::from_program(program) {
        Suite::Rust if program.has_unit_tests => Some(job),
        Suite::Journeys if job.name == NAME => {
            job.command.arg("--exact").args(JOURNEYS);
            Some(job)
        }
        _ => None,
    }
}

/// Fails if a journey was not found by its name.
pub(super) fn check(run: &SuiteRun) -> Result<()> {
    let ran = run.counts.passed + run.counts.failed;
    ensure!(
        run.name != NAME || ran == JOURNEYS.len() as u64,
        "{ran} of the {} journeys exist: correct their names in test/quick.rs",
        JOURNEYS.len()
    );
    Ok(())
}
