//! Sending and receiving of messages in parts.

use bridge_protocol::limits::{MAX_UNFINISHED_MESSAGES, PART_BYTES};
use bridge_protocol::message_parts::{Assembler, AssemblyStatus, split};
use proptest::prelude::*;
use proptest::string::string_regex;

use super::*;
use crate::message_parts::{LAST_PART_PREFIX, MAX_PART_UNITS, PART_PREFIX, Part, split_point};

fn part(frame: &str) -> Part<String> {
    let (head, text) = frame.split_once(' ').unwrap_or((frame, ""));
    Part {
        head: head.into(),
        text: text.into(),
        length: text.encode_utf16().count(),
    }
}

fn receive(page: &mut TestPage, frame: &str) -> Option<String> {
    let mut texts = None;
    page.dispatch(|page| texts = page.part_arrived(part(frame), 0.5));
    texts.map(|texts| texts.concat())
}

/// Splits a message into frames as a page does.
fn frames(message: &str) -> Vec<String> {
    let units: Vec<_> = message.encode_utf16().collect();
    let (mut start, mut frames) = (0, Vec::new());
    while let Some(end) = split_point(start, units.len(), |index| units[index]) {
        let text = String::from_utf16(&units[start..end]).unwrap();
        frames.push([PART_PREFIX, &text].concat());
        start = end;
    }
    let rest = String::from_utf16(&units[start..]).unwrap();
    frames.push([LAST_PART_PREFIX, &rest].concat());
    frames
}

#[test]
fn short_messages_are_not_split() {
    assert_eq!(split_point(0, MAX_PART_UNITS, |_| 0), None);
    assert_eq!(
        split_point(0, MAX_PART_UNITS + 1, |_| 0),
        Some(MAX_PART_UNITS)
    );
    assert_eq!(split_point(7, MAX_PART_UNITS + 7, |_| 0), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    #[test]
    fn the_bridge_reassembles_parts_of_a_page(
        shift in 0..4_usize,
        pattern in string_regex("[a-zü€🦀]{1,20}").unwrap(),
        length in 1..300_000_usize,
    ) {
        let message = "a".repeat(shift) + &pattern.repeat(length / pattern.len() + 1);
        let mut assembler = Assembler::new(2_000_000);
        let mut received = None;
        for frame in frames(&message) {
            assert!(frame.len() <= PART_BYTES);
            if let AssemblyStatus::Complete(text) = assembler.push(&frame).unwrap() {
                assert_eq!(received.replace(text.into_owned()), None);
            }
        }
        assert_eq!(received, Some(message));
    }
}

#[test]
fn a_page_reassembles_parts_of_the_bridge() {
    let mut page = TestPage::connected();
    page.break_and_retry();
    let mut accepted = authenticated("b-1");
    if let BridgeToPage::Authenticated { limits, .. } = &mut accepted {
        limits.max_message_bytes = 3 * PART_BYTES;
    }
    page.accept_with(accepted);
    let message = "🦀".repeat(PART_BYTES / 2);
    let mut received = Vec::new();
    for (index, frame) in split(&message, 17).enumerate() {
        received.extend(receive(&mut page, &frame));
        received.extend(receive(&mut page, &format!("#+18 {index}")));
    }
    assert_eq!(received, [message]);
    assert_eq!(receive(&mut page, "#.18 !").unwrap(), "01!");
}

#[test]
fn parts_reset_the_silence_timer() {
    let mut page = TestPage::connected();
    page.pass_time(40_000);
    receive(&mut page, "#+1 x");
    page.now_ms -= 40_000;
    page.timer_fires(0.0);
    assert_eq!(page.timer, Some(40_000));
}

#[test]
fn invalid_parts_close_the_connection() {
    let limit = TEST_LIMITS.max_message_bytes;
    let largest = format!("#+1 {}", "x".repeat(limit));
    let too_many = (0..=MAX_UNFINISHED_MESSAGES).map(|id| format!("#+{id} x"));
    for frames in [
        vec![largest.clone(), "#.1 x".to_owned()],
        vec![largest, "#.2 x".to_owned()],
        vec!["#".into()],
        vec!["#+1x2 x".into()],
        vec!["#- x".into()],
        vec!["#+ x".into()],
        vec!["#+123456789012345678901 x".into()],
        too_many.collect(),
    ] {
        let mut page = TestPage::connected();
        let (last, first) = frames.split_last().unwrap();
        for frame in first {
            assert_eq!(receive(&mut page, frame), None);
            assert_eq!(page.statuses(), []);
        }
        assert_eq!(receive(&mut page, last), None);
        assert!(page.effects.contains(&Effect::AbandonSocket), "{last}");
        assert!(matches!(page.statuses()[..], [Status::Reconnecting { .. }]));
        page.timer_fires(0.0);
        page.accept("b-1");
        assert_eq!(
            receive(&mut page, "#.1 {}").unwrap(),
            "{}",
            "the unfinished message is dropped"
        );
    }
}
