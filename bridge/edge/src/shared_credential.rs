//! Credentials that programs of the same user share without configuration: a bridge and its agent, and a
//! bridge and the client that has started it. Each is a file that is created by the one that starts first.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use bridge_protocol::limits::MIN_TOKEN_CHARS;

use bridge_settings::file_permissions::has_mode_bits;
use bridge_settings::{Secret, parse_credential};

use crate::private_file;
use crate::user_folders::config_folder;

/// The name of the file, in the user's configuration directory.
const CREDENTIAL_FILE: &str = "mcp-web/agent-token";

/// The reason why there is no shared credential. No message contains a credential.
#[derive(Debug, thiserror::Error)]
pub enum SharedCredentialError {
    /// The user has no configuration directory.
    #[error("no directory is known for the credential that programs of this user share: set HOME")]
    NoDirectory,
    /// The file cannot be created or read.
    #[error(
        "the credential that programs of this user share cannot be kept in {path}: {error}",
        path = .0.display(), error = .1
    )]
    Unusable(PathBuf, io::Error),
    /// Other users can read the file.
    #[error(
        "others can read the credential in {}: remove the file, and a new one is made", .0.display()
    )]
    ReadableByOthers(PathBuf),
    /// Other users can write to the folder of the file, so they can replace it.
    #[error(
        "others can write to {}, where a shared credential is: forbid it with `chmod go-w`, remove \
         the file of the credential in it, and a new one is made", .0.display()
    )]
    FolderWritableByOthers(PathBuf),
    /// The file does not contain a valid credential.
    #[error(
        "the credential in {} is too short or has spaces in it: it must have at least \
         {MIN_TOKEN_CHARS} visible ASCII characters", .0.display()
    )]
    Malformed(PathBuf),
}

/// Loads the credential of this user, and creates it if there is none yet.
///
/// # Errors
///
/// [`SharedCredentialError`] when the file cannot be used, or when other users can read or replace
/// it.
pub fn load_or_create() -> Result<Secret, SharedCredentialError> {
    let folder = config_folder().ok_or(SharedCredentialError::NoDirectory)?;
    load_or_create_at(&folder.join(CREDENTIAL_FILE))
}

/// Parses a credential that was chosen by a person or another program: at least [`MIN_TOKEN_CHARS`]
/// visible ASCII characters. Returns `None` when it is shorter or has other characters.
pub fn parse_long_credential(text: &str) -> Option<Secret> {
    let secret = parse_credential(text).ok()?;
    (text.len() >= MIN_TOKEN_CHARS).then_some(secret)
}

/// Loads the credential in a file, and creates the file if there is none. Several processes may do this at
/// the same time.
///
/// # Errors
///
/// [`SharedCredentialError`] when the file cannot be used, or when other users can read or replace
/// it.
pub fn load_or_create_at(path: &Path) -> Result<Secret, SharedCredentialError> {
    let unusable = |error| SharedCredentialError::Unusable(path.to_owned(), error);
    if let Some(secret) = load(path)? {
        return Ok(secret);
    }
    create(path).map_err(unusable)?;
    load(path)?.ok_or_else(|| unusable(ErrorKind::NotFound.into()))
}

/// Loads the credential in a file. Returns `None` if the file does not exist.
///
/// # Errors
///
/// [`SharedCredentialError`] when the file cannot be used, or when other users can read or replace
/// it.
pub fn load(path: &Path) -> Result<Option<Secret>, SharedCredentialError> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(SharedCredentialError::Unusable(path.to_owned(), error)),
    };
    if has_mode_bits(path, 0o077) {
        return Err(SharedCredentialError::ReadableByOthers(path.to_owned()));
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    if has_mode_bits(folder, 0o022) {
        return Err(SharedCredentialError::FolderWritableByOthers(
            folder.to_owned(),
        ));
    }
    match parse_long_credential(text.trim()) {
        Some(secret) => Ok(Some(secret)),
        None => Err(SharedCredentialError::Malformed(path.to_owned())),
    }
}

/// Creates the file with a new secret. The process that links it first wins.
fn create(path: &Path) -> io::Result<()> {
    private_file::create_folder(path.parent().unwrap_or(Path::new(".")))?;
    let line = format!("{}\n", Secret::random().expose());
    let link = |temporary: &Path| std::fs::hard_link(temporary, path);
    match private_file::write_whole(path, line.as_bytes(), link) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn concurrent_starts_share_one_credential() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(CREDENTIAL_FILE);
        let starting: Vec<_> = (0..8)
            .map(|_| {
                let path = path.clone();
                thread::spawn(move || load_or_create_at(&path).unwrap())
            })
            .collect();
        let found: Vec<_> = starting.into_iter().map(|it| it.join().unwrap()).collect();
        assert!(found.iter().all(|it| *it == found[0]));
        assert_eq!(found[0].expose().len(), 64);
        let files = path.parent().unwrap().read_dir().unwrap().count();
        assert_eq!(files, 1, "no temporary file is left");
    }

    #[cfg(unix)]
    #[test]
    fn the_file_is_private_and_errors_do_not_show_it() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(CREDENTIAL_FILE);
        load_or_create_at(&path).unwrap();
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        for malformed in ["hush-hush", "hush hush hush hush hush"] {
            std::fs::write(&path, malformed).unwrap();
            let error = load_or_create_at(&path).unwrap_err().to_string();
            assert!(error.contains("16") && !error.contains("hush"), "{error}");
        }
        let open = std::fs::Permissions::from_mode(0o644);
        std::fs::set_permissions(&path, open).unwrap();
        let error = load_or_create_at(&path).unwrap_err().to_string();
        assert!(error.contains("others can read"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_others_can_write_to_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(CREDENTIAL_FILE);
        load_or_create_at(&path).unwrap();
        let parent = path.parent().unwrap();
        for mode in [0o720, 0o702] {
            let open = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(parent, open).unwrap();
            let error = load_or_create_at(&path).unwrap_err().to_string();
            assert!(error.contains("chmod go-w"), "{error}");
        }
    }
}
