//! The example alerts for Prometheus: their own tests pass, and each metric that they name exists.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use crate::cluster::kit::Bridges;
use crate::metrics::exported_names;

const ALERTS: &str = include_str!("../../../docs/deploy/alerts.yml");

/// The names of metrics in the expressions, those that Prometheus itself has left out.
fn named_metrics() -> BTreeSet<&'static str> {
    let is_in_name = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let words = ALERTS.split(|character| !is_in_name(character));
    let is_metric = |word: &&str| word.starts_with("mcp_web_") || word.starts_with("process_");
    words.filter(is_metric).collect()
}

#[tokio::test]
async fn each_metric_of_an_alert_is_exported() {
    // One that watches another has all metrics.
    let bridges = Bridges::start(2).await;
    let exported = exported_names(&bridges.nodes[0]).await;
    let named = named_metrics();
    assert!(named.len() > 10, "{named:?}");
    for metric in named {
        // The tests of the agent check its metrics.
        if !metric.starts_with("mcp_web_agent_") {
            assert!(
                exported.iter().any(|it| it == metric),
                "{metric} in {exported:?}"
            );
        }
    }
}

#[test]
fn the_alerts_pass_their_tests() {
    let promtool = std::env::var_os("MCP_WEB_PROMTOOL").unwrap_or_else(|| "promtool".into());
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/deploy");
    let mut command = Command::new(promtool);
    command.args(["test", "rules", "alerts.test.yml"]);
    let output = command.current_dir(folder).output().expect(
        "promtool: `cargo xtask test` gets it, or set MCP_WEB_PROMTOOL to the path of the program",
    );
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{stdout}{stderr}");
}
