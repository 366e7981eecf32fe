//! One pass over the text of a JSON value that is written as `JSON.stringify` writes it.
//!
//! The pass checks what RFC 8259 demands and more: no white space between the values, no escape that
//! need not be, no half of a character, nothing too deep for most readers, and no member that an
//! answer would have to give up. A text that is otherwise is not refused: it is for serde_json, and
//! for those who look inside, to say what it is.

/// serde_json makes values up to this depth: a peer that reads with it takes no deeper ones.
pub(crate) const DEEPEST: usize = 127;

/// A string that is no longer is gone through byte by byte.
const SHORT: usize = 16;

/// What stands before the name of an image.
const IMAGE: &[u8] = b"\"data:image/";

/// A value that is written so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tight {
    /// Where it ends.
    pub(super) end: usize,
    /// How many of its characters are escaped where its text stands in a string.
    pub(super) escaped: usize,
}

/// The value that begins here. `None`: it is none, or not written so.
pub(super) fn value(text: &str, begin: usize) -> Option<Tight> {
    let bytes = text.as_bytes();
    let mut scan = Scan {
        bytes,
        at: begin,
        escaped: 0,
    };
    if bytes.get(begin..)?.starts_with(IMAGE) {
        return None;
    }
    let mut open = Open::default();
    loop {
        // A value.
        match scan.next()? {
            b'"' => scan.string()?,
            b'{' => {
                open.push(true)?;
                if !scan.skips(b'}') {
                    scan.quote()?;
                    scan.name(&open)?;
                    continue;
                }
                open.pop();
            }
            b'[' => {
                open.push(false)?;
                if !scan.skips(b']') {
                    continue;
                }
                open.pop();
            }
            b't' => scan.rest(b"rue")?,
            b'f' => scan.rest(b"alse")?,
            b'n' => scan.rest(b"ull")?,
            b'-' => {
                let first = scan.next()?;
                scan.number(first)?;
            }
            first => scan.number(first)?,
        }
        // Whatever ends with it.
        loop {
            if open.depth == 0 {
                return Some(Tight {
                    end: scan.at,
                    escaped: scan.escaped,
                });
            }
            match scan.next()? {
                b',' => {
                    if open.is_object() {
                        scan.quote()?;
                        scan.name(&open)?;
                    }
                    break;
                }
                b'}' if open.is_object() => open.pop(),
                b']' if !open.is_object() => open.pop(),
                _ => return None,
            }
        }
    }
}

/// What is open, one bit for each: whether it is an object.
#[derive(Default)]
struct Open {
    kinds: u128,
    depth: usize,
}

impl Open {
    fn push(&mut self, is_object: bool) -> Option<()> {
        self.depth += 1;
        self.kinds = self.kinds << 1 | u128::from(is_object);
        (self.depth <= DEEPEST).then_some(())
    }

    fn pop(&mut self) {
        self.depth -= 1;
        self.kinds >>= 1;
    }

    fn is_object(&self) -> bool {
        self.kinds & 1 == 1
    }
}

/// Which bytes stand in a string for themselves.
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

struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
    escaped: usize,
}

