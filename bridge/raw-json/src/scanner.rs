//! One pass over the text of a JSON value that is written as `JSON.stringify` writes it.
//!
//! The pass checks more than RFC 8259 requires: the text must have no white space between tokens,
//! no unnecessary escapes, no unpaired surrogates, no nesting beyond [`MAX_JSON_DEPTH`], and no
//! member that a result must move elsewhere. A text that does not meet these conditions may still
//! be valid, but must be parsed with serde_json.

/// The maximum nesting that serde_json parses, so that a peer that uses it accepts the text.
pub const MAX_JSON_DEPTH: usize = 127;

/// Strings up to this length are scanned byte by byte.
const SHORT_STRING_BYTES: usize = 16;

/// The beginning of a JSON string with an image as a data URL.
const IMAGE_PREFIX: &[u8] = b"\"data:image/";

/// A value that is written as `JSON.stringify` writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactJson {
    /// The position after the value.
    pub end: usize,
    /// The number of bytes that escaping adds when the text is written as a JSON string.
    pub escape_count: usize,
}

/// Scans the value that begins at `begin`. Returns `None` if it is not valid or not written as
/// `JSON.stringify` writes it.
pub fn scan_value(text: &str, begin: usize) -> Option<CompactJson> {
    let bytes = text.as_bytes();
    let mut scanner = Scanner {
        bytes,
        position: begin,
        escape_count: 0,
    };
    if bytes.get(begin..)?.starts_with(IMAGE_PREFIX) {
        return None;
    }
    let mut nesting = NestingStack::default();
    loop {
        match scanner.next()? {
            b'"' => scanner.skip_string()?,
            b'{' => {
                nesting.push(true)?;
                if !scanner.skip_if(b'}') {
                    scanner.expect_quote()?;
                    scanner.skip_member_name(&nesting)?;
                    continue;
                }
                nesting.pop();
            }
            b'[' => {
                nesting.push(false)?;
                if !scanner.skip_if(b']') {
                    continue;
                }
                nesting.pop();
            }
            b't' => scanner.expect_literal(b"rue")?,
            b'f' => scanner.expect_literal(b"alse")?,
            b'n' => scanner.expect_literal(b"ull")?,
            b'-' => {
                let first = scanner.next()?;
                scanner.skip_number(first)?;
            }
            first => scanner.skip_number(first)?,
        }
        // Commas and closing brackets after the value.
        loop {
            if nesting.depth == 0 {
                return Some(CompactJson {
                    end: scanner.position,
                    escape_count: scanner.escape_count,
                });
            }
            match scanner.next()? {
                b',' => {
                    if nesting.is_object() {
                        scanner.expect_quote()?;
                        scanner.skip_member_name(&nesting)?;
                    }
                    break;
                }
                b'}' if nesting.is_object() => nesting.pop(),
                b']' if !nesting.is_object() => nesting.pop(),
                _ => return None,
            }
        }
    }
}

/// The open arrays and objects, with one bit for each that is set for an object.
#[derive(Default)]
struct NestingStack {
    object_bits: u128,
    depth: usize,
}

impl NestingStack {
    fn push(&mut self, is_object: bool) -> Option<()> {
        self.depth += 1;
        self.object_bits = self.object_bits << 1 | u128::from(is_object);
        (self.depth <= MAX_JSON_DEPTH).then_some(())
    }

    fn pop(&mut self) {
        self.depth -= 1;
        self.object_bits >>= 1;
    }

    fn is_object(&self) -> bool {
        self.object_bits & 1 == 1
    }
}

/// Whether a byte is written in a string without an escape.
const IS_PLAIN: [bool; 256] = {
    let mut is_plain = [true; 256];
    let mut byte = 0;
    while byte < b' ' as usize {
        is_plain[byte] = false;
        byte += 1;
    }
    is_plain[b'"' as usize] = false;
    is_plain[b'\\' as usize] = false;
    is_plain
};

/// Whether `JSON.stringify` writes the escape `\u00` + `high` + `low`. It does for control
/// characters that have no short escape.
pub(crate) fn must_be_unicode_escape(high: u8, low: u8) -> bool {
    match high {
        b'0' => matches!(low, b'0'..=b'7' | b'b' | b'e' | b'f'),
        b'1' => matches!(low, b'0'..=b'9' | b'a'..=b'f'),
        _ => false,
    }
}

struct Scanner<'a> {
    bytes: &'a [u8],
    position: usize,
    escape_count: usize,
}

