//! The client scenarios of the official conformance suites. `mcp-web-stdio` connects to the suite's
//! servers; the AI client that uses it is `conformance-client` of this crate.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::Output;

use e2e::program_paths;
use serde_json::Value;
use tempfile::TempDir;
use tokio::process::Command;

/// Scenarios in which a client obtains a token, which all of these begin with. The user of
/// `mcp-web-stdio` passes it the page's token (`AUTH_TOKEN`), and there is no authorization server,
/// so OAuth cannot be tested.
const OAUTH: [&str; 34] = [
    "auth/2025-03-26-oauth-endpoint-fallback",
    "auth/2025-03-26-oauth-metadata-backcompat",
    "auth/authorization-server-migration",
    "auth/basic-cimd",
    "auth/client-credentials-basic",
    "auth/client-credentials-jwt",
    "auth/cross-app-access-complete-flow",
    "auth/dpop",
    "auth/dpop-nonce",
    "auth/enterprise-managed-authorization",
    "auth/iss-normalized",
    "auth/iss-not-advertised",
    "auth/iss-supported",
    "auth/iss-supported-missing",
    "auth/iss-unexpected",
    "auth/iss-wrong-issuer",
    "auth/metadata-default",
    "auth/metadata-issuer-mismatch",
    "auth/metadata-var1",
    "auth/metadata-var2",
    "auth/metadata-var3",
    "auth/offline-access-not-supported",
    "auth/offline-access-scope",
    "auth/pre-registration",
    "auth/resource-mismatch",
    "auth/scope-from-scopes-supported",
    "auth/scope-from-www-authenticate",
    "auth/scope-omitted-when-undefined",
    "auth/scope-retry-limit",
    "auth/scope-step-up",
    "auth/token-endpoint-auth-basic",
    "auth/token-endpoint-auth-none",
    "auth/token-endpoint-auth-post",
    "auth/wif-jwt-bearer",
];

/// Scenarios about how an AI client verifies the content of a skill (an extension). A proxy only
/// passes it on and has nothing to verify.
const SKILLS: [&str; 3] = [
    "sep-2640-client-verify-digest",
    "sep-2640-client-verify-frontmatter",
    "sep-2640-client-verify-size",
];

/// Checks that do not apply to 2026-07-28, which has no `initialize`.
const NOT_APPLICABLE: [&str; 2] = [
    "ClientMcpMethodHeader_initialize",
    "ClientMcpMethodHeader_notifications_initialized",
];

const V0_1: Package = Package {
    name: "conformance-0-1",
    version: "0.1.16",
    has_versions: false,
};

const V0_2: Package = Package {
    name: "conformance-0-2",
    version: "0.2.0-alpha.12",
    has_versions: true,
};

#[tokio::test]
async fn client_scenarios_0_1() {
    V0_1.run_scenarios(4).await;
}

#[tokio::test]
async fn client_scenarios_0_2() {
    V0_2.run_scenarios(12).await;
}

#[tokio::test]
async fn every_excluded_scenario_exists() {
    let mut excluded: BTreeSet<_> = OAUTH.into_iter().chain(SKILLS).collect();
    for package in [V0_1, V0_2] {
        for scenario in package.scenarios().await {
            excluded.remove(scenario.name.as_str());
        }
    }
    assert_eq!(excluded, BTreeSet::new());
}

/// A pinned version of the suite.
struct Package {
    name: &'static str,
    version: &'static str,
    /// Whether scenarios can be run with several protocol versions.
    has_versions: bool,
}

struct Scenario {
    name: String,
    /// The protocol versions to run it with; `None` for the suite's default.
    versions: Vec<Option<String>>,
}

#[derive(Default)]
struct Counts {
    runs: usize,
    passed: usize,
    faults: Vec<String>,
}

