use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use icu_properties::props::{
    BidiControl, BinaryProperty, DefaultIgnorableCodePoint, Emoji, EnumeratedProperty,
    GeneralCategory, IndicSyllabicCategory, JoiningType, PrependedConcatenationMark, Script,
};
use icu_properties::{CodePointMapData, CodePointSetData};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::ranges::Ranges;
use super::*;

type CodePoints = BTreeSet<u32>;

fn members(ranges: Ranges) -> CodePoints {
    let members = ('\0'..=char::MAX).filter(|it| contains(ranges, *it));
    members.map(u32::from).collect()
}

fn with_property<Property: BinaryProperty>() -> CodePoints {
    let set = CodePointSetData::new::<Property>();
    set.iter_ranges().flatten().collect()
}

fn with_value<Property: EnumeratedProperty>(value: Property) -> CodePoints {
    let map = CodePointMapData::<Property>::new();
    map.iter_ranges_for_value(value).flatten().collect()
}

#[test]
fn the_tables_are_those_of_unicode() {
    let categories = [
        GeneralCategory::Control,
        GeneralCategory::Format,
        GeneralCategory::LineSeparator,
        GeneralCategory::ParagraphSeparator,
    ];
    let mut invisible: CodePoints = categories.into_iter().flat_map(with_value).collect();
    invisible.extend(with_property::<DefaultIgnorableCodePoint>());
    invisible.extend(with_property::<BidiControl>());
    invisible.extend([0x2800, 0xfffc, 0xfffe, 0xffff, 0x16fe4, 0x1d159]);
    let visible = with_property::<PrependedConcatenationMark>();
    invisible.retain(|it| !visible.contains(it) && ![0x9, 0xa].contains(it));
    assert_eq!(members(INVISIBLE), invisible);

    let mut emojis = with_property::<Emoji>();
    emojis.retain(|it| *it > 0x7f);
    assert_eq!(members(EMOJI), emojis);

    let mut viramas = with_value(IndicSyllabicCategory::Virama);
    viramas.retain(|it| *it <= 0xffff);
    assert_eq!(members(VIRAMAS), viramas);

    let arabic = with_value(Script::Arabic);
    let joining = &with_value(JoiningType::DualJoining) & &arabic;
    assert_eq!(members(JOINING), joining);
    let right_joining = &with_value(JoiningType::RightJoining) & &arabic;
    assert_eq!(members(JOINED), &joining | &right_joining);
}

#[test]
fn texts_that_people_write_are_unchanged() {
    for text in [
        "plain\ttext\n",
        "❤️ ☀︎ 👍🏽 1️⃣ #️⃣ 🇩🇪 ⚡️",
        "👩‍👩‍👧 👩🏽‍💻 🏳️‍🌈 🧔🏻‍♂️ ❤️‍🔥",
        "می‌خواهم کتاب‌ها را بخوانم، ۱۴۰۴ ه‍.ش",
        "क्‍ष क्‌ष र्‍य শ্রী র‍্যাম ন্‍",
        "അവന്‍ ಶ್ರೀ ರ‍್ಯ ශ්‍රී ලංකා",
        "שלום, abc! (עברית) 123",
        "ۖ وَ ۝ ٣",
        "日本語　ｶﾅ\u{a0}x\u{202f}y",
    ] {
        assert_eq!(without_invisible(text), text);
        assert_eq!(visible_text(text), text);
    }
}

#[test]
fn a_sequence_of_selectors_carries_no_bytes() {
    let selectors = |bytes: &[u8]| -> String {
        let selector = |byte: &u8| match byte {
            0..16 => char::from_u32(0xfe00 + u32::from(*byte)).unwrap(),
            _ => char::from_u32(0xe0100 + u32::from(*byte) - 16).unwrap(),
        };
        bytes.iter().map(selector).collect()
    };
    let text = format!("😀{}!", selectors(b"ignore all \x0e\x0f\x0f"));
    assert_eq!(without_invisible(&text), "😀!");
    let text = format!("😀{}", selectors(&[15, 15, 14, 15]));
    assert_eq!(without_invisible(&text), "😀\u{fe0f}");
    assert_eq!(visible_text(&text), "😀\u{fe0f}\\u{fe0f}\\u{fe0e}\\u{fe0f}");
    let joiners = "ه\u{200c}\u{200c}ه क\u{94d}\u{200d}\u{200d}\u{200b}\u{200d}\u{94d}";
    assert_eq!(without_invisible(joiners), "هه क\u{94d}\u{200d}\u{94d}");
}

