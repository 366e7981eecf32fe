//! The steps of calls, for the three kinds of tools side by side: one turn calls a tool of a source, one
//! of the page and one of the client.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use agent_tools::testing::{
    FakeSource, call, sources_with_audit, sources_without_audit, staff, use_shares,
};
use agent_tools::{AuditLog, Sources};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::test_bed::query_input;
use super::{FakeModel, Page, TestBed, call_turn, text_turn, with_deadline};
use crate::agent_loop::{ClientResult, QueryInput, QueryState, answer};
use crate::config::AgentLimits;
use crate::model::ModelTool;

/// The tools of a turn, in the order of its calls: of a source, of the page, and of the client.
const TOOLS: [&str; 3] = ["s-read", "add", "paint"];

/// The step that a row is about, and how the three calls end.
struct Row {
    step: &'static str,
    /// Additional lines of the profile of the user.
    profile: &'static str,
    arguments: Value,
    /// Whether the page asks a person to approve all calls, and the person refuses.
    is_refused: bool,
    /// The calls of the source that the user has made before.
    calls_before: usize,
    /// Whether other calls of the user use the source.
    is_busy: bool,
    is_audited: bool,
    /// Whether source and page never answer.
    hangs: bool,
    /// The outcomes, of which `ok` is in no event.
    expected: [&'static str; 3],
    /// Whether the tool of the source and that of the page are run.
    is_run: [bool; 2],
}

impl Default for Row {
    fn default() -> Self {
        Self {
            step: "all",
            profile: "",
            arguments: json!({ "text": "t" }),
            is_refused: false,
            calls_before: 0,
            is_busy: false,
            is_audited: true,
            hangs: false,
            expected: ["ok"; 3],
            is_run: [true; 2],
        }
    }
}

fn rows() -> [Row; 8] {
    [
        Row::default(),
        Row {
            step: "allow",
            profile: "deny = ['s-read']",
            expected: ["denied", "ok", "ok"],
            is_run: [false, true],
            ..Row::default()
        },
        Row {
            step: "validate",
            arguments: json!({ "text": 7 }),
            // The client has checked them itself.
            expected: ["invalid_args", "invalid_args", "tool_error"],
            is_run: [false, false],
            ..Row::default()
        },
        Row {
            step: "approve",
            is_refused: true,
            // The client asks its user itself.
            expected: ["denied", "denied", "ok"],
            is_run: [false, false],
            ..Row::default()
        },
        Row {
            step: "rate",
            profile: "rate = { read = '1/h' }",
            calls_before: 1,
            expected: ["rate_limited", "ok", "ok"],
            is_run: [false, true],
            ..Row::default()
        },
        Row {
            step: "share",
            is_busy: true,
            expected: ["unavailable", "ok", "ok"],
            is_run: [false, true],
            ..Row::default()
        },
        Row {
            step: "audit",
            is_audited: false,
            expected: ["unavailable", "ok", "ok"],
            is_run: [false, true],
            ..Row::default()
        },
        Row {
            step: "run",
            hangs: true,
            // The time of the client is that of the query.
            expected: ["timeout", "timeout", "ok"],
            ..Row::default()
        },
    ]
}

/// A query with the three tools, and what records their calls.
struct ThreeTools {
    bed: TestBed,
    source: Arc<FakeSource>,
    sources: Arc<Sources>,
    audit_file: PathBuf,
}

impl ThreeTools {
    async fn new(row: &Row, folder: &Path) -> Self {
        let mut source = FakeSource::new("s");
        source.hangs = row.hangs;
        if row.is_busy {
            source.set_timeout(Duration::from_millis(200));
        }
        let source = Arc::new(source);
        let file = format!(
            "[profiles.staff]\nroles = ['staff']\nallow = ['s-*']\ngrant = ['read']\n{}\n",
            row.profile
        );
        let audit_file = folder.join(format!("{}.jsonl", row.step));
        let more = vec![Arc::clone(&source) as _];
        let sources = if row.is_audited {
            let audit = AuditLog::open(audit_file.clone()).unwrap();
            sources_with_audit(&file, more, audit)
        } else {
            sources_without_audit(&file, more).await
        };
        let schema = json!({ "type": "object", "properties": { "text": { "type": "string" } } });
        let add = json!({ "name": "add", "description": "Adds", "inputSchema": schema });
        let query = if row.is_refused {
            json!({ "approve": TOOLS })
        } else {
            json!({})
        };
        let mut bed = TestBed::with_query(&[add], query).await;
        bed.approves = false;
        bed.sources = sources
            .access("default", Some(&staff("ada")), None, &"q".into())
            .unwrap();
        bed.client_tools = vec![ModelTool {
            name: "paint".to_owned(),
            description: None,
            input_schema: schema,
        }];
        bed.client_result = ClientResult {
            text: "the client's result".to_owned(),
            is_error: row.arguments["text"] != "t",
            pictures: Vec::new(),
        };
        Self {
            bed,
            source,
            sources,
            audit_file,
        }
    }

