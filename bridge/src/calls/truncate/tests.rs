use std::cell::RefCell;

use super::*;

fn byte_limit(bytes: usize) -> ResultLimit {
    ResultLimit {
        bytes,
        text: None,
        links: true,
        requires_structured_content: false,
    }
}

/// The truncated result, and the whole one if it was stored.
fn truncated(
    result: CallToolResult,
    limit: ResultLimit,
) -> (BuiltResult, Option<Arc<CallToolResult>>) {
    truncated_with(result, limit, None)
}

/// As [`truncated`], for a client whose media are limited.
fn truncated_with(
    result: CallToolResult,
    limit: ResultLimit,
    media: Option<&MediaBudget>,
) -> (BuiltResult, Option<Arc<CallToolResult>>) {
    let stored = RefCell::new(None);
    let truncated = truncate(result, limit, media, |whole, _| {
        *stored.borrow_mut() = Some(whole);
        Ok(ResultHandle::from_text("h"))
    });
    assert!(encoded_size::encoded_len(&truncated) + ENVELOPE_BYTES <= limit.bytes);
    (truncated.into_parsed(), stored.into_inner())
}

fn note_text(result: &BuiltResult) -> &str {
    text_content(&result.content[0]).unwrap()
}

/// A part of a stored result under the handle `h`.
fn part_of(
    whole: &CallToolResult,
    offset: usize,
    length: Option<usize>,
    limit: Option<ResultLimit>,
) -> BuiltResult {
    let handle = ResultHandle::from_text("h");
    text_part(whole, &handle, offset, length, limit).into_parsed()
}

fn from_blocks(blocks: Value) -> CallToolResult {
    CallToolResult::from_content(blocks, None, None).unwrap()
}

#[test]
fn a_result_at_the_exact_limit_is_unchanged() {
    let result = CallToolResult::text("\"".repeat(5_000));
    let bytes = encoded_size::encoded_len(&result) + ENVELOPE_BYTES;
    assert_eq!(
        truncated(result.clone(), byte_limit(bytes)),
        (result.clone().into_parsed(), None)
    );
    let (cut, kept) = truncated(result.clone(), byte_limit(bytes - 1));
    assert_eq!(kept.as_deref(), Some(&result));
    assert_ne!(cut, result.into_parsed());
}

#[test]
fn duplicate_content_is_dropped_before_anything_is_truncated() {
    let value = json!({ "text": "x".repeat(10_000) });
    let result = CallToolResult::from_value(Some(value.clone()));
    let (text_only, kept) = truncated(result.clone(), byte_limit(15_000));
    assert_eq!(kept, None);
    assert_eq!(text_only.content, result.parsed().content);
    assert_eq!(text_only.structured, None);

    let promised = ResultLimit {
        requires_structured_content: true,
        ..byte_limit(15_000)
    };
    let (structured_only, kept) = truncated(result, promised);
    assert_eq!(kept, None);
    assert_eq!(structured_only.structured, Some(value));
    assert!(note_text(&structured_only).contains("structuredContent"));
}

#[test]
fn text_is_truncated_on_a_char_boundary_with_an_accurate_note() {
    for character in ["a", "é", "→", "😀", "\"", "\u{1}"] {
        let text = character.repeat(20_000);
        let (cut, kept) = truncated(CallToolResult::text(text.clone()), byte_limit(10_000));
        assert_eq!(kept.unwrap().whole_text(), text);
        let shown = text_content(&cut.content[2]).unwrap();
        assert!(text.starts_with(shown) && !shown.is_empty());
        let note = note_text(&cut);
        let (of, offset) = (text.len(), shown.len());
        assert!(
            note.contains(&format!("first {offset} of {of} bytes")),
            "{note}"
        );
        let call = format!("{{\"handle\": \"h\", \"offset\": {offset}}}");
        assert!(note.contains(&call), "{note}");
        assert_eq!(cut.content[1]["uri"], "mcp-web://results/h");
        assert_eq!(cut.meta.unwrap()[TRUNCATED_META]["handle"], "h");
    }
}

