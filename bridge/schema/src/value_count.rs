//! Counts the values in a JSON text without parsing it: a value of one digit takes 72 bytes of
//! memory once it is parsed.

/// The memory that a parsed value takes at most, beside the text of strings, in bytes.
pub const MAX_VALUE_BYTES: usize = 200;

/// The maximum number of values in one argument object or result that is parsed. Parsed values take
/// 70 to [`MAX_VALUE_BYTES`] bytes each.
pub const MAX_VALUES: usize = 1_000_000;

/// Whether a JSON text has more than `limit` values. Containers and their parts count, the names of
/// members do not.
pub fn exceeds(json: &str, limit: usize) -> bool {
    // Strings may contain separators too, so there may be fewer values than this, but not more.
    let separators = json.bytes().filter(|byte| is_separator(*byte)).count();
    separators >= limit && count_outside_strings(json) >= limit
}

/// Returns the number of values in a JSON text. Containers and their parts count, the names of members
/// do not.
pub fn count(json: &str) -> usize {
    1 + count_outside_strings(json)
}

/// Each value but the first follows one of these, directly or after its name.
fn is_separator(byte: u8) -> bool {
    matches!(byte, b',' | b'[' | b'{')
}

/// The number of separators that are not in strings.
fn count_outside_strings(json: &str) -> usize {
    let mut count = 0;
    let mut bytes = json.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'"' {
            while let Some(byte) = bytes.next().filter(|byte| *byte != b'"') {
                if byte == b'\\' {
                    bytes.next();
                }
            }
        }
        count += usize::from(is_separator(byte));
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_and_the_content_of_strings_is_not() {
        for (json, values) in [
            ("1", 1),
            ("[1,2,3]", 4),
            (r#"{"a":1,"b":[true,{"c":null}]}"#, 6),
            (r#"["a,b,c,[,{","\",\\",",,"]"#, 4),
        ] {
            assert!(!exceeds(json, values), "{json}");
            assert!(exceeds(json, values - 1) || values == 1, "{json}");
            assert_eq!(count(json), values, "{json}");
        }
    }
}