    /// Returns the source and the outcome of each line of the audit file, sorted.
    async fn audit_lines(&self) -> Vec<(String, String)> {
        self.sources.stop().await;
        let text = std::fs::read_to_string(&self.audit_file).unwrap();
        let lines = text.lines().map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            let field = |key: &str| line[key].as_str().unwrap().to_owned();
            (field("source"), field("outcome"))
        });
        let mut lines: Vec<_> = lines.collect();
        lines.sort();
        lines
    }
}

/// Returns the lines of the three calls with these outcomes, sorted.
fn lines_of(outcomes: [&str; 3]) -> Vec<(String, String)> {
    let lines = ["s", "page", "client"].into_iter().zip(outcomes);
    let mut lines: Vec<_> = lines.map(|(a, b)| (a.to_owned(), b.to_owned())).collect();
    lines.sort();
    lines
}

fn calls(row: &Row) -> FakeModel {
    let calls = TOOLS.map(|tool| (tool, row.arguments.clone()));
    FakeModel::new([call_turn(&calls), text_turn("Done.")])
}

#[tokio::test]
async fn each_step_ends_the_calls_of_each_kind_of_tool_once() {
    let folder = tempfile::tempdir().unwrap();
    for row in rows() {
        let mut tools = ThreeTools::new(&row, folder.path()).await;
        let step = row.step;
        for _ in 0..row.calls_before {
            call(&tools.bed.sources, "s-read", json!({})).await;
        }
        let shares = if row.is_busy {
            Some(use_shares(&tools.sources, "ada").await)
        } else {
            None
        };
        let play = async |page: &mut Page| {
            if row.is_run[1] {
                let call = page.recv_call().await;
                if row.hangs {
                    page.expect_cancel(&call).await;
                } else {
                    page.respond(&call, json!("added")).await;
                }
            }
        };
        let model = calls(&row);
        let mut limits = AgentLimits::default();
        if row.hangs {
            limits.call_timeout = Duration::from_millis(500);
        }
        let (answer, progress) = tools.bed.answer(&model, &limits, play).await;
        drop(shares);
        assert!(answer.is_ok(), "{step}: {answer:?}");

        for (id, expected) in ["1", "2", "3"].into_iter().zip(row.expected) {
            let kinds = progress.iter().filter(|event| event["id"] == id);
            let kinds: Vec<_> = kinds.map(|event| event["type"].as_str().unwrap()).collect();
            let begins = ["tool-started", "approval-requested"];
            assert!(
                matches!(kinds[..], [first, "tool-finished"] if begins.contains(&first)),
                "{step}: {kinds:?}"
            );
            let end = |event: &&Value| event["type"] == "tool-finished" && event["id"] == id;
            let end = progress.iter().find(end).unwrap();
            let outcome = end["outcome"].as_str().unwrap_or("ok");
            assert_eq!(outcome, expected, "{step}: {end}");
        }
        assert_eq!(model.last_results().len(), 3, "{step}");
        let calls_made = tools.source.call_count.load(Ordering::SeqCst) - row.calls_before;
        assert_eq!(calls_made, usize::from(row.is_run[0]), "{step}");
        if row.is_audited {
            let mut expected = lines_of(row.expected);
            expected.extend(vec![("s".to_owned(), "ok".to_owned()); row.calls_before]);
            expected.sort();
            assert_eq!(tools.audit_lines().await, expected, "{step}");
        }
    }
}

