//! The image, unpacked by its own description and run by runc.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::kit::*;

/// The layout of the image in a folder.
struct Layout(PathBuf);

impl Layout {
    fn unpack(home: &Home) -> Self {
        let folder = home.path().join("layout");
        fs::create_dir(&folder).unwrap();
        let mut tar = home.command("tar");
        tar.arg("-xf").arg(only_file("oci")).arg("-C").arg(&folder);
        succeed(&mut tar);
        Self(folder)
    }

    fn path(&self, reference: &Value) -> PathBuf {
        let digest = reference["digest"].as_str().unwrap();
        self.0.join("blobs").join(digest.replace(':', "/"))
    }

    fn json(&self, path: &Path) -> Value {
        serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
    }

    fn manifest(&self) -> Value {
        let index = self.json(&self.0.join("index.json"));
        self.json(&self.path(&index["manifests"][0]))
    }
}

#[test]
fn the_image_runs_read_only_and_without_rights() {
    let home = Home::new();
    let layout = Layout::unpack(&home);
    let manifest = layout.manifest();
    let config = layout.json(&layout.path(&manifest["config"]))["config"].clone();
    let bundle = home.path().join("bundle");
    let root = bundle.join("rootfs");
    fs::create_dir_all(&root).unwrap();
    for layer in manifest["layers"].as_array().unwrap() {
        let mut tar = home.command("tar");
        tar.arg("-xzf").arg(layout.path(layer)).arg("-C").arg(&root);
        succeed(&mut tar);
    }
    let texts = |field: &str| -> Vec<String> {
        let values = config[field].as_array().unwrap().iter();
        values.map(|it| it.as_str().unwrap().to_owned()).collect()
    };
    let arguments = [texts("Entrypoint"), texts("Cmd")].concat();
    let environment = [
        format!("MCP_WEB_TOKENS={TOKEN}"),
        "MCP_WEB_BIND=127.0.0.1:0".to_owned(),
    ];
    // The network is that of this machine: a tool that sets up another one is a part of an engine.
    let user: u32 = config["User"]
        .as_str()
        .unwrap()
        .split(':')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    let specification = json!({
        "ociVersion": "1.0.2",
        "process": {
            "user": { "uid": user, "gid": user },
            "args": arguments,
            "env": environment,
            "cwd": "/",
            "noNewPrivileges": true,
            "capabilities": {},
        },
        "root": { "path": "rootfs", "readonly": true },
        "mounts": [
            { "destination": "/proc", "type": "proc", "source": "proc" },
            { "destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755"] },
        ],
        "linux": { "namespaces": [{ "type": "pid" }, { "type": "ipc" }, { "type": "uts" }, { "type": "mount" }] },
    });
    fs::write(bundle.join("config.json"), specification.to_string()).unwrap();
    let name = format!("mcp-web-{}", std::process::id());
    let mut runc = home.direct_command(debian_program("usr/sbin/runc"));
    runc.arg("--root").arg(home.path().join("state"));
    runc.args(["run", "--bundle"]).arg(&bundle).arg(&name);
    let mut container = Running::start(&mut runc);
    let url = container.wait_for("listening on ");
    let health =
        succeed(
            home.command("curl")
                .args(["--fail", "--silent", &format!("{url}/healthz")]),
        );
    assert!(!health.is_empty());
    let mut state = home.command(debian_program("usr/sbin/runc"));
    state.arg("--root").arg(home.path().join("state"));
    let state: Value = serde_json::from_str(&succeed(state.args(["state", &name]))).unwrap();
    let process = state["pid"].as_u64().unwrap();
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let field = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().to_owned()
    };
    assert_eq!(field("Uid:"), "65532");
    assert_eq!(field("CapEff:"), "0000000000000000");
    assert_eq!(field("NoNewPrivs:"), "1");
    signal("TERM", &container.id().to_string());
    container.wait_for_end();
}

/// Whoever reaches a bridge on all addresses could use every page, so that it needs a list of tokens.
#[test]
fn the_image_names_no_address_that_others_reach() {
    let home = Home::new();
    let layout = Layout::unpack(&home);
    let config = layout.json(&layout.path(&layout.manifest()["config"]));
    assert!(config["config"].get("Env").is_none());
    assert_eq!(config["config"]["User"], "65532:65532");
    let labels = &config["config"]["Labels"];
    assert_eq!(
        labels["io.modelcontextprotocol.server.name"],
        "io.github.mcp-web/mcp-web"
    );
}
