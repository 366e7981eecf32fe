//! The manifests of Kubernetes: their schema, and the settings in them.

use std::fs;
use std::process::Command;

use e2e::program_paths;
use tempfile::TempDir;

use crate::deploy_file::deploy_file;
use crate::settings::{settings, values};
use crate::several_bridges::assert_nats_accepts;

const MANIFESTS: [&str; 2] = ["kubernetes.yml", "kubernetes-cluster.yml"];

/// The version of Kubernetes that the manifests name.
const KUBERNETES: &str = "1.25";

/// The variables of a bridge in the manifest of several.
const VARIABLES: [(&str, &str); 4] = [
    ("MCP_WEB_STATE_KEY", "state-key-of-a-manifest-0123456789"),
    (
        "MCP_WEB_CLUSTER_SECRET",
        "secret-of-a-manifest-0123456789abcdef",
    ),
    ("MCP_WEB_CLUSTER_NATS_PASSWORD", "REPLACE-THIS"),
    ("MCP_WEB_CLUSTER_BIND", "10.0.0.5:3002"),
];

#[test]
fn manifests_have_the_schema_of_kubernetes() {
    let folder = TempDir::new().unwrap();
    for name in MANIFESTS {
        // Those of cert-manager are not part of Kubernetes.
        let manifest = deploy_file(name);
        let documents = manifest.split("---\n");
        let own: Vec<_> = documents
            .filter(|document| !document.contains("apiVersion: cert-manager.io/v1\n"))
            .collect();
        let file = folder.path().join(name);
        fs::write(&file, own.join("---\n")).unwrap();
        let validate = program_paths::tool("deploy-python/bin/kubernetes-validate");
        let mut validate = Command::new(validate);
        validate.args(["--strict", "--quiet", "-k", KUBERNETES]);
        let output = validate.arg(file).output().unwrap();
        assert!(output.status.success(), "{name}: {output:?}");
    }
}

#[test]
fn settings_in_manifests_are_accepted() {
    let folder = TempDir::new().unwrap();
    for (name, variables) in MANIFESTS.into_iter().zip([&[][..], &VARIABLES]) {
        let manifest = deploy_file(name);
        for (variable, _) in variables {
            assert!(manifest.contains(variable), "{name}: {variable}");
        }
        let file = folder.path().join(name);
        fs::write(&file, block(&manifest, "bridge.toml")).unwrap();
        let settings = settings(&file, variables);
        // Probes have the host that the bridge accepts.
        let host = settings["allowed_hosts"].trim_matches(['[', ']', '"']);
        for value in values(&manifest, "name: Host, value: ") {
            assert_eq!(value, host, "{name}");
        }
    }
}

#[test]
fn the_manifest_of_several_bridges_has_the_account_of_the_guide() {
    let manifest = deploy_file("kubernetes-cluster.yml");
    let account = block(&manifest, "nats-accounts.conf");
    assert_eq!(account, deploy_file("nats-accounts.conf"));
    let folder = TempDir::new().unwrap();
    assert_nats_accepts(
        &block(&manifest, "nats.conf"),
        "/etc/nats-tls",
        folder.path(),
    );
}

/// Returns the text of a file in a manifest.
fn block(manifest: &str, name: &str) -> String {
    let (_, text) = manifest.split_once(&format!("  {name}: |\n")).unwrap();
    let lines = text.lines().map_while(|line| line.strip_prefix("    "));
    lines.map(|line| format!("{line}\n")).collect()
}
