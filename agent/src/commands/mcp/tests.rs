//! Tests of what the commands change and print, without servers.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Mutex;

use agent_tools::ToolHints;
use serde_json::json;
use tempfile::TempDir;

use super::*;

const SERVERS: &str =
    r#"{"mcpServers": {"time": {"command": "uvx", "args": ["mcp-server-time"]}}}"#;

type Ask = fn(&str) -> io::Result<Option<bool>>;

fn nobody(_: &str) -> io::Result<Option<bool>> {
    panic!("nobody is asked")
}

#[derive(Clone, Default)]
struct Printed(Arc<Mutex<Vec<u8>>>);

impl Printed {
    fn text(&self) -> String {
        String::from_utf8(std::mem::take(&mut *self.0.lock().unwrap())).unwrap()
    }
}

impl Write for Printed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct TestFolder(TempDir);

impl TestFolder {
    fn new(servers: &str) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        std::fs::write(folder.path(), servers).unwrap();
        folder
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("mcp-servers.json")
    }

    fn load(&self) -> Files {
        Files::load(self.path(), false, &SecretSettings::default()).unwrap()
    }

    fn pinned(&self) -> Option<Vec<ServerTool>> {
        self.load().pins.tools("time")
    }
}

fn tool(description: &str) -> ServerTool {
    ServerTool {
        name: "now".to_owned(),
        description: Some(description.to_owned()),
        input_schema: json!({ "type": "object" }),
        annotations: ToolHints::default(),
    }
}

fn addition(words: &[&str]) -> Addition {
    let words = [&["mcp", "add"], words].concat();
    match Arguments::parse_from(words).command {
        Command::Add(addition) => addition,
        other => panic!("{other:?}"),
    }
}

#[test]
fn tools_without_pins_are_shown_whole_and_pinned_unless_they_are_only_checked() {
    let folder = TestFolder::new(SERVERS);
    let printed = Printed::default();
    let mut console = Console::scripted(printed.clone(), nobody);
    let mut sync = |mode| {
        folder
            .load()
            .sync_server(&mut console, "time", vec![tool("Tells\u{1b}[2J")], mode)
    };
    assert_eq!(sync(SyncMode::Check), Ok(false));
    assert_eq!(folder.pinned(), None);
    assert!(printed.text().contains(r"Tells\u{1b}[2J"));
    assert_eq!(sync(SyncMode::Ask), Ok(true));
    assert_eq!(folder.pinned(), Some(vec![tool("Tells\u{1b}[2J")]));
    let text = printed.text();
    assert!(
        text.starts_with("time: 1 tool, not pinned before\n  now\n"),
        "{text}"
    );
    assert!(text.ends_with("time: now pinned: 1 tool\n"), "{text}");
    assert_eq!(sync(SyncMode::Check), Ok(true));
    assert_eq!(printed.text(), "time: 1 tool, as pinned\n");
}

#[test]
fn tools_that_differ_are_pinned_only_if_a_person_confirms_it() {
    let folder = TestFolder::new(SERVERS);
    let mut files = folder.load();
    files.pins.set("time", vec![tool("old")]);
    files.pins.save().unwrap();
    let sync = |mode, ask: Ask| {
        let printed = Printed::default();
        let mut console = Console::scripted(printed.clone(), ask);
        let tools = vec![tool("new")];
        let is_pinned = folder.load().sync_server(&mut console, "time", tools, mode);
        let text = printed.text();
        assert!(text.contains("      - old\n      + new\n"), "{text}");
        (is_pinned, text)
    };
    let cases: [(SyncMode, Ask, &str); 3] = [
        (SyncMode::Check, nobody, "+ new"),
        (SyncMode::Ask, |_| Ok(None), "mcp sync time --yes`"),
        (SyncMode::Ask, |_| Ok(Some(false)), "nothing was pinned"),
    ];
    for (mode, ask, words) in cases {
        let (is_pinned, text) = sync(mode, ask);
        assert_eq!(is_pinned, Ok(false));
        assert!(text.trim_end().ends_with(words), "{text}");
        assert_eq!(folder.pinned(), Some(vec![tool("old")]));
    }
    let (is_pinned, text) = sync(SyncMode::Ask, |_| Ok(Some(true)));
    assert_eq!(is_pinned, Ok(true));
    assert!(text.ends_with("time: now pinned: 1 tool\n"), "{text}");
    assert_eq!(folder.pinned(), Some(vec![tool("new")]));
    files = folder.load();
    files.pins.set("time", vec![tool("old")]);
    files.pins.save().unwrap();
    let accepted = sync(SyncMode::Accept, nobody);
    assert_eq!(accepted.0, Ok(true));
    assert_eq!(folder.pinned(), Some(vec![tool("new")]));
}

