//! Queries that use tools of sources beside those of the page.

use std::path::Path;
use std::sync::Arc;

use agent_sources::SourceSettings;
use agent_tools::SourceAccess;
use agent_tools::testing::{FakeSource, sources, staff};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{FakeModel, Page, TestBed, call_turn, no_page_actions, text_turn, tool_definition};
use crate::config::AgentLimits;

/// Returns what a query of Ada may use: a folder with notes, and a source for tests.
fn access(folder: &Path, grants: &str) -> SourceAccess {
    let settings = json!({ "type": "filesystem", "roots": { "notes": folder } });
    let settings = SourceSettings::deserialize(settings).unwrap();
    let profile =
        format!("[profiles.staff]\nroles = ['staff']\nallow = ['notes-*', 's-*']\n{grants}\n");
    let sources = sources(
        &profile,
        vec![
            settings.open("notes", None, None).unwrap(),
            Arc::new(FakeSource::new("s")),
        ],
    );
    sources
        .access("default", Some(&staff("ada")), None, &"q".into())
        .unwrap()
}

fn notes() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("plan.md"), "Buy milk").unwrap();
    folder
}

fn offered(model: &FakeModel) -> Vec<String> {
    let request = model.requests().pop().unwrap();
    request.tools.iter().map(|tool| tool.name.clone()).collect()
}

#[tokio::test]
async fn tools_of_the_page_and_of_a_source_are_used_in_one_turn() {
    let folder = notes();
    let mut bed = TestBed::with_query(&[tool_definition("add")], json!({})).await;
    bed.sources = access(folder.path(), "grant = ['read']");
    let model = FakeModel::new([
        call_turn(&[
            ("notes-read_file", json!({ "path": "notes/plan.md" })),
            ("add", json!({ "n": 1 })),
        ]),
        text_turn("Done."),
    ]);
    let (answer, progress) = bed
        .answer(&model, &AgentLimits::default(), async |page: &mut Page| {
            page.serve_call(json!("added")).await;
        })
        .await;
    let of_source: Vec<_> = progress
        .iter()
        .filter(|it| it["source"] == "notes")
        .collect();
    let expected = [
        json!({ "type": "tool-started", "id": "1", "tool": "notes-read_file", "source": "notes",
            "arguments": { "path": "notes/plan.md" } }),
        json!({ "type": "tool-finished", "id": "1", "tool": "notes-read_file", "source": "notes",
            "result": "Buy milk", "isError": false }),
    ];
    assert_eq!(of_source, expected.iter().collect::<Vec<_>>());
    assert!(
        progress
            .iter()
            .any(|it| it["tool"] == "add" && it.get("source").is_none())
    );
    let calls = json!(answer.unwrap().tool_calls);
    let call = calls
        .as_array()
        .unwrap()
        .iter()
        .find(|it| it["source"] == "notes");
    assert_eq!(call.unwrap()["result"], "Buy milk");
    assert_eq!(
        offered(&model),
        ["notes-read_file", "notes-list_directory", "s-read", "add"]
    );
    let system = model.requests()[0].system.clone();
    let expected = "- `notes`: files. Paths begin with `notes/`.\n- `s`: the source s";
    assert!(system.ends_with(expected), "{system}");
}

