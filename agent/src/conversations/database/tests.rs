//! Tests of the rules of conversations, in memory and in a file.

use std::collections::HashMap;
use std::time::Duration;

use bridge_protocol::{Query, QueryCaller, SessionId};
use serde_json::{Map, json};

use super::*;
use crate::agent_loop::FinishedTranscript;
use crate::model::{Call, CallResult, Media, Message, ModelTurn, UserMessage};

const DAY: u64 = 24 * 60 * 60 * 1000;

fn owner(user: &str, app: &str) -> ConversationOwner {
    ConversationOwner::new(&QueryCaller {
        user: user.to_owned(),
        sub: None,
        roles: Vec::new(),
        self_made: true,
        app: app.to_owned(),
        app_description: None,
        origin: None,
        session: SessionId::from("s"),
    })
}

fn key(user: &str, app: &str, id: &str) -> ConversationKey {
    owner(user, app).key(id).unwrap()
}

fn turn_of(prompt: &str, messages: Vec<Message>) -> Turn {
    let transcript = FinishedTranscript {
        messages,
        tool_names: HashMap::from([("add_1".to_owned(), "add card".to_owned())]),
    };
    Turn::new(&Query::new("q", prompt), transcript)
}

fn turn(prompt: &str) -> Turn {
    turn_of(
        prompt,
        vec![Message::from_text(prompt.to_owned()), answer("Done.")],
    )
}

fn answer(text: &str) -> Message {
    Message::Model(ModelTurn {
        text: text.to_owned(),
        ..ModelTurn::default()
    })
}

fn database(settings: ConversationSettings) -> Database {
    Database::open(settings).unwrap()
}

fn ids(database: &mut Database, user: &str, app: &str, now: u64) -> Vec<String> {
    let list = database.list(&owner(user, app), now).unwrap();
    list.into_iter().map(|summary| summary.id).collect()
}

fn prompts(database: &mut Database, key: &ConversationKey) -> Vec<String> {
    let turns = database.turns(key, 0).unwrap();
    turns.into_iter().map(|turn| turn.prompt).collect()
}

#[test]
fn users_and_apps_see_only_their_own_conversations() {
    let mut database = database(ConversationSettings::default());
    let owners = [("ada", "todo"), ("ada", "mail"), ("bob", "todo")];
    for (user, app) in owners {
        let prompt = format!("{user} {app}");
        database
            .append(&key(user, app, "same"), &turn(&prompt), 1)
            .unwrap();
    }
    for (user, app) in owners {
        let own = key(user, app, "same");
        assert_eq!(prompts(&mut database, &own), [format!("{user} {app}")]);
        assert_eq!(ids(&mut database, user, app, 1), ["same"]);
    }
    database.delete(&key("ada", "todo", "same")).unwrap();
    database.delete(&key("ada", "todo", "same")).unwrap();
    assert!(
        database
            .get(&key("ada", "todo", "same"), 1)
            .unwrap()
            .is_none()
    );
    assert_eq!(ids(&mut database, "ada", "mail", 1), ["same"]);
    assert_eq!(ids(&mut database, "bob", "todo", 1), ["same"]);
}

