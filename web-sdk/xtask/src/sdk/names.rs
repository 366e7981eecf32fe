//! Names that glue and wasm share, without the hashes in them.
//!
//! wasm-bindgen ends each name in 16 hexadecimal digits of a hash, which no compression makes smaller and
//! which stand in both files. A number does as well. It has as many digits, so that nothing moves in the wasm.

use std::collections::BTreeSet;

/// As many digits as a hash has.
const DIGITS: usize = 16;

/// Numbers the hashes of the glue, in both files.
pub(super) fn number(glue: &str, wasm: &[u8]) -> (String, Vec<u8>) {
    let (mut glue, mut wasm) = (glue.to_owned(), wasm.to_vec());
    for (number, hash) in hashes(&glue).into_iter().enumerate() {
        let number = format!("{number:0DIGITS$}");
        replace(&mut wasm, hash.as_bytes(), number.as_bytes());
        glue = glue.replace(&hash, &number);
    }
    (glue, wasm)
}

/// What follows an underscore, or an underscore and an `h`, and has the form of a hash. Those that are
/// numbers already are of wasm-bindgen's own making, and are left alone.
fn hashes(glue: &str) -> BTreeSet<String> {
    glue.split(|character: char| !character.is_ascii_alphanumeric())
        .map(|part| part.strip_prefix('h').unwrap_or(part))
        .filter(|part| part.len() == DIGITS && part.bytes().all(|digit| digit.is_ascii_hexdigit()))
        .filter(|part| !part.starts_with("0000"))
        .map(str::to_owned)
        .collect()
}

fn replace(bytes: &mut [u8], from: &[u8], to: &[u8]) {
    let mut at = 0;
    while let Some(found) = bytes[at..]
        .windows(from.len())
        .position(|part| part == from)
    {
        at += found;
        bytes[at..at + to.len()].copy_from_slice(to);
        at += to.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_files_keep_the_same_names_and_the_wasm_its_length() {
        let glue = "__wbg_new_c1e45f504b662ad6: a, __wbg_new_37eb45aaf5eeb820: b, wasm.invoke__h38371fca121ed1aa, \
                    __wbindgen_generic_0000000000000001";
        let wasm = b"\x1a__wbg_new_c1e45f504b662ad6\x1a__wbg_new_37eb45aaf5eeb820\x19invoke__h38371fca121ed1aa";
        let (numbered, small) = number(glue, wasm);
        assert_eq!(
            numbered,
            "__wbg_new_0000000000000002: a, __wbg_new_0000000000000000: b, wasm.invoke__h0000000000000001, \
             __wbindgen_generic_0000000000000001"
        );
        assert_eq!(
            small,
            b"\x1a__wbg_new_0000000000000002\x1a__wbg_new_0000000000000000\x19invoke__h0000000000000001"
        );
    }
}
