//! Reads the tokens of a JSON text. What serde_json would refuse is [`Stop::Undecided`].

use serde_json::Number;

/// Why the pass over a text ends early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    Invalid,
    Undecided,
    TooCostly,
}

/// The maximum nesting that serde_json parses.
pub(super) const MAX_DEPTH: usize = 127;

/// The maximum number of digits of an [`JsonNumber::Integer`], so that it cannot overflow.
const MAX_INTEGER_DIGITS: usize = 18;

/// A number without an exponent and with up to this many bytes is in the range of an `f64`.
const MAX_FINITE_BYTES: usize = 300;

/// Strings are compared in chunks of this many bytes.
const CHUNK_BYTES: usize = 16;

/// Digits are compared in chunks of this many bytes.
const DIGITS_BYTES: usize = 8;

/// A position in a text.
#[derive(Debug)]
pub(super) struct Cursor<'a> {
    text: &'a str,
    bytes: &'a [u8],
    pub(super) position: usize,
}

/// The content of a string in its original spelling.
#[derive(Clone, Copy, Debug)]
pub(super) struct JsonString<'a> {
    text: &'a str,
    /// The positions of both quotes.
    quotes: [usize; 2],
    spelling: StringSpelling,
}

/// Whether a string has escapes.
#[derive(Clone, Copy, Debug)]
pub(super) enum StringSpelling {
    Plain,
    Escaped,
}

impl<'a> JsonString<'a> {
    /// The content, if it is written without escapes.
    pub(super) fn plain(self) -> Option<&'a str> {
        let [begin, end] = self.quotes;
        match self.spelling {
            StringSpelling::Plain => self.text.get(begin + 1..end),
            StringSpelling::Escaped => None,
        }
    }

    /// The content. `unescaped` gets it if it is written with escapes.
    pub(super) fn content<'b>(self, unescaped: &'b mut String) -> Result<&'b str, Stop>
    where
        'a: 'b,
    {
        if let Some(plain) = self.plain() {
            return Ok(plain);
        }
        let [begin, end] = self.quotes;
        let quoted = self.text.get(begin..=end).ok_or(Stop::Undecided)?;
        *unescaped = serde_json::from_str(quoted).map_err(|_| Stop::Undecided)?;
        Ok(unescaped)
    }
}

/// A number.
#[derive(Clone, Copy, Debug)]
pub(super) enum JsonNumber<'a> {
    /// Written with at most [`MAX_INTEGER_DIGITS`] digits and nothing else. `-0` is not one.
    Integer(Digits<'a>),
    Other(&'a str),
}

/// How a number is written, with the names of [`JsonNumber`].
#[derive(Clone, Copy, Debug)]
pub(super) enum NumberSpelling {
    Integer,
    Other,
}

/// An integer in its original spelling.
#[derive(Clone, Copy, Debug)]
pub(super) struct Digits<'a>(&'a [u8]);

impl Digits<'_> {
    pub(super) fn value(self) -> i64 {
        let append = |value, digit: &u8| value * 10 + i64::from(digit - b'0');
        match self.0 {
            [b'-', digits @ ..] => -digits.iter().fold(0, append),
            digits => digits.iter().fold(0, append),
        }
    }
}

