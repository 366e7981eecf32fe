//! The guide to several bridges: its commands, its settings, and the files for NATS.

use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use bridge_cluster::NatsServer;
use e2e::{PlainHttp, TestBed, echo_program, poll_pause, program_paths, with_deadline};
use serde_json::json;
use tempfile::TempDir;

use crate::deploy_file::{deploy_file, replaced};
use crate::deployment::{Changes, Deployment};
use crate::proxy::ProxyKind;

const SECRET: &str = "secret-of-a-guide-0123456789abcdef";

#[test]
fn nats_accepts_its_configuration() {
    let folder = TempDir::new().unwrap();
    assert_nats_accepts(&deploy_file("nats.conf"), "/etc/nats", folder.path());
}

/// Two bridges find each other with the certificates of the guide and the rights of its account, and
/// serve as one.
#[tokio::test]
async fn bridges_of_the_guide_serve_as_one() {
    let folder = TempDir::new().unwrap();
    make_certificates(folder.path());
    let mut nats = NatsServer::start_with(&deploy_file("nats-accounts.conf"));
    let first = start_bridge(1, &nats, folder.path()).await;
    let second = start_bridge(2, &nats, folder.path()).await;
    for bed in [&first, &second] {
        let ready = async {
            while PlainHttp::new(bed).get("/readyz").await.status() != 200 {
                poll_pause().await;
            }
        };
        with_deadline("the bridge to be ready", ready).await;
    }
    let check = check_config(3, &nats, folder.path());
    assert!(
        check.contains("2 bridges") && !check.contains("warning"),
        "{check}"
    );
    let page = echo_program(&first, "program").await;
    let client = PlainHttp::new(&second);
    let echoed = client
        .call_when_registered("echo", json!({ "id": 1 }))
        .await;
    assert_eq!(echoed["structuredContent"], json!({ "id": 1 }));
    drop((page, first, second));
    nats.stop();
    assert!(!nats.log().contains("Violation"), "{}", nats.log());
}

#[tokio::test]
async fn haproxy_accepts_the_backend_of_the_guide() {
    let backend = code_block("haproxy");
    let (checks, _) = backend.split_once("  server ").unwrap();
    let checks = checks.strip_prefix("backend bridge\n").unwrap();
    let of_one_bridge =
        "  # No check: while the only bridge drains, it still serves the calls that run.\n";
    let changes = Changes {
        proxy: &[(of_one_bridge, checks)],
        ..Changes::default()
    };
    let deployment = Deployment::start_with(ProxyKind::Haproxy, changes).await;
    let answer = deployment.get("2", "/readyz", &[]).await;
    assert_eq!(answer.status, "2 200", "{}", deployment.proxy_log());
}

/// Checks that a server of NATS would start with this configuration, whose certificates are in a folder.
pub(crate) fn assert_nats_accepts(configuration: &str, certificates: &str, folder: &Path) {
    make_certificates(folder);
    for (from, to) in [
        ("ca.pem", "ca.crt"),
        ("nats-1.pem", "tls.crt"),
        ("nats-1.key", "tls.key"),
    ] {
        fs::copy(folder.join(from), folder.join(to)).unwrap();
    }
    for (from, to) in [("nats-1.pem", "nats.pem"), ("nats-1.key", "nats.key")] {
        fs::copy(folder.join(from), folder.join(to)).unwrap();
    }
    let files = folder.display().to_string();
    let configuration = replaced(configuration, &[(certificates, &files)]);
    let file = folder.join("nats.conf");
    fs::write(&file, configuration).unwrap();
    let accounts = "nats-accounts.conf";
    fs::write(folder.join(accounts), deploy_file(accounts)).unwrap();
    let program = env::var_os("MCP_WEB_NATS_SERVER").unwrap_or_else(|| "nats-server".into());
    let mut check = Command::new(program);
    check.env("POD_NAME", "mcp-web-nats-0").arg("-t");
    let output = check.arg("--config").arg(file).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// Runs the commands of the guide.
fn make_certificates(folder: &Path) {
    let mut shell = Command::new("sh");
    shell.args(["-euc", &code_block("sh")]);
    let output = shell.current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// Starts a bridge with the settings of the guide.
async fn start_bridge(number: u8, nats: &NatsServer, folder: &Path) -> TestBed {
    let file = write_settings(number, nats, folder);
    TestBed::bridge_with(&["--config", &file]).await
}

/// Checks the settings of the guide, and returns what the check prints.
fn check_config(number: u8, nats: &NatsServer, folder: &Path) -> String {
    let file = write_settings(number, nats, folder);
    let mut check = Command::new(program_paths::mcp_web());
    check.args(["bridge", "--config", &file, "--check-config"]);
    let output = check.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Writes the settings of the guide, but for bridges on this machine and this server of NATS. Returns the
/// path of the file.
fn write_settings(number: u8, nats: &NatsServer, folder: &Path) -> String {
    let settings = code_block("toml");
    let lines = settings.lines().map(|line| match line.split_once(" = ") {
        Some(("cluster", _)) => format!("cluster = [\"{}\"]\n", nats.url()),
        Some(("cluster_replicas", _)) => "cluster_replicas = 1\n".to_owned(),
        Some(("cluster_secret", _)) => format!("cluster_secret = [{SECRET:?}]\n"),
        Some(("cluster_bind", _)) => "cluster_bind = \"127.0.0.1:0\"\n".to_owned(),
        Some(("allowed_hosts", _)) => {
            "allowed_hosts = [\"bridge.example.com\", \"loopback\"]\n".to_owned()
        }
        _ => format!("{line}\n"),
    });
    let path = folder.display().to_string();
    let settings = replaced(
        &lines.collect::<String>(),
        &[
            ("/etc/mcp-web/peer", &format!("{path}/peer-{number}")),
            ("/etc/mcp-web", &path),
        ],
    );
    let file = folder.join(format!("bridge-{number}.toml"));
    let tokens = folder.join("tokens");
    fs::write(&file, settings).unwrap();
    fs::write(&tokens, "a-token-for-one-journey-0123456789\n").unwrap();
    for secret in [&file, &tokens] {
        fs::set_permissions(secret, fs::Permissions::from_mode(0o600)).unwrap();
    }
    file.display().to_string()
}

/// Returns the only code block of the guide in this language.
fn code_block(language: &str) -> String {
    let guide = program_paths::workspace().join("docs/cluster.md");
    let guide = fs::read_to_string(guide).unwrap();
    let (_, rest) = guide.split_once(&format!("```{language}\n")).unwrap();
    let (block, _) = rest.split_once("```\n").unwrap();
    block.to_owned()
}
