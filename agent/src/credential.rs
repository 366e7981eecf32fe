//! What a bridge shows the agent, so that nobody else can have queries answered: given by the
//! operator, or kept in a file of the user that whichever of bridge and agent starts first makes.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use bridge_protocol::limits;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::config::Secret;

/// The name of the file, in the user's configuration directory.
const FILE: &str = "mcp-web/agent-token";

/// What is kept of a secret to compare with. Comparing hashes takes as long for any two of them as
/// far as anybody could learn from it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hashed([u8; 32]);

impl Hashed {
    pub(crate) fn of(secret: &str) -> Self {
        Self(Sha256::digest(secret).into())
    }
}

impl std::fmt::Debug for Hashed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Hashed(…)")
    }
}

impl Secret {
    /// A new one. Two UUIDs of version 4 have 244 random bits (RFC 9562 section 5.4).
    ///
    /// # Examples
    ///
    /// ```
    /// assert_ne!(agent::Secret::random(), agent::Secret::random());
    /// ```
    pub fn random() -> Self {
        let (one, other) = (Uuid::new_v4().simple(), Uuid::new_v4().simple());
        Self::from_trusted(format!("{one}{other}"))
    }
}

/// Why there is no credential. Never shows one.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    /// `token_file` cannot be read.
    #[error("`token_file` {path} cannot be read: {error}", path = .0.display(), error = .1)]
    Unreadable(PathBuf, io::Error),
    /// There is no directory for the file that bridge and agent share.
    #[error(
        "there is no directory for the credential that bridge and agent share: set `token` \
         (MCP_WEB_AGENT_TOKEN) for both, or HOME"
    )]
    NoDirectory,
    /// The file that bridge and agent share cannot be made or read.
    #[error(
        "the credential that bridge and agent share cannot be kept in {path}: {error}; set `token` \
         (MCP_WEB_AGENT_TOKEN) for both instead", path = .0.display(), error = .1
    )]
    Unkept(PathBuf, io::Error),
    /// Others than the user can read it.
    #[error("others can read the credential in {}: remove the file, and a new one is made", .0.display())]
    ReadByOthers(PathBuf),
    /// It is none.
    #[error(
        "the credential {0} is too short or has spaces in it: it must have at least {least} \
         visible ASCII characters", least = limits::MIN_TOKEN_CHARS
    )]
    Malformed(String),
}

/// The credential of this configuration: the one that is given, or that of the user's file.
pub(crate) fn find(given: Option<&Secret>, file: Option<&Path>) -> Result<Secret, CredentialError> {
    match (given, file) {
        (Some(given), _) => long_enough(given.expose(), || "in `token`".to_owned()),
        (None, Some(path)) => {
            let unreadable = |error| CredentialError::Unreadable(path.to_owned(), error);
            let text = std::fs::read_to_string(path).map_err(unreadable)?;
            long_enough(text.trim(), || format!("in {}", path.display()))
        }
        (None, None) => {
            let path = directory().ok_or(CredentialError::NoDirectory)?.join(FILE);
            shared(&path)
        }
    }
}

fn long_enough(text: &str, place: impl FnOnce() -> String) -> Result<Secret, CredentialError> {
    match text.parse::<Secret>() {
        Ok(secret) if text.len() >= limits::MIN_TOKEN_CHARS => Ok(secret),
        _ => Err(CredentialError::Malformed(place())),
    }
}

/// Where a user's programs keep their configuration (XDG Base Directory Specification).
fn directory() -> Option<PathBuf> {
    let set = |name: &str| {
        let path = PathBuf::from(std::env::var_os(name)?);
        path.is_absolute().then_some(path)
    };
    let at_home = || Some(set("HOME")?.join(".config"));
    match cfg!(windows) {
        true => set("APPDATA"),
        false => set("XDG_CONFIG_HOME").or_else(at_home),
    }
}

/// Reads the file, or makes it: once, whoever else makes it at this moment.
fn shared(path: &Path) -> Result<Secret, CredentialError> {
    let unkept = |error| CredentialError::Unkept(path.to_owned(), error);
    if let Some(secret) = read(path)? {
        return Ok(secret);
    }
    make(path).map_err(unkept)?;
    read(path)?.ok_or_else(|| unkept(ErrorKind::NotFound.into()))
}

fn read(path: &Path) -> Result<Option<Secret>, CredentialError> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(CredentialError::Unkept(path.to_owned(), error)),
    };
    if others_can_read(path) {
        return Err(CredentialError::ReadByOthers(path.to_owned()));
    }
    let place = || format!("in {}", path.display());
    long_enough(text.trim(), place).map(Some)
}

/// Writes a new secret beside the name and links it there: the name shows a whole one, or none, and
/// the first who links wins.
fn make(path: &Path) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    private_folder(folder)?;
    let draft = folder.join(format!("agent-token.{}", Uuid::new_v4().simple()));
    let written = private_file(&draft).and_then(|mut file| {
        writeln!(file, "{}", Secret::random().expose())?;
        file.sync_all()
    });
    let linked = written.and_then(|()| std::fs::hard_link(&draft, path));
    let _ = std::fs::remove_file(&draft);
    match linked {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

#[cfg(unix)]
fn private_folder(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn private_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).create(folder)
}

#[cfg(unix)]
fn private_file(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600).open(path)
}

#[cfg(not(unix))]
fn private_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

#[cfg(unix)]
fn others_can_read(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata()
        .is_ok_and(|about| about.permissions().mode() & 0o077 != 0)
}

#[cfg(not(unix))]
fn others_can_read(_: &Path) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn whoever_starts_first_makes_it_and_everybody_reads_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        let starting: Vec<_> = (0..8)
            .map(|_| {
                let path = path.clone();
                thread::spawn(move || shared(&path).unwrap())
            })
            .collect();
        let found: Vec<_> = starting.into_iter().map(|it| it.join().unwrap()).collect();
        assert!(found.iter().all(|it| *it == found[0]));
        assert_eq!(found[0].expose().len(), 64);
        let files = path.parent().unwrap().read_dir().unwrap().count();
        assert_eq!(files, 1, "no draft is left");
    }

    #[cfg(unix)]
    #[test]
    fn it_is_for_the_user_alone() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        shared(&path).unwrap();
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(path.parent().unwrap()), 0o700);
        let open = std::fs::Permissions::from_mode(0o644);
        std::fs::set_permissions(&path, open).unwrap();
        let error = shared(&path).unwrap_err();
        assert!(error.to_string().contains("others can read"), "{error}");
    }

    #[test]
    fn one_that_is_no_secret_is_refused_and_not_shown() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let short: Secret = "hush-hush".parse().unwrap();
        let error = find(Some(&short), None).unwrap_err().to_string();
        assert!(
            error.contains("16") && !error.contains("hush") && error.contains("`token`"),
            "{error}"
        );
        std::fs::write(&path, "hush hush hush hush hush").unwrap();
        let error = find(None, Some(&path)).unwrap_err().to_string();
        assert!(
            error.contains("spaces") && !error.contains("hush"),
            "{error}"
        );
        std::fs::write(&path, "a-secret-of-many-letters\n").unwrap();
        let found = find(None, Some(&path)).unwrap();
        assert_eq!(found.expose(), "a-secret-of-many-letters");
        let missing = find(None, Some(&folder.path().join("none"))).unwrap_err();
        assert!(missing.to_string().contains("`token_file`"), "{missing}");
    }
}
