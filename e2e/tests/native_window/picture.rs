//! The picture of a window.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use e2e::program_paths;
use serde_json::{Value, json};

use crate::program::Program;

/// The size that the program requests, on a display with one pixel a unit.
const SIZE: (u32, u32) = (480, 600);

/// Returns the bytes of the picture in an answer, and keeps it as a file.
fn picture(answer: &Value, name: &str) -> Vec<u8> {
    let content = &answer["content"][0];
    assert_eq!(content["type"], "image", "{answer}");
    assert_eq!(content["mimeType"], "image/png");
    let bytes = BASE64_STANDARD.decode(content["data"].as_str().unwrap());
    let bytes = bytes.unwrap();
    let path = program_paths::screenshots().join(format!("{name}.png"));
    std::fs::write(path, &bytes).unwrap();
    bytes
}

/// Returns the width and height that a PNG file begins with.
fn size(png: &[u8]) -> (u32, u32) {
    assert_eq!(&png[..8], b"\x89PNG\r\n\x1a\n");
    let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
    (number(16), number(20))
}

#[tokio::test]
async fn the_picture_has_the_size_of_the_window_and_shows_the_new_count() {
    let program = Program::start().await;
    let answer = program.call("page_screenshot", json!({})).await;
    let before = picture(&answer, "native-window-0");
    assert_eq!(size(&before), SIZE);
    let again = program.call("page_screenshot", json!({})).await;
    assert_eq!(again["content"], answer["content"], "nothing has changed");
    program.call("increment", json!({ "by": 42 })).await;
    let answer = program.call("page_screenshot", json!({})).await;
    let after = picture(&answer, "native-window-42");
    assert_eq!(size(&after), SIZE);
    assert_ne!(before, after);
    let slider = program.handle("slider", "Volume").await;
    let answer = program
        .call("page_screenshot", json!({ "ref": slider }))
        .await;
    let (width, height) = size(&picture(&answer, "native-window-slider"));
    assert!((50..SIZE.0).contains(&width), "{width}");
    assert!((10..100).contains(&height), "{height}");
    let bytes = after.len();
    println!("figures: a picture of {SIZE:?} pixels has {bytes} bytes");
}