#[tokio::test]
async fn a_tool_of_the_page_never_has_the_name_of_one_of_a_source() {
    let folder = notes();
    let tools = [
        tool_definition("notes-read_file"),
        tool_definition("s-read_page"),
    ];
    let mut bed = TestBed::with_query(&tools, json!({})).await;
    bed.sources = access(folder.path(), "grant = ['read']");
    let model = FakeModel::new([
        call_turn(&[("notes-read_file_page", json!({ "n": 1 }))]),
        call_turn(&[("notes-read_file", json!({ "path": "notes/plan.md" }))]),
        text_turn("Done."),
    ]);
    let (answer, progress) = bed
        .answer(&model, &AgentLimits::default(), async |page: &mut Page| {
            let call = page.serve_call(json!("from the page")).await;
            assert_eq!(call.tool_name, "notes-read_file");
        })
        .await;
    let calls = json!(answer.unwrap().tool_calls);
    let of = |index: usize| {
        (
            calls[index]["source"].clone(),
            calls[index]["result"].clone(),
        )
    };
    assert_eq!(of(0), (Value::Null, json!("from the page")));
    assert_eq!(of(1), (json!("notes"), json!("Buy milk")));
    assert_eq!(
        progress[0]["tool"], "notes-read_file",
        "the name that the page knows"
    );
    assert!(offered(&model).contains(&"s-read_page".to_owned()));
}

#[tokio::test]
async fn a_tool_of_the_page_has_no_name_of_a_tool_that_the_profile_does_not_grant() {
    let folder = notes();
    let tools = [tool_definition("notes-write_file")];
    let mut bed = TestBed::with_query(&tools, json!({})).await;
    bed.sources = access(folder.path(), "grant = ['read']\ndeny = ['notes-*']");
    let model = FakeModel::new([
        call_turn(&[("notes-write_file", json!({ "n": 1 }))]),
        call_turn(&[("notes-write_file_page", json!({ "n": 1 }))]),
        text_turn("Done."),
    ]);
    let (answer, progress) = bed
        .answer(&model, &AgentLimits::default(), async |page: &mut Page| {
            let call = page.serve_call(json!("from the page")).await;
            assert_eq!(call.tool_name, "notes-write_file");
        })
        .await;
    assert_eq!(progress[1]["outcome"], "denied", "{progress:?}");
    let calls = json!(answer.unwrap().tool_calls);
    assert_eq!(calls[1]["result"], "from the page", "{calls}");
    assert_eq!(offered(&model), ["s-read", "notes-write_file_page"]);
}

#[tokio::test]
async fn a_request_that_a_page_provokes_is_denied_without_a_grant() {
    let folder = notes();
    let mut bed = TestBed::with_query(&[tool_definition("add")], json!({})).await;
    bed.sources = access(folder.path(), "grant = ['write']");
    let model = FakeModel::new([
        call_turn(&[("notes-read_file", json!({ "path": "notes/plan.md" }))]),
        text_turn("Done."),
    ]);
    let (answer, progress) = bed
        .answer(&model, &AgentLimits::default(), no_page_actions)
        .await;
    assert!(answer.is_ok());
    assert!(!offered(&model).contains(&"notes-read_file".to_owned()));
    let result = &model.last_results()[0];
    assert!(
        result.is_error && result.text.contains("not allowed here"),
        "{result:?}"
    );
    assert_eq!(progress[0]["type"], "tool-started", "{progress:?}");
    assert_eq!(progress[1]["outcome"], "denied", "{progress:?}");
    assert!(!json!(progress).to_string().contains("Buy milk"));
}

#[tokio::test]
async fn a_page_that_restricts_tools_also_names_those_of_sources() {
    let folder = notes();
    let named =
        json!({ "restrictTools": true, "tools": [{ "name": "add" }, { "name": "s-read" }] });
    let mut bed = TestBed::with_query(&[tool_definition("add")], named).await;
    bed.sources = access(folder.path(), "grant = ['read']");
    let model = FakeModel::new([text_turn("Done.")]);
    let (answer, _) = bed
        .answer(&model, &AgentLimits::default(), no_page_actions)
        .await;
    assert!(answer.is_ok());
    assert_eq!(offered(&model), ["s-read", "add"]);
    let guidance = format!("{:?}", model.requests()[0].history);
    assert!(
        guidance.contains("allows these tools only: `add`, `s-read`"),
        "{guidance}"
    );
}