#[test]
fn a_missing_file_is_an_error_unless_a_server_is_added() {
    let path = Path::new("none.json");
    let load = |is_new| Files::load(path.to_owned(), is_new, &SecretSettings::default());
    let error = load(false).err().unwrap();
    assert!(error.starts_with("none.json does not exist: "), "{error}");
    assert!(load(true).unwrap().servers.servers().is_empty());
}

#[test]
fn an_entry_is_replaced_only_by_force() {
    let folder = TestFolder::new(SERVERS);
    let error = folder.load().add_entry(&addition(&["time", "npx", "time"]));
    assert!(error.unwrap_err().contains("`--force` before the name"));
    let forced = addition(&["--force", "time", "npx", "time"]);
    folder.load().add_entry(&forced).unwrap();
    let printed = Printed::default();
    let mut console = Console::scripted(printed.clone(), |_| Ok(None));
    assert_eq!(folder.load().list(&mut console), Ok(true));
    assert_eq!(printed.text(), "time  stdio  npx time  not pinned\n");
    folder
        .load()
        .add_entry(&addition(&["--force", "new", "a"]))
        .unwrap();
    assert_eq!(folder.load().servers.servers().len(), 2);
}

#[test]
fn a_server_is_removed_with_its_pins() {
    let folder = TestFolder::new(SERVERS);
    let mut files = folder.load();
    files.pins.set("time", vec![tool("old")]);
    files.pins.save().unwrap();
    let printed = Printed::default();
    let mut console = Console::scripted(printed.clone(), |_| Ok(None));
    assert_eq!(files.remove(&mut console, "time"), Ok(true));
    assert_eq!(printed.text(), "`time` was removed\n");
    assert_eq!(folder.pinned(), None);
    assert!(folder.load().servers.servers().is_empty());
    let error = folder.load().remove(&mut console, "time").unwrap_err();
    assert!(matches!(error, CommandError::Failed(text) if text.contains("does not exist")));
}

#[test]
fn invisible_characters_are_shown_and_a_terminal_obeys_none() {
    let printed = Printed::default();
    let mut console = Console::scripted(printed.clone(), |question| {
        Ok(Some(question == r"a\u{202e}?"))
    });
    assert_eq!(console.ask("a\u{202e}?"), Ok(Some(true)));
    let text = "ä\t❤\u{fe0f} می\u{200c}خواهم \\u{1b}\n\u{1b}[2J\r\u{9b}\u{200b}\u{e0041}\u{3164}\u{2800}\u{e0100}\n";
    console.print(text).unwrap();
    let expected = "ä\t❤\u{fe0f} می\u{200c}خواهم \\u{1b}\n\\u{1b}[2J\\u{d}\\u{9b}\\u{200b}\\u{e0041}\\u{3164}\\u{2800}\\u{e0100}\n";
    assert_eq!(printed.text(), expected);
}

#[test]
fn text_of_a_server_cannot_imitate_a_line_of_ours() {
    let printed = Printed::default();
    let mut console = Console::scripted(printed.clone(), |_| Ok(None));
    let error = Some("it has ended; it has written: a\r\ntime: works\u{202e}\n".to_owned());
    assert_eq!(print_absence(&mut console, "time", error), Ok(false));
    let expected =
        "time: FAILED: it has ended; it has written: a\\u{d}\n    time: works\\u{202e}\n";
    assert_eq!(printed.text(), expected);
}
