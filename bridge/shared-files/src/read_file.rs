//! Reading of files that must not be large.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// Reads a file of at most `max_bytes`.
///
/// # Errors
///
/// A larger file is an error of the kind [`ErrorKind::FileTooLarge`]. A folder, a named pipe and
/// everything else that is not a regular file is also an error.
pub fn read_file(path: &Path, max_bytes: usize) -> io::Result<Vec<u8>> {
    // To open a named pipe could block until another program writes to it.
    if !path.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    let limit = max_bytes as u64 + 1;
    File::open(path)?.take(limit).read_to_end(&mut bytes)?;
    if bytes.len() > max_bytes {
        let message = format!("it is larger than {max_bytes} bytes, which is the maximum");
        return Err(io::Error::new(ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}
