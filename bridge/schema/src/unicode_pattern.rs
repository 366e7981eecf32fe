//! Rewrites a regular expression so that JavaScript compiles it with the flag `u`.
//!
//! JSON Schema recommends that flag, and Ajv sets it. Without the flag, JavaScript accepts more
//! (ECMA-262, annex B): `\-` outside a class, a lone `{`, `[\w-.]`. Patterns are often written for
//! that, and the meaning of most is certain.

use std::collections::HashSet;
use std::iter::Peekable;
use std::str::Chars;

/// Characters with a syntactic meaning, which may be escaped in any mode.
const SYNTAX_CHARS: &str = "^$\\.*+?()[]{}|/";

/// Names in `\p{…}` that every version of JavaScript knows. Others are rare.
const PROPERTIES: &str = "L Lu Ll Lt LC Lm Lo M Mn Mc Me N Nd Nl No P Pc Pd Ps Pe Pi Pf Po S Sm Sc Sk \
    So Z Zs Zl Zp C Cc Cf Co Cn Letter Uppercase_Letter Lowercase_Letter Titlecase_Letter \
    Cased_Letter Modifier_Letter Other_Letter Mark Nonspacing_Mark Spacing_Mark Enclosing_Mark Number \
    Decimal_Number Letter_Number Other_Number Punctuation Symbol Separator Space_Separator Other \
    Control Format Alphabetic Alpha Any ASCII Assigned Emoji Emoji_Presentation Emoji_Modifier \
    Extended_Pictographic ID_Start ID_Continue Ideographic Lowercase Uppercase White_Space";

/// Scripts in `\p{Script=…}` that every version of JavaScript knows.
const SCRIPTS: &str = "Arabic Armenian Bengali Bopomofo Common Cyrillic Devanagari Ethiopic Georgian \
    Greek Gujarati Gurmukhi Han Hangul Hebrew Hiragana Inherited Kannada Katakana Khmer Lao Latin \
    Malayalam Mongolian Myanmar Sinhala Tamil Telugu Thai Tibetan Arab Cyrl Grek Hani Hebr Latn";

/// The maximum length of the name of a group. Longer ones are rare, and looking for the end of each
/// would take time.
const MAX_GROUP_NAME_BYTES: usize = 128;

/// The maximum length of the bounds of a repetition, such as `{10,20}`.
const MAX_BOUNDS_CHARS: usize = 24;

/// Returns the pattern in a form that is valid with the flag `u` and matches the same, or the
/// pattern itself if it is valid. `None` if it has no such form, or if that is not certain.
pub fn to_unicode_mode(pattern: &str) -> Option<String> {
    let mut rewriter = Rewriter {
        rest: pattern.chars().peekable(),
        output: String::with_capacity(pattern.len()),
        groups: Groups::find(pattern)?,
    };
    rewriter.rewrite_pattern()?;
    Some(rewriter.output)
}

/// The capturing groups of a pattern, which back-references refer to.
#[derive(Default)]
struct Groups<'a> {
    count: usize,
    names: HashSet<&'a str>,
}

impl<'a> Groups<'a> {
    /// Returns `None` if two groups have one name.
    fn find(pattern: &'a str) -> Option<Self> {
        let mut groups = Self::default();
        let mut in_class = false;
        let mut chars = pattern.char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '\\' => {
                    chars.next();
                }
                '[' => in_class = true,
                ']' => in_class = false,
                '(' if !in_class => {
                    let rest = &pattern[at + 1..];
                    let name = rest.strip_prefix("?<").and_then(group_name);
                    if let Some(name) = name {
                        groups.names.insert(name).then_some(())?;
                    }
                    groups.count += usize::from(name.is_some() || !rest.starts_with('?'));
                }
                _ => {}
            }
        }
        Some(groups)
    }
}

/// The name of a group that is followed by `>`, if its characters are plain.
fn group_name(rest: &str) -> Option<&str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    let end = rest
        .bytes()
        .take(MAX_GROUP_NAME_BYTES)
        .position(|byte| byte == b'>')?;
    let name = rest.get(..end)?;
    let is_name = name.starts_with(|c: char| is_plain(c) && !c.is_ascii_digit());
    (is_name && name.chars().all(is_plain)).then_some(name)
}

/// One character of a class, or a set of them.
enum ClassAtom {
    Char(u32),
    Set,
}

struct Rewriter<'a> {
    rest: Peekable<Chars<'a>>,
    output: String,
    groups: Groups<'a>,
}

