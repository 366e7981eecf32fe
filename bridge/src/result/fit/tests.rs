use std::cell::RefCell;

use super::*;

fn cap(bytes: usize) -> Cap {
    Cap {
        bytes,
        text: None,
        links: true,
        promised: false,
    }
}

/// The result as it fits, and what was kept of it.
fn fitted(result: ToolResult, cap: Cap) -> (ToolResult, Option<Arc<ToolResult>>) {
    let kept = RefCell::new(None);
    let fitted = fit(result, cap, |whole, _| {
        *kept.borrow_mut() = Some(whole);
        Ok(Handle::of("h"))
    });
    assert!(size::encoded(&fitted) + ENVELOPE_BYTES <= cap.bytes);
    (fitted, kept.into_inner())
}

fn note_of(result: &ToolResult) -> &str {
    text_of(&result.content[0]).unwrap()
}

fn blocks(blocks: Value) -> ToolResult {
    ToolResult::from_content(blocks, None, None).unwrap()
}

#[test]
fn what_fits_is_left_alone_to_the_byte() {
    let result = ToolResult::text("\"".repeat(5_000));
    let bytes = size::encoded(&result) + ENVELOPE_BYTES;
    assert_eq!(fitted(result.clone(), cap(bytes)), (result.clone(), None));
    let (cut, kept) = fitted(result.clone(), cap(bytes - 1));
    assert_eq!(kept.as_deref(), Some(&result));
    assert_ne!(cut, result);
}

#[test]
fn what_is_there_twice_goes_first_and_nothing_is_lost() {
    let value = json!({ "text": "x".repeat(10_000) });
    let result = ToolResult::from_value(Some(value.clone()));
    let (text_only, kept) = fitted(result.clone(), cap(15_000));
    assert_eq!(kept, None);
    assert_eq!(text_only.content, result.content);
    assert_eq!(text_only.structured, None);

    let promised = Cap {
        promised: true,
        ..cap(15_000)
    };
    let (structured_only, kept) = fitted(result, promised);
    assert_eq!(kept, None);
    assert_eq!(structured_only.structured, Some(value));
    assert!(note_of(&structured_only).contains("structuredContent"));
}

#[test]
fn a_text_is_cut_between_characters_with_a_note_that_is_true() {
    for character in ["a", "é", "→", "😀", "\"", "\u{1}"] {
        let text = character.repeat(20_000);
        let (cut, kept) = fitted(ToolResult::text(text.clone()), cap(10_000));
        assert_eq!(kept.unwrap().whole_text(), text);
        let shown = text_of(&cut.content[2]).unwrap();
        assert!(text.starts_with(shown) && !shown.is_empty());
        let note = note_of(&cut);
        let (of, offset) = (text.len(), shown.len());
        assert!(
            note.contains(&format!("first {offset} of {of} bytes")),
            "{note}"
        );
        let call = format!("{{\"handle\": \"h\", \"offset\": {offset}}}");
        assert!(note.contains(&call), "{note}");
        assert_eq!(cut.content[1]["uri"], "mcp-web://results/h");
        assert_eq!(cut.meta.unwrap()[CUT_META]["handle"], "h");
    }
}

#[test]
fn base64_is_whole_or_left_out() {
    let image = |bytes: usize| {
        json!({ "type": "image", "data": "A".repeat(bytes),
        "mimeType": "image/png" })
    };
    let text = |text: &str| json!({ "type": "text", "text": text });
    let result = blocks(json!([
        text("before"),
        image(50_000),
        image(100),
        text("after")
    ]));
    let (cut, _) = fitted(result, cap(20_000));
    assert_eq!(
        cut.content[2..],
        [text("before"), image(100), text("after")]
    );
    let note = note_of(&cut);
    assert!(note.contains("1 × image/png left out"), "{note}");
    assert!(!note.contains("of its text"), "{note}");
}

