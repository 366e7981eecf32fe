//! MCP servers of npm and PyPI, used by a query.

use e2e::{AgentEndpoint, AgentService, LlamaCpp, QueryPage};
use serde_json::{Value, json};

use super::{SECRET, ToolsFolder, calls, finished, metrics, start};
use crate::test_bed::{QueryEvents, adding_tool, query};

const ANYONE: &str = "[profiles.anyone]\nself_made = true\nallow = ['*']\ngrant = ['read', 'write', \
                      'destructive', 'open-world']\nask = ['open-world']\n";

#[tokio::test]
async fn files_the_page_and_four_servers_are_used_in_one_turn() {
    let folder = ToolsFolder::new(ANYONE).await;
    let notes = folder.path("notes/plan.md");
    let script = calls(&[
        ("add_card", json!({ "title": "Milk" })),
        ("notes-read_file", json!({ "path": "notes/plan.md" })),
        ("mcp-files-read_text_file", json!({ "path": notes })),
        (
            "mcp-time-get_current_time",
            json!({ "timezone": "Europe/Berlin" }),
        ),
        ("mcp-everything-get-env", json!({})),
        (
            "mcp-git-git_log",
            json!({ "repo_path": folder.path("repo"), "max_count": 1 }),
        ),
        ("mcp-time-convert_time", json!({ "zone": 1 })),
    ]);
    let bed = start(&folder, script, &[]).await;
    let page = bed.page(vec![adding_tool(1)]).await;
    let events = QueryEvents::run(&page, query("q-1", "Look around")).await;
    assert_eq!(events.last()["result"], "Done.", "{events:?}");
    for (tool, source, part) in [
        ("notes-read_file", "notes", "Buy milk on Friday"),
        (
            "mcp-files-read_text_file",
            "mcp-files",
            "Buy milk on Friday",
        ),
        ("mcp-time-get_current_time", "mcp-time", "Europe/Berlin"),
        ("mcp-git-git_log", "mcp-git", "Add the first file"),
        ("mcp-everything-get-env", "mcp-everything", SECRET),
    ] {
        let finished = finished(&events, tool);
        assert_eq!(
            (&finished["source"], &finished["isError"]),
            (&json!(source), &json!(false))
        );
        assert!(
            finished["result"].as_str().unwrap().contains(part),
            "{finished}"
        );
    }
    let environment = finished(&events, "mcp-everything-get-env")["result"]
        .as_str()
        .unwrap();
    let environment: Value = serde_json::from_str(environment).unwrap();
    let allowed = ["PATH", "HOME", "LANG", "TMPDIR", "USER", "DECLARED"];
    let names = environment.as_object().unwrap().keys();
    assert!(
        names.clone().all(|name| allowed.contains(&name.as_str())),
        "{names:?}"
    );
    let outcomes: Vec<_> = events
        .0
        .iter()
        .map(|event| &event["content"]["outcome"])
        .collect();
    assert!(outcomes.contains(&&json!("invalid_args")), "{events:?}");
    let audit = folder.audit(7).await;
    let of_page = audit.iter().find(|line| line["source"] == "page").unwrap();
    assert_eq!(
        (&of_page["tool"], &of_page["outcome"]),
        (&json!("add_card"), &json!("ok"))
    );

    let metrics = metrics(&bed.endpoint).await;
    let line = r#"mcp_web_agent_tool_calls_total{source="mcp-time",outcome="ok"} 1"#;
    assert!(metrics.contains(line), "{metrics}");
    // The result of `get-env` is for the page; nothing else has the secret.
    let everywhere = [
        bed.agent.log(),
        bed.bridge.log(),
        json!(audit).to_string(),
        metrics,
    ];
    assert!(!everywhere.join("\n").contains(SECRET));
    let off = bed.agent.log();
    assert!(
        off.contains("unset") && off.contains("NOT_SET_ANYWHERE"),
        "{off}"
    );
    bed.assert_idle_without_leaks().await;
}

#[tokio::test]
async fn the_server_of_llama_cpp_calls_a_tool_of_an_mcp_server() {
    let profile = "[profiles.anyone]\nself_made = true\nallow = ['mcp-everything-echo']\n\
                   grant = ['read']\n";
    let folder = ToolsFolder::new(profile).await;
    let server = LlamaCpp::start(&[]).await;
    for format in LlamaCpp::FORMATS {
        let endpoint = AgentEndpoint::reserve();
        let bridge = endpoint.start_bridge(&[]).await;
        let arguments = folder.arguments();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let url = server.base_url(format);
        let agent = AgentService::start_with_base_url(
            &endpoint, &bridge, format, &url, "a-key", &arguments,
        )
        .await;
        let page = QueryPage::open(&bridge, "board", vec![]).await;
        let events = QueryEvents::run(&page, query("q-1", "Say something")).await;
        let finished = finished(&events, "mcp-everything-echo");
        assert_eq!(finished["result"], "Echo: Milk", "{format:?}: {events:?}");
        assert_eq!(
            events.last()["result"],
            "Done now.",
            "{format:?}: {events:?}"
        );
        agent.wait_until_idle().await;
    }
}

#[tokio::test]
async fn a_query_whose_call_takes_long_is_cancelled_within_a_second() {
    let folder = ToolsFolder::new(ANYONE).await;
    let long = json!({ "duration": 60, "steps": 60 });
    let script = calls(&[("mcp-everything-trigger-long-running-operation", long)]);
    let bed = start(&folder, script, &[]).await;
    let page = bed.page(vec![adding_tool(1)]).await;
    page.send_query(query("q-1", "Take your time")).await;
    let mut events = QueryEvents::default();
    events.collect_until(&page, "q-1", "tool-started").await;
    let cancelled = std::time::Instant::now();
    page.cancel_query(&"q-1".into()).await;
    bed.agent.wait_until_idle().await;
    let duration = cancelled.elapsed();
    println!("cancelled after {duration:?}");
    assert!(duration.as_secs() < 1, "{duration:?}");
    let audit = folder.audit(1).await;
    assert_eq!(audit[0]["outcome"], "cancelled");
}

#[tokio::test]
async fn a_server_that_dies_at_its_start_shows_its_words_and_the_others_work() {
    let folder = ToolsFolder::new(ANYONE).await;
    let (exit_code, text) = folder.run_mcp(&["doctor"]).await;
    assert_eq!(exit_code, Some(1), "{text}");
    for part in [
        "everything: works: 13 tools",
        "time: works: 2 tools",
        "sqlite: FAILED: it has ended; it has written:",
        "AttributeError: 'Server' object has no attribute 'list_resources'",
        "unset: FAILED",
        "NOT_SET_ANYWHERE",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let script = calls(&[(
        "mcp-time-get_current_time",
        json!({ "timezone": "Asia/Tokyo" }),
    )]);
    let bed = start(&folder, script, &[]).await;
    let page = bed.page(vec![adding_tool(1)]).await;
    let events = QueryEvents::run(&page, query("q-1", "What time is it?")).await;
    let finished = finished(&events, "mcp-time-get_current_time");
    assert!(
        finished["result"].as_str().unwrap().contains("Asia/Tokyo"),
        "{finished}"
    );
}
