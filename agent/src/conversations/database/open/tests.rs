//! Tests of files: new ones, those of before, and those of others.

use std::fs;

use tempfile::TempDir;

use super::super::tests::{key, prompts, query};
use super::super::{Database, limits};
use super::*;
use crate::config::ConversationSettings;

struct TestFile {
    path: PathBuf,
    _folder: TempDir,
}

impl TestFile {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("conversations.db");
        Self {
            path,
            _folder: folder,
        }
    }

    fn settings(&self) -> ConversationSettings {
        ConversationSettings {
            conversations_file: Some(self.path.clone()),
            ..ConversationSettings::default()
        }
    }

    fn open(&self) -> Result<Database, OpenError> {
        Database::open(self.settings(), 0)
    }

    /// Changes the file as another program.
    fn execute(&self, statements: &str) {
        let connection = Connection::open(&self.path).unwrap();
        connection.execute_batch(statements).unwrap();
    }

    /// Returns why the file is refused, and checks that it stays unchanged.
    fn refusal(&self) -> String {
        let content = fs::read(&self.path).unwrap();
        let error = self.open().unwrap_err().to_string();
        assert!(error.contains(self.path.to_str().unwrap()), "{error}");
        assert_eq!(fs::read(&self.path).unwrap(), content, "{error}");
        error
    }
}

#[test]
fn a_file_outlives_its_database_and_is_private() {
    let file = TestFile::new();
    let key = key("ada", "todo", "c");
    let mut database = file.open().unwrap();
    database.append(&key, &query("one"), 1).unwrap();
    drop(database);
    let mut reopened = file.open().unwrap();
    assert_eq!(prompts(&mut reopened, &key), ["one"]);
    let user = limits::usage(&reopened.connection.transaction().unwrap(), "ada").unwrap();
    assert_eq!(user.1, 1);
    let long_after = file.settings().conversation_lifetime.as_millis() as u64 + 2;
    let expired = Database::open(file.settings(), long_after).unwrap();
    let rows: i64 = expired
        .connection
        .query_row("SELECT count(*) FROM query", [], |row| row.get(0))
        .unwrap();
    assert_eq!(
        rows, 0,
        "what has expired is deleted when the file is opened"
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(&file.path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[test]
fn a_file_of_another_program_or_version_is_refused_and_not_changed() {
    let file = TestFile::new();
    file.execute("CREATE TABLE orders (number); INSERT INTO orders VALUES (1)");
    let refusal = file.refusal();
    assert!(
        refusal.contains("is not a file of conversations: name another file"),
        "{refusal}"
    );
    file.execute("PRAGMA user_version = 3");
    let refusal = file.refusal();
    assert!(refusal.contains("name another file"), "{refusal}");

    let file = TestFile::new();
    drop(file.open().unwrap());
    file.execute("PRAGMA user_version = 99");
    let refusal = file.refusal();
    assert!(refusal.contains("another version"), "{refusal}");
}

#[test]
fn a_damaged_file_is_refused_with_a_remedy() {
    let file = TestFile::new();
    fs::write(&file.path, "garbage ".repeat(1_000)).unwrap();
    let garbage = file.refusal();

    let file = TestFile::new();
    drop(file.open().unwrap());
    file.execute("DROP TABLE query");
    let without_table = file.refusal();

    let file = TestFile::new();
    drop(file.open().unwrap());
    let mut content = fs::read(&file.path).unwrap();
    // The first page has the names of the tables, the others what is in them.
    content[4096..].fill(0xaa);
    fs::write(&file.path, content).unwrap();
    let overwritten = file.open().unwrap_err().to_string();

    for refusal in [garbage, without_table, overwritten] {
        assert!(
            refusal.contains("is damaged, or is not a file of conversations: replace it"),
            "{refusal}"
        );
    }
}

#[test]
fn a_path_without_a_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (path, reason) in [
        (folder.path().join("no/such/folder.db"), "cannot be opened"),
        (folder.path().to_owned(), "cannot be opened"),
        #[cfg(unix)]
        ("/dev/null".into(), "is not a file of conversations"),
    ] {
        let error = open(Some(&path)).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
}

// The files are in the folder of the crate while the test runs. On Windows, these are not names.
#[cfg(unix)]
#[test]
fn every_path_is_the_path_of_a_file() {
    for name in [":memory:", "file:c.db?mode=memory"] {
        let connection = open(Some(Path::new(name))).unwrap();
        let file = connection.path().map(PathBuf::from);
        drop(connection);
        let file = file.unwrap();
        assert!(file.is_absolute() && file.ends_with(name), "{file:?}");
        let is_written = fs::metadata(&file).unwrap().len() > 0;
        fs::remove_file(&file).unwrap();
        assert!(is_written, "{name}");
    }
}

#[cfg(unix)]
#[test]
fn a_file_that_others_can_read_or_write_is_warned_of() {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt;
    let file = TestFile::new();
    drop(file.open().unwrap());
    for (mode, warns) in [(0o600, false), (0o640, true), (0o602, true), (0o666, true)] {
        set_permissions(&file.path, Permissions::from_mode(mode)).unwrap();
        let warning = warning_if_open_to_others(&file.path);
        let remedy = format!("`chmod 600 {}`", file.path.display());
        let has_remedy = warning.is_some_and(|warning| warning.contains(&remedy));
        assert_eq!(has_remedy, warns, "{mode:o}");
    }
}
