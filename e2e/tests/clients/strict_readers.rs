//! Versions of the SDKs whose schemas reject a whole list for one item: what the bridge lists is valid for
//! all of them, whatever a page registers.

use std::collections::BTreeSet;
use std::time::Duration;

use e2e::{NodeProject, ProcessGroup, TestBed, http, program_paths};
use raw_page::{Page, StrictCase, control_definitions, register_strict_set, strict_set};
use serde_json::{Value, json};
use tokio::process::Command;

/// The versions of the TypeScript SDK, as `e2e/clients/node/strict-reader.mjs` names them. Each has schemas
/// or a way to compile them that the one before does not have.
const TYPESCRIPT_SDKS: [&str; 10] = [
    "sdk-1-10",
    "sdk-1-13",
    "sdk-1-17",
    "sdk-1-20",
    "sdk-1-22",
    "sdk-1-24",
    "sdk-1-27",
    "sdk-1-newest",
    "client legacy",
    "client modern",
];

/// The time limit for all readers of one program, on a busy machine with two cores.
const READ_TIMEOUT: Duration = Duration::from_secs(120);

/// A list of MCP.
struct List {
    /// The key in its result, and the field that identifies an item.
    key: &'static str,
    id: &'static str,
    method: &'static str,
}

const LISTS: [List; 4] = [
    List {
        key: "tools",
        id: "name",
        method: "tools/list",
    },
    List {
        key: "prompts",
        id: "name",
        method: "prompts/list",
    },
    List {
        key: "resources",
        id: "uri",
        method: "resources/list",
    },
    List {
        key: "resourceTemplates",
        id: "uriTemplate",
        method: "resources/templates/list",
    },
];

/// A bridge with a page that has registered the strict set.
struct StrictPage {
    bed: TestBed,
    set: Vec<StrictCase>,
    /// The lists as the bridge sends them, by their keys.
    raw: Value,
    _page: tokio::task::JoinHandle<()>,
}

impl StrictPage {
    async fn open() -> Self {
        let limits = [
            "--max-definitions",
            "10000",
            "--max-definition-bytes",
            "16777216",
        ];
        let bed = TestBed::bridge_with(&limits).await;
        let mut page = Page::connect_to(bed.address(), "strict", bed.token()).await;
        let registered = page.register_items(&control_definitions()).await;
        assert_eq!(registered.errors, [], "the control definitions are valid");
        let set = strict_set();
        let refused = register_strict_set(&mut page, &set).await;
        let mut raw = json!({});
        for list in &LISTS {
            raw[list.key] = raw_list(&bed, list).await;
        }
        let listed: usize = LISTS
            .iter()
            .map(|it| raw[it.key].as_array().unwrap().len())
            .sum();
        let least = control_definitions().len() + set.len() - refused.len();
        assert!(listed >= least, "{listed} of {least} are listed");
        Self {
            bed,
            set,
            raw,
            _page: tokio::spawn(async move { page.read_forever().await }),
        }
    }

    fn config(&self) -> Value {
        json!({ "url": self.bed.mcp_url(), "token": self.bed.token() })
    }

    /// Checks the lines that a program printed, one for each reader: every list has all its items.
    fn check(&self, lines: &str, readers: usize) {
        let mut failures = Vec::new();
        let mut count = 0;
        for line in lines.lines().filter(|line| line.starts_with("{\"reader\"")) {
            let line: Value = serde_json::from_str(line).unwrap();
            count += 1;
            for list in &LISTS {
                if let Err(failure) = self.check_list(list, &line["read"][list.key]) {
                    failures.push(format!("{}: {}: {failure}", line["reader"], list.method));
                }
            }
        }
        assert_eq!(count, readers, "each reader prints a line:\n{lines}");
        assert!(failures.is_empty(), "\n{}", failures.join("\n"));
    }

