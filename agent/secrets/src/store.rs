//! The store of secrets: finds and changes those of a file, which other processes may also change.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use super::checks::{check_owner, check_value};
use super::encrypted_secret::EncryptedSecret;
use super::error::SecretsError;
use super::limits::{MAX_FILE_BYTES, MAX_SECRETS};
use super::master_key::MasterKey;
use super::private_file::{self, FileVersion, WriteLock};
use super::redactor::SecretRedactor;
use super::secret_text::SecretText;
use super::store_file;

/// The time between two checks whether another process has changed the file.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The secrets of a file. They are also encrypted in memory, until one is needed.
///
/// A file that does not exist has no secrets, and is created with the first one. Methods read and
/// write files on the thread that calls them.
pub struct SecretStore {
    path: PathBuf,
    state: Mutex<State>,
}

/// A secret without its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretInfo {
    pub(crate) name: String,
    /// The user whose secret it is; `None` if all users share it.
    pub(crate) user: Option<String>,
    pub(crate) set_at: SystemTime,
}

struct State {
    key: MasterKey,
    /// Sorted by their owners.
    secrets: Vec<EncryptedSecret>,
    /// The version of the file that has these secrets; `None` if it does not exist.
    version: Option<FileVersion>,
    /// When the file was found to have this version. `None` if the last check has failed.
    checked_at: Option<Instant>,
    /// The last redactor. Its secrets may be outdated.
    redactor: Option<Arc<SecretRedactor>>,
    is_redactor_current: bool,
}