fn media_block(kind: &str, bytes: usize) -> Value {
    let data = "A".repeat(bytes);
    match kind {
        "blob" => json!({ "type": "resource", "resource": {
            "uri": "file:///a", "blob": data, "mimeType": "application/pdf" } }),
        kind => json!({ "type": kind, "data": data, "mimeType": format!("{kind}/x") }),
    }
}

#[test]
fn media_are_summed_over_results_and_left_out_beyond_the_budget() {
    let text = json!({ "type": "text", "text": "seen" });
    for (kind, named) in [
        ("image", "image/x"),
        ("audio", "audio/x"),
        ("blob", "application/pdf"),
    ] {
        let budget = MediaBudget::new(1_000);
        let result = |bytes| from_blocks(json!([text, media_block(kind, bytes)]));
        let send = |bytes| {
            let (sent, kept) = truncated_with(result(bytes), byte_limit(100_000), Some(&budget));
            let is_complete = sent.content.len() == 2;
            assert_eq!(kept.is_none(), is_complete, "{kind}");
            (is_complete, sent)
        };
        assert!(send(600).0, "{kind}");
        let (_, withheld) = send(404);
        let note = note_text(&withheld);
        assert!(note.contains("takes 1000 bytes of media."), "{note}");
        assert!(note.contains("reconnect to this server"), "{note}");
        assert!(note.contains(&format!("1 × {named} left out")), "{note}");
        assert_eq!(withheld.content.last(), Some(&text), "{kind}");
        assert_eq!(withheld.content.len(), 3, "{kind}");
        assert_eq!(withheld.meta.unwrap()[TRUNCATED_META]["media"], 1_000);
        // The omitted block was not taken from the budget.
        assert!(send(400).0, "{kind}");
        assert!(!send(4).0, "{kind}");
        // More than a new session could receive.
        let (_, too_large) = send(1_004);
        let note = note_text(&too_large);
        assert!(note.contains("at most 1000 bytes of media"), "{note}");
        assert!(!note.contains("reconnect"), "{note}");
        let plain = truncated_with(from_blocks(json!([text])), byte_limit(9_000), Some(&budget));
        assert_eq!(plain.0.content.first(), Some(&text), "{kind}");
        assert!(plain.1.is_none(), "{kind}");
    }
}

#[test]
fn media_that_do_not_fit_for_another_reason_are_given_back() {
    let budget = MediaBudget::new(60_000);
    let blocks = json!([media_block("image", 50_000), media_block("image", 100)]);
    let (cut, _) = truncated_with(from_blocks(blocks), byte_limit(20_000), Some(&budget));
    assert!(note_text(&cut).contains("does not fit"), "{cut:?}");
    assert!(budget.take(59_900) && !budget.take(1));

    let budget = MediaBudget::new(60_000);
    let promised = ResultLimit {
        requires_structured_content: true,
        ..byte_limit(20_000)
    };
    let structured = json!({ "text": "x".repeat(30_000) });
    let blocks = json!([media_block("image", 100)]);
    let result = CallToolResult::from_content(blocks, Some(structured), None).unwrap();
    let (failure, _) = truncated_with(result, promised, Some(&budget));
    assert!(failure.is_error);
    assert!(budget.take(60_000));
}

#[test]
fn base64_blocks_are_never_truncated() {
    let image = |bytes: usize| {
        json!({ "type": "image", "data": "A".repeat(bytes),
        "mimeType": "image/png" })
    };
    let text = |text: &str| json!({ "type": "text", "text": text });
    let result = from_blocks(json!([
        text("before"),
        image(50_000),
        image(100),
        text("after")
    ]));
    let (cut, _) = truncated(result, byte_limit(20_000));
    assert_eq!(
        cut.content[2..],
        [text("before"), image(100), text("after")]
    );
    let note = note_text(&cut);
    assert!(note.contains("1 × image/png left out"), "{note}");
    assert!(!note.contains("of its text"), "{note}");
}

