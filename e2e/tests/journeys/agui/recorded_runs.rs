//! The recorded runs in `agent/golden/agui`, which the agent's tests compare with what it sends: the
//! schemas of the protocol accept each event, and the clients of each version read the runs.

use std::time::Duration;

use e2e::{NodeProject, ProcessGroup, program_paths};
use serde_json::{Value, json};

/// How long Node may take, with other journeys beside it.
const READ_TIMEOUT: Duration = Duration::from_secs(60);

/// The runs that are the same for clients of all versions.
const COMMON_RUNS: [&str; 7] = [
    "failure",
    "interrupt",
    "reasoning",
    "resume",
    "state",
    "text",
    "tool-calls",
];

#[tokio::test]
async fn the_client_of_version_1_reads_all_runs() {
    let runs = read_runs(
        "http-agent",
        &["cancelled", "client-tool", "client-tool-resumed"],
    )
    .await;
    assert_eq!(runs["cancelled"]["outcome"], "cancelled");
    assert_eq!(runs["client-tool"]["pending"], json!(["q1-call-2"]));
    let usage = json!([{ "model": "gpt-5", "inputTokens": 120, "outputTokens": 30,
        "totalTokens": 150, "reasoningTokens": 10, "cachedInputTokens": 100 }]);
    assert_eq!(runs["text"]["usage"], usage);
}

#[tokio::test]
async fn the_clients_of_the_version_before_read_all_runs() {
    for client in ["copilotkit", "assistant-ui"] {
        let runs = read_runs(
            client,
            &[
                "cancelled-0.x",
                "client-tool-0.x",
                "client-tool-0.x-resumed",
            ],
        )
        .await;
        assert_eq!(runs["cancelled-0.x"]["runError"], "QueryCancelled");
        assert_eq!(runs["client-tool-0.x"]["outcome"], "success");
    }
}

/// Reads the common runs and these with the packages of a client, and checks what is the same in all
/// versions.
async fn read_runs(client: &str, special_runs: &[&str]) -> Value {
    let project = NodeProject::copy_of("agui");
    project.link(&program_paths::agui_node_modules(client));
    let golden = program_paths::workspace().join("agent/golden/agui");
    let golden = golden.display().to_string();
    let names: Vec<_> = COMMON_RUNS.iter().chain(special_runs).copied().collect();
    let arguments = [&["read-runs.mjs", &golden], names.as_slice()].concat();
    let mut node = ProcessGroup::start(client, project.node_command(&arguments));
    assert!(node.wait_for_end(READ_TIMEOUT).await, "{}", node.log());

    let log = node.log();
    let lines = log.lines().filter(|line| line.starts_with("{\"name\""));
    let runs: Vec<Value> = lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(runs.len(), names.len(), "{client}: {log}");
    for run in &runs {
        assert_eq!(run["invalid"], json!([]), "{client}: {run}");
        assert_eq!(run["unknown"], json!([]), "{client}: {run}");
        assert_eq!(run["error"], Value::Null, "{client}: {run}");
    }
    let runs: Value = runs
        .into_iter()
        .map(|run| (run["name"].as_str().unwrap().to_owned(), run))
        .collect();
    assert_eq!(runs["failure"]["runError"], "ModelStreamUnfinished");
    assert_eq!(runs["interrupt"]["interrupts"], json!(["q1-call-1"]));
    assert_eq!(runs["state"]["state"], json!({ "page": 4 }));
    let messages = runs["tool-calls"]["messages"].as_array().unwrap();
    let roles: Vec<_> = messages.iter().map(|message| &message["role"]).collect();
    let expected = [
        "assistant",
        "tool",
        "tool",
        "assistant",
        "tool",
        "assistant",
    ];
    assert_eq!(roles, expected, "{client}");
    let calls = messages[0]["toolCalls"].as_array().unwrap();
    assert_eq!(calls.len(), 2, "{client}: {calls:?}");
    runs
}