impl SecretStore {
    /// Opens a file with the key under which it is encrypted.
    ///
    /// # Errors
    ///
    /// [`SecretsError`] when the file cannot be read, when others can read or replace it, when it is
    /// encrypted under another key, and when it is incomplete or was changed by something else.
    pub fn open(path: &Path, key: MasterKey) -> Result<Self, SecretsError> {
        let mut state = State {
            key,
            secrets: Vec::new(),
            version: None,
            checked_at: None,
            redactor: None,
            is_redactor_current: false,
        };
        state.load(path, Instant::now())?;
        Ok(Self {
            path: path.to_owned(),
            state: Mutex::new(state),
        })
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the secret of a user or, without one, the secret that is shared by all. The secret of
    /// a user is never replaced by the shared one; [`Self::get_or_shared`] does that.
    ///
    /// # Errors
    ///
    /// [`SecretsError`] when the name or the user is invalid, and when the file cannot be used any
    /// more: a secret that the operator has removed must not stay in use because the file is broken.
    pub fn get(&self, name: &str, user: Option<&str>) -> Result<Option<SecretText>, SecretsError> {
        self.find(name, &[user], Instant::now())
    }

    /// Returns the secret of a user and, if the user has none of that name, the one that is shared by
    /// all.
    ///
    /// # Errors
    ///
    /// Returns the errors that [`Self::get`] returns.
    pub fn get_or_shared(
        &self,
        name: &str,
        user: &str,
    ) -> Result<Option<SecretText>, SecretsError> {
        self.find(name, &[Some(user), None], Instant::now())
    }

    /// Returns the secret of the first of several owners that has one.
    pub fn find(
        &self,
        name: &str,
        users: &[Option<&str>],
        now: Instant,
    ) -> Result<Option<SecretText>, SecretsError> {
        for &user in users {
            check_owner(name, user)?;
        }
        let mut state = self.state();
        state.refresh(&self.path, now)?;
        for &user in users {
            if let Ok(index) = position(&state.secrets, name, user) {
                return state.decrypt(&state.secrets[index], &self.path).map(Some);
            }
        }
        Ok(None)
    }

    /// Returns all secrets without their values, by name.
    ///
    /// # Errors
    ///
    /// [`SecretsError`] when the file cannot be used any more.
    pub fn names(&self) -> Result<Vec<SecretInfo>, SecretsError> {
        let mut state = self.state();
        state.refresh(&self.path, Instant::now())?;
        let info = |secret: &EncryptedSecret| SecretInfo {
            name: secret.name.clone(),
            user: secret.user.clone(),
            set_at: secret.set_at(),
        };
        Ok(state.secrets.iter().map(info).collect())
    }

    /// Sets the secret of a user or, without one, the secret that is shared by all.
    ///
    /// # Errors
    ///
    /// [`SecretsError`] when the name, the user or the value is invalid, when there are too many
    /// secrets, and when the file cannot be replaced. The file is unchanged after an error.
    pub fn set(
        &self,
        name: &str,
        user: Option<&str>,
        value: &SecretText,
    ) -> Result<(), SecretsError> {
        check_owner(name, user)?;
        check_value(value.expose())?;
        let (lock, mut state) = self.begin_write()?;
        let now = SystemTime::now();
        let secret = EncryptedSecret::encrypt(name, user, now, value.expose(), &state.key)?;
        let mut secrets = state.secrets.clone();
        match position(&secrets, name, user) {
            Ok(index) => secrets[index] = secret,
            Err(_) if secrets.len() >= MAX_SECRETS => {
                return Err(SecretsError::TooManySecrets(self.path.clone()));
            }
            Err(index) => secrets.insert(index, secret),
        }
        state.save(&self.path, secrets, &lock)
    }

    /// Removes the secret of a user or, without one, the secret that is shared by all. Returns
    /// whether there was one.
    ///
    /// # Errors
    ///
    /// [`SecretsError`] when the name or the user is invalid, and when the file cannot be replaced.
    /// The file is unchanged after an error.
    pub fn remove(&self, name: &str, user: Option<&str>) -> Result<bool, SecretsError> {
        check_owner(name, user)?;
        let (lock, mut state) = self.begin_write()?;
        let Ok(index) = position(&state.secrets, name, user) else {
            return Ok(false);
        };
        let mut secrets = state.secrets.clone();
        secrets.remove(index);
        state.save(&self.path, secrets, &lock)?;
        Ok(true)
    }

    /// Encrypts all secrets under a new master key. Stores that other processes have opened with the
    /// old key return errors from then on, and must be opened with the new one.
    ///
    /// # Errors
    ///
    /// [`SecretsError`] when the new key is the current one, and when the file cannot be replaced.
    /// After an error, all secrets are still encrypted under the old key.
    pub(crate) fn rotate(&self, new_key: MasterKey) -> Result<(), SecretsError> {
        let (lock, mut state) = self.begin_write()?;
        if new_key.id() == state.key.id() {
            return Err(SecretsError::SameKey(new_key.id()));
        }
        let encrypt_again = |secret: &EncryptedSecret| {
            let value = state.decrypt(secret, &self.path)?;
            let (name, user) = secret.owner();
            EncryptedSecret::encrypt(name, user, secret.set_at(), value.expose(), &new_key)
        };
        let secrets: Result<Vec<_>, _> = state.secrets.iter().map(encrypt_again).collect();
        let secrets = secrets?;
        let version = write(&self.path, &secrets, &new_key, &lock)?;
        state.key = new_key;
        state.replace(secrets, Some(version));
        Ok(())
    }

    /// Returns the redactor, which replaces the values of all secrets in texts. It also replaces
    /// values that this store has changed or removed since the last call, because a program may
    /// still use them. While the file cannot be used, it has the values that were known before.
    ///
    /// # Errors
    ///
    /// [`SecretsError::Changed`] when a secret cannot be decrypted.
    pub fn redactor(&self) -> Result<Arc<SecretRedactor>, SecretsError> {
        self.redactor_at(Instant::now())
    }

    pub(super) fn redactor_at(&self, now: Instant) -> Result<Arc<SecretRedactor>, SecretsError> {
        let mut state = self.state();
        let _ = state.refresh(&self.path, now);
        if let Some(redactor) = &state.redactor
            && state.is_redactor_current
        {
            return Ok(Arc::clone(redactor));
        }
        let values = state.values(&self.path)?;
        let redactor = Arc::new(SecretRedactor::new(values, state.redactor.as_deref()));
        state.redactor = Some(Arc::clone(&redactor));
        state.is_redactor_current = true;
        Ok(redactor)
    }

    /// Takes the lock of the file, and loads what other processes have written before.
    fn begin_write(&self) -> Result<(WriteLock, MutexGuard<'_, State>), SecretsError> {
        let lock = WriteLock::acquire(&self.path)?;
        let mut state = self.state();
        state.load(&self.path, Instant::now())?;
        Ok((lock, state))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Code that can panic runs before the state is changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for SecretStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretStore")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl State {
    /// Loads the file if another process has changed it, which is checked once in a while.
    fn refresh(&mut self, path: &Path, now: Instant) -> Result<(), SecretsError> {
        let is_due = |at: Instant| now.saturating_duration_since(at) >= CHECK_INTERVAL;
        if !self.checked_at.is_none_or(is_due) {
            return Ok(());
        }
        self.checked_at = None;
        if FileVersion::load(path)? == self.version {
            self.checked_at = Some(now);
            return Ok(());
        }
        self.load(path, now)
    }

    fn load(&mut self, path: &Path, now: Instant) -> Result<(), SecretsError> {
        self.checked_at = None;
        private_file::check_folders(path)?;
        let file = private_file::read(path, MAX_FILE_BYTES)?;
        let version = file.as_ref().map(|file| file.version);
        let secrets = match file {
            Some(file) => store_file::parse(&file.bytes, &self.key, path)?,
            None => Vec::new(),
        };
        self.replace(secrets, version);
        self.checked_at = Some(now);
        Ok(())
    }

    fn save(
        &mut self,
        path: &Path,
        secrets: Vec<EncryptedSecret>,
        lock: &WriteLock,
    ) -> Result<(), SecretsError> {
        let version = write(path, &secrets, &self.key, lock)?;
        self.replace(secrets, Some(version));
        Ok(())
    }

    fn replace(&mut self, secrets: Vec<EncryptedSecret>, version: Option<FileVersion>) {
        self.secrets = secrets;
        self.version = version;
        self.is_redactor_current = false;
    }

    /// Returns all secrets with their names.
    fn values(&self, path: &Path) -> Result<Vec<(String, SecretText)>, SecretsError> {
        let secrets = self.secrets.iter();
        secrets
            .map(|secret| Ok((secret.name.clone(), self.decrypt(secret, path)?)))
            .collect()
    }

    /// Decrypts a secret. The file was authentic when it was loaded.
    fn decrypt(&self, secret: &EncryptedSecret, path: &Path) -> Result<SecretText, SecretsError> {
        let value = secret.decrypt(&self.key);
        value.ok_or_else(|| SecretsError::Changed(path.to_owned()))
    }
}

fn write(
    path: &Path,
    secrets: &[EncryptedSecret],
    key: &MasterKey,
    lock: &WriteLock,
) -> Result<FileVersion, SecretsError> {
    let bytes = store_file::to_bytes(secrets, key, path)?;
    Ok(private_file::replace(path, &bytes, lock)?)
}

/// Returns the position of a secret, or the one at which to insert it.
fn position(secrets: &[EncryptedSecret], name: &str, user: Option<&str>) -> Result<usize, usize> {
    secrets.binary_search_by(|secret| secret.owner().cmp(&(name, user)))
}
