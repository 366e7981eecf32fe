//! Tests of loading and saving on the disk.

use std::thread;

use serde_json::json;
use tempfile::TempDir;

use super::super::*;

/// A file as other programs write it, with keys that are not ours.
const TEXT: &str = r#"{
  "$schema": "https://example.com/schema.json",
  "mcpServers": {
    "zebra": {
      "timeout": 30,
      "command": "npx",
      "args": [
        "-y",
        "zebra"
      ],
      "autoApprove": [],
      "env": {
        "B": "${B}",
        "A": "ä \" \\ \n"
      }
    },
    "ant": {
      "x-policy": {
        "timeoutMs": 5
      },
      "url": "https://ant.example/mcp",
      "oauth": {
        "scopes": null,
        "ratio": 0.25
      }
    }
  },
  "inputs": [
    {
      "id": "key",
      "password": true
    }
  ]
}
"#;

struct TestFolder {
    folder: TempDir,
    path: PathBuf,
}

impl TestFolder {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mcp-servers.json");
        Self { folder, path }
    }

    fn with_file(text: &str) -> Self {
        let folder = Self::new();
        std::fs::write(&folder.path, text).unwrap();
        folder
    }

    fn load(&self) -> ServersFile {
        ServersFile::load(&self.path).unwrap()
    }

    fn text(&self) -> String {
        std::fs::read_to_string(&self.path).unwrap()
    }

    fn file_names(&self) -> Vec<String> {
        let files = self.folder.path().read_dir().unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        names.collect()
    }
}

fn entry() -> Value {
    json!({ "command": "a" })
}

#[test]
fn a_missing_file_is_one_without_servers_and_saving_creates_it() {
    let folder = TestFolder::new();
    let mut file = folder.load();
    assert_eq!(file.servers(), []);
    assert_eq!(file.path(), folder.path);
    file.save().unwrap();
    assert_eq!(folder.text(), "{\n  \"mcpServers\": {}\n}\n");
    file.add("time", entry()).unwrap();
    file.save().unwrap();
    assert_eq!(folder.load().servers(), file.servers());
    assert_eq!(
        folder.file_names(),
        ["mcp-servers.json"],
        "no temporary file is left"
    );
}

#[test]
fn saving_keeps_unknown_keys_and_the_order_of_all_keys() {
    let folder = TestFolder::with_file(TEXT);
    let mut file = folder.load();
    file.add("time", entry()).unwrap();
    file.save().unwrap();
    let added = ",\n    \"time\": {\n      \"command\": \"a\"\n    }\n  },\n  \"inputs\"";
    assert_eq!(folder.text(), TEXT.replace("\n  },\n  \"inputs\"", added));
    file.remove("time").unwrap();
    file.save().unwrap();
    assert_eq!(folder.text(), TEXT);
}

