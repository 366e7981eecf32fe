//! Files with credentials of a service: one on each line, so that the next one can be accepted before
//! the current one is replaced.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use bridge_protocol::limits::MIN_TOKEN_CHARS;
use bridge_settings::Secret;

use crate::shared_credential::parse_long_credential;

/// Maximum number of credentials in a file: the current one, the next one, and some that an operator
/// has forgotten.
pub const MAX_CREDENTIALS: usize = 8;

/// Maximum size of a file with credentials, in bytes.
const MAX_FILE_BYTES: u64 = 64 * 1024;

/// Why the credentials of a file cannot be loaded. No message contains a credential.
#[derive(Debug, thiserror::Error)]
pub enum CredentialFileError {
    /// The file cannot be read, or is not text.
    #[error("{path} cannot be read: {error}", path = .0.display(), error = .1)]
    Unreadable(PathBuf, io::Error),
    /// The file has no credential.
    #[error("{} has no credential: write one on a line alone", .0.display())]
    Empty(PathBuf),
    /// A line, by its number, is not a credential.
    #[error(
        "line {line} of {path} is too short or has spaces in it: a credential has at least \
         {MIN_TOKEN_CHARS} visible ASCII characters, and is alone on its line",
        path = .0.display(), line = .1
    )]
    Malformed(PathBuf, usize),
    /// The file has too many credentials, or is too large.
    #[error(
        "{} has more than {MAX_CREDENTIALS} credentials: remove those that are not used any more",
        .0.display()
    )]
    TooMany(PathBuf),
}

/// Loads the credentials of a file, at least one: a service accepts each, and a client sends the
/// first. Empty lines and those that begin with `#` are left out.
///
/// # Errors
///
/// [`CredentialFileError`] when the file cannot be read, has no credential, or has a line that is not
/// one, such as the beginning of a file that is being written.
pub fn load_credentials(path: &Path) -> Result<Vec<Secret>, CredentialFileError> {
    let unreadable = |error| CredentialFileError::Unreadable(path.to_owned(), error);
    let mut text = String::new();
    let file = File::open(path).map_err(unreadable)?;
    let mut limited = file.take(MAX_FILE_BYTES + 1);
    limited.read_to_string(&mut text).map_err(unreadable)?;
    let mut credentials = Vec::new();
    // Some editors begin a file of UTF-8 with a byte order mark.
    let lines = text.strip_prefix('\u{feff}').unwrap_or(&text).lines();
    for (index, line) in lines.map(str::trim).enumerate() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if credentials.len() == MAX_CREDENTIALS {
            return Err(CredentialFileError::TooMany(path.to_owned()));
        }
        let malformed = || CredentialFileError::Malformed(path.to_owned(), index + 1);
        credentials.push(parse_long_credential(line).ok_or_else(malformed)?);
    }
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(CredentialFileError::TooMany(path.to_owned()));
    }
    if credentials.is_empty() {
        return Err(CredentialFileError::Empty(path.to_owned()));
    }
    Ok(credentials)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_lines_and_errors_do_not_show_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("credentials");
        let load = |text: &str| {
            std::fs::write(&path, text).unwrap();
            load_credentials(&path)
        };
        let old_and_new =
            "\u{feff}# since May\r\nthe-new-one-0123456789\r\n\r\n the-old-one-0123456789 ";
        let loaded = load(old_and_new).unwrap();
        let loaded: Vec<_> = loaded.iter().map(Secret::expose).collect();
        assert_eq!(loaded, ["the-new-one-0123456789", "the-old-one-0123456789"]);
        let many = "hush-hush-0123456789\n".repeat(MAX_CREDENTIALS);
        assert_eq!(load(&many).unwrap().len(), MAX_CREDENTIALS);
        let more = format!("{many}hush-hush-0123456789");
        let large = "# hush\n".repeat(10_000);
        for (text, part) in [
            ("", "no credential"),
            ("# hush\n\n", "no credential"),
            ("hush-hush", "line 1 of"),
            ("\nhush-hush hush-hush", "at least 16"),
            (&more, "more than 8"),
            (&large, "more than 8"),
        ] {
            let error = load(text).unwrap_err().to_string();
            assert!(error.contains(part) && !error.contains("hush"), "{error}");
        }
        let missing = load_credentials(&folder.path().join("none")).unwrap_err();
        assert!(missing.to_string().contains("cannot be read"), "{missing}");
    }
}
