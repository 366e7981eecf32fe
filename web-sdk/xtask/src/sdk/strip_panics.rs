//! What only a panic needs, taken out of the wasm.
//!
//! A panic of the SDK ends in a trap, and no page ever hears its message. The compiler keeps the code that
//! would write the message all the same, because it stands in tables: a twelfth of the download. Each of
//! these functions becomes a trap of its own, and `wasm-opt` removes what nobody needs any more.
//!
//! The SDK therefore formats nothing: a check reads its sources for `format!` and the like.
//!
//! What panics would say stays in the wasm's data, where `wasm-opt` cannot tell whose it is: there it is blanked,
//! which compresses to next to nothing.

/// What the names of these functions contain, before and after the name of a crate's hash.
const PANIC_SYMBOLS: [&str; 6] = [
    "::panicking::",
    "::fmt::Formatter>::",
    "::fmt::write",
    "::fmt::Write>::",
    "::fmt::Display>::",
    "::str::count::",
];

/// Whether only panics need the function of this name.
pub(super) fn is_panic_only(function: &str) -> bool {
    let is_payload = function.contains("PanicPayload>::");
    is_payload || PANIC_SYMBOLS.iter().any(|part| function.contains(part))
}

/// Where the paths of source files begin that panics would name.
const SOURCE_PREFIXES: [&str; 5] = [
    "web-sdk/src/",
    "index.crates.io-",
    "alloc/src/",
    "core/src/",
    "std/src/",
];

/// What panics of the standard library would say.
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

/// What the standard library writes numbers with, two digits at a time.
const DIGITS: &str = "0001020304050607080910111213141516171819\
    2021222324252627282930313233343536373839\
    4041424344454647484950515253545556575859\
    6061626364656667686970717273747576777879\
    8081828384858687888990919293949596979899";

/// Blanks what only panics say.
pub(super) fn blank_messages(data: &mut [u8]) {
    for saying in PANIC_MESSAGES {
        while let Some(at) = find(data, saying) {
            data[at..at + saying.len()].fill(0);
        }
    }
    for root in SOURCE_PREFIXES {
        while let Some(at) = find(data, root) {
            let length = path_length(&data[at..]).max(root.len());
            data[at..at + length].fill(0);
        }
    }
}

/// How long the path of a source file is that begins here; none has spaces.
fn path_length(text: &[u8]) -> usize {
    let in_path = |byte: &u8| byte.is_ascii_alphanumeric() || b"/_-.".contains(byte);
    let run = text.iter().position(|byte| !in_path(byte));
    let run = &text[..run.unwrap_or(text.len())];
    find(run, ".rs").map_or(0, |end| end + ".rs".len())
}

fn find(data: &[u8], text: &str) -> Option<usize> {
    data.windows(text.len())
        .position(|window| window == text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::{blank_messages, is_panic_only};

    #[test]
    fn only_panic_messages_are_blanked() {
        let told = |text: &str| {
            let mut data = text.as_bytes().to_vec();
            blank_messages(&mut data);
            assert_eq!(data.len(), text.len(), "nothing moves");
            String::from_utf8(data).unwrap().replace('\0', "")
        };
        assert_eq!(
            told("kind\0web-sdk/src/core/a-b.rs\0type"),
            "kind\0\0type".replace('\0', "")
        );
        assert_eq!(told("namecore/src/cell.rstype"), "nametype");
        assert_eq!(told("index.crates.io-19/js-sys-0.3/src/lib.rs: it"), ": it");
        assert_eq!(
            told("the connection broke mid > len0001"),
            "the connection broke 0001"
        );
    }

    #[test]
    fn names_of_either_mangling_are_known() {
        for name in [
            "core[de8a1be709345212]::fmt::write",
            "core::panicking::panic_fmt::h473b2715c53f6983",
            "<core[de8a1be709345212]::fmt::Formatter>::pad",
            "<u32 as core[de8a1be709345212]::fmt::Display>::fmt",
        ] {
            assert!(is_panic_only(name), "{name}");
        }
        assert!(!is_panic_only(
            "web_sdk::js::codec::decode::hcec3a6e46ec9b52c"
        ));
        assert!(!is_panic_only("alloc::str::join_generic_copy"));
    }
}
