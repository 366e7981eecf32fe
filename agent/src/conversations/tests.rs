//! Tests of the store in a file that another program uses.

use std::path::PathBuf;

use bridge_output::CapturedLog;
use bridge_protocol::Query;
use rusqlite::Connection;
use tempfile::TempDir;

use super::*;
use crate::agent_loop::FinishedTranscript;

struct TestStore {
    conversations: ConversationStore,
    path: PathBuf,
    _folder: TempDir,
}

impl TestStore {
    fn new() -> Self {
        Self::open(tempfile::tempdir().unwrap())
    }

    fn open(folder: TempDir) -> Self {
        let path = folder.path().join("conversations.db");
        let settings = ConversationSettings {
            conversations_file: Some(path.clone()),
            ..ConversationSettings::default()
        };
        Self {
            conversations: ConversationStore::open(&settings).unwrap(),
            path,
            _folder: folder,
        }
    }

    /// Opens what is in the files now, as an agent does after this one was killed.
    fn open_copy(&self) -> Self {
        let copy = tempfile::tempdir().unwrap();
        for name in ["conversations.db", "conversations.db-wal"] {
            std::fs::copy(self.path.with_file_name(name), copy.path().join(name)).unwrap();
        }
        Self::open(copy)
    }

    async fn append(&self, id: &str, prompt: &str) -> Result<(), AgentFailure> {
        let transcript = FinishedTranscript {
            messages: vec![ModelMessage::from_text(prompt.to_owned())],
            tool_names: Default::default(),
        };
        let query = StoredQuery::new(&Query::new("q", prompt), transcript);
        self.conversations.append(key(id), query).await
    }

    /// Opens the file as another program.
    fn other_program(&self) -> Connection {
        let connection = Connection::open(&self.path).unwrap();
        connection
            .execute_batch("PRAGMA secure_delete = ON")
            .unwrap();
        connection
    }

    /// Whether a file of the database has this text.
    fn has_text(&self, text: &str) -> bool {
        let folder = self.path.parent().unwrap().read_dir().unwrap();
        let mut files = folder.map(|entry| std::fs::read(entry.unwrap().path()).unwrap());
        files.any(|file| file.windows(text.len()).any(|part| part == text.as_bytes()))
    }
}

fn key(id: &str) -> ConversationKey {
    ConversationOwner::of("ada", "Board").key(id).unwrap()
}

#[tokio::test]
async fn deleted_content_is_in_no_file() {
    let store = TestStore::new();
    for (id, prompt) in [
        ("a", "first secret"),
        ("a", "second secret"),
        ("b", "other"),
    ] {
        store.append(id, prompt).await.unwrap();
    }
    assert!(store.has_text("first secret") && store.has_text("second secret"));
    let kept = store.conversations.keep_prompts(key("a"), 1).await;
    assert_eq!(kept, Ok(1));
    assert!(store.has_text("first secret") && !store.has_text("second secret"));
    store.conversations.delete(key("a")).await.unwrap();
    assert!(!store.has_text("first secret"));

    // Expired conversations are deleted with the next list.
    store
        .other_program()
        .execute("UPDATE conversation SET updated_at = 0", [])
        .unwrap();
    assert!(store.has_text("other"));
    let owner = key("b").owner;
    assert_eq!(store.conversations.list(owner).await, Ok(Vec::new()));
    assert!(!store.has_text("other"));
}

#[tokio::test]
async fn deleted_content_is_erased_once_no_other_program_reads_it_or_at_the_next_start() {
    let store = TestStore::new();
    store.append("a", "secret").await.unwrap();
    let reader = store.other_program();
    reader.execute_batch("BEGIN; SELECT * FROM query").unwrap();
    store.conversations.delete(key("a")).await.unwrap();
    assert!(store.has_text("secret"));
    assert!(!store.open_copy().has_text("secret"));
    reader.execute_batch("COMMIT").unwrap();
    store.conversations.list(key("a").owner).await.unwrap();
    assert!(!store.has_text("secret"));
}

#[tokio::test]
async fn half_of_a_surrogate_pair_in_a_stored_query_is_read_as_a_replacement_character() {
    let store = TestStore::new();
    store.append("a", "cut HERE").await.unwrap();
    let statement = r"UPDATE query SET json = replace(json, 'HERE', '\ud83d')";
    store.other_program().execute(statement, []).unwrap();
    let messages = store.conversations.messages(key("a")).await.unwrap();
    assert!(
        matches!(&*messages, [ModelMessage::User(user)] if user.text == "cut \u{fffd}"),
        "{messages:?}"
    );
}

