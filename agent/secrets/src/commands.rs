//! The actions of `mcp-web agent secrets …`. Each function returns the text for stdout, which never
//! contains a value.

use std::fmt::Write;
use std::io::Read;
use std::path::Path;

use humantime::format_rfc3339_seconds;
use zeroize::Zeroizing;

use super::checks::{check_owner, check_value};
use super::error::SecretsError;
use super::limits::{MAX_SECRET_BYTES, MIN_REDACTED_BYTES};
use super::master_key::{MasterKey, MasterKeyError};
use super::secret_text::SecretText;
use super::store::SecretStore;

/// Sets a secret, whose value is read until the end of `input`: stdin, because others can read the
/// arguments of a process. One line break at the end is not a part of the value.
///
/// # Errors
///
/// [`SecretsError`] as [`SecretStore::set`] returns it, and when the value cannot be read.
pub fn set_secret(
    store: &SecretStore,
    name: &str,
    user: Option<&str>,
    input: impl Read,
) -> Result<String, SecretsError> {
    check_owner(name, user)?;
    let value = read_value(input)?;
    store.set(name, user, &value)?;
    let mut text = format!("set {}\n", describe(name, user));
    if value.expose().len() < MIN_REDACTED_BYTES {
        let _ = writeln!(
            text,
            "it has less than {MIN_REDACTED_BYTES} bytes, so it is not hidden in logs and results"
        );
    }
    Ok(text)
}

/// Lists all secrets: when they were set, their names, and their users.
///
/// # Errors
///
/// [`SecretsError`] when the file can no longer be used.
pub fn list_secrets(store: &SecretStore) -> Result<String, SecretsError> {
    let mut text = String::new();
    for secret in store.names()? {
        let set_at = format_rfc3339_seconds(secret.set_at);
        let secret = describe(&secret.name, secret.user.as_deref());
        let _ = writeln!(text, "{set_at}  {secret}");
    }
    Ok(text)
}

/// Removes a secret.
///
/// # Errors
///
/// [`SecretsError`] as [`SecretStore::remove`] returns it, and when the secret does not exist.
pub fn remove_secret(
    store: &SecretStore,
    name: &str,
    user: Option<&str>,
) -> Result<String, SecretsError> {
    if !store.remove(name, user)? {
        return Err(SecretsError::Missing(store.path().to_owned()));
    }
    Ok(format!("removed {}\n", describe(name, user)))
}

/// Encrypts all secrets under the key in another file, which is created if it does not exist. The old
/// key stays where it is: until the operator has configured the new one, both exist.
///
/// # Errors
///
/// [`SecretsError`] as [`SecretStore::rotate`] has it, and when the new key cannot be loaded or
/// created.
pub fn rotate_key(store: &SecretStore, new_key_file: &Path) -> Result<String, SecretsError> {
    let new_key = match MasterKey::load(None, Some(new_key_file)) {
        Err(MasterKeyError::NoFile(path)) => MasterKey::generate(&path)?,
        loaded => loaded?,
    };
    let id = new_key.id();
    store.rotate(new_key)?;
    let (secrets, key) = (store.path().display(), new_key_file.display());
    Ok(format!(
        "{secrets} is encrypted under the master key {id} now: set `master_key_file` to {key}, start \
         the agent again, and remove the old key\n"
    ))
}

/// Creates a file with a new master key.
///
/// # Errors
///
/// [`MasterKeyError`] when the file exists already, and when it cannot be written.
pub fn generate_key(path: &Path) -> Result<String, MasterKeyError> {
    let id = MasterKey::generate(path)?.id();
    let path = path.display();
    Ok(format!(
        "the master key {id} is in {path}. Without it, the secrets cannot be decrypted: keep a copy, \
         and not beside them\n"
    ))
}

fn read_value(input: impl Read) -> Result<SecretText, SecretsError> {
    // A line break and one byte too many. With more capacity than that, the buffer never moves, and
    // no copies are left in memory.
    let limit = MAX_SECRET_BYTES + "\r\n".len() + 1;
    let mut bytes = Zeroizing::new(Vec::with_capacity(limit + 1));
    let mut limited = input.take(limit as u64);
    limited
        .read_to_end(&mut bytes)
        .map_err(SecretsError::UnreadableValue)?;
    if bytes.ends_with(b"\n") {
        bytes.pop();
        if bytes.ends_with(b"\r") {
            bytes.pop();
        }
    }
    let value = SecretText::from_utf8(bytes).ok_or(SecretsError::InvalidValue("is not UTF-8"))?;
    check_value(value.expose())?;
    Ok(value)
}