#[tokio::test]
async fn a_tool_that_the_page_has_not_named_is_not_called_even_if_the_profile_allows_it() {
    let folder = notes();
    let named = json!({ "restrictTools": true, "tools": [{ "name": "add" }] });
    let mut bed = TestBed::with_query(&[tool_definition("add")], named).await;
    bed.sources = access(
        folder.path(),
        "grant = ['read', 'destructive']\nask = ['write']",
    );
    let arguments = json!({ "path": "notes/new.md", "content": "new" });
    let model = FakeModel::new([
        call_turn(&[
            ("notes-write_file", arguments),
            ("notes-read_file", json!({ "path": "notes/plan.md" })),
        ]),
        text_turn("Done."),
    ]);
    let (answer, progress) = bed
        .answer(&model, &AgentLimits::default(), no_page_actions)
        .await;
    assert!(answer.is_ok());
    assert!(!folder.path().join("new.md").exists());
    let ends: Vec<_> = progress
        .iter()
        .filter(|it| it["type"] == "tool-finished")
        .map(|it| &it["outcome"])
        .collect();
    assert_eq!(ends, ["denied", "denied"]);
    assert!(!json!(progress).to_string().contains("Buy milk"));
}

#[tokio::test]
async fn a_person_approves_what_the_profile_asks_for() {
    let folder = notes();
    for (is_approved, outcome) in [(true, Value::Null), (false, json!("denied"))] {
        let mut bed = TestBed::with_query(&[tool_definition("add")], json!({})).await;
        let grants = "grant = ['read', 'destructive']\nask = ['write']";
        bed.sources = access(folder.path(), grants);
        let arguments = json!({ "path": "notes/new.md", "content": "new" });
        let model = FakeModel::new([
            call_turn(&[("notes-write_file", arguments.clone())]),
            text_turn("Done."),
        ]);
        bed.approves = is_approved;
        let (answer, progress) = bed
            .answer(&model, &AgentLimits::default(), no_page_actions)
            .await;
        assert!(answer.is_ok());
        let asked = &progress[0];
        assert_eq!(
            (&asked["type"], &asked["source"], &asked["arguments"]),
            (&json!("approval-requested"), &json!("notes"), &arguments)
        );
        let finished = progress
            .iter()
            .find(|it| it["type"] == "tool-finished")
            .unwrap();
        assert_eq!(finished["outcome"], outcome, "{finished}");
        assert_eq!(folder.path().join("new.md").exists(), is_approved);
        let _ = std::fs::remove_file(folder.path().join("new.md"));
    }
}

#[tokio::test]
async fn a_page_without_tools_has_those_of_sources() {
    let folder = notes();
    let mut bed = TestBed::with_query(&[], json!({})).await;
    bed.sources = access(folder.path(), "grant = ['read']");
    let model = FakeModel::new([
        call_turn(&[("notes-list_directory", json!({ "path": "notes" }))]),
        text_turn("Done."),
    ]);
    let (answer, _) = bed
        .answer(&model, &AgentLimits::default(), no_page_actions)
        .await;
    assert!(answer.is_ok());
    assert_eq!(model.last_results()[0].text, "plan.md (8 bytes)");
}

#[tokio::test]
async fn a_result_for_the_page_has_at_most_two_kib() {
    let folder = notes();
    let long = "x".repeat(5000);
    std::fs::write(folder.path().join("long.txt"), &long).unwrap();
    let mut bed = TestBed::with_query(&[tool_definition("add")], json!({})).await;
    bed.sources = access(folder.path(), "grant = ['read']");
    let model = FakeModel::new([
        call_turn(&[("notes-read_file", json!({ "path": "notes/long.txt" }))]),
        text_turn("Done."),
    ]);
    let (answer, progress) = bed
        .answer(&model, &AgentLimits::default(), no_page_actions)
        .await;
    let shown = format!("{}…", "x".repeat(2048));
    assert_eq!(progress[1]["result"], shown);
    assert_eq!(json!(answer.unwrap().tool_calls)[0]["result"], shown);
    assert_eq!(model.last_results()[0].text, long);
}