#[test]
fn a_turn_in_the_format_of_another_version_is_read_as_its_text_and_calls() {
    let query = |kept: &str| {
        format!(
            r#"{{"prompt":"Ask","attachments":[],"messages":[{{"role":"model","text":"Yes.","kept":{kept}}}]}}"#
        )
    };
    let own = r#"{"api":"messages","origin":{"issuer":"i"},"blocks":[{"type":"thinking"}]}"#;
    for (kept, is_read) in [
        (own, true),
        (
            r#"{"api":"telepathy","origin":{"issuer":"i"},"blocks":[]}"#,
            false,
        ),
        (r#"{"api":"messages","blocks":[]}"#, false),
        (r#""text""#, false),
        ("null", false),
    ] {
        let decoded = decode(vec![query(kept)]).into_iter();
        let messages: Vec<_> = decoded.flat_map(StoredQuery::into_messages).collect();
        assert!(
            matches!(&*messages, [ModelMessage::Model(turn)]
                if turn.text == "Yes." && turn.kept.is_some() == is_read),
            "{kept}: {messages:?}"
        );
    }
}

#[tokio::test]
async fn a_query_that_cannot_be_read_is_left_out_of_its_conversation() {
    let store = TestStore::new();
    for prompt in ["bad JSON", "no text", "no UTF-8", "readable"] {
        store.append("a", prompt).await.unwrap();
    }
    let other = store.other_program();
    let is_refused = |statement| other.execute(statement, []).is_err();
    assert!(is_refused("UPDATE query SET json = x'ff00'"));
    // Values that SQLite itself refuses can come from a damaged file.
    other
        .execute_batch(
            "PRAGMA writable_schema = ON;
             UPDATE sqlite_schema SET sql = replace(sql, 'ROWID, STRICT', 'ROWID');
             PRAGMA writable_schema = RESET;
             UPDATE query SET json = '{bad' WHERE number = 1;
             UPDATE query SET json = x'ff00' WHERE number = 2;
             UPDATE query SET json = CAST(x'ff00' AS TEXT) WHERE number = 3;
             UPDATE conversation SET title = CAST(x'ff' AS TEXT);",
        )
        .unwrap();
    let messages = store.conversations.messages(key("a")).await.unwrap();
    assert!(
        matches!(&*messages, [ModelMessage::User(user)] if user.text == "readable"),
        "{messages:?}"
    );
    let conversation = store.conversations.get(key("a")).await.unwrap().unwrap();
    let conversation = serde_json::to_value(conversation).unwrap();
    assert_eq!(conversation["messages"].as_array().unwrap().len(), 1);
    let list = store.conversations.list(key("a").owner).await.unwrap();
    assert_eq!((list.len(), &*list[0].title), (1, "\u{fffd}"));
    store.append("a", "one more").await.unwrap();
}

#[test]
fn queries_that_cannot_be_read_are_one_warning_in_the_log() {
    let (log, _guard) = CapturedLog::start();
    assert!(decode(vec![String::new(), "{bad".to_owned()]).is_empty());
    assert!(decode(Vec::new()).is_empty());
    let log = log.text();
    assert_eq!(log.lines().count(), 1, "{log}");
    assert!(log.contains("left out unreadable=2"), "{log}");
}

#[tokio::test]
async fn a_locked_file_is_waited_for_only_once_by_all() {
    let store = TestStore::new();
    let other = store.other_program();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let started = Instant::now();
    let appends = (0..10).map(|number| {
        let id = number.to_string();
        let store = &store;
        async move { store.append(&id, "hello").await.unwrap_err().code }
    });
    let codes = futures_util::future::join_all(appends).await;
    let elapsed = started.elapsed();
    assert_eq!(codes, [ErrorCode::AgentFailed; 10]);
    assert!(
        (BUSY_TIMEOUT..BUSY_TIMEOUT * 5).contains(&elapsed),
        "{elapsed:?}"
    );
    other.execute_batch("ROLLBACK").unwrap();
    store.append("a", "hello").await.unwrap();
}