#[test]
fn a_conversation_is_listed_and_returned_for_people() {
    let mut database = database(ConversationSettings::default());
    let key = key("ada", "todo", "c");
    let call = Call {
        id: "a".to_owned(),
        tool: "add_1".to_owned(),
        arguments: Map::new(),
    };
    let calling = Message::Model(ModelTurn {
        calls: vec![call],
        ..ModelTurn::default()
    });
    let result = CallResult {
        id: "a".to_owned(),
        tool: "add_1".to_owned(),
        text: "added".to_owned(),
        is_error: false,
        media: Vec::new(),
    };
    let asked = Message::from_text("[context m] …\n\nAdd it".to_owned());
    let messages = vec![
        asked,
        calling,
        Message::Results(vec![result]),
        answer("Done."),
    ];
    database
        .append(&key, &turn_of("Add\n it", messages), 1_000)
        .unwrap();
    let list = database.list(&owner("ada", "todo"), 1_000).unwrap();
    assert_eq!((&*list[0].title, list[0].turns), ("Add it", 1));
    assert_eq!(list[0].created_at, "1970-01-01T00:00:01.000Z");
    let messages = json!(database.get(&key, 1_000).unwrap().unwrap())["messages"].take();
    let expected = json!([
        { "role": "user", "text": "Add\n it" },
        { "role": "assistant", "text": "", "toolCalls": [
            { "id": "a", "tool": "add card", "arguments": {}, "result": "added", "isError": false } ] },
        { "role": "assistant", "text": "Done.", "toolCalls": [] },
    ]);
    assert_eq!(messages, expected);
    let for_model: Vec<_> = database
        .turns(&key, 1_000)
        .unwrap()
        .into_iter()
        .flat_map(Turn::into_messages)
        .collect();
    assert!(matches!(&for_model[1], Message::Model(turn) if turn.calls[0].tool == "add_1"));
}

#[test]
fn a_long_prompt_has_a_short_title() {
    let long = title(&"ä ".repeat(MAX_TITLE_CHARS));
    assert_eq!(long.chars().count(), MAX_TITLE_CHARS + 1);
    assert!(long.ends_with('…'));
    assert_eq!(title(" Add\n it "), "Add it");
}

#[test]
fn a_conversation_keeps_its_newest_turns() {
    let mut database = database(ConversationSettings {
        max_conversation_turns: 2,
        ..ConversationSettings::default()
    });
    let key = key("ada", "todo", "c");
    for prompt in ["one", "two", "three"] {
        database.append(&key, &turn(prompt), 1).unwrap();
    }
    assert_eq!(prompts(&mut database, &key), ["two", "three"]);
    assert_eq!(database.list(&owner("ada", "todo"), 1).unwrap()[0].turns, 2);
}

#[test]
fn a_conversation_has_a_size_and_drops_pictures_first() {
    let mut database = database(ConversationSettings {
        max_conversation_bytes: 2_000,
        ..ConversationSettings::default()
    });
    let key = key("ada", "todo", "c");
    database.append(&key, &turn(&"1".repeat(700)), 1).unwrap();
    assert_eq!(prompts(&mut database, &key).len(), 1);
    let picture = Media {
        name: None,
        mime_type: "image/png".to_owned(),
        data: "AAAA".repeat(1_000).into(),
    };
    let asked = Message::User(UserMessage {
        text: "What is this?".to_owned(),
        media: vec![picture],
    });
    let with_picture = turn_of("What is this?", vec![asked, answer("A cat.")]);
    database.append(&key, &with_picture, 1).unwrap();
    let turns = database.turns(&key, 1).unwrap();
    let last = turns
        .last()
        .unwrap()
        .clone()
        .into_messages()
        .next()
        .unwrap();
    let Message::User(last) = last else { panic!() };
    assert_eq!(
        last.text,
        "[image/png, 3 kB: no longer attached]\nWhat is this?"
    );
    database.append(&key, &turn(&"3".repeat(700)), 1).unwrap();
    assert_eq!(
        prompts(&mut database, &key),
        ["What is this?".to_owned(), "3".repeat(700)]
    );
    database.append(&key, &turn(&"4".repeat(2_000)), 1).unwrap();
    assert_eq!(
        prompts(&mut database, &key).len(),
        2,
        "a turn over the limit is not kept"
    );
    let bytes = database.list(&owner("ada", "todo"), 1).unwrap()[0].bytes;
    assert!((1_000..2_000).contains(&bytes), "{bytes}");
}

