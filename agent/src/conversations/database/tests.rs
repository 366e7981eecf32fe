//! Tests of the rules of conversations, in memory and in a file.

use std::collections::HashMap;
use std::time::Duration;

use bridge_protocol::Query;
use serde_json::{Map, Value, json};

use super::*;
use crate::agent_loop::FinishedTranscript;
use crate::conversations::{ConversationMessages, StoredQuery};
use crate::model::{CallResult, ModelCall, ModelMessage, ModelTurn};

const DAY: u64 = 24 * 60 * 60 * 1000;

pub(super) fn key(user: &str, app: &str, id: &str) -> ConversationKey {
    ConversationOwner::of(user, app).key(id).unwrap()
}

fn query_of(prompt: &str, messages: Vec<ModelMessage>) -> EncodedQuery {
    let transcript = FinishedTranscript {
        messages,
        tool_names: HashMap::from([("add_1".to_owned(), "add card".to_owned())]),
    };
    let query = StoredQuery::new(&Query::new("q", prompt), transcript);
    EncodedQuery::new(query, usize::MAX).unwrap()
}

pub(super) fn query(prompt: &str) -> EncodedQuery {
    query_of(
        prompt,
        vec![ModelMessage::from_text(prompt.to_owned()), answer("Done.")],
    )
}

fn answer(text: &str) -> ModelMessage {
    ModelMessage::Model(ModelTurn {
        text: text.to_owned(),
        ..ModelTurn::default()
    })
}

fn database(settings: ConversationSettings) -> Database {
    Database::open(settings, 0).unwrap()
}

fn ids(database: &mut Database, user: &str, app: &str, now: u64) -> Vec<String> {
    let list = database
        .list(&ConversationOwner::of(user, app), now)
        .unwrap();
    list.into_iter().map(|summary| summary.id).collect()
}

pub(super) fn prompts(database: &mut Database, key: &ConversationKey) -> Vec<String> {
    let queries = database.queries(key, 0).unwrap().into_iter();
    queries.map(|json| decode(&json)).map(prompt).collect()
}

fn decode(json: &str) -> Value {
    serde_json::from_str(json).unwrap()
}

fn prompt(query: Value) -> String {
    query["prompt"].as_str().unwrap().to_owned()
}

