//! Random JSON documents with comments: a change of one member leaves all other bytes unchanged.

use bridge_shared_files::jsonc::{parse, with_member, without_member};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// White space and comments that may be before and after each token.
fn trivia(line_break: &'static str) -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => Just(String::new()),
        3 => Just(" ".to_owned()),
        1 => Just("\t".to_owned()),
        3 => Just(line_break.to_owned()),
        2 => Just(format!("{line_break}  ")),
        1 => Just("/* c, } */".to_owned()),
        1 => Just(format!("// c \" {{{line_break}")),
    ];
    proptest::collection::vec(piece, 0..3).prop_map(|pieces| pieces.concat())
}

fn scalar() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        any::<i32>().prop_map(|number| number.to_string()),
        "[a-z/{}ä,]{0,6}".prop_map(|text| Value::from(text).to_string()),
    ]
}

/// Keys of which one is the path to the changed member.
fn key() -> impl Strategy<Value = String> {
    prop_oneof![
        2 => Just("servers".to_owned()),
        1 => Just("web".to_owned()),
        4 => "[a-dä]{1,3}",
    ]
}

fn object(
    value: impl Strategy<Value = String> + Clone,
    line_break: &'static str,
) -> impl Strategy<Value = String> {
    let member = (
        key(),
        trivia(line_break),
        value,
        trivia(line_break),
        trivia(line_break),
    );
    let members = proptest::collection::vec(member, 0..4);
    (members, trivia(line_break), any::<bool>()).prop_map(|(members, end, trailing_comma)| {
        let mut seen = Vec::new();
        let mut text = String::from("{");
        for (key, before, value, between, after) in members {
            if seen.contains(&key) {
                continue;
            }
            if !seen.is_empty() {
                text.push(',');
            }
            text.push_str(&format!("{before}\"{key}\":{between}{value}{after}"));
            seen.push(key);
        }
        if trailing_comma && !seen.is_empty() {
            text.push(',');
        }
        text + &end + "}"
    })
}

/// Documents whose outermost value is an object.
fn document() -> impl Strategy<Value = String> {
    prop_oneof![Just("\n"), Just("\r\n")].prop_flat_map(|line_break| {
        let array = proptest::collection::vec(scalar(), 0..3);
        let array = array.prop_map(|items| format!("[{}]", items.join(", ")));
        let leaf = prop_oneof![3 => scalar(), 1 => array].boxed();
        let inner = object(leaf.clone(), line_break).boxed();
        let middle = object(prop_oneof![leaf.clone(), inner.clone()].boxed(), line_break).boxed();
        let root = object(
            prop_oneof![1 => leaf, 2 => inner, 2 => middle].boxed(),
            line_break,
        );
        (trivia(line_break), root, trivia(line_break))
            .prop_map(|(before, root, after)| before + &root + &after)
    })
}

fn value_of(text: &str) -> Value {
    parse(text)
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
        .unwrap_or_else(|| json!({}))
}

fn with(mut value: Value, path: &[&str], new: &Value) -> Value {
    let mut object = &mut value;
    for key in path {
        let members = object.as_object_mut().expect("an object");
        object = members.entry(*key).or_insert_with(|| json!({}));
    }
    *object = new.clone();
    value
}

/// Whether a path leads through objects only, as far as it exists.
fn is_open(value: &Value, path: &[&str]) -> bool {
    match (value, path) {
        (Value::Object(_), []) => true,
        (Value::Object(members), [key, rest @ ..]) => {
            members.get(*key).is_none_or(|value| is_open(value, rest))
        }
        _ => false,
    }
}

/// Whether a text is another one with one inserted piece.
fn is_insertion(before: &[u8], after: &[u8]) -> bool {
    let same = |(a, b): &(&u8, &u8)| a == b;
    let start = before.iter().zip(after).take_while(same).count();
    let ends = before.iter().rev().zip(after.iter().rev());
    before.len() <= start + ends.take_while(same).count()
}