impl Package {
    /// Runs every applicable scenario, of which there must be `expected_count`.
    async fn run_scenarios(&self, expected_count: usize) {
        let all = self.scenarios().await;
        let applies = |scenario: &&Scenario| {
            let name = scenario.name.as_str();
            !OAUTH.contains(&name) && !SKILLS.contains(&name)
        };
        let applicable: Vec<_> = all.iter().filter(applies).collect();
        let mut counts = Counts::default();
        for scenario in &applicable {
            for version in &scenario.versions {
                self.run(scenario, version.as_deref(), &mut counts).await;
            }
        }
        // The test harness captures `print!`, but these counts should always be visible.
        let summary = format!(
            "figures: conformance {} client: {} scenarios in {} runs, {} checks passed, {} failed, \
             {} scenarios do not apply to a proxy\n",
            self.version,
            applicable.len(),
            counts.runs,
            counts.passed,
            counts.faults.len(),
            all.len() - applicable.len(),
        );
        std::io::stdout().write_all(summary.as_bytes()).unwrap();
        assert!(counts.faults.is_empty(), "{}", counts.faults.join("\n"));
        assert_eq!(applicable.len(), expected_count, "every scenario ran");
    }

    async fn run(&self, scenario: &Scenario, version: Option<&str>, counts: &mut Counts) {
        let results = TempDir::with_prefix("mcp-web-conformance-").unwrap();
        let client = format!(
            "{} {}",
            env!("CARGO_BIN_EXE_conformance-client"),
            program_paths::built("mcp-web-stdio").display()
        );
        let name = scenario.name.as_str();
        let mut command = self.command(&["client", "--scenario", name, "--command", &client]);
        command.arg("--output-dir").arg(results.path());
        if let Some(version) = version {
            command.args(["--spec-version", version]);
        }
        let output = command.output().await.expect("Node starts");
        let run = format!("{name} at {}", version.unwrap_or("the suite's version"));
        let printed = text(&output);
        counts.runs += 1;
        counts.add_checks(&run, &load_checks(&results, &run, &printed));
        if !output.status.success() {
            counts.faults.push(format!("{run}: {printed}"));
        }
    }

    async fn scenarios(&self) -> Vec<Scenario> {
        let output = self.command(&["list", "--client"]).output().await;
        let printed = text(&output.expect("Node starts"));
        let lines = printed.lines();
        let scenarios: Vec<_> = lines.filter_map(|line| self.parse_listed(line)).collect();
        assert!(!scenarios.is_empty(), "no scenarios in: {printed}");
        scenarios
    }

    /// Parses a line such as `  - tools_call [2025-11-25,2026-07-28]`.
    fn parse_listed(&self, line: &str) -> Option<Scenario> {
        let (name, versions) = line.trim().strip_prefix("- ")?.split_once(" [")?;
        let dated = versions
            .trim_end_matches(']')
            .split(',')
            .filter(|version| self.has_versions && version.starts_with("20"))
            .map(|version| Some(version.to_owned()));
        let mut versions: Vec<_> = dated.collect();
        if versions.is_empty() {
            versions.push(None);
        }
        Some(Scenario {
            name: name.to_owned(),
            versions,
        })
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let entry = program_paths::node_modules()
            .join(self.name)
            .join("dist/index.js");
        let mut command = Command::new(program_paths::node());
        command.arg(entry).args(arguments).kill_on_drop(true);
        command
    }
}

impl Counts {
    fn add_checks(&mut self, run: &str, checks: &[Value]) {
        for check in checks {
            let field = |key: &str| check[key].as_str().unwrap_or_default();
            let is_not_applicable = NOT_APPLICABLE.contains(&field("name"));
            match field("status") {
                "SUCCESS" => self.passed += 1,
                "INFO" => {}
                "SKIPPED" if is_not_applicable => {}
                status => {
                    let (id, error) = (field("id"), field("errorMessage"));
                    self.faults.push(format!("{run}: {id}: {status}: {error}"));
                }
            }
        }
    }
}

/// Loads the checks from the only folder in the results.
fn load_checks(results: &TempDir, run: &str, printed: &str) -> Vec<Value> {
    let folder = std::fs::read_dir(results.path()).unwrap().next();
    let folder = folder.unwrap_or_else(|| panic!("{run} wrote no results: {printed}"));
    let checks = std::fs::read_to_string(folder.unwrap().path().join("checks.json"));
    serde_json::from_str(&checks.unwrap()).unwrap()
}

fn text(output: &Output) -> String {
    let printed = [&output.stdout, &output.stderr];
    printed
        .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
        .concat()
}
