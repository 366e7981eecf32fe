//! A real SearXNG answers `web_search`.

use e2e::{ProcessGroup, program_paths};
use serde_json::{Value, json};
use tokio::process::Command;

use super::{calls, finished};
use crate::test_bed::{QueryEvents, QueryTestBed, adding_tool, query};

#[tokio::test]
async fn searxng_answers_a_search_with_plain_text() {
    let mut command = Command::new(program_paths::searxng_python());
    command.arg(program_paths::workspace().join("e2e/searxng/server.py"));
    let mut searxng = ProcessGroup::start("SearXNG", command);
    let line = searxng.wait_for_line("serving at http://").await;
    let (_, address) = line.split_once("http://").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let tools = folder.path().join("tools.toml");
    let text = format!(
        "[sources.web]\ntype = 'websearch'\nurl = 'http://{address}'\n\n[profiles.anyone]\n\
         self_made = true\nallow = ['web-*']\ngrant = ['read', 'open-world']\n"
    );
    std::fs::write(&tools, text).unwrap();
    let script = calls(&[("web-web_search", json!({ "query": "tide", "count": 20 }))]);
    let arguments = ["--tools-file", tools.to_str().unwrap()];
    let bed = QueryTestBed::start_with(e2e::Format::OpenAi, script, &arguments, &[]).await;
    let page = bed.page(vec![adding_tool(1)]).await;
    let events = QueryEvents::run(&page, query("q-1", "What about the tides?")).await;
    let end = finished(&events, "web-web_search");
    assert_eq!(
        (&end["source"], &end["isError"]),
        (&json!("web"), &json!(false)),
        "{end}"
    );
    let read = bed.provider.exchanges()[1].body["messages"].clone();
    let result = read.as_array().unwrap().last().unwrap()["content"]
        .as_str()
        .unwrap();
    let results: Value = serde_json::from_str(result).unwrap();
    assert_eq!(results.as_array().unwrap().len(), 20);
    let expected = json!({ "title": "Page 1 about tides", "url": "https://pages.example/tides/1",
        "snippet": "The tide of day 1 rises twice & falls" });
    assert_eq!(results[0], expected);
}
