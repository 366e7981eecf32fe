//! Examples of messages: the golden files of the protocol.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use serde_json::Value;

/// The messages of a page, each as JSON.
pub(crate) static PAGE_MESSAGES: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../bridge/protocol/golden/page-to-bridge"
    );
    let entries = fs::read_dir(Path::new(folder)).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort_unstable();
    let texts = paths.iter().map(|path| fs::read_to_string(path).unwrap());
    texts
        .map(|text| serde_json::from_str(&text).unwrap())
        .collect()
});

/// The message of a page with this `type`.
pub(crate) fn page_message(kind: &str) -> Value {
    let message = PAGE_MESSAGES.iter().find(|message| message["type"] == kind);
    message
        .expect("there is a golden file for every message")
        .clone()
}