#[test]
fn a_user_has_a_share_and_the_oldest_conversations_make_room() {
    let mut database = database(ConversationSettings {
        max_conversations_per_user: 2,
        ..ConversationSettings::default()
    });
    database
        .append(&key("bob", "todo", "old"), &turn("of bob"), 1)
        .unwrap();
    for (id, now) in [("a", 2), ("b", 3), ("a", 4), ("c", 5)] {
        database
            .append(&key("ada", "todo", id), &turn(id), now)
            .unwrap();
    }
    assert_eq!(ids(&mut database, "ada", "todo", 5), ["c", "a"]);
    assert_eq!(ids(&mut database, "bob", "todo", 5), ["old"]);
    let settings = &mut database.settings;
    settings.max_conversations_per_user = 10;
    settings.max_conversation_bytes_per_user = 1_000;
    for id in ["d", "e"] {
        database
            .append(&key("ada", "todo", id), &turn(&"x".repeat(300)), 6)
            .unwrap();
    }
    assert_eq!(
        ids(&mut database, "ada", "todo", 6),
        ["e"],
        "the newest always stays"
    );
    assert_eq!(ids(&mut database, "bob", "todo", 6), ["old"]);
}

#[test]
fn all_users_together_have_a_limit() {
    let mut database = database(ConversationSettings {
        max_all_conversation_bytes: 1_500,
        ..ConversationSettings::default()
    });
    for (number, user) in ["ada", "bob", "eve"].into_iter().enumerate() {
        let key = key(user, "todo", "c");
        let turn = turn(&"x".repeat(250));
        database.append(&key, &turn, number as u64).unwrap();
    }
    assert_eq!(ids(&mut database, "ada", "todo", 3), [""; 0]);
    assert_eq!(ids(&mut database, "bob", "todo", 3), ["c"]);
    assert_eq!(ids(&mut database, "eve", "todo", 3), ["c"]);
}

#[test]
fn a_conversation_expires_after_its_last_query() {
    let mut database = database(ConversationSettings {
        conversation_lifetime: Duration::from_millis(2 * DAY),
        ..ConversationSettings::default()
    });
    let (first, second) = (key("ada", "todo", "1"), key("ada", "todo", "2"));
    database.append(&first, &turn("a"), 10 * DAY).unwrap();
    database.append(&second, &turn("b"), 11 * DAY).unwrap();
    assert_eq!(ids(&mut database, "ada", "todo", 12 * DAY), ["2", "1"]);
    assert_eq!(ids(&mut database, "ada", "todo", 12 * DAY + 1), ["2"]);
    assert!(database.get(&first, 12 * DAY + 1).unwrap().is_none());
    assert!(database.turns(&first, 12 * DAY + 1).unwrap().is_empty());
    database.append(&second, &turn("c"), 13 * DAY).unwrap();
    let rows = "SELECT count(*) FROM turn";
    let rows: i64 = database
        .connection
        .query_row(rows, [], |row| row.get(0))
        .unwrap();
    assert_eq!(rows, 2, "what has expired is deleted");
}

#[test]
fn a_file_outlives_its_database_and_is_private() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("conversations.db");
    let settings = ConversationSettings {
        conversations_file: Some(path.clone()),
        ..ConversationSettings::default()
    };
    let key = key("ada", "todo", "c");
    database(settings.clone())
        .append(&key, &turn("one"), 1)
        .unwrap();
    let mut reopened = database(settings.clone());
    assert_eq!(prompts(&mut reopened, &key), ["one"]);
    let user = usage(&reopened.connection.transaction().unwrap(), "ada").unwrap();
    assert_eq!(user.1, 1);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    reopened
        .connection
        .execute_batch("PRAGMA user_version = 99")
        .unwrap();
    drop(reopened);
    let error = Database::open(settings).unwrap_err().to_string();
    assert!(error.contains("newer version"), "{error}");
    let missing = ConversationSettings {
        conversations_file: Some(folder.path().join("no/such/folder.db")),
        ..ConversationSettings::default()
    };
    let error = Database::open(missing).unwrap_err().to_string();
    assert!(error.contains("cannot be opened"), "{error}");
}

#[test]
fn the_id_of_a_conversation_is_short_and_visible() {
    let endless = "x".repeat(65);
    for invalid in ["", "a b", "ä", "\n", &endless] {
        assert!(owner("ada", "todo").key(invalid).is_err(), "{invalid:?}");
    }
}
