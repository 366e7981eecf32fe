//! The jobs of a run: test programs, and parts of them whose results can be used again.

use anyhow::Result;

use super::build::TestProgram;
use super::job::Job;
use super::options::{Options, Suite};
use super::quick;
use super::reuse::GreenResult;
use super::runner;
use super::tools::Tools;
use crate::Workspace;

/// Tests whose results are used again while the files that they depend on are the same.
struct Part {
    crate_folder: &'static str,
    target: &'static str,
    /// The beginnings of the names of its tests. Empty: all tests of the program.
    modules: &'static [&'static str],
    /// The files and folders that it depends on.
    inputs: &'static [&'static [&'static str]],
}

/// What each journey depends on: the programs, the built SDK, and what starts them.
const CALLS: [&str; 13] = [
    "Cargo.lock",
    "agent/Cargo.toml",
    "agent/src",
    "bridge",
    "client-stdio/src",
    "e2e/Cargo.toml",
    "e2e/node",
    "e2e/pages",
    "e2e/src",
    "target/sdk",
    "web-sdk/tests/chromium-flags.txt",
    "web-sdk/xtask/src/chromium.rs",
    "web-sdk/xtask/src/node.rs",
];

/// Programs of other makers and long schedules.
const PARTS: [Part; 9] = [
    Part {
        crate_folder: "e2e",
        target: "bundlers",
        modules: &[],
        inputs: &[
            &CALLS,
            &["docs/bundlers.md", "e2e/bundlers", "e2e/tests/bundlers"],
        ],
    },
    Part {
        crate_folder: "e2e",
        target: "clients",
        modules: &[],
        inputs: &[
            &CALLS,
            &["docs/clients.md", "e2e/clients", "e2e/tests/clients"],
        ],
    },
    Part {
        crate_folder: "e2e",
        target: "faults",
        modules: &[],
        inputs: &[
            &CALLS,
            &["e2e/tests/faults", "web-sdk/native/src", "web-sdk/src"],
        ],
    },
    Part {
        crate_folder: "e2e",
        target: "ask",
        modules: &["llama_cpp::"],
        inputs: &[&CALLS, &["e2e/llama-cpp", "e2e/tests/ask"]],
    },
    Part {
        crate_folder: "e2e",
        target: "journeys",
        modules: &["lowdefy_attacks::"],
        inputs: &[&CALLS, &LOWDEFY],
    },
    Part {
        crate_folder: "e2e",
        target: "journeys",
        modules: &["lowdefy::", "lowdefy_guide::"],
        inputs: &[&CALLS, &LOWDEFY],
    },
    Part {
        crate_folder: "e2e",
        target: "journeys",
        modules: &["agui::"],
        inputs: &[
            &CALLS,
            &[
                "docs/agui.md",
                "e2e/agui",
                "e2e/tests/journeys/agui",
                "e2e/tests/journeys/agui.rs",
            ],
        ],
    },
    Part {
        crate_folder: "e2e",
        target: "journeys",
        modules: &["native_guide::", "native_program::"],
        inputs: &[
            &CALLS,
            &[
                "docs/native.md",
                "e2e/tests/journeys/native_guide.rs",
                "e2e/tests/journeys/native_program.rs",
                "web-sdk/native",
                "web-sdk/page",
                "web-sdk/src",
            ],
        ],
    },
    Part {
        crate_folder: "bridge/schema",
        target: "texts",
        modules: &[],
        inputs: &[&["Cargo.lock", "bridge/schema"]],
    },
];

const LOWDEFY: [&str; 6] = [
    "docs/lowdefy.md",
    "e2e/lowdefy",
    "e2e/tests/journeys/lowdefy.rs",
    "e2e/tests/journeys/lowdefy_attacks.rs",
    "e2e/tests/journeys/lowdefy_guide.rs",
    "web-sdk/lowdefy",
];

/// Returns the jobs of the selected tests.
pub(super) fn select(
    workspace: &Workspace,
    programs: &[TestProgram],
    tools: &Tools,
    options: &Options,
) -> Result<Vec<Job>> {
    let filter = options.filter();
    let mut jobs = Vec::new();
    for program in programs {
        let is_selected = options.includes(Suite::from_program(program));
        if options.is_quick() {
            jobs.extend(quick::job(workspace, program, tools));
        } else if is_selected && filter.is_none() {
            jobs.extend(jobs_of(workspace, program, tools)?);
        } else if is_selected {
            jobs.push(Job::new_whole(workspace, program, tools, filter));
        }
    }
    if options.includes(Suite::Rust) && !options.is_quick() {
        let command = runner::doc_tests(workspace, filter);
        jobs.push(Job::new("documentation examples", command));
    }
    if options.includes(Suite::Wasm) && !options.is_quick() {
        let command = runner::sdk_tests(workspace, tools, filter);
        jobs.push(Job::new("web-sdk: in the browser", command));
    }
    Ok(jobs)
}

/// Returns the jobs of a program: one for each of its parts, and one for what is in no part.
fn jobs_of(workspace: &Workspace, program: &TestProgram, tools: &Tools) -> Result<Vec<Job>> {
    let is_of_program = |part: &&Part| {
        program.crate_folder.as_os_str() == part.crate_folder && program.target == part.target
    };
    let parts: Vec<&Part> = PARTS.iter().filter(is_of_program).collect();
    let mut rest = Some(Job::new_whole(workspace, program, tools, None));
    let mut jobs = Vec::new();
    for part in parts {
        let mut job = Job::new_whole(workspace, program, tools, None);
        job.command.args(part.modules);
        match &mut rest {
            Some(_) if part.modules.is_empty() => rest = None,
            Some(rest) => {
                for module in part.modules {
                    rest.command.args(["--skip", module]);
                }
                job.name = format!("{}: {}", job.name, part.modules.join(" "));
            }
            None => {}
        }
        let inputs = part.inputs.concat();
        job.green = Some(GreenResult::new(workspace, &job.name, &inputs)?);
        jobs.push(job);
    }
    jobs.extend(rest);
    Ok(jobs)
}