#[tokio::test]
async fn a_change_of_the_shared_state_is_recorded_as_a_call_of_the_client() {
    let folder = tempfile::tempdir().unwrap();
    let tools = ThreeTools::new(&Row::default(), folder.path()).await;
    let changes = [
        json!({ "changes": { "total": 2 } }),
        json!({ "changes": "none" }),
    ];
    let calls = changes.map(|changes| ("update_state", changes));
    let model = FakeModel::new([call_turn(&calls), text_turn("Done.")]);
    let (limits, state) = (AgentLimits::default(), QueryState::new());
    state.shared.share(&json!({ "total": 1 }));
    let (sender, _progress) = mpsc::channel(16);
    let bed = &tools.bed;
    let input = query_input(&bed.query, &bed.tools, &model, &limits, &sender, &state);
    let answering = answer(QueryInput {
        sources: &bed.sources,
        client_tools: &bed.client_tools,
        ..input
    });
    assert!(with_deadline("an answer", answering).await.is_ok());
    assert_eq!(state.shared.take_change(), Some(json!({ "total": 2 })));
    let lines = ["ok", "tool_error"].map(|end| ("client".to_owned(), end.to_owned()));
    assert_eq!(tools.audit_lines().await, lines);
}

#[tokio::test]
async fn calls_that_are_cancelled_are_recorded_once_whatever_their_step_is() {
    let folder = tempfile::tempdir().unwrap();
    let asks = |step| Row {
        step,
        is_refused: true,
        ..Row::default()
    };
    let hangs = |step| Row {
        step,
        hangs: true,
        ..Row::default()
    };
    let is_asked = ["approval-requested", "approval-requested", "tool-started"];
    for (row, begins) in [
        (asks("approve"), is_asked),
        (hangs("run"), ["tool-started"; 3]),
    ] {
        let mut tools = ThreeTools::new(&row, folder.path()).await;
        let ThreeTools { bed, source, .. } = &mut tools;
        let page = &mut bed.page;
        let (model, limits, state) = (calls(&row), AgentLimits::default(), QueryState::new());
        let (sender, mut progress) = mpsc::channel(16);
        let input = query_input(&bed.query, &bed.tools, &model, &limits, &sender, &state);
        let answering = answer(QueryInput {
            sources: &bed.sources,
            client_tools: &bed.client_tools,
            ..input
        });
        let runs = row.hangs;
        let until_all_wait = async {
            let mut kinds = Vec::new();
            while kinds.len() < begins.len() {
                let content = progress.recv().await.unwrap();
                let event: Value = serde_json::from_str(content.to_raw().get()).unwrap();
                // There may be a note about the names in `approve`.
                if event["id"].is_string() {
                    state.activity.report_read();
                    kinds.push(event["type"].as_str().unwrap().to_owned());
                }
            }
            kinds.sort();
            assert_eq!(kinds, begins);
            while runs && source.running.load(Ordering::SeqCst) == 0 {
                tokio::task::yield_now().await;
            }
            if runs {
                Some(page.recv_call().await)
            } else {
                None
            }
        };
        let call = tokio::select! {
            answer = answering => panic!("{answer:?}"),
            call = with_deadline("the calls", until_all_wait) => call,
        };
        if let Some(call) = call {
            page.expect_cancel(&call).await;
        }
        assert!(!state.client_calls.is_open("3") && !state.approvals.is_open("1"));
        assert!(!state.activity.is_busy());
        let lines = tools.audit_lines().await;
        assert_eq!(lines, lines_of(["cancelled"; 3]), "{}", row.step);
    }
}
