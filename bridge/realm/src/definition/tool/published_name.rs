//! The name under which a tool is published.
//!
//! Several clients require `^[a-zA-Z0-9_-]{1,64}$`. A name that matches is published unchanged. Any
//! other is repaired: its other characters become `_`, it is shortened, and the beginning of its
//! SHA-256 is appended, so that two names hardly ever become the same one. A page whose names do
//! become the same is refused the second one. The registered name stays the title of the tool, and
//! clients may call the tool by either name.

use std::borrow::Cow;

use bridge_protocol::invisible::without_invisible;
use bridge_protocol::limits::MAX_TOOL_NAME_CHARS;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

/// The key in a tool's `_meta` with the registered name of a tool whose name was repaired.
pub(super) const ORIGINAL_NAME_KEY: &str = "mcp-web/originalName";

/// The number of bytes of the hash in a repaired name, each of which is two digits.
const HASH_BYTES: usize = 4;

/// Returns the published name for a registered one.
pub(super) fn published_name(registered: &str) -> Cow<'_, str> {
    if registered.len() <= MAX_TOOL_NAME_CHARS && registered.chars().all(is_allowed) {
        return Cow::Borrowed(registered);
    }
    let hash = Sha256::digest(registered);
    let digits: String = hash[..HASH_BYTES]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let stem = registered
        .chars()
        .take(MAX_TOOL_NAME_CHARS - "_".len() - digits.len());
    let stem: String = stem.map(|c| if is_allowed(c) { c } else { '_' }).collect();
    Cow::Owned(format!("{stem}_{digits}"))
}

fn is_allowed(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// Whether a name ends like a repaired one. Any other name is published only by a tool that is
/// registered under it.
pub(crate) fn may_be_repaired(name: &str) -> bool {
    name.rsplit_once('_').is_some_and(|(_, suffix)| {
        suffix.len() == 2 * HASH_BYTES && suffix.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

/// Publishes a tool under a repaired name, together with its registered name.
pub(super) fn set_repaired_name(tool: &mut Map<String, Value>, registered: &str, repaired: &str) {
    tool.insert("name".to_owned(), json!(repaired));
    tool.entry("title")
        .or_insert_with(|| json!(without_invisible(registered)));
    let meta = tool.entry("_meta").or_insert_with(|| json!({}));
    if let Some(meta) = meta.as_object_mut() {
        meta.insert(ORIGINAL_NAME_KEY.to_owned(), json!(registered));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_clients_accept_is_published_unchanged() {
        for name in ["a", "Add_card-2", &"x".repeat(64), "t_0123abcd"] {
            assert_eq!(published_name(name), name);
        }
        assert!(may_be_repaired("t_0123abcd"));
        assert!(!may_be_repaired("add_card"));
    }

    #[test]
    fn another_name_is_repaired_and_ends_with_its_hash() {
        // The digits are those of `printf %s NAME | sha256sum`.
        let long = "x".repeat(65);
        let shortened = format!("{}_{}", "x".repeat(55), "9537c5fd");
        for (name, expected) in [
            ("a b", "a_b_c8687a08"),
            ("a/b.c", "a_b_c_c0620514"),
            ("ünïcode", "_n_code_b8be8967"),
            (long.as_str(), shortened.as_str()),
        ] {
            let published = published_name(name);
            assert_eq!(published, expected);
            assert!(published.len() <= MAX_TOOL_NAME_CHARS && may_be_repaired(&published));
        }
    }
}