#[test]
fn note_offset_continues_after_several_texts() {
    let text = |text: String| json!({ "type": "text", "text": text });
    let result = from_blocks(json!([
        text("é".repeat(1_000)),
        text("b".repeat(10_000)),
        text("c".to_owned())
    ]));
    let (cut, kept) = truncated(result, byte_limit(8_000));
    let whole = kept.unwrap();
    let whole_text = whole.whole_text();
    let shown: Vec<_> = cut.content.iter().filter_map(text_content).collect();
    let shown = shown[1..].join("\n");
    assert!(whole_text.starts_with(&shown));
    let rest = part_of(&whole, shown.len(), None, None);
    assert_eq!(shown + text_content(&rest.content[1]).unwrap(), whole_text);
}

#[test]
fn text_parts_concatenate_to_the_whole_text() {
    let whole = CallToolResult::text("aé→😀\"\n".repeat(3_000));
    let text = whole.whole_text();
    for (length, cap) in [
        (Some(1), None),
        (Some(7), None),
        (Some(1_000), Some(byte_limit(5_000))),
        (None, Some(byte_limit(9_000))),
    ] {
        let (mut read, mut offset) = (String::new(), 0);
        while offset < text.len() {
            let part = part_of(&whole, offset, length, cap);
            if let Some(cap) = cap {
                assert!(encoded_size::encoded_len(&part) + ENVELOPE_BYTES <= cap.bytes);
            }
            read += text_content(&part.content[1]).unwrap();
            let end = part.meta.unwrap()[PART_META]["end"].as_u64().unwrap();
            offset = usize::try_from(end).unwrap();
        }
        assert_eq!(read, text);
    }
    let beyond = part_of(&whole, usize::MAX, None, None);
    assert_eq!(text_content(&beyond.content[1]), Some(""));
    assert!(note_text(&beyond).contains("This is the end"));
    // An offset within a character begins with that character.
    let within = part_of(&whole, 2, Some(2), None);
    assert_eq!(text_content(&within.content[1]), Some("é"));
}

#[test]
fn required_structured_content_is_whole_or_an_error() {
    let promised = ResultLimit {
        requires_structured_content: true,
        ..byte_limit(10_000)
    };
    let huge = CallToolResult::from_value(Some(json!({ "text": "x".repeat(20_000) })));
    let (failure, kept) = truncated(huge.clone(), promised);
    assert!(failure.error_code() == Some(ErrorCode::ResultTooLarge));
    assert_eq!(kept.as_deref(), Some(&huge));
    let data = &failure.meta.as_ref().unwrap()["mcp-web/error"]["data"];
    assert_eq!(data["limit"], 10_000);
    assert_eq!(data["handle"], "h");
    assert_eq!(failure.content[1]["type"], "resource_link");

    // If the structured content is small, the text is truncated.
    let content = json!([{ "type": "text", "text": "x".repeat(20_000) }]);
    let structured = json!({ "n": 1 });
    let result = CallToolResult::from_content(content, Some(structured.clone()), None).unwrap();
    let (cut, _) = truncated(result, promised);
    assert_eq!(cut.structured, Some(structured));
    assert!(note_text(&cut).contains("of 20000 bytes"));
}

