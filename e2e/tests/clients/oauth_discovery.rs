//! The SDKs find the protected resource metadata of each URL at which clients reach a bridge, and accept
//! that it describes that URL (RFC 9728 section 3.3).

use std::path::Path;

use e2e::{NodeProject, TestBed, program_paths, with_deadline};
use serde_json::{Value, json};
use tokio::process::Command;

/// A public URL, its origin, and the path that the proxy in front of the bridge removes.
const PUBLIC_URLS: [[&str; 3]; 3] = [
    [
        "https://bridge.example.com:443/",
        "https://bridge.example.com",
        "",
    ],
    ["https://example.com/apps/bridge", "https://example.com", ""],
    [
        "https://example.com/apps/bridge",
        "https://example.com",
        "/apps/bridge",
    ],
];

/// Runs a program, and returns the JSON of its lines.
async fn run(program: &Path, script: &Path, config: &Value, folder: &Path) -> Vec<Value> {
    let output = Command::new(program)
        .arg(script)
        .arg(config.to_string())
        .current_dir(folder)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .kill_on_drop(true)
        .output();
    let output = with_deadline(script.display(), output).await.unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let lines = String::from_utf8(output.stdout).unwrap();
    lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[tokio::test]
async fn the_sdks_accept_the_metadata_of_each_url() {
    let project = NodeProject::copy_of("clients/node");
    project.link(&program_paths::clients_node_modules());
    let script = program_paths::workspace().join("e2e/clients/python/oauth_discovery.py");
    for [public_url, origin, stripped] in PUBLIC_URLS {
        let bed = TestBed::bridge_with(&[
            "--authorization-servers=https://id.example",
            &format!("--public-url={public_url}"),
        ])
        .await;
        let base = public_url.replace(":443/", "");
        let urls = ["", "/", "/mcp", "/mcp/"].map(|endpoint| format!("{base}{endpoint}"));
        let config = json!({ "bridge": bed.url(), "origin": origin, "stripped": stripped,
            "urls": urls });
        let node = project.path().join("oauth-discovery.mjs");
        let mut lines = run(&program_paths::node(), &node, &config, project.path()).await;
        for major in [1, 2] {
            let python = program_paths::clients_python(major).join("bin/python");
            lines.extend(run(&python, &script, &config, project.path()).await);
        }
        assert_eq!(lines.len(), 4 * 2 * urls.len());
        for line in lines {
            let text = |member: &str| line[member].as_str().unwrap().trim_end_matches('/');
            assert_eq!(text("resource"), text("url"), "{line}");
        }
    }
}