impl Scanner<'_> {
    #[inline(always)]
    fn next(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.position)?;
        self.position += 1;
        Some(byte)
    }

    #[inline(always)]
    fn skip_if(&mut self, byte: u8) -> bool {
        let is_next = self.bytes.get(self.position) == Some(&byte);
        // Adding the boolean to the position would make the processor wait for the comparison.
        if is_next {
            self.position += 1;
        }
        is_next
    }

    #[inline(always)]
    fn expect_quote(&mut self) -> Option<()> {
        self.skip_if(b'"').then_some(())
    }

    fn expect_literal(&mut self, literal: &[u8]) -> Option<()> {
        let end = self.position + literal.len();
        (self.bytes.get(self.position..end)? == literal).then_some(())?;
        self.position = end;
        Some(())
    }

    /// Skips the rest of the name of a member, after the opening quote, and the colon.
    #[inline(always)]
    fn skip_member_name(&mut self, nesting: &NestingStack) -> Option<()> {
        let begin = self.position;
        self.skip_string()?;
        if nesting.depth == 1 {
            let name = &self.bytes[begin..self.position - 1];
            if matches!(name, b"_meta" | b"dataUrl") || name.contains(&b'\\') {
                return None;
            }
        }
        self.skip_if(b':').then_some(())
    }

    /// Skips the rest of a string, after the opening quote.
    #[inline(always)]
    fn skip_string(&mut self) -> Option<()> {
        self.escape_count += 2;
        // Most strings are short. A processor predicts the end of a string that is scanned byte by
        // byte and continues meanwhile. With wide steps it would have to wait for the comparison.
        if let Some(short) = self.bytes[self.position..].first_chunk::<SHORT_STRING_BYTES>() {
            match short.iter().position(|byte| !IS_PLAIN[usize::from(*byte)]) {
                Some(length) => {
                    self.position += length;
                    if short[length] == b'"' {
                        self.position += 1;
                        return Some(());
                    }
                }
                None => self.position += SHORT_STRING_BYTES,
            }
        }
        self.skip_long_string()
    }

    /// Skips the rest of a string, beginning at any position in it.
    fn skip_long_string(&mut self) -> Option<()> {
        loop {
            self.skip_plain();
            match self.next()? {
                b'"' => return Some(()),
                b'\\' => self.skip_escape()?,
                b' '.. => {}
                _ => return None,
            }
        }
    }

    /// Skips to the next quote, backslash or control character, eight bytes at a time.
    #[inline(always)]
    fn skip_plain(&mut self) {
        const LOW: u64 = u64::from_ne_bytes([0x01; 8]);
        const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);
        const QUOTE: u64 = LOW * b'"' as u64;
        const BACKSLASH: u64 = LOW * b'\\' as u64;
        const SPACE: u64 = LOW * b' ' as u64;
        while let Some(eight) = self.bytes[self.position..].first_chunk::<8>() {
            let eight = u64::from_le_bytes(*eight);
            // The high bit is set in each byte that becomes negative. It may also be set in bytes
            // after the first of these.
            let is_zero = |bytes: u64| bytes.wrapping_sub(LOW) & !bytes;
            let control = eight.wrapping_sub(SPACE) & !eight;
            let found = (is_zero(eight ^ QUOTE) | is_zero(eight ^ BACKSLASH) | control) & HIGH;
            if found != 0 {
                self.position += found.trailing_zeros() as usize / 8;
                return;
            }
            self.position += 8;
        }
    }

    /// Skips an escape that `JSON.stringify` writes, after the backslash.
    fn skip_escape(&mut self) -> Option<()> {
        self.escape_count += 1;
        match self.next()? {
            b'"' | b'\\' => self.escape_count += 1,
            b'b' | b'f' | b'n' | b'r' | b't' => {}
            b'u' => {
                let &[b'0', b'0', high, low] = self.bytes[self.position..].first_chunk()? else {
                    return None;
                };
                must_be_unicode_escape(high, low).then_some(())?;
                self.position += 4;
            }
            _ => return None,
        }
        Some(())
    }

    /// Skips the rest of a number, after its sign and first digit.
    #[inline(always)]
    fn skip_number(&mut self, first: u8) -> Option<()> {
        match first {
            b'0' => {}
            b'1'..=b'9' => self.skip_digits(),
            _ => return None,
        }
        // One branch for all three characters is cheaper than one for each, because most numbers
        // have none of them.
        match self.bytes.get(self.position) {
            Some(b'.' | b'e' | b'E') => self.skip_fraction(),
            _ => Some(()),
        }
    }

    /// Skips the fraction and the exponent of a number, which few numbers have.
    fn skip_fraction(&mut self) -> Option<()> {
        if self.skip_if(b'.') {
            self.skip_required_digits()?;
        }
        if self.skip_if(b'e') || self.skip_if(b'E') {
            let _sign = self.skip_if(b'+') || self.skip_if(b'-');
            self.skip_required_digits()?;
        }
        Some(())
    }

    fn skip_required_digits(&mut self) -> Option<()> {
        self.next()?.is_ascii_digit().then_some(())?;
        self.skip_digits();
        Some(())
    }

    #[inline(always)]
    fn skip_digits(&mut self) {
        if let Some(short) = self.bytes[self.position..].first_chunk::<8>() {
            match short.iter().position(|byte| !byte.is_ascii_digit()) {
                Some(length) => {
                    self.position += length;
                    return;
                }
                None => self.position += 8,
            }
        }
        while self
            .bytes
            .get(self.position)
            .is_some_and(u8::is_ascii_digit)
        {
            self.position += 1;
        }
    }
}

#[cfg(test)]
mod tests;
