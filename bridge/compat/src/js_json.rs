//! JSON as `JSON.stringify(value, null, 2)` of JavaScript writes it. Valid JSON is converted to the
//! content of a JSON string in one pass, without parsing it into values.

use memchr::{memchr, memchr2};

/// The error for output that is longer than the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OutputTooLong;

/// Writes valid JSON as JavaScript prints it with an indent of two spaces, escaped as the content
/// of a JSON string. `max_len` is the maximum length of `out`: deep nesting multiplies the length
/// of the output, because each line is indented.
pub(crate) fn write_pretty(
    json: &str,
    max_len: usize,
    out: &mut Vec<u8>,
) -> Result<(), OutputTooLong> {
    let bytes = json.as_bytes();
    let mut depth = 0;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'{' | b'[' => {
                let next = at + count_whitespace(&bytes[at..]);
                out.push(byte);
                match bytes.get(next) {
                    Some(&close @ (b'}' | b']')) => {
                        out.push(close);
                        at = next + 1;
                    }
                    _ => {
                        depth += 1;
                        write_new_line(depth, max_len, out)?;
                    }
                }
            }
            b'}' | b']' => {
                depth -= 1;
                write_new_line(depth, max_len, out)?;
                out.push(byte);
            }
            b',' => {
                out.push(b',');
                write_new_line(depth, max_len, out)?;
            }
            b':' => out.extend_from_slice(b": "),
            b'"' => {
                let (inside, escaped) = scan_string(&json[at..]);
                at += inside.len() + 1;
                out.extend_from_slice(b"\\\"");
                if !escaped {
                    out.extend_from_slice(inside.as_bytes())
                } else {
                    write_escaped(inside, out)
                }
                out.extend_from_slice(b"\\\"");
            }
            b' ' | b'\t' | b'\r' | b'\n' => {}
            _ => {
                let rest = &json[at - 1..];
                let end = rest.find([',', '}', ']', ' ', '\t', '\r', '\n']);
                let word = &rest[..end.unwrap_or(rest.len())];
                at += word.len() - 1;
                write_scalar(word, out);
            }
        }
    }
    if out.len() <= max_len {
        Ok(())
    } else {
        Err(OutputTooLong)
    }
}

fn count_whitespace(bytes: &[u8]) -> usize {
    let space = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
    bytes.iter().take_while(space).count()
}

fn write_new_line(depth: usize, max_len: usize, out: &mut Vec<u8>) -> Result<(), OutputTooLong> {
    let indented = out.len() + 2 + 2 * depth;
    if indented > max_len {
        return Err(OutputTooLong);
    }
    out.extend_from_slice(b"\\n");
    out.resize(indented, b' ');
    Ok(())
}

/// Returns the content of the string that has just begun, and whether it contains escapes.
fn scan_string(rest: &str) -> (&str, bool) {
    let bytes = rest.as_bytes();
    let mut end = memchr2(b'"', b'\\', bytes).unwrap_or(bytes.len());
    let escaped = bytes.get(end) == Some(&b'\\');
    while bytes.get(end) == Some(&b'\\') {
        let next = (end + 2).min(bytes.len());
        end = memchr2(b'"', b'\\', &bytes[next..]).map_or(bytes.len(), |found| next + found);
    }
    (&rest[..end], escaped)
}

/// Writes the content of a string with escapes: decodes them, encodes the text as JavaScript does,
/// and escapes it once more.
fn write_escaped(inside: &str, out: &mut Vec<u8>) {
    let mut rest = inside;
    while let Some(at) = memchr(b'\\', rest.as_bytes()) {
        out.extend_from_slice(&rest.as_bytes()[..at]);
        let (plain, used) = decode_escape(&rest[at + 1..]);
        rest = &rest[at + 1 + used..];
        match plain {
            CodeUnit::Character('"') => out.extend_from_slice(b"\\\\\\\""),
            CodeUnit::Character('\\') => out.extend_from_slice(b"\\\\\\\\"),
            CodeUnit::Character('\n') => out.extend_from_slice(b"\\\\n"),
            CodeUnit::Character('\r') => out.extend_from_slice(b"\\\\r"),
            CodeUnit::Character('\t') => out.extend_from_slice(b"\\\\t"),
            CodeUnit::Character('\u{8}') => out.extend_from_slice(b"\\\\b"),
            CodeUnit::Character('\u{c}') => out.extend_from_slice(b"\\\\f"),
            CodeUnit::Character(control @ '\0'..='\u{1f}') => {
                out.extend_from_slice(format!("\\\\u{:04x}", control as u32).as_bytes());
            }
            CodeUnit::Character(other) => {
                out.extend_from_slice(other.encode_utf8(&mut [0; 4]).as_bytes());
            }
            CodeUnit::LoneSurrogate(half) => {
                out.extend_from_slice(format!("\\\\u{half:04x}").as_bytes());
            }
        }
    }
    out.extend_from_slice(rest.as_bytes());
}

enum CodeUnit {
    Character(char),
    /// One half of a surrogate pair, which is not a character.
    LoneSurrogate(u16),
}

/// Decodes the escape after a backslash. Returns its code unit and its length in bytes.
fn decode_escape(rest: &str) -> (CodeUnit, usize) {
    let plain = match rest.as_bytes().first() {
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'u') => return decode_unicode_escape(rest),
        Some(other) => char::from(*other),
        None => return (CodeUnit::Character('\\'), 0),
    };
    (CodeUnit::Character(plain), 1)
}

