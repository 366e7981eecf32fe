//! Encodes JSON text.

/// Encodes a string as JSON.
pub(crate) fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    write_string(&mut out, text);
    out
}

fn write_string(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            control if control < ' ' => {
                let code = control as usize;
                let digits = b"0123456789abcdef";
                out.push_str("\\u00");
                out.push(char::from(digits[code / 16]));
                out.push(char::from(digits[code % 16]));
            }
            other => out.push(other),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_written_as_json() {
        assert_eq!(quote("a\"\\\n\t\u{1}ä"), "\"a\\\"\\\\\\n\\t\\u0001ä\"");
    }
}
