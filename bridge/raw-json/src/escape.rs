//! Writes JSON text as the content of a JSON string.

/// The number of bytes that are checked together. If none of them must be escaped, they are copied.
const CHUNK_BYTES: usize = 16;

/// The number of bytes that are written to a buffer on the stack before they are appended.
const BLOCK_BYTES: usize = 32 * CHUNK_BYTES;

/// The one or two bytes that are written for each byte. The second one is 0 if there is only one.
const ESCAPE_TABLE: [[u8; 2]; 256] = {
    let mut written = [[0; 2]; 256];
    let mut byte = 0;
    while byte < 256 {
        written[byte] = [byte as u8, 0];
        byte += 1;
    }
    written[b'"' as usize] = *b"\\\"";
    written[b'\\' as usize] = *b"\\\\";
    written[b'\n' as usize] = *b"\\n";
    written[b'\r' as usize] = *b"\\r";
    written[b'\t' as usize] = *b"\\t";
    written
};

/// The number of bytes in `ESCAPE_TABLE` that are written for each byte: 1 or 2.
const ESCAPED_LENGTHS: [u8; 256] = {
    let mut lengths = [1; 256];
    let mut byte = 0;
    while byte < 256 {
        if ESCAPE_TABLE[byte][1] != 0 {
            lengths[byte] = 2;
        }
        byte += 1;
    }
    lengths
};

/// Writes JSON text as a JSON string, with its quotes. The text may have control characters only
/// between values: line breaks and tabs.
pub fn escape_string(json: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    escape_content(json.as_bytes(), out);
    out.push(b'"');
}

/// Writes JSON text as the content of a JSON string, without the quotes.
pub fn escape_content(json: &[u8], out: &mut Vec<u8>) {
    let mut buffer = [0; 2 * BLOCK_BYTES + 1];
    for block in json.chunks(BLOCK_BYTES) {
        let end = escape_block(block, &mut buffer);
        out.extend_from_slice(&buffer[..end]);
    }
}

/// Writes a block and returns its new length.
fn escape_block(block: &[u8], buffer: &mut [u8; 2 * BLOCK_BYTES + 1]) -> usize {
    let mut end = 0;
    let (chunks, rest) = block.as_chunks::<CHUNK_BYTES>();
    for chunk in chunks {
        // The buffer always has enough room, because no byte becomes more than two.
        let Some(buffer) = buffer[end..].first_chunk_mut::<{ 2 * CHUNK_BYTES + 1 }>() else {
            break;
        };
        if is_plain(chunk) {
            store(chunk, buffer);
            end += CHUNK_BYTES;
        } else {
            end += escape_chunk(chunk, buffer);
        }
    }
    for &byte in rest {
        store(&ESCAPE_TABLE[usize::from(byte)], &mut buffer[end..]);
        end += usize::from(ESCAPED_LENGTHS[usize::from(byte)]);
    }
    end
}

fn is_plain(chunk: &[u8; CHUNK_BYTES]) -> bool {
    let escaped =
        |byte: &u8| u8::from(*byte == b'"') | u8::from(*byte == b'\\') | u8::from(*byte < b' ');
    chunk.iter().fold(0, |any, byte| any | escaped(byte)) == 0
}

/// Writes two bytes for each byte, of which the next write may overwrite the second. There is no
/// branch, because rows have a quote every few bytes and the processor would mispredict it.
fn escape_chunk(chunk: &[u8; CHUNK_BYTES], buffer: &mut [u8; 2 * CHUNK_BYTES + 1]) -> usize {
    let mut end = 0;
    for &byte in chunk {
        // The remainder never changes the value, but the compiler can omit the bounds check.
        let at = end % (2 * CHUNK_BYTES);
        store(&ESCAPE_TABLE[usize::from(byte)], &mut buffer[at..]);
        end += usize::from(ESCAPED_LENGTHS[usize::from(byte)]);
    }
    end
}

/// Writes the bytes in one store, where `copy_from_slice` may be a function call.
#[inline(always)]
fn store<const N: usize>(bytes: &[u8; N], buffer: &mut [u8]) {
    if let Some(buffer) = buffer.first_chunk_mut() {
        *buffer = *bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn escaped(json: &str) -> String {
        let mut out = Vec::new();
        escape_string(json, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn it_escapes_as_serde_json_does() {
        let long = r#"{"a\\":"b\"","rows":[{"id":1,"näme":""}],"plain":"nothing to escape in here","ß":"\n"}"#;
        let ends = long.char_indices().map(|(at, _)| at).chain([long.len()]);
        for end in ends {
            for begin in (0..end).filter(|&at| long.is_char_boundary(at)) {
                let text = &long[begin..end];
                assert_eq!(escaped(text), serde_json::to_string(text).unwrap());
            }
        }
        for byte in ["\"", "\\", "x", "é", "{\n\t\"a\": 1\r\n}"] {
            for times in [BLOCK_BYTES - 1, BLOCK_BYTES, 3 * BLOCK_BYTES + 7] {
                let text = byte.repeat(times);
                assert_eq!(escaped(&text), serde_json::to_string(&text).unwrap());
            }
        }
    }
}
