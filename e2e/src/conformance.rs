//! The official conformance suites (`@modelcontextprotocol/conformance`), run under Node against an
//! MCP endpoint.
//!
//! Nothing that a suite finds gets lost: what failed, warned or was not applicable must be named in
//! a list of [`Exception`]s with its reason, and an exception that no longer happens is a fault too.

mod exceptions;
mod output;

use std::process::Stdio;
use std::time::Duration;

use tempfile::TempDir;
use tokio::process::Command;

pub use self::exceptions::{Exception, ExceptionEffect};
pub use self::output::{Check, Report, Scenario, Status};
use crate::program_paths;

/// The longest that a suite may take. The scenarios run one after the other, each has 30 s.
const SUITE_DEADLINE: Duration = Duration::from_secs(240);

/// A pinned suite and what of it to run.
#[derive(Clone, Copy, Debug)]
pub struct Suite {
    name: &'static str,
    package: &'static str,
    selection: [&'static str; 2],
}

impl Suite {
    /// Every scenario of version 0.1.16.
    pub const V0_1: Suite = Suite {
        name: "0.1.16 --suite all",
        package: "conformance-0-1",
        selection: ["--suite", "all"],
    };

    /// What version 0.2.0-alpha.12 requires of a server of 2025-11-25.
    pub const V0_2_OF_2025_11_25: Suite = Suite {
        name: "0.2.0-alpha.12 --requirements 2025-11-25",
        package: "conformance-0-2",
        selection: ["--requirements", "2025-11-25"],
    };

    /// What version 0.2.0-alpha.12 requires of a server of 2026-07-28.
    pub const V0_2_OF_2026_07_28: Suite = Suite {
        name: "0.2.0-alpha.12 --requirements 2026-07-28",
        package: "conformance-0-2",
        selection: ["--requirements", "2026-07-28"],
    };

    /// Its version and what is run of it.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Runs it against the endpoint `url`, which must need no header.
    pub async fn run(&self, url: &str) -> Report {
        let results = TempDir::with_prefix("mcp-web-conformance-").unwrap();
        let entry = program_paths::node_modules()
            .join(self.package)
            .join("dist/index.js");
        let mut command = Command::new(program_paths::node());
        command
            .arg(entry)
            .args(["server", "--url", url])
            .args(self.selection)
            .arg("--output-dir")
            .arg(results.path())
            .env("NO_COLOR", "1")
            .current_dir(results.path())
            .stdin(Stdio::null())
            .kill_on_drop(true);
        let output = tokio::time::timeout(SUITE_DEADLINE, command.output())
            .await
            .unwrap_or_else(|_| panic!("{} took over {SUITE_DEADLINE:?}", self.name))
            .expect("Node starts");
        let printed = String::from_utf8_lossy(&output.stdout);
        let report = Report::load(results.path(), &printed);
        assert!(
            !report.scenarios.is_empty(),
            "{} ran nothing:\n{printed}{}",
            self.name,
            String::from_utf8_lossy(&output.stderr)
        );
        report
    }
}
