//! Runs test programs and counts the results in their output.

use std::io::{self, BufRead, BufReader, PipeReader};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::build::TestProgram;
use super::counts::Counts;
use super::failures::Failures;
use super::tools::Tools;
use crate::Workspace;
use crate::process::{cargo, cargo_with_clippy, kill_with_descendants};
use crate::toolchain::WASM_TARGET;

/// The result of one run of tests.
#[derive(Default)]
pub(super) struct SuiteRun {
    pub(super) name: String,
    pub(super) counts: Counts,
    /// Figures for the end of the report: the rest of each line with [`FIGURES_MARKER`].
    pub(super) figures: Vec<String>,
    /// The tests that failed, with the beginning of what they printed.
    pub(super) failures: Vec<String>,
    pub(super) duration: Duration,
    /// Whether this is the result of an earlier run, whose inputs have not changed since.
    pub(super) is_reused: bool,
}

/// Marks the part of a line that a test prints for the end of the report. It may follow the
/// beginning of a line that another test printed at the same time.
const FIGURES_MARKER: &str = "figures: ";

/// Test programs whose tests wait for sockets rather than compute, and how many of their tests run at a
/// time: more than there may be cores. Each fault of several bridges uses half a core.
const SOCKET_TESTS: [(&str, &str); 4] = [
    ("deploy", "8"),
    ("faults", "4"),
    ("integration", "8"),
    ("stdio", "8"),
];

/// Returns the command that runs a test program in its crate's folder, as cargo would.
pub(super) fn program(workspace: &Workspace, program: &TestProgram, tools: &Tools) -> Command {
    let folder = workspace.root().join(&program.crate_folder);
    let mut command = Command::new(&program.executable);
    command
        .env("CARGO_MANIFEST_DIR", &folder)
        .current_dir(&folder);
    let socket_tests = SOCKET_TESTS
        .iter()
        .find(|(name, _)| program.target == *name);
    if let Some((_, threads)) = socket_tests {
        command.env("RUST_TEST_THREADS", threads);
    }
    tools.apply(&mut command);
    command
}

/// Returns the command that runs the examples in the documentation of all crates.
pub(super) fn doc_tests(workspace: &Workspace, filter: Option<&str>) -> Command {
    // As in the build of the tests: otherwise all libraries would be compiled again.
    let mut command = cargo_with_clippy(workspace);
    command
        .args([
            "test",
            "--workspace",
            "--doc",
            "--no-fail-fast",
            "--quiet",
            "--",
        ])
        .args(filter);
    command
}

/// Returns the command that runs the SDK's own tests, compiled to wasm, in headless Chromium.
pub(super) fn sdk_tests(workspace: &Workspace, tools: &Tools, filter: Option<&str>) -> Command {
    let mut command = cargo(workspace);
    command
        .args([
            "test",
            "--package",
            "web-sdk-wasm",
            "--lib",
            "--tests",
            "--no-fail-fast",
        ])
        .args(["--target", WASM_TARGET, "--"])
        .args(filter)
        .env(
            "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER",
            workspace.path("target/debug/wasm-test-runner"),
        );
    tools.wasm_rustc.apply(workspace, &mut command);
    tools.apply(&mut command);
    command
}

/// Where the output of a command goes.
#[derive(Clone, Copy)]
pub(super) enum Output {
    /// Each line is printed when it comes.
    Live,
    /// All of it is printed at the end, because other commands run beside it.
    AtEnd,
}

/// How long a command may print nothing: a test that never ends must not hold the others back. The
/// longest test takes two minutes on a quiet machine of two cores, and ten on a busy one.
const MAX_SILENCE: Duration = Duration::from_secs(25 * 60);

/// Runs a command, prints its output, and counts the test results in it. A command that cannot be run
/// is a failure.
pub(super) fn run_and_count(name: &str, command: Command, shown: Output) -> SuiteRun {
    run_within(MAX_SILENCE, name, command, shown).unwrap_or_else(|error| {
        let message = format!("{name}: {error:#}");
        println!("error: {message}");
        SuiteRun {
            name: name.to_owned(),
            counts: Counts {
                failed: 1,
                ..Counts::default()
            },
            failures: vec![message],
            ..SuiteRun::default()
        }
    })
}