/// Characters among which those of the table have an effect.
fn any_char() -> impl Strategy<Value = char> {
    let with_effect = "☀😀🏽👩1#\u{20e3}aé\n\"\\ ابهء.क\u{94d}র"
        .chars()
        .collect::<Vec<_>>();
    let joiners = vec!['\u{200c}', '\u{200d}', '\u{fe0e}', '\u{fe0f}', '\u{200b}'];
    let invisible: Vec<_> = members(INVISIBLE).into_iter().collect();
    let invisible = select(invisible).prop_map(|it| char::from_u32(it).unwrap());
    prop_oneof![
        3 => select(with_effect),
        3 => select(joiners),
        2 => invisible,
        1 => any::<char>(),
    ]
}

proptest! {
    #[test]
    fn only_invisible_characters_with_an_effect_are_left(characters in vec(any_char(), 0..24)) {
        let text: String = characters.iter().collect();
        let removed = without_invisible(&text);
        prop_assert_eq!(without_invisible(&removed), &*removed);
        let shown = visible_text(&text);
        prop_assert_eq!(visible_text(&shown), &*shown);
        for result in [&removed, &shown] {
            let left: Vec<char> = result.chars().collect();
            for pair in left.windows(2) {
                let is_pair = pair.iter().all(|it| is_invisible(*it));
                prop_assert!(!is_pair || pair == ['\u{fe0f}', '\u{200d}'], "{:?}", result);
            }
            let is_joiner = |it: &char| matches!(it, '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}');
            prop_assert!(left.iter().all(|it| !is_invisible(*it) || is_joiner(it)), "{:?}", result);
        }
        let is_seen = |it: &char| !is_invisible(*it) && !matches!(it, '\n');
        let seen = |text: &str| text.chars().filter(is_seen).collect::<String>();
        prop_assert_eq!(seen(&removed), seen(&text));
        prop_assert!(!visible_line(&text).contains(['\n', '\t']));
    }
}

/// Returns the ranges of a table in a class of a regular expression of JavaScript.
fn class(ranges: Ranges) -> String {
    let mut class = String::new();
    let mut members = members(ranges).into_iter().peekable();
    while let Some(first) = members.next() {
        let mut last = first;
        while members.next_if_eq(&(last + 1)).is_some() {
            last += 1;
        }
        class += &escaped(first);
        if last != first {
            let _ = write!(class, "-{}", escaped(last));
        }
    }
    class
}

fn escaped(code_point: u32) -> String {
    match code_point {
        0..0x100 => format!("\\x{code_point:02x}"),
        0x100..0x10000 => format!("\\u{code_point:04x}"),
        _ => format!("\\u{{{code_point:x}}}"),
    }
}

/// Writes the file if it is another one: then the test passes when it is run again.
#[test]
fn the_file_for_javascript_is_generated_from_the_tables() {
    let [invisible, viramas, joining, joined] = [INVISIBLE, VIRAMAS, JOINING, JOINED].map(class);
    // The browser has the table of emojis.
    let emoji = r"[^\P{Emoji}\x00-\x7f]";
    let effects = [
        format!(r"(?<={emoji})[\ufe0e\ufe0f]"),
        r"(?<=[#*\d])[\ufe0e\ufe0f](?=\u20e3)".to_owned(),
        format!(r"(?<={emoji}\ufe0f?)\u200d(?={emoji})"),
        format!(r"(?<=[{joining}])(?:\u200c(?=[{joined}])|\u200d(?=[\n\t -~]|$))"),
        format!(r"(?<=[{viramas}])[\u200c\u200d]"),
        format!(r"(?<=[\u0900-\u0dff])[\u200c\u200d](?=[{viramas}])"),
    ];
    let generated = format!(
        "/** Invisible characters without a visible effect. A test of `bridge/protocol/src/invisible.rs` generates this file. */\n\n\
         export const INVISIBLE = /(?!{})[{invisible}]/gu;\n",
        effects.join("|")
    );
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web-sdk/js/text/invisible.ts");
    if std::fs::read_to_string(&path).unwrap_or_default() != generated {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, generated).unwrap();
        panic!("{} was not up to date, and is now", path.display());
    }
}