#[test]
fn the_offset_in_the_note_goes_on_where_several_texts_were_cut() {
    let text = |text: String| json!({ "type": "text", "text": text });
    let result = blocks(json!([
        text("é".repeat(1_000)),
        text("b".repeat(10_000)),
        text("c".to_owned())
    ]));
    let (cut, kept) = fitted(result, cap(8_000));
    let whole = kept.unwrap();
    let whole_text = whole.whole_text();
    let shown: Vec<_> = cut.content.iter().filter_map(text_of).collect();
    let shown = shown[1..].join("\n");
    assert!(whole_text.starts_with(&shown));
    let rest = part(&whole, &Handle::of("h"), shown.len(), None, None);
    assert_eq!(shown + text_of(&rest.content[1]).unwrap(), whole_text);
}

#[test]
fn parts_of_a_text_make_the_whole() {
    let whole = ToolResult::text("aé→😀\"\n".repeat(3_000));
    let text = whole.whole_text();
    for (length, cap) in [
        (Some(1), None),
        (Some(7), None),
        (Some(1_000), Some(cap(5_000))),
        (None, Some(cap(9_000))),
    ] {
        let (mut read, mut offset) = (String::new(), 0);
        while offset < text.len() {
            let part = part(&whole, &Handle::of("h"), offset, length, cap);
            if let Some(cap) = cap {
                assert!(size::encoded(&part) + ENVELOPE_BYTES <= cap.bytes);
            }
            read += text_of(&part.content[1]).unwrap();
            let end = part.meta.unwrap()[PART_META]["end"].as_u64().unwrap();
            offset = usize::try_from(end).unwrap();
        }
        assert_eq!(read, text);
    }
    let beyond = part(&whole, &Handle::of("h"), usize::MAX, None, None);
    assert_eq!(text_of(&beyond.content[1]), Some(""));
    assert!(note_of(&beyond).contains("This is the end"));
    // An offset within a character begins with that character.
    let within = part(&whole, &Handle::of("h"), 2, Some(2), None);
    assert_eq!(text_of(&within.content[1]), Some("é"));
}

#[test]
fn promised_structure_is_whole_or_a_failure() {
    let promised = Cap {
        promised: true,
        ..cap(10_000)
    };
    let huge = ToolResult::from_value(Some(json!({ "text": "x".repeat(20_000) })));
    let (failure, kept) = fitted(huge.clone(), promised);
    assert!(failure.failed_with(ErrorCode::ResultTooLarge));
    assert_eq!(kept.as_deref(), Some(&huge));
    let data = &failure.meta.as_ref().unwrap()["mcp-web/error"]["data"];
    assert_eq!(data["limit"], 10_000);
    assert_eq!(data["handle"], "h");
    assert_eq!(failure.content[1]["type"], "resource_link");

    // Beside little structure the text is cut.
    let content = json!([{ "type": "text", "text": "x".repeat(20_000) }]);
    let structured = json!({ "n": 1 });
    let result = ToolResult::from_content(content, Some(structured.clone()), None).unwrap();
    let (cut, _) = fitted(result, promised);
    assert_eq!(cut.structured, Some(structured));
    assert!(note_of(&cut).contains("of 20000 bytes"));
}

#[test]
fn what_cannot_be_kept_is_said_to_be_lost() {
    for (why, key) in [
        (NoRoom::TooLarge, "max_kept_bytes"),
        (NoRoom::TooMany, "max_kept_results"),
    ] {
        let result = ToolResult::text("x".repeat(20_000));
        let cut = fit(result, cap(10_000), |_, _| Err(why));
        let note = note_of(&cut);
        assert!(
            note.contains("could not be kept") && note.contains(key),
            "{note}"
        );
        assert!(!note.contains("get_result"), "{note}");
        assert_eq!(cut.content.len(), 2);
    }
}

#[test]
fn many_blocks_and_a_large_meta_leave_room_for_the_note() {
    let blob = |n: usize| {
        json!({ "type": "resource", "resource": { "uri": "x:y",
        "blob": "A".repeat(n), "mimeType": format!("a/{}", "b".repeat(n % 100)) } })
    };
    let many: Vec<_> = (0..500).map(|n| blob(1_000 + n)).collect();
    let meta = json!({ "large": "m".repeat(50_000) });
    let result = ToolResult::from_content(json!(many), None, Some(meta)).unwrap();
    let (cut, _) = fitted(result, cap(6_000));
    let note = note_of(&cut);
    assert!(
        note.contains("× other left out") && note.contains("_meta left out"),
        "{note}"
    );
}

