//! The server as `cargo xtask demo --local-model` starts it.

use std::process::Stdio;

use e2e::{http, program_paths, with_deadline};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

use super::KEY;

#[tokio::test]
async fn the_server_needs_its_key_and_ends_with_its_standard_input() {
    let script = program_paths::workspace().join("e2e/llama-cpp/server.py");
    let mut server = Command::new(program_paths::llama_cpp_python().join("bin/python"))
        .arg("-B")
        .arg(script)
        .arg("--until-stdin-ends")
        .env("MCP_WEB_LOCAL_MODEL_KEY", KEY)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    let line = with_deadline("the server", lines.next_line()).await;
    let line = line.unwrap().unwrap();
    let url = line.strip_prefix("serving at ").unwrap();
    for (key, status) in [(KEY, 200), ("another", 401)] {
        let request = http().get(format!("{url}/slots")).bearer_auth(key);
        let response = with_deadline("the slots", request.send()).await.unwrap();
        assert_eq!(response.status(), status, "{key}");
    }
    drop(server.stdin.take());
    let ended = with_deadline("the end of the server", server.wait()).await;
    assert!(ended.unwrap().success());
}