/// As [`run_and_count`], but a command is killed with its descendants when it has printed nothing for
/// `max_silence`.
fn run_within(
    max_silence: Duration,
    name: &str,
    mut command: Command,
    shown: Output,
) -> Result<SuiteRun> {
    let title = format!("==> {name}\n");
    let mut text = match shown {
        Output::Live => {
            print!("{title}");
            String::new()
        }
        Output::AtEnd => title,
    };
    let started = Instant::now();
    let (output, input) =
        io::pipe().context("close some programs: the system has no pipes left")?;
    command
        .stdin(Stdio::null())
        .stdout(input.try_clone()?)
        .stderr(input);
    let mut child = command
        .spawn()
        .with_context(|| format!("{name} does not start"))?;
    // The command holds the pipe's other end: without this, the output would never end.
    drop(command);
    let mut counts = Counts::default();
    let mut figures = Vec::new();
    let mut failures = Failures::default();
    let lines = read_lines(output);
    let is_silent = loop {
        let line = match lines.recv_timeout(max_silence) {
            Ok(line) => line?,
            Err(RecvTimeoutError::Disconnected) => break false,
            Err(RecvTimeoutError::Timeout) => break true,
        };
        let line = String::from_utf8_lossy(&line);
        match shown {
            Output::Live => println!("{line}"),
            Output::AtEnd => text.extend([&*line, "\n"]),
        }
        counts += Counts::parse_line(&line).unwrap_or_default();
        failures.take_line(&line);
        figures.extend(
            line.split_once(FIGURES_MARKER)
                .map(|(_, figures)| figures.to_owned()),
        );
    };
    let mut failures = failures.into_vec();
    if is_silent {
        kill_with_descendants(&mut child)?;
    }
    let is_success = child.wait()?.success();
    let problem = if is_silent {
        Some(format!(
            "{name} printed nothing for {} s and was ended: a test without a result above does not end, \
or has left a process that holds the output",
            max_silence.as_secs()
        ))
    } else {
        (!is_success && counts.failed == 0).then(|| format!("{name} failed outside of its tests"))
    };
    if let Some(problem) = problem {
        text.push_str(&format!("error: {problem}\n"));
        counts.failed += 1;
        failures.push(problem);
    }
    print!("{text}");
    Ok(SuiteRun {
        name: name.to_owned(),
        counts,
        figures,
        failures,
        duration: started.elapsed(),
        is_reused: false,
    })
}

/// Reads lines on a separate thread, so that waiting for a line can have a limit.
fn read_lines(output: PipeReader) -> Receiver<io::Result<Vec<u8>>> {
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(output).split(b'\n') {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts_of(script: &str) -> Counts {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        run_and_count("a suite", command, Output::AtEnd).counts
    }

    const RESULT: &str = "echo 'test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured'";

    #[test]
    fn results_on_stdout_and_stderr_are_added() {
        let counts = counts_of(&format!("{RESULT}; {RESULT} >&2"));
        assert_eq!(
            counts,
            Counts {
                passed: 4,
                failed: 0,
                skipped: 2
            }
        );
    }

    #[test]
    fn figures_are_collected_for_the_report() {
        let mut command = Command::new("sh");
        command.args([
            "-c",
            "echo 'test a ... figures: 3 checks'; echo 'no figures'",
        ]);
        assert_eq!(
            run_and_count("a suite", command, Output::AtEnd).figures,
            ["3 checks"]
        );
    }

    #[test]
    fn a_crash_is_counted_as_a_failure() {
        let counts = counts_of(&format!("{RESULT}; kill -SEGV $$"));
        assert_eq!(
            counts,
            Counts {
                passed: 2,
                failed: 1,
                skipped: 1
            }
        );
    }

    #[test]
    fn what_fails_outside_of_tests_is_reported() {
        let mut crash = Command::new("sh");
        crash.args(["-c", "kill -SEGV $$"]);
        for command in [crash, Command::new("/does/not/exist")] {
            let run = run_and_count("a suite", command, Output::AtEnd);
            assert_eq!((run.counts.failed, run.failures.len()), (1, 1));
        }
    }

    #[test]
    fn a_command_that_stays_silent_is_ended_and_counted_as_a_failure() {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{RESULT}; exec sleep infinity")]);
        let silence = Duration::from_millis(50);
        let run = run_within(silence, "a suite", command, Output::AtEnd).unwrap();
        assert_eq!(run.counts.failed, 1);
        assert!(run.failures[0].contains("a test without a result above"));
    }
}