    fn check_list(&self, list: &List, read: &Value) -> Result<(), String> {
        let items = self.raw[list.key].as_array().unwrap();
        let Some(names) = read["names"].as_array() else {
            return Err(self.explain(list, read));
        };
        let names: BTreeSet<_> = names.iter().filter_map(Value::as_str).collect();
        let missing = items
            .iter()
            .filter(|it| !names.contains(it[list.id].as_str().unwrap()));
        let missing: Vec<_> = missing.map(|item| self.describe(list, item)).collect();
        if missing.is_empty() {
            Ok(())
        } else {
            Err(format!("left out {missing:?}"))
        }
    }

    /// Names the items that a reader has rejected, each with the case that it is of.
    fn explain(&self, list: &List, read: &Value) -> String {
        let Some(rejected) = read["rejected"].as_array() else {
            return read.to_string();
        };
        let lines: BTreeSet<_> = rejected
            .iter()
            .map(|it| {
                let path = it["path"].as_array().unwrap();
                // ["tools", 6, "inputSchema", ...]
                let index = path.iter().find_map(Value::as_u64).unwrap_or_default();
                let index = index + read["after"].as_u64().unwrap_or_default();
                let item = &self.raw[list.key][usize::try_from(index).unwrap()];
                let place: Vec<_> = path
                    .iter()
                    .map(|part| part.to_string().replace('"', ""))
                    .collect();
                format!(
                    "    {} at {}: {}",
                    self.describe(list, item),
                    place.join("."),
                    it["message"]
                )
            })
            .collect();
        format!("rejected\n{}", Vec::from_iter(lines).join("\n"))
    }

    /// Returns the case that an item is of.
    fn describe(&self, list: &List, item: &Value) -> String {
        let is_same = |case: &&StrictCase| {
            item[list.id].is_string() && case.definition[list.id] == item[list.id]
        };
        let found = self.set.iter().find(is_same);
        found.map_or_else(
            || item.to_string().chars().take(200).collect(),
            |it| it.case.clone(),
        )
    }
}

/// Returns a list as the bridge sends it to a client of 2026-07-28.
async fn raw_list(bed: &TestBed, list: &List) -> Value {
    let mut items = Vec::new();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "raw", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let mut params = json!({ "_meta": meta });
    loop {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": list.method, "params": params });
        let request = http()
            .post(bed.mcp_url())
            .bearer_auth(bed.token())
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", "2026-07-28")
            .header("mcp-method", list.method)
            .json(&body);
        let answer: Value = request.send().await.unwrap().json().await.unwrap();
        let page = answer["result"][list.key].as_array();
        items.extend(page.unwrap_or_else(|| panic!("{answer}")).iter().cloned());
        let cursor = &answer["result"]["nextCursor"];
        if cursor.is_null() {
            return items.into();
        }
        params["cursor"] = cursor.clone();
    }
}

async fn run(name: &str, command: Command) -> String {
    let mut process = ProcessGroup::start(name, command);
    let has_ended = process.wait_for_end(READ_TIMEOUT).await;
    assert!(has_ended, "{name} does not end:\n{}", process.log());
    process.log()
}

#[tokio::test]
async fn every_typescript_sdk_lists_whatever_a_page_registers() {
    let page = StrictPage::open().await;
    let project = NodeProject::copy_of("clients/node");
    project.link(&program_paths::clients_node_modules());
    let mut config = page.config();
    config["readers"] = json!(TYPESCRIPT_SDKS);
    let command = project.node_command(&["strict-reader.mjs", &config.to_string()]);
    let lines = run("strict-reader.mjs", command).await;
    page.check(&lines, TYPESCRIPT_SDKS.len());
}

#[tokio::test]
async fn every_python_sdk_lists_whatever_a_page_registers() {
    let page = StrictPage::open().await;
    let script = program_paths::workspace().join("e2e/clients/python/strict_reader.py");
    let mut lines = String::new();
    for major in [1, 2] {
        let mut command = Command::new(program_paths::clients_python(major).join("bin/python"));
        command
            .arg(&script)
            .arg(page.config().to_string())
            .env("PYTHONDONTWRITEBYTECODE", "1");
        lines += &run("strict_reader.py", command).await;
        lines.push('\n');
    }
    // 2.x has two eras.
    page.check(&lines, 3);
}