fn decode_unicode_escape(rest: &str) -> (CodeUnit, usize) {
    let hex = |from: usize| {
        let digits = rest.get(from..from + 4)?;
        u16::from_str_radix(digits, 16).ok()
    };
    let first = hex(1).unwrap_or(0xfffd);
    let second = hex(7).filter(|_| rest.get(5..7) == Some("\\u"));
    let pair = [first, second.unwrap_or(0)];
    let mut decoded = char::decode_utf16(pair);
    match decoded.next() {
        Some(Ok(pair)) if pair.len_utf16() == 2 => (CodeUnit::Character(pair), 11),
        Some(Ok(character)) => (CodeUnit::Character(character), 5),
        _ => (CodeUnit::LoneSurrogate(first), 5),
    }
}

/// Writes a literal or a number of JSON as JavaScript prints it.
pub(crate) fn write_scalar(word: &str, out: &mut Vec<u8>) {
    // Integers of up to 15 digits are exact in a JavaScript number.
    let is_plain = word.len() <= 15 && word.bytes().all(|byte| byte.is_ascii_digit());
    let is_word = word.starts_with(|first: char| first.is_ascii_alphabetic());
    match word.parse::<f64>() {
        Ok(number) if !is_plain && !is_word => {
            out.extend_from_slice(format_number(number).as_bytes())
        }
        _ => out.extend_from_slice(word.as_bytes()),
    }
}

/// Formats a number by the rules of ECMAScript, "Number::toString". A number that is not finite is
/// `null`, as in the JSON of JavaScript.
fn format_number(number: f64) -> String {
    if !number.is_finite() {
        return "null".to_owned();
    }
    if number == 0.0 {
        return "0".to_owned();
    }
    let sign = if number < 0.0 { "-" } else { "" };
    let shortest = format!("{:e}", number.abs());
    let (digits, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let digits = digits.replace('.', "");
    let point = exponent.parse::<i32>().unwrap_or(0) + 1;
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or(0));
    match point {
        1..=21 if count <= point => format!("{sign}{digits}{}", zeros(point - count)),
        1..=21 => {
            let (whole, fraction) = digits.split_at(usize::try_from(point).unwrap_or(0));
            format!("{sign}{whole}.{fraction}")
        }
        -5..=0 => format!("{sign}0.{}{digits}", zeros(-point)),
        _ => {
            let (first, rest) = digits.split_at(1);
            let dot = if rest.is_empty() { "" } else { "." };
            format!("{sign}{first}{dot}{rest}e{:+}", point - 1)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The output as a client decodes it from the JSON string.
    fn pretty_printed(json: &str) -> String {
        let mut out = vec![b'"'];
        write_pretty(json, usize::MAX, &mut out).unwrap();
        out.push(b'"');
        serde_json::from_slice(&out).unwrap()
    }

    #[test]
    fn values_are_printed_as_javascript_prints_them() {
        // Left: the input. Right: the output of Node's `JSON.stringify(JSON.parse(left), null, 2)`.
        let cases = [
            ("{}", "{}"),
            (" [ ] ", "[]"),
            (
                "{\"b\":1,\"a\":[1,{}]}",
                "{\n  \"b\": 1,\n  \"a\": [\n    1,\n    {}\n  ]\n}",
            ),
            (
                "[ true , null,\"a,b}\" ]",
                "[\n  true,\n  null,\n  \"a,b}\"\n]",
            ),
            (
                r#"["\"\\\/\b\f\n\r\t\u0001\u00e9\ud83d\ude00\ud83d"]"#,
                "[\n  \"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001é😀\\ud83d\"\n]",
            ),
            (r#"{"k\"\u0041":"\\"}"#, "{\n  \"k\\\"A\": \"\\\\\"\n}"),
        ];
        for (json, expected) in cases {
            assert_eq!(pretty_printed(json), expected, "{json}");
        }
    }

    #[test]
    fn numbers_are_printed_as_javascript_prints_them() {
        let cases = [
            ("0", "0"),
            ("-0", "0"),
            ("7", "7"),
            ("-7", "-7"),
            ("1.0", "1"),
            ("1.50", "1.5"),
            ("-0.25", "-0.25"),
            ("1e3", "1000"),
            ("123456789012345678901", "123456789012345680000"),
            ("9007199254740993", "9007199254740992"),
            ("1e21", "1e+21"),
            ("1.25e25", "1.25e+25"),
            ("0.000001", "0.000001"),
            ("0.0000001", "1e-7"),
            ("1.5E-9", "1.5e-9"),
            ("1e999", "null"),
            ("0.1", "0.1"),
        ];
        for (json, expected) in cases {
            assert_eq!(pretty_printed(json), expected, "{json}");
        }
    }

    #[test]
    fn output_over_the_limit_is_rejected() {
        let deep = "[".repeat(10_000) + &"]".repeat(10_000);
        let mut out = Vec::new();
        assert_eq!(write_pretty(&deep, 1_000_000, &mut out), Err(OutputTooLong));
        assert!(out.len() <= 1_000_000);
        assert_eq!(write_pretty("[1]", 12, &mut Vec::new()), Ok(()));
        assert_eq!(write_pretty("[1]", 8, &mut Vec::new()), Err(OutputTooLong));
    }
}