/// Whether a text is another one with one inserted piece, or with a comma and one piece after it.
fn is_addition(before: &[u8], after: &[u8]) -> bool {
    let is_split = |at: usize| {
        let rest = after[at..].strip_prefix(b",");
        after.starts_with(&before[..at])
            && rest.is_some_and(|rest| is_insertion(&before[at..], rest))
    };
    is_insertion(before, after) || (0..before.len()).any(is_split)
}

const ENTRY: &str =
    r#"{"command":"/a b/c","args":["x"],"env":{"K":"v"},"list":[{"a":1}],"none":{}}"#;

proptest! {
    // Many documents have no member at the path.
    #![proptest_config(ProptestConfig { max_global_rejects: 65_536, ..ProptestConfig::default() })]

    #[test]
    fn a_new_member_is_added_and_all_other_bytes_stay(text in document()) {
        let path = ["servers", "web"];
        let before = value_of(&text);
        prop_assume!(is_open(&before, &path[..1]));
        prop_assume!(before["servers"].get("web").is_none());
        let entry: Value = serde_json::from_str(ENTRY).unwrap();
        let added = with_member(&text, &path, &entry).unwrap();
        prop_assert_eq!(value_of(&added), with(before.clone(), &path, &entry), "{}", &added);
        prop_assert!(is_addition(text.as_bytes(), added.as_bytes()), "{}\n---\n{}", text, added);
        let removed = without_member(&added, &path).unwrap();
        let mut expected = before.clone();
        if expected.get("servers").is_none() {
            expected["servers"] = json!({});
        }
        prop_assert_eq!(value_of(&removed), expected, "{}", &removed);
    }

    #[test]
    fn a_member_that_was_added_among_others_is_removed_with_its_comma(text in document()) {
        let before = value_of(&text);
        let servers = before.get("servers").and_then(Value::as_object).map_or(0, Map::len);
        prop_assume!(servers > 0 && before["servers"].get("web").is_none());
        let added = with_member(&text, &["servers", "web"], &json!({ "a": [1, 2] })).unwrap();
        let removed = without_member(&added, &["servers", "web"]).unwrap();
        // A last member that shares its line with the closing brace, or with the comma of others, gets
        // a line break before the brace.
        let blank = |text: &str| text.split_whitespace().collect::<String>();
        prop_assert_eq!(blank(&removed), blank(&text), "{}", &added);
    }

    #[test]
    fn any_member_can_be_removed(text in document(), index in 0_usize..4, inner in 0_usize..4) {
        let before = value_of(&text);
        let Some(members) = before.as_object() else { return Ok(()) };
        prop_assume!(!members.is_empty());
        let key = members.keys().nth(index % members.len()).unwrap().clone();
        let mut path = vec![key.as_str()];
        let nested: Vec<_> = before[&key].as_object().into_iter().flat_map(Map::keys).cloned().collect();
        if !nested.is_empty() {
            path.push(&nested[inner % nested.len()]);
        }
        let removed = without_member(&text, &path).unwrap();
        let mut expected = before.clone();
        let parent = match path[..] {
            [key, _] => &mut expected[key],
            _ => &mut expected,
        };
        parent.as_object_mut().unwrap().shift_remove(path[path.len() - 1]);
        prop_assert_eq!(value_of(&removed), expected, "{}\n---\n{}", &text, &removed);
    }

    #[test]
    fn a_value_is_replaced_where_it_is(text in document(), index in 0_usize..4) {
        let before = value_of(&text);
        let members = before.as_object().unwrap();
        prop_assume!(!members.is_empty());
        let key = members.keys().nth(index % members.len()).unwrap();
        let replaced = with_member(&text, &[key], &json!("new")).unwrap();
        let expected = with(before.clone(), &[key], &json!("new"));
        prop_assert_eq!(value_of(&replaced), expected, "{}", &replaced);
        let (start, _) = replaced.split_once("\"new\"").unwrap();
        prop_assert!(text.starts_with(start), "{}", &replaced);
    }

    #[test]
    fn no_text_makes_it_panic(text in "[{}\\[\\]\",:/*\\\\a\\n\\r 1ä]{0,40}") {
        let _ = parse(&text);
        if let Ok(added) = with_member(&text, &["a", "b"], &json!(1)) {
            prop_assert_eq!(&value_of(&added)["a"]["b"], &json!(1), "{}", &added);
            prop_assert!(without_member(&added, &["a", "b"]).is_ok());
        }
    }
}