#[test]
fn an_old_client_hears_of_no_link() {
    let old = Cap {
        links: false,
        ..cap(10_000)
    };
    let (cut, _) = fitted(ToolResult::text("x".repeat(20_000)), old);
    assert!(cut.content.iter().all(|block| block["type"] == "text"));
}

/// As much text as Claude Code takes, in small.
const TEXT: TextLimit = TextLimit {
    unit: TextUnit::Utf16,
    without_images: 20_000,
    with_images: 16_000,
};

fn text_cap() -> Cap {
    Cap {
        text: Some(TEXT),
        ..cap(10_000_000)
    }
}

#[test]
fn a_long_text_is_cut_by_its_characters() {
    for character in ["a", "é", "漢", "😀"] {
        let units = character.encode_utf16().count();
        let fits = ToolResult::text(character.repeat(TEXT.without_images / units));
        assert_eq!(fitted(fits.clone(), text_cap()), (fits, None));
        let text = character.repeat(TEXT.without_images / units + 1);
        let (cut, kept) = fitted(ToolResult::text(text.clone()), text_cap());
        assert_eq!(kept.unwrap().whole_text(), text);
        let texts = cut.content.iter().filter_map(text_of);
        let shown: usize = texts.map(size::characters).sum();
        assert!(
            (TEXT.without_images - NOTE_BYTES..=TEXT.without_images).contains(&shown),
            "{shown}"
        );
        assert!(
            note_of(&cut).contains("20000 characters of text"),
            "{}",
            note_of(&cut)
        );
    }
}

#[test]
fn a_client_may_count_bytes_within_json() {
    let text = TextLimit {
        unit: TextUnit::EncodedBytes,
        ..TEXT
    };
    let cap = Cap {
        text: Some(text),
        ..text_cap()
    };
    for (character, bytes) in [("a", 1), ("漢", 3), ("\"", 2), ("\n", 2)] {
        let fits = ToolResult::text(character.repeat(TEXT.without_images / bytes));
        assert_eq!(fitted(fits.clone(), cap), (fits, None));
        let text = character.repeat(TEXT.without_images / bytes + 1);
        let (cut, kept) = fitted(ToolResult::text(text), cap);
        assert!(kept.is_some() && note_of(&cut).starts_with("[Cut:"));
        let texts = cut.content.iter().filter_map(text_of);
        let shown: usize = texts.map(|text| size::encoded(&text) - 2).sum();
        assert!(shown <= TEXT.without_images, "{shown}");
    }
}

#[test]
fn images_are_no_text() {
    let image = json!({ "type": "image", "data": "A".repeat(1_000_000), "mimeType": "image/png" });
    let text = |characters: usize| json!({ "type": "text", "text": "x".repeat(characters) });
    let fits = blocks(json!([image, text(TEXT.with_images), image]));
    assert_eq!(fitted(fits.clone(), text_cap()), (fits, None));
    let (cut, _) = fitted(
        blocks(json!([text(TEXT.with_images + 1), image])),
        text_cap(),
    );
    assert_eq!(cut.content.last(), Some(&image));
    assert!(note_of(&cut).starts_with("[Cut:"), "{}", note_of(&cut));
}

#[test]
fn promised_structure_is_not_cut_for_its_length_as_text() {
    let promised = Cap {
        promised: true,
        ..text_cap()
    };
    let result = ToolResult::from_value(Some(json!({ "text": "x".repeat(30_000) })));
    assert_eq!(fitted(result.clone(), promised), (result.clone(), None));
    let (cut, kept) = fitted(result, text_cap());
    assert!(kept.is_some() && cut.structured.is_none());
}

#[test]
fn parts_have_no_more_characters_than_the_client_takes() {
    let whole = ToolResult::text("漢".repeat(50_000));
    let part = part(&whole, &Handle::of("h"), 0, None, Some(text_cap()));
    let texts = part.content.iter().filter_map(text_of);
    assert!(texts.map(size::characters).sum::<usize>() <= TEXT.without_images);
}
