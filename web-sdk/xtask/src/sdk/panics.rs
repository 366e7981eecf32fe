//! What only a panic needs, taken out of the wasm.
//!
//! A panic of the SDK ends in a trap, and no page ever hears its message. The compiler keeps the code that
//! would write the message all the same, because it stands in tables: a twelfth of the download. Each of
//! these functions becomes a trap of its own, and `wasm-opt` removes what nobody needs any more.
//!
//! The SDK therefore formats nothing: a check reads its sources for `format!` and the like.

/// What the names of these functions contain, before and after the name of a crate's hash.
const PARTS: [&str; 6] = [
    "::panicking::",
    "::fmt::Formatter>::",
    "::fmt::write",
    "::fmt::Write>::",
    "::fmt::Display>::",
    "::str::count::",
];

/// Whether only panics need the function of this name.
pub(super) fn need(function: &str) -> bool {
    let is_payload = function.contains("PanicPayload>::");
    is_payload || PARTS.iter().any(|part| function.contains(part))
}

#[cfg(test)]
mod tests {
    use super::need;

    #[test]
    fn names_of_either_mangling_are_known() {
        for name in [
            "core[de8a1be709345212]::fmt::write",
            "core::panicking::panic_fmt::h473b2715c53f6983",
            "<core[de8a1be709345212]::fmt::Formatter>::pad",
            "<u32 as core[de8a1be709345212]::fmt::Display>::fmt",
        ] {
            assert!(need(name), "{name}");
        }
        assert!(!need("web_sdk::js::codec::decode::hcec3a6e46ec9b52c"));
        assert!(!need("alloc::str::join_generic_copy"));
    }
}
