//! The jobs of a run: test programs, and parts of them whose results can be used again.

use anyhow::Result;

use super::build::TestProgram;
use super::job::Job;
use super::options::{Options, Suite};
use super::quick;
use super::reuse::{GreenResult, ProductFingerprint};
use super::runner;
use super::tools::Tools;
use crate::Workspace;

/// Tests whose results are used again while the product and the files that they depend on are the same.
struct Part {
    crate_folder: &'static str,
    target: &'static str,
    /// The beginnings of the names of its tests. Empty: all tests of the program.
    modules: &'static [&'static str],
    /// The files and folders that it depends on besides the product.
    inputs: &'static [&'static str],
}

/// Programs of other makers and long schedules.
const PARTS: [Part; 10] = [
    Part {
        crate_folder: "e2e",
        target: "bundlers",
        modules: &[],
        inputs: &["docs/bundlers.md", "e2e/bundlers", "e2e/tests/bundlers"],
    },
    Part {
        crate_folder: "e2e",
        target: "clients",
        modules: &[],
        inputs: &["docs/clients.md", "e2e/clients", "e2e/tests/clients"],
    },
    Part {
        crate_folder: "e2e",
        target: "deploy",
        modules: &[],
        inputs: &["docs/deploy", "e2e/deploy", "e2e/tests/deploy"],
    },
    Part {
        crate_folder: "e2e",
        target: "faults",
        modules: &[],
        inputs: &["e2e/tests/faults"],
    },
    Part {
        crate_folder: "e2e",
        target: "ask",
        modules: &["llama_cpp::"],
        inputs: &["e2e/llama-cpp", "e2e/tests/ask"],
    },
    Part {
        crate_folder: "e2e",
        target: "journeys",
        modules: &["lowdefy_attacks::"],
        inputs: &LOWDEFY,
    },
    Part {
        crate_folder: "e2e",
        target: "journeys",
        modules: &["lowdefy::", "lowdefy_guide::"],
        inputs: &LOWDEFY,
    },
    Part {
        crate_folder: "e2e",
        target: "journeys",
        modules: &["agui::"],
        inputs: &[
            "docs/ask-ai.md",
            "e2e/agui",
            "e2e/tests/journeys/agui",
            "e2e/tests/journeys/agui.rs",
        ],
    },
    Part {
        crate_folder: "e2e",
        target: "journeys",
        modules: &["native_guide::", "native_program::"],
        inputs: &[
            "docs/native.md",
            "e2e/tests/journeys/full_protocol.rs",
            "e2e/tests/journeys/native_guide.rs",
            "e2e/tests/journeys/native_program.rs",
        ],
    },
    Part {
        crate_folder: "bridge/schema",
        target: "texts",
        modules: &[],
        inputs: &[],
    },
];

const LOWDEFY: [&str; 6] = [
    "demo-app/examples/lowdefy",
    "docs/lowdefy.md",
    "e2e/lowdefy",
    "e2e/tests/journeys/lowdefy.rs",
    "e2e/tests/journeys/lowdefy_attacks.rs",
    "e2e/tests/journeys/lowdefy_guide.rs",
];

impl Part {
    fn is_of(&self, program: &TestProgram) -> bool {
        program.crate_folder.as_os_str() == self.crate_folder && program.target == self.target
    }

    fn name(&self) -> String {
        let program = format!("{}: {}", self.crate_folder, self.target);
        match self.modules {
            [] => program,
            modules => format!("{program}: {}", modules.join(" ")),
        }
    }
}

/// The earlier results of the parts.
pub(super) struct EarlierResults(Vec<(&'static Part, GreenResult)>);

impl EarlierResults {
    /// Reads what the parts depend on.
    pub(super) fn new(workspace: &Workspace, tools: &Tools) -> Result<Self> {
        let product = ProductFingerprint::new(workspace, tools)?;
        let parts = PARTS.iter().map(|part| {
            let green = GreenResult::new(workspace, &product, &part.name(), part.inputs)?;
            Ok((part, green))
        });
        Ok(Self(parts.collect::<Result<_>>()?))
    }

    /// Takes those of a program.
    fn take(&mut self, program: &TestProgram) -> Vec<(&'static Part, GreenResult)> {
        self.0
            .extract_if(.., |(part, _)| part.is_of(program))
            .collect()
    }
}

/// Returns the jobs of the selected tests.
pub(super) fn select(
    workspace: &Workspace,
    programs: &[TestProgram],
    tools: &Tools,
    options: &Options,
    mut earlier: EarlierResults,
) -> Vec<Job> {
    let filter = options.filter();
    let mut jobs = Vec::new();
    for program in programs {
        let is_selected = options.includes(Suite::from_program(program));
        if options.is_quick() {
            jobs.extend(quick::job(workspace, program, tools));
        } else if is_selected && filter.is_none() {
            jobs.extend(jobs_of(workspace, program, tools, earlier.take(program)));
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
    jobs
}

/// Returns the jobs of a program: one for each of its parts, and one for what is in no part.
fn jobs_of(
    workspace: &Workspace,
    program: &TestProgram,
    tools: &Tools,
    parts: Vec<(&Part, GreenResult)>,
) -> Vec<Job> {
    let mut rest = Some(Job::new_whole(workspace, program, tools, None));
    let mut jobs = Vec::new();
    for (part, green) in parts {
        let mut job = Job::new_whole(workspace, program, tools, None);
        job.name = part.name();
        job.command.args(part.modules);
        job.green = Some(green);
        jobs.push(job);
        if part.modules.is_empty() {
            rest = None;
        } else if let Some(rest) = &mut rest {
            for module in part.modules {
                rest.command.args(["--skip", module]);
            }
        }
    }
    jobs.extend(rest);
    jobs
}