#[test]
fn a_server_is_added_below_the_key_that_the_file_has() {
    for (text, expected) in [
        ("{}", r#"{"mcpServers":{"time":{"command":"a"}}}"#),
        (
            r#"{"servers": {}, "b": 1}"#,
            r#"{"servers":{"time":{"command":"a"}},"b":1}"#,
        ),
    ] {
        let folder = TestFolder::with_file(text);
        let mut file = folder.load();
        file.add("time", entry()).unwrap();
        file.save().unwrap();
        let saved: Value = serde_json::from_str(&folder.text()).unwrap();
        assert_eq!(saved.to_string(), expected);
    }
}

#[test]
fn a_reader_sees_only_whole_files() {
    let folder = TestFolder::with_file(TEXT);
    let mut file = folder.load();
    thread::scope(|scope| {
        let writer = scope.spawn(move || {
            for _ in 0..100 {
                file.add("time", entry()).unwrap();
                file.save().unwrap();
                file.remove("time").unwrap();
                file.save().unwrap();
            }
        });
        while !writer.is_finished() {
            assert!(matches!(folder.load().servers().len(), 2 | 3));
        }
    });
}

#[test]
fn a_change_by_another_program_is_not_overwritten() {
    let folder = TestFolder::with_file(TEXT);
    let mut file = folder.load();
    let mut other = folder.load();
    other.remove("ant").unwrap();
    other.save().unwrap();
    file.add("time", entry()).unwrap();
    let error = file.save().unwrap_err();
    assert!(matches!(error, SaveError::Changed(_)));
    let error = error.to_string();
    assert!(
        error.contains("was changed by another program since it was loaded"),
        "{error}"
    );
    assert_eq!(folder.load().servers(), other.servers());
    assert_eq!(
        folder.file_names(),
        ["mcp-servers.json"],
        "no temporary file is left"
    );
}

#[test]
fn a_file_that_another_program_creates_or_removes_has_changed() {
    let folder = TestFolder::new();
    let mut file = folder.load();
    std::fs::write(&folder.path, TEXT).unwrap();
    assert!(matches!(file.save(), Err(SaveError::Changed(_))));
    assert_eq!(folder.text(), TEXT);
    let mut file = folder.load();
    std::fs::remove_file(&folder.path).unwrap();
    assert!(matches!(file.save(), Err(SaveError::Changed(_))));
    assert_eq!(folder.file_names(), [""; 0]);
    let larger = " ".repeat(MAX_FILE_BYTES + 1);
    std::fs::write(&folder.path, larger).unwrap();
    assert!(matches!(file.save(), Err(SaveError::Changed(_))));
}

#[cfg(unix)]
#[test]
fn concurrent_additions_are_all_kept() {
    let folder = TestFolder::new();
    let add = |name: String| {
        loop {
            let mut file = folder.load();
            file.add(&name, entry()).unwrap();
            match file.save() {
                Ok(()) => break,
                Err(SaveError::Changed(_)) => {}
                Err(error) => panic!("{error}"),
            }
        }
    };
    thread::scope(|scope| {
        for thread in 0..8 {
            scope.spawn(move || (0..8).for_each(|index| add(format!("s{thread}-{index}"))));
        }
    });
    assert_eq!(folder.load().servers().len(), 64);
}

#[cfg(unix)]
#[test]
fn a_new_file_is_private_and_an_existing_one_keeps_its_mode() {
    use std::os::unix::fs::PermissionsExt;
    let folder = TestFolder::new();
    let mode = || folder.path.metadata().unwrap().permissions().mode() & 0o7777;
    folder.load().save().unwrap();
    assert_eq!(mode(), 0o600);
    for kept in [0o640, 0o666, 0o600] {
        let permissions = std::fs::Permissions::from_mode(kept);
        std::fs::set_permissions(&folder.path, permissions).unwrap();
        folder.load().save().unwrap();
        assert_eq!(mode(), kept);
    }
}

#[cfg(unix)]
#[test]
fn a_symbolic_link_stays_one() {
    let folder = TestFolder::with_file(TEXT);
    let elsewhere = tempfile::tempdir().unwrap();
    let link = elsewhere.path().join("link.json");
    std::os::unix::fs::symlink(&folder.path, &link).unwrap();
    let mut file = ServersFile::load(&link).unwrap();
    file.remove("zebra").unwrap();
    file.save().unwrap();
    assert!(link.is_symlink());
    assert_eq!(folder.load().servers().len(), 1);
}

#[test]
fn a_file_that_cannot_be_loaded_is_refused_with_words() {
    let folder = TestFolder::new();
    let error = |path: &Path| ServersFile::load(path).unwrap_err().to_string();
    let unreadable = error(folder.folder.path());
    assert!(
        unreadable.contains("cannot be read: it is not a regular file"),
        "{unreadable}"
    );
    std::fs::write(&folder.path, [b'{', 0xff]).unwrap();
    assert!(error(&folder.path).ends_with("mcp-servers.json: it is not UTF-8: save it as UTF-8"));
    std::fs::write(&folder.path, " ".repeat(MAX_FILE_BYTES + 1)).unwrap();
    assert!(error(&folder.path).contains("is larger than 1048576 bytes"));
}

#[test]
fn a_file_that_cannot_be_saved_is_left_unchanged() {
    let folder = TestFolder::with_file(TEXT);
    let mut file = folder.load();
    let large = json!({ "command": "a", "args": ["a".repeat(MAX_FILE_BYTES)] });
    file.add("large", large).unwrap();
    let error = file.save().unwrap_err().to_string();
    assert!(
        error.contains("would be larger than 1048576 bytes"),
        "{error}"
    );
    assert_eq!(folder.text(), TEXT);
    let mut file = ServersFile::load(&folder.folder.path().join("none/file.json")).unwrap();
    let error = file.save().unwrap_err().to_string();
    assert!(error.contains("The folder must exist"), "{error}");
}
