//! Removes from the wasm what only panics use.
//!
//! A panic of the SDK ends in a trap, and no page ever gets its message. The compiler still keeps
//! the code that formats the message, because tables refer to it: a twelfth of the download. Each
//! of these functions is replaced with a trap, and `wasm-opt` removes what becomes unused.
//!
//! The SDK therefore formats nothing: a check searches its sources for `format!` and the like.
//!
//! The messages of panics stay in the wasm's data, because `wasm-opt` cannot know which code uses
//! them. They are overwritten with zeros, which compress to next to nothing. So are the messages of
//! wasm-bindgen about wrong uses of its JavaScript: only the SDK uses it, and no app.

/// Parts of the names of functions that only panics use. The crate's hash precedes or follows them.
const PANIC_SYMBOLS: [&str; 6] = [
    "::panicking::",
    "::fmt::Formatter>::",
    "::fmt::write",
    "::fmt::Write>::",
    "::fmt::Display>::",
    "::str::count::",
];

/// Returns whether only panics use the function of this name.
pub(super) fn is_panic_only(function: &str) -> bool {
    let is_payload = function.contains("PanicPayload>::");
    is_payload || PANIC_SYMBOLS.iter().any(|part| function.contains(part))
}

/// The starts of source paths in panic messages.
const SOURCE_PREFIXES: [&str; 7] = [
    "web-sdk/core/src/",
    "web-sdk/page-tools/src/",
    "web-sdk/wasm/src/",
    "index.crates.io-",
    "alloc/src/",
    "core/src/",
    "std/src/",
];

/// The messages of panics in the standard library.
const PANIC_MESSAGES: [&str; 17] = [
    " but the index is ",
    " does not match destination slice length (",
    ") should be < len (is ",
    "RefCell already borrowed",
    "RefCell already mutably borrowed",
    "Tried to shrink to a larger capacity",
    "assertion failed: self.is_char_boundary(new_len)",
    "attempt to join into collection with len > usize::MAX",
    "capacity overflow",
    "copy_from_slice: source slice length (",
    "index out of bounds: the len is ",
    "mid > len",
    "removal index (is ",
    "rwlock has not been locked for reading",
    "rwlock overflowed read locks",
    "swap_remove index (is ",
    DIGITS,
];

/// The messages of wasm-bindgen about wrong uses of its JavaScript.
const GLUE_MESSAGES: [&str; 5] = [
    "attempted to take ownership of Rust value while it was borrowed",
    "called `Option::unwrap_throw()` on a `None` value",
    "closure invoked recursively or after being dropped",
    "null pointer passed to rust",
    "recursive use of an object detected which would lead to unsafe aliasing in rust",
];

/// The table that the standard library formats numbers with, two digits at a time.
const DIGITS: &str = "0001020304050607080910111213141516171819\
    2021222324252627282930313233343536373839\
    4041424344454647484950515253545556575859\
    6061626364656667686970717273747576777879\
    8081828384858687888990919293949596979899";

/// Overwrites panic messages and source paths with zeros, without moving the rest of the data.
pub(super) fn blank_messages(data: &mut [u8]) {
    for message in PANIC_MESSAGES.into_iter().chain(GLUE_MESSAGES) {
        while let Some(start) = find(data, message) {
            data[start..start + message.len()].fill(0);
        }
    }
    for prefix in SOURCE_PREFIXES {
        while let Some(start) = find(data, prefix) {
            let length = path_length(&data[start..]).max(prefix.len());
            data[start..start + length].fill(0);
        }
    }
}

/// Returns the length of the source path at the start of `text`, or 0 if there is none. A path has
/// no spaces.
fn path_length(text: &[u8]) -> usize {
    let is_path_char = |byte: &u8| byte.is_ascii_alphanumeric() || b"/_-.".contains(byte);
    let end = text.iter().position(|byte| !is_path_char(byte));
    let path = &text[..end.unwrap_or(text.len())];
    find(path, ".rs").map_or(0, |start| start + ".rs".len())
}

fn find(data: &[u8], text: &str) -> Option<usize> {
    data.windows(text.len())
        .position(|window| window == text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::{blank_messages, is_panic_only};

    #[test]
    fn only_panic_messages_and_source_paths_are_blanked() {
        let blanked = |text: &str| {
            let mut data = text.as_bytes().to_vec();
            blank_messages(&mut data);
            assert_eq!(data.len(), text.len(), "the length must not change");
            String::from_utf8(data).unwrap().replace('\0', "")
        };
        assert_eq!(
            blanked("kind\0web-sdk/core/src/a-b.rs\0type"),
            "kind\0\0type".replace('\0', "")
        );
        assert_eq!(blanked("namecore/src/cell.rstype"), "nametype");
        assert_eq!(
            blanked("index.crates.io-19/js-sys-0.3/src/lib.rs: it"),
            ": it"
        );
        assert_eq!(
            blanked("the connection broke mid > len0001"),
            "the connection broke 0001"
        );
        assert_eq!(blanked("namenull pointer passed to rust"), "name");
    }

    #[test]
    fn panic_functions_are_recognized_in_both_manglings() {
        for name in [
            "core[de8a1be709345212]::fmt::write",
            "core::panicking::panic_fmt::h473b2715c53f6983",
            "<core[de8a1be709345212]::fmt::Formatter>::pad",
            "<u32 as core[de8a1be709345212]::fmt::Display>::fmt",
        ] {
            assert!(is_panic_only(name), "{name}");
        }
        assert!(!is_panic_only(
            "web_sdk_wasm::codec::decode::hcec3a6e46ec9b52c"
        ));
        assert!(!is_panic_only("alloc::str::join_generic_copy"));
    }
}
