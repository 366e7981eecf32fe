//! docs/node.md from an empty folder: the files and commands are those of the guide, and only the
//! paths and the address of the bridge differ.

use std::path::Path;

use e2e::{NodeProject, ProcessGroup, TestBed, program_paths, with_deadline};
use serde_json::Value;
use tokio::process::Command;

use crate::{code_block, stdout_of};

const GUIDE: &str = include_str!("../../../docs/node.md");

/// The folder in which a person follows the guide.
struct Folder(NodeProject);

impl Folder {
    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, name: &str, beginning: &str) {
        let text = code_block(GUIDE, "js", beginning);
        std::fs::write(self.path().join(name), text).unwrap();
    }

    /// Creates a terminal that runs commands, with Node 22 and the programs of this workspace.
    fn shell(&self, script: &str, bridge_url: &str) -> Command {
        let script = script
            .replace(
                "/path/to/mcp-web",
                &program_paths::workspace().display().to_string(),
            )
            .replace("http://localhost:3001", bridge_url);
        let programs = program_paths::mcp_web();
        let node = program_paths::node();
        let folders = [&node, &programs].map(|path| path.parent().unwrap().to_owned());
        let path = std::env::var_os("PATH").unwrap();
        let path = std::env::join_paths(folders.into_iter().chain(std::env::split_paths(&path)));
        let mut command = Command::new("sh");
        command
            .args(["-euc", &script])
            .current_dir(self.path())
            .env("PATH", path.unwrap())
            .env("NO_COLOR", "1");
        command
    }

    /// Runs commands that end, and returns what they print to stdout.
    async fn run(&self, script: &str, bridge_url: &str) -> String {
        stdout_of(self.shell(script, bridge_url), script).await
    }
}

#[tokio::test]
async fn from_an_empty_folder_to_a_test() {
    let bed = TestBed::bridge().await;
    let url = bed.url();
    let folder = Folder(NodeProject::empty());
    folder.run(code_block(GUIDE, "sh", "npm init"), &url).await;
    folder.write("counter.js", "export const mcpWeb");
    folder.write("main.js", "remoteMcpConfig");

    let mut command = folder.shell(code_block(GUIDE, "sh", "node main.js"), &url);
    command.env("BRIDGE_URL", &url);
    let mut app = ProcessGroup::start("main.js", command);
    app.wait_for_line("mcpServers").await;
    app.wait_for_line("Authorization").await;

    let call = code_block(GUIDE, "sh", "curl --silent");
    let expected = code_block(GUIDE, "json", "structuredContent");
    let expected: Value = serde_json::from_str(expected).unwrap();
    with_deadline("the tool to be registered", async {
        loop {
            let answer = folder.run(call, &url).await;
            let answer: Value = serde_json::from_str(&answer).unwrap();
            if answer == expected {
                break;
            }
            assert!(answer["isError"] == true, "{answer}");
        }
    })
    .await;
    app.terminate().await;

    // The journey takes the client that is installed for all of them, so that it needs no registry.
    assert!(GUIDE.contains("npm install --install-links --save-dev @modelcontextprotocol/client"));
    let client = program_paths::node_modules().join("@modelcontextprotocol");
    let link = folder.path().join("node_modules/@modelcontextprotocol");
    std::os::unix::fs::symlink(client, link).unwrap();
    folder.write("counter.test.js", "startBridge");
    let output = folder
        .run(code_block(GUIDE, "sh", "node --test"), &url)
        .await;
    assert!(
        output.contains("pass 1") && output.contains("fail 0"),
        "{output}"
    );
}
