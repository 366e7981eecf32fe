//! Messages in parts as strings of the browser: no message is copied into the memory of the wasm.

use js_sys::{Array, JsString};
use wasm_bindgen::prelude::*;

use web_sdk_core::message_parts::{
    LAST_PART_PREFIX, MAX_HEAD_UNITS, PART_PREFIX, Part, split_point,
};

/// Calls `send` for each frame of a message, in order.
pub fn split(message: &JsString, mut send: impl FnMut(&JsString)) {
    let length = message.length() as usize;
    let unit_at = |index: usize| message.char_code_at(index as u32) as u16;
    let mut start = 0;
    let mut send_part = |prefix: &str, start: usize, end: usize| {
        let text = message.slice(start as u32, end as u32);
        send(&JsString::from(prefix).concat(&text));
    };
    while let Some(end) = split_point(start, length, unit_at) {
        send_part(PART_PREFIX, start, end);
        start = end;
    }
    if start > 0 {
        send_part(LAST_PART_PREFIX, start, length);
    } else {
        send(message);
    }
}

/// Parses a frame as a part, if it begins like one.
pub fn parse(frame: &JsString) -> Option<Part<JsValue>> {
    if frame.char_code_at(0) != f64::from(b'#') {
        return None;
    }
    let mut head = String::from(frame.slice(0, MAX_HEAD_UNITS as u32 + 1));
    let space = head.bytes().position(|byte| byte == b' ');
    head.truncate(space.unwrap_or(head.len()));
    let text = frame.slice(head.len() as u32 + 1, u32::MAX);
    Some(Part {
        length: text.length() as usize,
        text: text.into(),
        head,
    })
}

/// Joins the texts of a message.
pub fn join(texts: Vec<JsValue>) -> JsString {
    texts.into_iter().collect::<Array>().join("")
}