#[test]
fn a_change_keeps_comments_and_the_style_of_the_text() {
    let text = "{\n\t// our servers\n\t\"servers\": {\n\t\t/* the first */\n\t\t\"a\": { \
                \"command\": \"a\" }, // for a\n\t\t\"b\": { \"command\": \"b\", }, // for b\n\t},\n}\n";
    let entry = json!({ "command": "c", "args": ["x"] });
    let added = with_member(text, &["servers", "c"], &entry).unwrap();
    let expected = text.replace(
        "// for b\n",
        "// for b\n\t\t\"c\": {\n\t\t\t\"command\": \"c\",\n\t\t\t\"args\": [\"x\"]\n\t\t},\n",
    );
    assert_eq!(added, expected);
    assert_eq!(without_member(&added, &["servers", "c"]).unwrap(), text);
    let removed = without_member(text, &["servers", "a"]).unwrap();
    assert_eq!(
        value_of(&removed),
        json!({ "servers": { "b": { "command": "b" } } })
    );
    for comment in ["// our servers", "/* the first */", "// for a", "// for b"] {
        assert!(removed.contains(comment), "{removed}");
    }
}

#[test]
fn members_are_added_in_the_form_of_the_text() {
    let added = |text: &str| with_member(text, &["a", "b"], &json!({ "c": 1 })).unwrap();
    for (text, expected) in [
        (
            "",
            "{\n  \"a\": {\n    \"b\": {\n      \"c\": 1\n    }\n  }\n}\n",
        ),
        (
            "{}",
            "{\n  \"a\": {\n    \"b\": {\n      \"c\": 1\n    }\n  }\n}",
        ),
        (
            "// mine",
            "// mine\n{\n  \"a\": {\n    \"b\": {\n      \"c\": 1\n    }\n  }\n}\n",
        ),
        ("{\"x\":1}", "{\"x\":1, \"a\": {\"b\":{\"c\":1}}}"),
        ("{\"a\":{}}", "{\"a\":{\"b\":{\"c\":1}}}"),
        ("{\"a\":{\"x\":1}}", "{\"a\":{\"x\":1, \"b\": {\"c\":1}}}"),
        (
            "{\r\n    \"a\": {}\r\n}\r\n",
            "{\r\n    \"a\": {\r\n        \"b\": {\r\n            \"c\": 1\r\n        }\r\n    }\r\n}\r\n",
        ),
        (
            "{\n  \"a\": {\n    \"x\": 1 // x\n  }\n}",
            "{\n  \"a\": {\n    \"x\": 1, // x\n    \"b\": {\n      \"c\": 1\n    }\n  }\n}",
        ),
    ] {
        assert_eq!(added(text), expected);
    }
}

#[test]
fn what_is_on_the_path_must_be_an_object() {
    for (text, error) in [
        (
            "[]",
            "line 1, column 1: the outermost value is not an object",
        ),
        ("{\n \"a\": 1}", "line 2, column 7: `a` is not an object"),
        ("{\"a\": null}", "line 1, column 7: `a` is not an object"),
        (
            "{\"a\": {}, \"a\": {}}",
            "line 1, column 11: the key `a` is there twice",
        ),
    ] {
        let result = with_member(text, &["a", "b"], &json!(1)).unwrap_err();
        assert!(result.starts_with(error), "{result}");
    }
    assert_eq!(
        without_member("{\"a\": 1}", &["a", "b"]).unwrap(),
        "{\"a\": 1}"
    );
}
