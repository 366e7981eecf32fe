//! Writes values as JSON in unusual ways, and breaks some of the texts.

use serde_json::Value;

use crate::random::Random;
use crate::values::scalar;

/// How a text is written.
#[derive(Clone, Copy, Debug)]
struct Style {
    white_space: bool,
    escapes: bool,
    numbers: bool,
    duplicates: bool,
}

/// Writes a value. Half of the texts are as `JSON.stringify` writes them.
pub(crate) fn write_text(random: &mut Random, value: &Value) -> String {
    let is_usual = random.one_in(2);
    let mut unusual = |share| !is_usual && random.one_in(share);
    let style = Style {
        white_space: unusual(3),
        escapes: unusual(4),
        numbers: unusual(4),
        duplicates: unusual(4),
    };
    let mut out = String::new();
    write_value(random, value, style, &mut out);
    white_space(random, style, &mut out);
    if random.one_in(12) {
        break_text(random, &mut out);
    }
    out
}

fn white_space(random: &mut Random, style: Style, out: &mut String) {
    if style.white_space && random.one_in(2) {
        out.push_str(random.pick(&[" ", "\n", "\t", "\r\n", "   "]));
    }
}

fn write_value(random: &mut Random, value: &Value, style: Style, out: &mut String) {
    white_space(random, style, out);
    if style.numbers && random.one_in(100) {
        // The parser reads 127 levels.
        let depth = 120 + random.below(10);
        let (open, close) = random.pick(&[("[", "]"), ("{\"next\":", "}")]);
        out.push_str(&open.repeat(depth));
        out.push_str("{}");
        out.push_str(&close.repeat(depth));
        return;
    }
    match value {
        Value::String(text) => write_string(random, text, style, out),
        Value::Number(_) if style.numbers && random.one_in(2) => {
            write_number(random, &value.to_string(), out);
        }
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_value(random, item, style, out);
                white_space(random, style, out);
            }
            if items.is_empty() {
                white_space(random, style, out);
            }
            out.push(']');
        }
        Value::Object(members) => {
            out.push('{');
            let mut is_first = true;
            let mut member = |random: &mut Random, name: &str, value: &Value, out: &mut String| {
                if !std::mem::take(&mut is_first) {
                    out.push(',');
                }
                white_space(random, style, out);
                write_string(random, name, style, out);
                white_space(random, style, out);
                out.push(':');
                write_value(random, value, style, out);
                white_space(random, style, out);
            };
            for (name, value) in members {
                let is_twice = style.duplicates && random.one_in(3);
                if is_twice && random.one_in(2) {
                    let other = scalar(random);
                    member(random, name, &other, out);
                }
                member(random, name, value, out);
                if is_twice && random.one_in(2) {
                    let other = if random.one_in(2) {
                        scalar(random)
                    } else {
                        value.clone()
                    };
                    member(random, name, &other, out);
                }
            }
            out.push('}');
        }
        value => out.push_str(&value.to_string()),
    }
}

fn write_string(random: &mut Random, text: &str, style: Style, out: &mut String) {
    if !style.escapes {
        out.push_str(&Value::from(text).to_string());
        return;
    }
    out.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' | '/' if random.one_in(2) => {
                out.push('\\');
                out.push(character);
            }
            '/' => out.push('/'),
            _ if random.one_in(3) || matches!(character, '"' | '\\' | ..' ') => {
                let mut units = [0; 2];
                for unit in character.encode_utf16(&mut units) {
                    if random.one_in(2) {
                        out.push_str(&format!("\\u{unit:04x}"))
                    } else {
                        out.push_str(&format!("\\u{unit:04X}"))
                    }
                }
            }
            _ => out.push(character),
        }
    }
    if random.one_in(40) {
        out.push_str(random.pick(&["\\ud800", "\\udc00", "\\ud83d\\ude00", "\\x", "\u{1}"]));
    }
    out.push('"');
}

/// Writes a number, or another one, with a fraction or an exponent.
fn write_number(random: &mut Random, number: &str, out: &mut String) {
    let is_integer = !number.contains(['.', 'e']);
    match random.below(12) {
        0 if is_integer => out.push_str(&format!("{number}.0")),
        1 if is_integer => out.push_str(&format!("{number}.000")),
        2 if is_integer => out.push_str(&format!("{number}e0")),
        3 if is_integer => out.push_str(&format!("{number}0E-1")),
        4 if is_integer => out.push_str(&format!("{number}e+1")),
        5 => out.push_str("-0"),
        6 => out.push_str(random.pick(&[
            "1e400",
            "1e-400",
            "123456789012345678901234567890",
            "-9223372036854775809",
            "18446744073709551616",
            "0.1e1",
            "0e999",
        ])),
        7 => out.push_str(random.pick(&["01", "+1", "1.", ".5", "-", "1e", "0x1", "NaN"])),
        8 => out.push_str(random.pick(&[
            "999999999999999999",
            "1000000000000000000",
            "-999999999999999999",
            "9007199254740993",
        ])),
        _ => out.push_str(number),
    }
}

/// Changes a text at one place.
fn break_text(random: &mut Random, text: &mut String) {
    const PIECES: [&str; 18] = [
        "{", "}", "[", "]", ",", ":", "\"", "\\", "1", "-", "e", ".", " ", "\n", "null", "\u{0}",
        "é", "tru",
    ];
    let at = text.floor_char_boundary(random.below(text.len() + 1));
    match random.below(4) {
        0 => text.truncate(at),
        1 => text.insert_str(at, random.pick(&PIECES)),
        2 if at < text.len() => {
            text.remove(at);
        }
        3 => text.push_str(random.pick(&PIECES)),
        _ => text.insert_str(0, random.pick(&["\u{feff}", " ", "]"])),
    }
}