impl JsonNumber<'_> {
    pub(super) fn parse(self) -> Result<Number, Stop> {
        match self {
            Self::Integer(digits) => Ok(digits.value().into()),
            Self::Other(text) => serde_json::from_str(text).map_err(|_| Stop::Undecided),
        }
    }
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            bytes: text.as_bytes(),
            position: 0,
        }
    }

    /// The text that has not been read.
    #[inline(always)]
    pub(super) fn rest(&self) -> &'a [u8] {
        &self.bytes[self.position..]
    }

    /// The next byte, or 0 at the end.
    #[inline(always)]
    pub(super) fn peek(&self) -> u8 {
        self.bytes.get(self.position).copied().unwrap_or(0)
    }

    #[inline(always)]
    pub(super) fn skip_white_space(&mut self) {
        while matches!(self.peek(), b' ' | b'\n' | b'\r' | b'\t') {
            self.position += 1;
        }
    }

    /// Skips a byte if it is the next one.
    #[inline(always)]
    pub(super) fn skip_if(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == byte;
        // Adding the boolean to the position would make the processor wait for the comparison.
        if is_next {
            self.position += 1;
        }
        is_next
    }

    #[inline(always)]
    pub(super) fn expect(&mut self, byte: u8) -> Result<(), Stop> {
        if self.skip_if(byte) {
            Ok(())
        } else {
            Err(Stop::Undecided)
        }
    }

    /// Skips the white space after the value of a document, which must end there.
    pub(super) fn finish(&mut self) -> Result<(), Stop> {
        self.skip_white_space();
        if self.position == self.bytes.len() {
            Ok(())
        } else {
            Err(Stop::Undecided)
        }
    }

    /// Reads `null`, `true` or `false`.
    #[inline(always)]
    pub(super) fn literal<const N: usize>(&mut self, literal: &[u8; N]) -> Result<(), Stop> {
        if self.rest().first_chunk() == Some(literal) {
            self.position += N;
            Ok(())
        } else {
            Err(Stop::Undecided)
        }
    }

    /// Reads a string, which must begin here.
    #[inline(always)]
    pub(super) fn string(&mut self) -> Result<JsonString<'a>, Stop> {
        let begin = self.position;
        let spelling = self.skip_string()?;
        Ok(self.string_since(begin, spelling))
    }

    /// Returns the string that began at `begin` and has been read.
    #[inline(always)]
    pub(super) fn string_since(&self, begin: usize, spelling: StringSpelling) -> JsonString<'a> {
        JsonString {
            text: self.text,
            quotes: [begin, self.position - 1],
            spelling,
        }
    }

    /// Skips a string, which must begin here. The result fits into registers.
    #[inline(always)]
    pub(super) fn skip_string(&mut self) -> Result<StringSpelling, Stop> {
        self.expect(b'"')?;
        // Most strings are short, and a processor predicts their ends.
        if let Some(short) = self.rest().first_chunk::<CHUNK_BYTES>()
            && let Some(length) = short.iter().position(|byte| !IS_PLAIN[usize::from(*byte)])
            && short[length] == b'"'
        {
            self.position += length + 1;
            return Ok(StringSpelling::Plain);
        }
        self.skip_long_string()
    }

    /// Skips the rest of a string, after the opening quote.
    #[inline(never)]
    fn skip_long_string(&mut self) -> Result<StringSpelling, Stop> {
        let mut spelling = StringSpelling::Plain;
        loop {
            self.skip_plain();
            match self.peek() {
                b'"' => break,
                b'\\' => {
                    spelling = StringSpelling::Escaped;
                    self.skip_escape()?;
                }
                // A control character, or the end.
                _ => return Err(Stop::Undecided),
            }
        }
        self.position += 1;
        Ok(spelling)
    }

    /// Skips to the next quote, backslash or control character.
    #[inline(always)]
    fn skip_plain(&mut self) {
        let rest = self.rest();
        let (chunks, _) = rest.as_chunks::<CHUNK_BYTES>();
        let has_end = |chunk: &[u8; CHUNK_BYTES]| {
            let ends = chunk.iter().map(|byte| u8::from(!is_plain(*byte)));
            ends.fold(0, |any, end| any | end) != 0
        };
        let plain = chunks.iter().take_while(|chunk| !has_end(chunk)).count();
        let rest = &rest[plain * CHUNK_BYTES..];
        let length = rest.iter().position(|byte| !is_plain(*byte));
        self.position += plain * CHUNK_BYTES + length.unwrap_or(rest.len());
    }

    /// Skips an escape sequence. An unpaired half of a surrogate pair is not decided.
    fn skip_escape(&mut self) -> Result<(), Stop> {
        const HIGH: std::ops::RangeInclusive<u32> = 0xd800..=0xdbff;
        const LOW: std::ops::RangeInclusive<u32> = 0xdc00..=0xdfff;
        self.position += 1;
        match self.peek() {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {
                self.position += 1;
                return Ok(());
            }
            b'u' => {}
            _ => return Err(Stop::Undecided),
        }
        let code = self.code_unit()?;
        let is_valid = if HIGH.contains(&code) {
            self.skip_if(b'\\') && LOW.contains(&self.code_unit()?)
        } else {
            !LOW.contains(&code)
        };
        if is_valid {
            Ok(())
        } else {
            Err(Stop::Undecided)
        }
    }

    /// Reads `u` and four hexadecimal digits.
    fn code_unit(&mut self) -> Result<u32, Stop> {
        self.expect(b'u')?;
        let digits = self.rest().first_chunk::<4>();
        let mut code = 0;
        for digit in digits.ok_or(Stop::Undecided)? {
            let digit = char::from(*digit).to_digit(16).ok_or(Stop::Undecided)?;
            code = code << 4 | digit;
        }
        self.position += 4;
        Ok(code)
    }

    /// Reads a number, which must begin here.
    #[inline(always)]
    pub(super) fn number(&mut self) -> Result<JsonNumber<'a>, Stop> {
        let begin = self.position;
        let spelling = self.skip_number()?;
        Ok(self.number_since(begin, spelling))
    }

    /// Returns the number that began at `begin` and has been read.
    #[inline(always)]
    pub(super) fn number_since(&self, begin: usize, spelling: NumberSpelling) -> JsonNumber<'a> {
        let range = begin..self.position;
        match spelling {
            NumberSpelling::Integer => JsonNumber::Integer(Digits(&self.bytes[range])),
            NumberSpelling::Other => JsonNumber::Other(&self.text[range]),
        }
    }

    /// Skips a number, which must begin here. The result fits into registers.
    #[inline]
    pub(super) fn skip_number(&mut self) -> Result<NumberSpelling, Stop> {
        let begin = self.position;
        let is_negative = self.skip_if(b'-');
        let first = self.position;
        self.skip_digits();
        let digits = &self.bytes[first..self.position];
        let is_zero = match digits {
            [b'0'] => true,
            [] | [b'0', ..] => return Err(Stop::Undecided),
            _ => false,
        };
        if matches!(self.peek(), b'.' | b'e' | b'E') {
            return self.fraction(begin);
        }
        if digits.len() > MAX_INTEGER_DIGITS || is_negative && is_zero {
            return self.other_number(begin, false);
        }
        Ok(NumberSpelling::Integer)
    }

    #[inline(always)]
    fn skip_digits(&mut self) {
        if let Some(short) = self.rest().first_chunk::<DIGITS_BYTES>() {
            match short.iter().position(|byte| !byte.is_ascii_digit()) {
                Some(length) => {
                    self.position += length;
                    return;
                }
                None => self.position += DIGITS_BYTES,
            }
        }
        while self.peek().is_ascii_digit() {
            self.position += 1;
        }
    }

    /// Reads the fraction and the exponent of the number that begins at `begin`.
    fn fraction(&mut self, begin: usize) -> Result<NumberSpelling, Stop> {
        if self.skip_if(b'.') {
            self.digits()?;
        }
        let has_exponent = self.skip_if(b'e') || self.skip_if(b'E');
        if has_exponent {
            let _sign = self.skip_if(b'+') || self.skip_if(b'-');
            self.digits()?;
        }
        self.other_number(begin, has_exponent)
    }

    fn digits(&mut self) -> Result<(), Stop> {
        let begin = self.position;
        self.skip_digits();
        if self.position == begin {
            return Err(Stop::Undecided);
        }
        Ok(())
    }

    fn other_number(&self, begin: usize, has_exponent: bool) -> Result<NumberSpelling, Stop> {
        if has_exponent || self.position - begin > MAX_FINITE_BYTES {
            // It may be too large for serde_json.
            self.number_since(begin, NumberSpelling::Other).parse()?;
        }
        Ok(NumberSpelling::Other)
    }

    /// Skips a value that is inside `depth` others.
    pub(super) fn skip_value(&mut self, depth: usize) -> Result<(), Stop> {
        // One bit for each open array or object, which is set for an object.
        let mut objects = 0_u128;
        let mut open = 0;
        loop {
            match self.peek() {
                b'"' => {
                    self.skip_string()?;
                }
                opening @ (b'{' | b'[') => {
                    self.position += 1;
                    open += 1;
                    if depth + open > MAX_DEPTH {
                        return Err(Stop::Undecided);
                    }
                    let is_object = opening == b'{';
                    objects = objects << 1 | u128::from(is_object);
                    self.skip_white_space();
                    if !self.skip_if(if is_object { b'}' } else { b']' }) {
                        if is_object {
                            self.skip_name()?;
                        }
                        continue;
                    }
                    open -= 1;
                    objects >>= 1;
                }
                b't' => self.literal(b"true")?,
                b'f' => self.literal(b"false")?,
                b'n' => self.literal(b"null")?,
                _ => {
                    self.skip_number()?;
                }
            }
            // Commas and closing brackets after the value.
            loop {
                if open == 0 {
                    return Ok(());
                }
                self.skip_white_space();
                let is_object = objects & 1 == 1;
                if self.skip_if(b',') {
                    self.skip_white_space();
                    if is_object {
                        self.skip_name()?;
                    }
                    break;
                }
                self.expect(if is_object { b'}' } else { b']' })?;
                open -= 1;
                objects >>= 1;
            }
        }
    }

    /// Skips the name of a member, the colon, and the white space after it.
    fn skip_name(&mut self) -> Result<(), Stop> {
        self.skip_string()?;
        self.skip_colon()
    }

    /// Skips a colon and the white space around it.
    #[inline(always)]
    pub(super) fn skip_colon(&mut self) -> Result<(), Stop> {
        self.skip_white_space();
        self.expect(b':')?;
        self.skip_white_space();
        Ok(())
    }
}

/// [`is_plain`] of each byte.
const IS_PLAIN: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < table.len() {
        table[byte] = is_plain(byte as u8);
        byte += 1;
    }
    table
};

/// Whether a byte in a string stands for itself.
#[inline(always)]
const fn is_plain(byte: u8) -> bool {
    byte >= b' ' && byte != b'"' && byte != b'\\'
}