impl Rewriter<'_> {
    fn rewrite_pattern(&mut self) -> Option<()> {
        // Whether each open group can be repeated: look-around cannot.
        let mut open_groups = Vec::new();
        let mut is_repeatable = false;
        while let Some(c) = self.rest.next() {
            match c {
                '\\' => is_repeatable = self.rewrite_escape()?,
                '[' => {
                    self.rewrite_class()?;
                    is_repeatable = true;
                }
                '(' => {
                    open_groups.push(self.rewrite_group_head()?);
                    is_repeatable = false;
                }
                ')' => {
                    self.output.push(c);
                    is_repeatable = open_groups.pop()?;
                }
                '|' | '^' | '$' => {
                    self.output.push(c);
                    is_repeatable = false;
                }
                '*' | '+' | '?' => {
                    is_repeatable.then_some(())?;
                    self.output.push(c);
                    self.copy_lazy_mark();
                    is_repeatable = false;
                }
                '{' => match self.take_bounds() {
                    Some((min, max, bounds)) => {
                        (is_repeatable && min <= max).then_some(())?;
                        self.output.push_str(&bounds);
                        self.copy_lazy_mark();
                        is_repeatable = false;
                    }
                    None => {
                        self.output.push_str("\\{");
                        is_repeatable = true;
                    }
                },
                '}' | ']' => {
                    self.output.extend(['\\', c]);
                    is_repeatable = true;
                }
                _ => {
                    self.output.push(c);
                    is_repeatable = true;
                }
            }
        }
        open_groups.is_empty().then_some(())
    }

    fn copy_lazy_mark(&mut self) {
        self.output.extend(self.rest.next_if_eq(&'?'));
    }

    /// Takes `1,2}` after an opening brace, and returns the bounds and their text. Returns `None`
    /// without taking anything if the brace is a literal one.
    fn take_bounds(&mut self) -> Option<(u64, u64, String)> {
        let ahead: String = self.rest.clone().take(MAX_BOUNDS_CHARS).collect();
        let (bounds, _) = ahead.split_once('}')?;
        let number = |digits: &str| {
            let are_digits = digits.bytes().all(|byte| byte.is_ascii_digit());
            digits.parse().ok().filter(|_: &u64| are_digits)
        };
        let (min, max) = match bounds.split_once(',') {
            None => (number(bounds)?, number(bounds)?),
            Some((min, "")) => (number(min)?, u64::MAX),
            Some((min, max)) => (number(min)?, number(max)?),
        };
        let text = format!("{{{bounds}}}");
        self.rest.nth(bounds.len());
        Some((min, max, text))
    }

    /// Copies the beginning of a group after its bracket, and returns whether the group can be
    /// repeated.
    fn rewrite_group_head(&mut self) -> Option<bool> {
        let head: String = self.rest.clone().take(MAX_GROUP_NAME_BYTES).collect();
        let (length, is_repeatable) = match head.as_str() {
            head if head.starts_with("?:") => (2, true),
            head if head.starts_with("?=") || head.starts_with("?!") => (2, false),
            head if head.starts_with("?<=") || head.starts_with("?<!") => (3, false),
            head if head.starts_with('?') => {
                let name = head.strip_prefix("?<").and_then(group_name)?;
                ("?<>".len() + name.len(), true)
            }
            _ => (0, true),
        };
        self.output.push('(');
        self.output.extend(self.rest.by_ref().take(length));
        Some(is_repeatable)
    }

    /// Rewrites an escape outside a class, and returns whether it can be repeated.
    fn rewrite_escape(&mut self) -> Option<bool> {
        match *self.rest.peek()? {
            c @ ('b' | 'B') => {
                self.rest.next();
                self.output.extend(['\\', c]);
                Some(false)
            }
            'k' => {
                self.rest.next();
                self.rest.next_if_eq(&'<')?;
                let ahead: String = self.rest.clone().take(MAX_GROUP_NAME_BYTES).collect();
                let name = group_name(&ahead).filter(|name| self.groups.names.contains(name))?;
                self.rest.nth(name.len());
                self.output.push_str(&format!("\\k<{name}>"));
                Some(true)
            }
            '1'..='9' => {
                let mut digits = String::new();
                while let Some(digit) = self.rest.next_if(char::is_ascii_digit) {
                    digits.push(digit);
                }
                let group: usize = digits.parse().ok()?;
                (group <= self.groups.count).then_some(())?;
                self.output.push('\\');
                self.output.push_str(&digits);
                Some(true)
            }
            _ => {
                self.rewrite_char_escape("")?;
                Some(true)
            }
        }
    }

    /// Rewrites an escape that means the same inside and outside a class. The characters in `also`
    /// keep their backslash.
    fn rewrite_char_escape(&mut self, also: &str) -> Option<ClassAtom> {
        let c = self.rest.next()?;
        let control = |c: char| ClassAtom::Char(u32::from(c));
        let atom = match c {
            'd' | 'D' | 'w' | 'W' | 's' | 'S' => ClassAtom::Set,
            'f' => control('\u{c}'),
            'n' => control('\n'),
            'r' => control('\r'),
            't' => control('\t'),
            'v' => control('\u{b}'),
            '0' if !self.rest.peek().is_some_and(char::is_ascii_digit) => control('\0'),
            'c' => {
                let letter = self.rest.next_if(char::is_ascii_alphabetic)?;
                self.output.extend(['\\', c, letter]);
                return Some(ClassAtom::Char(u32::from(letter) % 32));
            }
            'x' => return self.copy_hex('x', 2),
            'u' => return self.copy_unicode_escape(),
            'p' | 'P' => {
                self.rest.next_if_eq(&'{')?;
                let mut name = String::new();
                while let Some(c) = self.rest.next_if(|c| *c != '}') {
                    name.push(c);
                }
                self.rest.next()?;
                is_property(&name).then_some(())?;
                self.output.extend(['\\', c, '{']);
                self.output.push_str(&name);
                self.output.push('}');
                return Some(ClassAtom::Set);
            }
            c if SYNTAX_CHARS.contains(c) || also.contains(c) => ClassAtom::Char(u32::from(c)),
            // The meaning of other letters and digits differs between languages.
            c if c.is_ascii_alphanumeric() => return None,
            c => {
                self.output.push(c);
                return Some(ClassAtom::Char(u32::from(c)));
            }
        };
        self.output.extend(['\\', c]);
        Some(atom)
    }

    fn copy_hex(&mut self, kind: char, length: usize) -> Option<ClassAtom> {
        let mut digits = String::new();
        for _ in 0..length {
            digits.push(self.rest.next_if(char::is_ascii_hexdigit)?);
        }
        self.output.extend(['\\', kind]);
        self.output.push_str(&digits);
        Some(ClassAtom::Char(u32::from_str_radix(&digits, 16).ok()?))
    }

    fn copy_unicode_escape(&mut self) -> Option<ClassAtom> {
        if self.rest.next_if_eq(&'{').is_none() {
            let first = self.copy_hex('u', 4)?;
            return Some(self.copy_low_surrogate(first));
        }
        let mut digits = String::new();
        while let Some(digit) = self.rest.next_if(char::is_ascii_hexdigit) {
            digits.push(digit);
        }
        self.rest.next_if_eq(&'}')?;
        let code = u32::from_str_radix(&digits, 16).ok()?;
        (code <= u32::from(char::MAX)).then_some(())?;
        self.output.push_str("\\u{");
        self.output.push_str(&digits);
        self.output.push('}');
        Some(ClassAtom::Char(code))
    }

    /// Copies the second half of a surrogate pair, and returns the character of both halves.
    fn copy_low_surrogate(&mut self, first: ClassAtom) -> ClassAtom {
        let ClassAtom::Char(high @ 0xd800..=0xdbff) = first else {
            return first;
        };
        let ahead: String = self.rest.clone().take("\\udc00".len()).collect();
        let digits = ahead.strip_prefix("\\u").filter(|digits| digits.len() == 4);
        let low = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let Some(low @ 0xdc00..=0xdfff) = low else {
            return first;
        };
        self.output.push_str(&ahead);
        self.rest.nth(ahead.len() - 1);
        ClassAtom::Char(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00))
    }

    fn rewrite_class(&mut self) -> Option<()> {
        self.output.push('[');
        self.output.extend(self.rest.next_if_eq(&'^'));
        // The atom before a dash, if the dash may begin a range.
        let mut before = None;
        loop {
            let dash_at = self.output.len();
            match self.rest.next()? {
                ']' => {
                    self.output.push(']');
                    return Some(());
                }
                '-' => {
                    let is_last = self.rest.peek() == Some(&']');
                    let Some(first) = before.take().filter(|_| !is_last) else {
                        self.output.push('-');
                        before = Some(ClassAtom::Char(u32::from('-')));
                        continue;
                    };
                    self.output.push('-');
                    let c = self.rest.next()?;
                    match (first, self.rewrite_class_atom(c)?) {
                        (ClassAtom::Char(first), ClassAtom::Char(last)) => {
                            (first <= last).then_some(())?;
                        }
                        // With a set at one end, the dash is a literal one.
                        _ => self.output.insert(dash_at, '\\'),
                    }
                }
                c => before = Some(self.rewrite_class_atom(c)?),
            }
        }
    }

    fn rewrite_class_atom(&mut self, c: char) -> Option<ClassAtom> {
        match c {
            '\\' if self.rest.next_if_eq(&'b').is_some() => {
                self.output.push_str("\\b");
                Some(ClassAtom::Char(8))
            }
            '\\' => self.rewrite_char_escape("-"),
            c => {
                self.output.push(c);
                Some(ClassAtom::Char(u32::from(c)))
            }
        }
    }
}

