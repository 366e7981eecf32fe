//! The names by which a model calls the tools of sources.

use sha2::{Digest, Sha256};

/// The maximum length of a name, in bytes. Providers of models accept no more.
pub const MAX_NAME_BYTES: usize = 64;

/// The length of the part of the hash in a name, in bytes.
const HASH_BYTES: usize = 4;

/// Returns `<source>-<tool>`. A name that has other characters than `[a-zA-Z0-9_-]`, or is too long,
/// ends with a hash of both names instead.
pub fn offered_name(source: &str, tool: &str) -> String {
    let name = format!("{source}-{tool}");
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    if name.len() <= MAX_NAME_BYTES && name.bytes().all(is_allowed) {
        return name;
    }
    hashed_name(source, tool)
}

/// Returns the name with a hash, also if the tool needs none: another tool has its name.
pub(super) fn hashed_name(source: &str, tool: &str) -> String {
    let is_allowed = |character: char| character.is_ascii_alphanumeric() || character == '-';
    let replace = |character| {
        if is_allowed(character) {
            character
        } else {
            '_'
        }
    };
    let mut name: String = format!("{source}-{tool}").chars().map(replace).collect();
    let digest = Sha256::new()
        .chain_update(source)
        .chain_update([0])
        .chain_update(tool)
        .finalize();
    name.truncate(MAX_NAME_BYTES - 1 - 2 * HASH_BYTES);
    name.push('_');
    for byte in &digest[..HASH_BYTES] {
        name.push_str(&format!("{byte:02x}"));
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_a_provider_refuses_is_cut_and_has_a_hash() {
        assert_eq!(offered_name("notes", "read_file"), "notes-read_file");
        assert_eq!(offered_name("mcp-time", "get-time"), "mcp-time-get-time");
        let longest = "t".repeat(MAX_NAME_BYTES - 2);
        assert_eq!(offered_name("s", &longest), format!("s-{longest}"));
        let dotted = offered_name("s", "a.b");
        assert!(dotted.starts_with("s-a_b_"), "{dotted}");
        assert_ne!(dotted, offered_name("s", "a/b"));
        let long = ["x", "y"].map(|end| offered_name("s", &format!("{longest}{end}")));
        assert!(
            long.iter().all(|name| name.len() == MAX_NAME_BYTES),
            "{long:?}"
        );
        assert_ne!(long[0], long[1]);
        let hashed = ["b-c", "c"].map(|tool| hashed_name("a", tool));
        assert!(
            hashed[0].starts_with("a-b-c_") && hashed[0].len() == 14,
            "{hashed:?}"
        );
        assert_ne!(offered_name("ä", "ü"), offered_name("ö", "ü"));
    }
}
