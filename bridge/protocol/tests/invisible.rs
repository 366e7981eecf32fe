//! The cases of `golden/invisible-characters.json`, which the SDK has to pass as well, and the property
//! that nothing invisible is left in JSON.
#![allow(clippy::unwrap_used)]

use bridge_protocol::invisible::{
    escape_in_json, is_invisible, visible_line, visible_text, without_invisible,
};
use proptest::prelude::*;
use proptest::string::string_regex;
use serde_json::{Value, json};

const CASES: &str = include_str!("../golden/invisible-characters.json");

#[test]
fn invisible_characters_are_shown_to_people_and_removed_for_models() {
    let cases: Vec<Value> = serde_json::from_str(CASES).unwrap();
    for case in cases {
        let text = case["text"].as_str().unwrap();
        assert_eq!(*visible_text(text), case["visible"], "{case}");
        assert_eq!(*without_invisible(text), case["removed"], "{case}");
    }
    assert_eq!(
        visible_line("a\u{200b}\tb\r\n"),
        r"a\u{200b}\u{9}b\u{d}\u{a}"
    );
}

proptest! {
    #[test]
    fn json_means_the_same_without_an_invisible_character(
        text in string_regex("[a\"\\\\☀👩\u{0}-\u{1f}\u{7f}-\u{ad}\u{200b}-\u{202e}\u{fe00}-\u{ffff}\u{e0000}-\u{e01ef}]{0,24}").unwrap(),
    ) {
        let value = json!({ (text.clone()): [text, 1] });
        for json in [value.to_string(), format!("{value:#}").replace('\n', "\r\n")] {
            let escaped = escape_in_json(&json);
            prop_assert_eq!(serde_json::from_str::<Value>(&escaped).unwrap(), value.clone());
            prop_assert!(!escaped.contains(|it| is_invisible(it) && it != '\r'), "{}", escaped);
        }
    }
}