#[test]
fn users_and_apps_see_only_their_own_conversations() {
    let mut database = database(ConversationSettings::default());
    let owners = [("ada", "todo"), ("ada", "mail"), ("bob", "todo")];
    for (user, app) in owners {
        let prompt = format!("{user} {app}");
        database
            .append(&key(user, app, "same"), &query(&prompt), 1)
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
    let call = ModelCall {
        id: "a".to_owned(),
        tool: "add_1".to_owned(),
        arguments: Map::new(),
        unreadable: None,
    };
    let calling = ModelMessage::Model(ModelTurn {
        calls: vec![call.clone(), call.clone()],
        ..ModelTurn::default()
    });
    let results = ["added", "added too"].map(|text| CallResult::new(&call, text.to_owned(), false));
    let asked = ModelMessage::from_text("[context m] …\n\nAdd it".to_owned());
    let messages = vec![
        asked,
        calling,
        ModelMessage::Results(results.to_vec()),
        answer("Done."),
    ];
    database
        .append(&key, &query_of("Add\n it", messages), 1_000)
        .unwrap();
    let list = database
        .list(&ConversationOwner::of("ada", "todo"), 1_000)
        .unwrap();
    assert_eq!((&*list[0].title, list[0].queries), ("Add it", 1));
    assert_eq!(list[0].created_at, "1970-01-01T00:00:01.000Z");
    let (summary, queries) = database.get(&key, 1_000).unwrap().unwrap();
    let stored: Vec<StoredQuery> = queries
        .iter()
        .map(|json| serde_json::from_str(json).unwrap())
        .collect();
    let for_people = ConversationMessages::new(summary, stored.clone());
    let expected = json!([
        { "role": "user", "text": "Add\n it" },
        { "role": "assistant", "text": "", "toolCalls": [
            { "id": "a", "tool": "add card", "arguments": {}, "result": "added", "isError": false },
            { "id": "a", "tool": "add card", "arguments": {}, "result": "added too", "isError": false } ] },
        { "role": "assistant", "text": "Done.", "toolCalls": [] },
    ]);
    assert_eq!(json!(for_people)["messages"], expected);
    let for_model = stored.into_iter().flat_map(StoredQuery::into_messages);
    let for_model: Vec<_> = for_model.collect();
    assert!(matches!(&for_model[1], ModelMessage::Model(turn) if turn.calls[0].tool == "add_1"));
}

#[test]
fn a_conversation_keeps_its_newest_queries() {
    let mut database = database(ConversationSettings {
        max_conversation_queries: 2,
        ..ConversationSettings::default()
    });
    let key = key("ada", "todo", "c");
    for prompt in ["one", "two", "three"] {
        database.append(&key, &query(prompt), 1).unwrap();
    }
    assert_eq!(prompts(&mut database, &key), ["two", "three"]);
    assert_eq!(
        database
            .list(&ConversationOwner::of("ada", "todo"), 1)
            .unwrap()[0]
            .queries,
        2
    );
}

#[test]
fn a_conversation_has_a_size() {
    let mut database = database(ConversationSettings {
        max_conversation_bytes: 2_000,
        ..ConversationSettings::default()
    });
    let key = key("ada", "todo", "c");
    for letter in ["1", "2", "3"] {
        let query = query(&letter.repeat(400));
        database.append(&key, &query, 1).unwrap();
    }
    assert_eq!(
        prompts(&mut database, &key),
        ["2".repeat(400), "3".repeat(400)]
    );
    let bytes = database
        .list(&ConversationOwner::of("ada", "todo"), 1)
        .unwrap()[0]
        .bytes;
    assert!((1_600..2_000).contains(&bytes), "{bytes}");
}

#[test]
fn thoughts_make_room_before_queries_do_those_of_the_newest_last() {
    let mut database = database(ConversationSettings {
        max_conversation_bytes: 3_000,
        ..ConversationSettings::default()
    });
    let key = key("ada", "todo", "c");
    let mut append = |prompt: &str, thoughts: usize| {
        let kept = json!({ "api": "responses", "origin": { "issuer": "i" },
            "blocks": [{ "type": "reasoning", "encrypted_content": "t".repeat(thoughts) }] });
        let turn = ModelMessage::Model(ModelTurn {
            text: "Done.".to_owned(),
            kept: Some(serde_json::from_value(kept).unwrap()),
            ..ModelTurn::default()
        });
        let asked = ModelMessage::from_text(prompt.to_owned());
        let query = query_of(prompt, vec![asked, turn]);
        assert!(query.json.len() > thoughts);
        database.append(&key, &query, 1).unwrap();
        let (listed, queries) = database.get(&key, 1).unwrap().unwrap();
        let bytes: usize = queries.iter().map(String::len).sum();
        assert_eq!(listed.bytes, bytes as u64);
        let has_thoughts = queries.iter().map(|it| it.contains("encrypted_content"));
        has_thoughts.collect::<Vec<_>>()
    };
    append("1", 1_000);
    assert_eq!(append("2", 1_000), [true, true]);
    assert_eq!(append("3", 1_000), [false, false, true]);
    assert_eq!(append("4", 1_000), [false, false, true, true]);
    assert_eq!(append("5", 2_700), [false; 5]);
    assert_eq!(prompts(&mut database, &key), ["1", "2", "3", "4", "5"]);
}

#[test]
fn a_conversation_continues_before_a_prompt_that_was_changed() {
    let mut database = database(ConversationSettings {
        max_conversation_queries: 4,
        ..ConversationSettings::default()
    });
    let key = key("ada", "todo", "c");
    assert_eq!(database.keep_prompts(&key, 1, 1), Ok(0), "there is none");
    let said_meanwhile = vec![
        ModelMessage::from_text("three".to_owned()),
        ModelMessage::from_text("and four".to_owned()),
        answer("Done."),
    ];
    database.append(&key, &query("one"), 1).unwrap();
    database.append(&key, &query("two"), 1).unwrap();
    let third = query_of("three", said_meanwhile);
    database.append(&key, &third, 1).unwrap();
    database.append(&key, &query("five"), 1).unwrap();
    database.append(&key, &query("six"), 1).unwrap();
    assert_eq!(
        prompts(&mut database, &key),
        ["two", "three", "five", "six"],
        "the first is dropped"
    );
    assert_eq!(database.keep_prompts(&key, 6, 1), Ok(4));
    assert_eq!(database.keep_prompts(&key, 5, 1), Ok(3));
    assert_eq!(prompts(&mut database, &key), ["two", "three", "five"]);
    assert_eq!(
        database.keep_prompts(&key, 3, 1),
        Ok(1),
        "the third query has the prompts 3 and 4"
    );
    let listed = &database
        .list(&ConversationOwner::of("ada", "todo"), 1)
        .unwrap()[0];
    let stored = query("two").json.len() as u64;
    assert_eq!((listed.queries, listed.bytes), (1, stored));
    database.append(&key, &query("other"), 1).unwrap();
    assert_eq!(prompts(&mut database, &key), ["two", "other"]);
    assert_eq!(database.keep_prompts(&key, 1, 1), Ok(0));
    assert_eq!(ids(&mut database, "ada", "todo", 1), [""; 0]);
}

#[test]
fn a_user_has_a_share_and_the_oldest_conversations_make_room() {
    let mut database = database(ConversationSettings {
        max_conversations_per_user: 2,
        ..ConversationSettings::default()
    });
    database
        .append(&key("bob", "todo", "old"), &query("of bob"), 1)
        .unwrap();
    for (id, now) in [("a", 2), ("b", 3), ("a", 4), ("c", 5)] {
        database
            .append(&key("ada", "todo", id), &query(id), now)
            .unwrap();
    }
    assert_eq!(ids(&mut database, "ada", "todo", 5), ["c", "a"]);
    assert_eq!(ids(&mut database, "bob", "todo", 5), ["old"]);
    let settings = &mut database.settings;
    settings.max_conversations_per_user = 10;
    settings.max_conversation_bytes_per_user = 1_000;
    for id in ["d", "e"] {
        database
            .append(&key("ada", "todo", id), &query(&"x".repeat(300)), 6)
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
fn over_the_limit_of_all_users_those_with_the_most_make_room() {
    let small = query(&"x".repeat(100));
    let mut database = database(ConversationSettings {
        max_all_conversation_bytes: small.json.len() * 5,
        ..ConversationSettings::default()
    });
    for (id, now) in [("1", 1), ("2", 2), ("3", 3)] {
        let key = key("ada", "todo", id);
        database.append(&key, &small, now).unwrap();
    }
    for user in ["bob", "eve", ""] {
        database.append(&key(user, "todo", "c"), &small, 0).unwrap();
    }
    assert_eq!(ids(&mut database, "ada", "todo", 4), ["3", "2"]);
    for user in ["bob", "eve", ""] {
        assert_eq!(ids(&mut database, user, "todo", 4), ["c"], "{user:?}");
    }
    let large = query(&"x".repeat(700));
    database
        .append(&key("eve", "todo", "large"), &large, 5)
        .unwrap();
    assert_eq!(
        ids(&mut database, "eve", "todo", 6),
        ["large"],
        "the conversation that was just continued stays"
    );
    assert_eq!(ids(&mut database, "bob", "todo", 6).len(), 0);
}

#[test]
fn users_with_self_made_tokens_make_room_before_all_others() {
    let mut database = database(ConversationSettings {
        max_all_conversation_bytes: 3_000,
        ..ConversationSettings::default()
    });
    let of_ada = ConversationOwner {
        is_self_made: false,
        ..ConversationOwner::of("ada", "todo")
    };
    let key_of_ada = of_ada.clone().key("c").unwrap();
    database
        .append(&key_of_ada, &query(&"x".repeat(700)), 0)
        .unwrap();
    for number in 0..100 {
        let key = key(&format!("self-made {number}"), "todo", "c");
        database.append(&key, &query("x"), 1).unwrap();
    }
    assert_eq!(database.list(&of_ada, 2).unwrap().len(), 1);
    let newest = ids(&mut database, "self-made 99", "todo", 2);
    assert_eq!(newest.len(), 1);
    let kept = (0..100).filter(|number| {
        let user = format!("self-made {number}");
        !ids(&mut database, &user, "todo", 2).is_empty()
    });
    assert!((2..50).contains(&kept.count()));
}

fn count(database: &Database) -> usize {
    let count = "SELECT count(*) FROM conversation";
    let connection = &database.connection;
    connection.query_row(count, [], |row| row.get(0)).unwrap()
}

#[test]
fn one_query_drops_a_limited_number_of_conversations() {
    let fill = |database: &mut Database| {
        for number in 0..250 {
            let key = key(&format!("user {number}"), "todo", "c");
            database.append(&key, &query("x"), 1).unwrap();
        }
        assert_eq!(count(database), 250);
    };
    let ada = key("ada", "todo", "c");
    let append = |database: &mut Database, now| {
        database.append(&ada, &query("x"), now).unwrap();
        assert_eq!(prompts(database, &ada).len(), 1);
        let left = count(database);
        database.delete(&ada).unwrap();
        left
    };

    let mut database = database(ConversationSettings::default());
    fill(&mut database);
    database.settings.max_all_conversation_bytes = 1;
    assert_eq!(append(&mut database, 1), 151);
    assert_eq!(append(&mut database, 1), 51);
    assert_eq!(append(&mut database, 1), 1);

    database.settings = ConversationSettings::default();
    fill(&mut database);
    let lifetime = database.settings.conversation_lifetime.as_millis() as u64;
    database.append(&ada, &query("of before"), 1).unwrap();
    assert_eq!(append(&mut database, lifetime + 2), 151);
    let listed = ids(&mut database, "user 249", "todo", lifetime + 2);
    assert!(listed.is_empty(), "{listed:?}");
    assert_eq!(count(&database), 50);
    assert_eq!(append(&mut database, lifetime + 2), 1);

    for number in 0..250 {
        let key = key("ada", "todo", &number.to_string());
        database.settings.max_conversations_per_user = 1_000;
        database.append(&key, &query("x"), 1).unwrap();
    }
    database.settings.max_conversations_per_user = 10;
    assert_eq!(append(&mut database, 1), 151);
    assert_eq!(append(&mut database, 1), 51);
    assert_eq!(append(&mut database, 1), 10);
}

#[test]
fn the_newest_token_decides_whether_a_user_is_self_made() {
    let mut database = database(ConversationSettings::default());
    let steps = [
        ("a", true),
        ("b", true),
        ("a", false),
        ("b", true),
        ("c", false),
    ];
    for (id, is_self_made) in steps {
        let owner = ConversationOwner {
            is_self_made,
            ..ConversationOwner::of("ada", "todo")
        };
        let key = owner.key(id).unwrap();
        database.append(&key, &query("x"), 1).unwrap();
        let usage = "SELECT self_made FROM usage WHERE user = 'ada'";
        let connection = &database.connection;
        let stored = connection.query_row(usage, [], |row| row.get(0));
        assert_eq!(stored, Ok(is_self_made), "{id}");
    }
}

#[test]
fn among_self_made_tokens_the_user_with_the_most_makes_room_first() {
    let mut database = database(ConversationSettings::default());
    let of_listed_token = ConversationOwner {
        is_self_made: false,
        ..ConversationOwner::of("listed", "todo")
    };
    let listed = of_listed_token.key("c").unwrap();
    let large = query(&"x".repeat(1_000));
    for (key, query) in [
        (&listed, &large),
        (&key("small", "todo", "c"), &query("x")),
        (&key("large", "todo", "c"), &large),
        (&key("new", "todo", "c"), &query("x")),
    ] {
        database.append(key, query, 1).unwrap();
    }
    let mut users = Vec::new();
    for _ in 0..3 {
        let transaction = database.connection.transaction().unwrap();
        let bytes = "SELECT bytes - 1 FROM total";
        let bytes: usize = transaction.query_row(bytes, [], |row| row.get(0)).unwrap();
        let settings = ConversationSettings {
            max_all_conversation_bytes: bytes,
            ..ConversationSettings::default()
        };
        let number = "SELECT number FROM conversation WHERE user = 'new'";
        let kept = transaction.query_row(number, [], |row| row.get(0)).unwrap();
        let dropped = drop_conversations(&transaction, "new", kept, 100, &settings).unwrap();
        assert_eq!(dropped, 1);
        transaction.commit().unwrap();
        let left = "SELECT group_concat(user, ' ') FROM (SELECT user FROM usage ORDER BY user)";
        let connection = &database.connection;
        let left: String = connection.query_row(left, [], |row| row.get(0)).unwrap();
        users.push(left);
    }
    assert_eq!(users, ["listed new small", "listed new", "new"]);
}

#[test]
fn the_users_who_make_room_are_found_by_an_index() {
    let database = database(ConversationSettings::default());
    let explain = format!("EXPLAIN QUERY PLAN {}", limits::LARGEST_USERS);
    let mut statement = database.connection.prepare(&explain).unwrap();
    let steps = statement.query_map([], |row| row.get("detail")).unwrap();
    let steps: Vec<String> = steps.map(Result::unwrap).collect();
    assert_eq!(steps, ["SCAN usage USING INDEX usage_size"]);
}

#[test]
fn a_conversation_expires_after_its_last_query() {
    let mut database = database(ConversationSettings {
        conversation_lifetime: Duration::from_millis(2 * DAY),
        ..ConversationSettings::default()
    });
    let (first, second) = (key("ada", "todo", "1"), key("ada", "todo", "2"));
    database.append(&first, &query("a"), 10 * DAY).unwrap();
    database.append(&second, &query("b"), 11 * DAY).unwrap();
    assert_eq!(ids(&mut database, "ada", "todo", 12 * DAY), ["2", "1"]);
    assert_eq!(ids(&mut database, "ada", "todo", 12 * DAY + 1), ["2"]);
    assert!(database.get(&first, 12 * DAY + 1).unwrap().is_none());
    assert!(database.queries(&first, 12 * DAY + 1).unwrap().is_empty());
    database.append(&second, &query("c"), 13 * DAY).unwrap();
    let rows = "SELECT count(*) FROM query";
    let rows: i64 = database
        .connection
        .query_row(rows, [], |row| row.get(0))
        .unwrap();
    assert_eq!(rows, 2, "what has expired is deleted");
}

#[test]
fn the_id_of_a_conversation_is_short_and_visible() {
    let endless = "x".repeat(65);
    for invalid in ["", "a b", "ä", "\n", &endless] {
        assert!(
            ConversationOwner::of("ada", "todo").key(invalid).is_err(),
            "{invalid:?}"
        );
    }
}