fn is_property(name: &str) -> bool {
    let lists = |names: &str, name: &str| names.split_whitespace().any(|known| known == name);
    match name.split_once('=') {
        None => lists(PROPERTIES, name),
        Some(("Script" | "sc" | "Script_Extensions" | "scx", script)) => lists(SCRIPTS, script),
        Some(("General_Category" | "gc", category)) => {
            lists(PROPERTIES, category) && category.len() <= 2
        }
        Some(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_that_is_valid_with_the_flag_is_unchanged() {
        for pattern in [
            "",
            "^[a-z0-9._%+-]+@[a-z0-9.-]+\\.[a-z]{2,}$",
            "^\\d{4}-\\d{2}-\\d{2}$",
            "^(?=.)(?!x)(?<=a)(?<!b)(?:c|d)+?(e)*\\1$",
            "(?<year>\\d+)\\k<year>",
            "[\\-\\]\\\\^$]",
            "[]",
            "[^]",
            "[-a]",
            "[a-]",
            "[a-c-]",
            "\\u{1F600}\\ud83d\\x41\\cA\\0",
            "\\p{L}\\P{Lu}[\\p{Script=Greek}\\p{gc=Nd}]",
            "a{2}b{2,}c{2,3}?",
            "\\/\\.",
            "[b\\b]\\b",
            "ä☀",
            "[\\ud83d\\ude00-\\ud83d\\ude4f]",
        ] {
            assert_eq!(to_unicode_mode(pattern).as_deref(), Some(pattern));
        }
    }

    #[test]
    fn annex_b_is_rewritten_and_rewritten_patterns_are_unchanged() {
        for (pattern, expected) in [
            ("^\\-?\\d", "^-?\\d"),
            ("\\_\\@\\:\\ \\\"\\'\\,", "_@: \"',"),
            ("[\\_\\@]", "[_@]"),
            ("[\\w-.]", "[\\w\\-.]"),
            ("[a-\\d]", "[a\\-\\d]"),
            ("[\\w-\\s]", "[\\w\\-\\s]"),
            ("{a}", "\\{a\\}"),
            ("a{", "a\\{"),
            ("a{,5}", "a\\{,5\\}"),
            ("a]", "a\\]"),
            ("x{1}}", "x{1}\\}"),
        ] {
            assert_eq!(
                to_unicode_mode(pattern).as_deref(),
                Some(expected),
                "{pattern}"
            );
            assert_eq!(to_unicode_mode(expected).as_deref(), Some(expected));
        }
    }

    #[test]
    fn a_pattern_without_a_certain_meaning_has_no_other_form() {
        for pattern in [
            "(?i)a",
            "(?P<n>a)",
            "(?>a)",
            "(a",
            "a)",
            "[a",
            "*a",
            "a**",
            "^*",
            "(?=a)*",
            "\\b+",
            "{1}",
            "a{3,2}",
            "(?<n>a)(?<n>b)",
            "\\",
            "\\A",
            "\\z",
            "\\h",
            "\\1",
            "(a)\\2",
            "\\k<n>",
            "\\01",
            "\\8",
            "[z-a]",
            "[\\1]",
            "\\p{IsGreek}",
            "\\pL",
            "\\p{Script=Klingon}",
            "\\u{110000}",
            "\\u12",
            "\\xg",
            "\\c1",
        ] {
            assert_eq!(to_unicode_mode(pattern), None, "{pattern}");
        }
        // Each takes time that is linear in its length.
        for repeated in ["{", "(?<", "(?<a>", "\\k<", "[", "a{1"] {
            to_unicode_mode(&repeated.repeat(10_000));
        }
    }
}