impl Scan<'_> {
    #[inline(always)]
    fn next(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    #[inline(always)]
    fn skips(&mut self, byte: u8) -> bool {
        let is_next = self.bytes.get(self.at) == Some(&byte);
        // Where it was added to, a processor would wait for the answer.
        if is_next {
            self.at += 1;
        }
        is_next
    }

    #[inline(always)]
    fn quote(&mut self) -> Option<()> {
        self.skips(b'"').then_some(())
    }

    fn rest(&mut self, word: &[u8]) -> Option<()> {
        let end = self.at + word.len();
        (self.bytes.get(self.at..end)? == word).then_some(())?;
        self.at = end;
        Some(())
    }

    /// The name of a member, behind its quote, and its colon.
    #[inline(always)]
    fn name(&mut self, open: &Open) -> Option<()> {
        let begin = self.at;
        self.string()?;
        if open.depth == 1 {
            let name = &self.bytes[begin..self.at - 1];
            if matches!(name, b"_meta" | b"dataUrl") || name.contains(&b'\\') {
                return None;
            }
        }
        self.skips(b':').then_some(())
    }

    /// The rest of a string, behind its quote.
    #[inline(always)]
    fn string(&mut self) -> Option<()> {
        self.escaped += 2;
        // Most strings are short. A processor guesses where such a one ends, and goes on meanwhile;
        // with wide steps it would wait to be told.
        if let Some(short) = self.bytes[self.at..].first_chunk::<SHORT>() {
            match short.iter().position(|byte| !IS_PLAIN[usize::from(*byte)]) {
                Some(length) => {
                    self.at += length;
                    if short[length] == b'"' {
                        self.at += 1;
                        return Some(());
                    }
                }
                None => self.at += SHORT,
            }
        }
        self.long_string()
    }

    /// The same from anywhere in it.
    fn long_string(&mut self) -> Option<()> {
        loop {
            self.skip_plain();
            match self.next()? {
                b'"' => return Some(()),
                b'\\' => self.escape()?,
                b' '.. => {}
                _ => return None,
            }
        }
    }

    /// Up to the next byte that does not stand for itself, eight at a time.
    #[inline(always)]
    fn skip_plain(&mut self) {
        const LOW: u64 = u64::from_ne_bytes([0x01; 8]);
        const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);
        const QUOTE: u64 = LOW * b'"' as u64;
        const BACKSLASH: u64 = LOW * b'\\' as u64;
        const SPACE: u64 = LOW * b' ' as u64;
        while let Some(eight) = self.bytes[self.at..].first_chunk::<8>() {
            let eight = u64::from_le_bytes(*eight);
            // The high bit of a byte where it would be below zero. Bytes behind the first such one may
            // have it, too.
            let is_zero = |bytes: u64| bytes.wrapping_sub(LOW) & !bytes;
            let control = eight.wrapping_sub(SPACE) & !eight;
            let found = (is_zero(eight ^ QUOTE) | is_zero(eight ^ BACKSLASH) | control) & HIGH;
            if found != 0 {
                self.at += found.trailing_zeros() as usize / 8;
                return;
            }
            self.at += 8;
        }
    }

    /// An escape that `JSON.stringify` writes, behind its backslash.
    fn escape(&mut self) -> Option<()> {
        self.escaped += 1;
        match self.next()? {
            b'"' | b'\\' => self.escaped += 1,
            b'b' | b'f' | b'n' | b'r' | b't' => {}
            b'u' => {
                let &[b'0', b'0', high, low] = self.bytes[self.at..].first_chunk()? else {
                    return None;
                };
                let is_needed = match high {
                    b'0' => matches!(low, b'0'..=b'7' | b'b' | b'e' | b'f'),
                    b'1' => matches!(low, b'0'..=b'9' | b'a'..=b'f'),
                    _ => false,
                };
                is_needed.then_some(())?;
                self.at += 4;
            }
            _ => return None,
        }
        Some(())
    }

    /// The rest of a number, behind its sign and its first digit.
    #[inline(always)]
    fn number(&mut self, first: u8) -> Option<()> {
        match first {
            b'0' => {}
            b'1'..=b'9' => self.digits(),
            _ => return None,
        }
        // A branch each would cost most numbers more than their digits.
        match self.bytes.get(self.at) {
            Some(b'.' | b'e' | b'E') => self.fraction(),
            _ => Some(()),
        }
    }

    /// What few numbers have behind their digits.
    fn fraction(&mut self) -> Option<()> {
        if self.skips(b'.') {
            self.some_digits()?;
        }
        if self.skips(b'e') || self.skips(b'E') {
            let _sign = self.skips(b'+') || self.skips(b'-');
            self.some_digits()?;
        }
        Some(())
    }

    fn some_digits(&mut self) -> Option<()> {
        self.next()?.is_ascii_digit().then_some(())?;
        self.digits();
        Some(())
    }

    #[inline(always)]
    fn digits(&mut self) {
        if let Some(short) = self.bytes[self.at..].first_chunk::<8>() {
            match short.iter().position(|byte| !byte.is_ascii_digit()) {
                Some(length) => {
                    self.at += length;
                    return;
                }
                None => self.at += 8,
            }
        }
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests;
