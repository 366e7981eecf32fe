//! Runs the official conformance suites (`@modelcontextprotocol/conformance`) under Node against an
//! MCP endpoint.
//!
//! Everything that a suite finds counts: each failure, warning and check that does not apply must
//! be in a list of [`Exception`]s with its reason. An exception that is not needed is also a fault.

mod exceptions;
mod output;

use std::process::Stdio;
use std::time::Duration;

use tempfile::TempDir;
use tokio::process::Command;

pub use self::exceptions::{Exception, ExceptionEffect};
pub use self::output::{Check, Report, Scenario, Status};
use crate::program_paths;

/// The time limit for a suite. The scenarios run one after the other, with 30 s each.
const SUITE_DEADLINE: Duration = Duration::from_secs(240);

/// A pinned suite, and the part of it that is run.
#[derive(Clone, Copy, Debug)]
pub struct Suite {
    name: &'static str,
    package: &'static str,
    selection: [&'static str; 2],
}

impl Suite {
    /// All scenarios of version 0.1.16.
    pub const V0_1: Suite = Suite {
        name: "0.1.16 --suite all",
        package: "conformance-0-1",
        selection: ["--suite", "all"],
    };

    /// The requirements of version 0.2.0-alpha.12 for a server of 2025-11-25.
    pub const V0_2_OF_2025_11_25: Suite = Suite {
        name: "0.2.0-alpha.12 --requirements 2025-11-25",
        package: "conformance-0-2",
        selection: ["--requirements", "2025-11-25"],
    };

    /// The requirements of version 0.2.0-alpha.12 for a server of 2026-07-28.
    pub const V0_2_OF_2026_07_28: Suite = Suite {
        name: "0.2.0-alpha.12 --requirements 2026-07-28",
        package: "conformance-0-2",
        selection: ["--requirements", "2026-07-28"],
    };

    /// Returns the version of the suite and the part of it that is run.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Runs the suite against the endpoint `url`, which must accept requests without a token.
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
