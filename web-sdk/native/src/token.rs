//! The token that the program and its AI clients share.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::future::Future;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;

use uuid::Uuid;

type Fetch = dyn Fn() -> Pin<Box<dyn Future<Output = Result<String, String>> + Send>> + Send + Sync;

/// The source of the token. Anyone who has the token can use the items that the program offers.
#[derive(Clone)]
pub struct Token(pub(crate) Source);

#[derive(Clone)]
pub(crate) enum Source {
    Fixed(String),
    /// Fetched before each connection, and before a token expires.
    Fetched(Arc<Fetch>),
}

impl Token {
    /// Uses this token, which has at least 16 characters.
    pub fn new(token: impl Into<String>) -> Self {
        Self(Source::Fixed(token.into()))
    }

    /// Generates a token of 244 random bits for this process.
    pub fn random() -> Self {
        Self::new(random())
    }

    /// Uses the token of an app that is stored on this machine. The first call generates it, so
    /// that the configuration of AI clients stays valid.
    ///
    /// It is stored in the file `mcp-web/APP.token` in `XDG_CONFIG_HOME` (`~/.config` by default),
    /// or in `APPDATA` on Windows. On Unix, only its owner may read it.
    ///
    /// # Errors
    /// Fails if `app` contains characters other than letters, digits, `-` and `_`, if the folder
    /// does not exist, or if the file cannot be used.
    pub fn kept(app: &str) -> io::Result<Self> {
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        if app.is_empty() || !app.bytes().all(is_name) {
            let message =
                format!("{app:?} is not a valid name of a token: use letters, digits, - and _");
            return Err(io::Error::new(ErrorKind::InvalidInput, message));
        }
        let folder = config_folder().ok_or_else(|| {
            let message =
                "there is no folder for tokens: set HOME or XDG_CONFIG_HOME, or use Token::in_file";
            io::Error::new(ErrorKind::NotFound, message)
        })?;
        Self::in_file(folder.join("mcp-web").join(format!("{app}.token")))
    }

    /// Uses the token in a file, and creates the file if it is missing.
    ///
    /// # Errors
    /// Fails if the file cannot be read or created, or contains no token.
    pub fn in_file(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        let named = |error: io::Error| {
            io::Error::new(
                error.kind(),
                format!("the token file {}: {error}", path.display()),
            )
        };
        let text = match fs::read_to_string(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                create(path).map_err(named)?;
                // Another process may have been faster. Both use the same token.
                fs::read_to_string(path).map_err(named)?
            }
            read => read.map_err(named)?,
        };
        let token = text.trim();
        if token.is_empty() {
            let message = "it is empty: remove it, and configure AI clients again";
            return Err(named(io::Error::new(ErrorKind::InvalidData, message)));
        }
        Ok(Self::new(token))
    }

    /// Fetches the token before each connection, and before it expires. If the function fails, it
    /// is retried later, and the status has the reason.
    pub fn fetched<Fut, Error>(fetch: impl Fn() -> Fut + Send + Sync + 'static) -> Self
    where
        Fut: Future<Output = Result<String, Error>> + Send + 'static,
        Error: fmt::Display,
    {
        Self(Source::Fetched(Arc::new(move || {
            let token = fetch();
            Box::pin(async move { token.await.map_err(|error| error.to_string()) })
        })))
    }

    /// Returns the token, unless it is fetched.
    pub fn secret(&self) -> Option<&str> {
        match &self.0 {
            Source::Fixed(token) => Some(token),
            Source::Fetched(_) => None,
        }
    }
}

/// Hides the token.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

fn random() -> String {
    let [a, b] = [Uuid::new_v4(), Uuid::new_v4()];
    format!("{}{}", a.simple(), b.simple())
}

fn config_folder() -> Option<PathBuf> {
    let variable = |name| {
        let value = std::env::var_os(name).map(PathBuf::from);
        value.filter(|path| path.is_absolute())
    };
    if cfg!(windows) {
        return variable("APPDATA");
    }
    variable("XDG_CONFIG_HOME").or_else(|| variable("HOME").map(|home| home.join(".config")))
}

/// Creates the file with its whole content, unless it exists.
fn create(path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let unfinished = path.with_extension(format!("{}.unfinished", Uuid::new_v4().simple()));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(&unfinished).and_then(|mut file| {
        writeln!(file, "{}", random())?;
        file.sync_all()
    });
    let linked = written.and_then(|()| fs::hard_link(&unfinished, path));
    let _ = fs::remove_file(&unfinished);
    match linked {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_in_a_file_is_generated_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/app.token");
        let first = Token::in_file(&path).unwrap();
        assert_eq!(first.secret().unwrap().len(), 64);
        assert_eq!(Token::in_file(&path).unwrap().secret(), first.secret());
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        #[cfg(unix)]
        {
            let metadata = fs::metadata(&path).unwrap();
            let mode = std::os::unix::fs::PermissionsExt::mode(&metadata.permissions());
            assert_eq!(mode & 0o777, 0o600);
        }
    }

    #[test]
    fn an_empty_file_is_an_error_and_is_not_changed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("app.token");
        fs::write(&path, "\n").unwrap();
        let error = Token::in_file(&path).unwrap_err().to_string();
        assert!(error.contains("is empty: remove it"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "\n");
    }

    #[test]
    fn a_name_with_a_path_is_rejected() {
        for name in ["", "../x", "a/b", "a.b", "ä"] {
            let error = Token::kept(name).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{name}");
        }
    }

    #[test]
    fn debug_hides_the_token() {
        let text = format!("{:?}", Token::new("a token of sixteen"));
        assert_eq!(text, "Token(…)");
    }
}