/// Names a secret. The id of a user may have control characters, which could change a terminal.
fn describe(name: &str, user: Option<&str>) -> String {
    match user {
        Some(user) => format!("{name} of the user {user:?}"),
        None => format!("{name} of all users"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store(folder: &Path) -> SecretStore {
        let key = MasterKey::generate(&folder.join("key")).unwrap();
        SecretStore::open(&folder.join("secrets.json"), key).unwrap()
    }

    #[test]
    fn values_are_read_without_their_line_break() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(folder.path());
        let largest = "a".repeat(MAX_SECRET_BYTES);
        for (input, expected) in [
            ("hush-hush\n", "hush-hush"),
            ("hush-hush\r\n", "hush-hush"),
            ("hush-hush", "hush-hush"),
            (" a line\nand one\n\n", " a line\nand one\n"),
            (&format!("{largest}\r\n"), &largest),
        ] {
            let text = set_secret(&store, "a", None, input.as_bytes()).unwrap();
            assert_eq!(text, "set a of all users\n");
            let value = store.get("a", None).unwrap().unwrap();
            assert!(value.expose() == expected, "{input:.20}");
        }
        let text = set_secret(&store, "a", Some("ada\x1b"), &b"1234567\n"[..]).unwrap();
        assert!(
            text.starts_with(r#"set a of the user "ada\u{1b}""#),
            "{text}"
        );
        assert!(text.contains("less than 8 bytes"), "{text}");
    }

    #[test]
    fn invalid_values_names_and_users_are_refused_and_not_shown() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(folder.path());
        let (too_large, long_user) = (vec![b'a'; MAX_SECRET_BYTES + 1], "u".repeat(513));
        for (name, user, value, expected) in [
            ("a", None, &b""[..], "is empty"),
            ("a", None, b"\n", "is empty"),
            ("a", None, b"hush\0hush", "has a NUL"),
            ("a", None, b"hush\xff", "is not UTF-8"),
            (
                "a",
                None,
                &too_large,
                "is too large: it must have 1 to 65536",
            ),
            ("hush hush", None, b"a", "letters, digits"),
            ("", None, b"a", "1 to 64 characters"),
            (&"a".repeat(65), None, b"a", "1 to 64 characters"),
            ("a", Some(""), b"a", "1 to 512 bytes"),
            ("a", Some(&long_user), b"a", "1 to 512 bytes"),
        ] {
            let error = set_secret(&store, name, user, value).unwrap_err();
            let text = format!("{error} {error:?}");
            assert!(text.contains(expected), "{text}");
            assert!(!text.contains("hush"), "{text}");
        }
        assert_eq!(list_secrets(&store).unwrap(), "");
        let longest = "aA0_.-".repeat(11)[..64].to_owned();
        let longest_user = Some(&long_user[1..]);
        set_secret(&store, &longest, longest_user, &b"a"[..]).unwrap();
        let found = store.get(&longest, longest_user).unwrap();
        assert_eq!(found.unwrap().expose(), "a");
    }

    #[test]
    fn secrets_are_listed_without_values_and_removed() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(folder.path());
        for (name, user) in [("b", None), ("a", Some("ada")), ("a", None)] {
            set_secret(&store, name, user, &b"hush-hush"[..]).unwrap();
        }
        let text = list_secrets(&store).unwrap();
        let ends: Vec<_> = text
            .lines()
            .map(|line| &line["2000-01-01T00:00:00Z".len()..])
            .collect();
        let expected = [
            "  a of all users",
            "  a of the user \"ada\"",
            "  b of all users",
        ];
        assert_eq!(ends, expected);
        assert!(!text.contains("hush"), "{text}");
        assert_eq!(
            remove_secret(&store, "a", None).unwrap(),
            "removed a of all users\n"
        );
        let error = remove_secret(&store, "a", None).unwrap_err().to_string();
        assert!(error.contains("no such secret"), "{error}");
        assert_eq!(store.names().unwrap().len(), 2);
    }

    #[test]
    fn the_key_is_rotated_to_that_of_another_file() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(folder.path());
        set_secret(&store, "a", None, &b"hush-hush"[..]).unwrap();
        let new_key_file = folder.path().join("new-key");
        let text = rotate_key(&store, &new_key_file).unwrap();
        assert!(text.contains("`master_key_file` to /"), "{text}");
        let new_key = MasterKey::load(None, Some(&new_key_file)).unwrap();
        assert!(text.contains(&new_key.id().to_string()), "{text}");
        let opened = SecretStore::open(store.path(), new_key).unwrap();
        assert_eq!(
            opened.get("a", None).unwrap().unwrap().expose(),
            "hush-hush"
        );
        let error = rotate_key(&store, &new_key_file).unwrap_err().to_string();
        assert!(error.contains("generate another key"), "{error}");
    }

    #[test]
    fn a_generated_key_is_not_printed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        let text = generate_key(&path).unwrap();
        let key = std::fs::read_to_string(&path).unwrap();
        assert!(
            !text.contains(key.trim()) && text.contains("keep a copy"),
            "{text}"
        );
    }
}