#[test]
fn note_says_why_the_result_was_not_stored() {
    for (why, key) in [
        (StoreFull::TooLarge, "max_kept_bytes"),
        (StoreFull::TooMany, "max_kept_results"),
    ] {
        let result = CallToolResult::text("x".repeat(20_000));
        let cut = truncate(result, byte_limit(10_000), None, |_, _| Err(why)).into_parsed();
        let note = note_text(&cut);
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
    let many: Vec<_> = (250..750).map(|n| blob(4 * n)).collect();
    let meta = json!({ "large": "m".repeat(50_000) });
    let result = CallToolResult::from_content(json!(many), None, Some(meta)).unwrap();
    let (cut, _) = truncated(result, byte_limit(6_000));
    let note = note_text(&cut);
    assert!(
        note.contains("× other left out") && note.contains("_meta left out"),
        "{note}"
    );
}

#[test]
fn clients_without_link_support_get_no_resource_link() {
    let old = ResultLimit {
        links: false,
        ..byte_limit(10_000)
    };
    let (cut, _) = truncated(CallToolResult::text("x".repeat(20_000)), old);
    assert!(cut.content.iter().all(|block| block["type"] == "text"));
}

/// A small text limit in the unit of Claude Code.
const TEXT_LIMIT: TextLimit = TextLimit {
    unit: TextUnit::Utf16,
    without_images: 20_000,
    with_images: 16_000,
};

fn text_limit() -> ResultLimit {
    ResultLimit {
        text: Some(TEXT_LIMIT),
        ..byte_limit(10_000_000)
    }
}

#[test]
fn long_text_is_truncated_by_utf16_units() {
    for character in ["a", "é", "漢", "😀"] {
        let units = character.encode_utf16().count();
        let fits = CallToolResult::text(character.repeat(TEXT_LIMIT.without_images / units));
        assert_eq!(
            truncated(fits.clone(), text_limit()),
            (fits.into_parsed(), None)
        );
        let text = character.repeat(TEXT_LIMIT.without_images / units + 1);
        let (cut, kept) = truncated(CallToolResult::text(text.clone()), text_limit());
        assert_eq!(kept.unwrap().whole_text(), text);
        let texts = cut.content.iter().filter_map(text_content);
        let shown: usize = texts.map(encoded_size::utf16_len).sum();
        assert!(
            (TEXT_LIMIT.without_images - MAX_NOTE_BYTES..=TEXT_LIMIT.without_images)
                .contains(&shown),
            "{shown}"
        );
        assert!(
            note_text(&cut).contains("20000 characters of text"),
            "{}",
            note_text(&cut)
        );
    }
}

#[test]
fn text_limit_may_count_encoded_bytes() {
    let text = TextLimit {
        unit: TextUnit::EncodedBytes,
        ..TEXT_LIMIT
    };
    let cap = ResultLimit {
        text: Some(text),
        ..text_limit()
    };
    for (character, bytes) in [("a", 1), ("漢", 3), ("\"", 2), ("\n", 2)] {
        let fits = CallToolResult::text(character.repeat(TEXT_LIMIT.without_images / bytes));
        assert_eq!(truncated(fits.clone(), cap), (fits.into_parsed(), None));
        let text = character.repeat(TEXT_LIMIT.without_images / bytes + 1);
        let (cut, kept) = truncated(CallToolResult::text(text), cap);
        assert!(kept.is_some() && note_text(&cut).starts_with("[Cut:"));
        let texts = cut.content.iter().filter_map(text_content);
        let shown: usize = texts.map(|text| encoded_size::encoded_len(&text) - 2).sum();
        assert!(shown <= TEXT_LIMIT.without_images, "{shown}");
    }
}

#[test]
fn images_do_not_count_as_text() {
    let image = json!({ "type": "image", "data": "A".repeat(1_000_000), "mimeType": "image/png" });
    let text = |characters: usize| json!({ "type": "text", "text": "x".repeat(characters) });
    let fits = from_blocks(json!([image, text(TEXT_LIMIT.with_images), image]));
    assert_eq!(
        truncated(fits.clone(), text_limit()),
        (fits.into_parsed(), None)
    );
    let (cut, _) = truncated(
        from_blocks(json!([text(TEXT_LIMIT.with_images + 1), image])),
        text_limit(),
    );
    assert_eq!(cut.content.last(), Some(&image));
    assert!(note_text(&cut).starts_with("[Cut:"), "{}", note_text(&cut));
}

#[test]
fn text_limit_ignores_required_structured_content() {
    let promised = ResultLimit {
        requires_structured_content: true,
        ..text_limit()
    };
    let result = CallToolResult::from_value(Some(json!({ "text": "x".repeat(30_000) })));
    assert_eq!(
        truncated(result.clone(), promised),
        (result.clone().into_parsed(), None)
    );
    let (cut, kept) = truncated(result, text_limit());
    assert!(kept.is_some() && cut.structured.is_none());
}

#[test]
fn text_parts_respect_the_text_limit() {
    let whole = CallToolResult::text("漢".repeat(50_000));
    let part = part_of(&whole, 0, None, Some(text_limit()));
    let texts = part.content.iter().filter_map(text_content);
    assert!(texts.map(encoded_size::utf16_len).sum::<usize>() <= TEXT_LIMIT.without_images);
}
