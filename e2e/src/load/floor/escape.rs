/// Writes JSON text as the content of a JSON string. JSON has no bare control characters within its
/// strings, and what the pages of this generator send has none between them: quotes and backslashes
/// are all that must be escaped.
///
/// Eight bytes are copied at a time and looked at together. Those behind the first byte that must be
/// escaped are written again in the next turn.
pub(super) fn escape(json: &[u8], out: &mut Vec<u8>) {
    let begin = out.len();
    let escapes = json.iter().filter(|byte| matches!(byte, b'"' | b'\\'));
    // Room for all, and for what the last chunk writes too much.
    out.resize(begin + json.len() + escapes.count() + 8, 0);
    let (mut read, mut written) = (0, begin);
    while let Some(&chunk) = json[read..].first_chunk::<8>() {
        out[written..written + 8].copy_from_slice(&chunk);
        let clean = marks(u64::from_le_bytes(chunk)).trailing_zeros() as usize / 8;
        read += clean;
        written += clean;
        if clean < 8 {
            out[written..written + 2].copy_from_slice(&[b'\\', chunk[clean]]);
            read += 1;
            written += 2;
        }
    }
    for &byte in &json[read..] {
        if byte == b'"' || byte == b'\\' {
            out[written] = b'\\';
            written += 1;
        }
        out[written] = byte;
        written += 1;
    }
    out.truncate(written);
}

/// The highest bit of each byte that is a quote or a backslash. Bytes after the first such one may be
/// marked wrongly: only the first counts.
fn marks(chunk: u64) -> u64 {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGHEST: u64 = u64::from_le_bytes([0x80; 8]);
    // A byte that is zero after this is marked by the borrow (Hacker's Delight, 6-1).
    let zero = |bytes: u64| bytes.wrapping_sub(ONES) & !bytes & HIGHEST;
    zero(chunk ^ (ONES * b'"' as u64)) | zero(chunk ^ (ONES * b'\\' as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_escapes_as_serde_json_does() {
        let long = r#"{"a\\":"b\"","rows":[{"id":1,"näme":""}],"ß":"\n"}"#;
        for end in long.char_indices().map(|(at, _)| at) {
            for begin in (0..end).filter(|&at| long.is_char_boundary(at)) {
                let text = &long[begin..end];
                let mut out = b"\"".to_vec();
                escape(text.as_bytes(), &mut out);
                out.push(b'"');
                let expected = serde_json::to_string(text).unwrap();
                assert_eq!(String::from_utf8(out).unwrap(), expected);
            }
        }
    }
}
