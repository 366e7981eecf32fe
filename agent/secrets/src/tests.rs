//! The store with its file, as several processes use it.

mod limits;

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::error::SecretsError;
use super::limits::{MAX_FILE_BYTES, MAX_SECRET_BYTES, MAX_SECRETS};
use super::private_file::PrivateFileError;
use super::secret_text::SecretText;
use super::store::SecretInfo;
use super::*;

/// A folder with a file of secrets and a key, which is removed at the end of a test.
struct Harness {
    folder: TempDir,
}

impl Harness {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        MasterKey::generate(&folder.path().join("key")).unwrap();
        Self { folder }
    }

    /// A harness with two shared secrets and one of a user.
    fn with_secrets() -> Self {
        let harness = Self::new();
        let store = harness.open();
        for (name, user, value) in [
            ("A", None, "hush-shared"),
            ("A", Some("ada"), "hush-of-ada"),
            ("B", None, "hush-other"),
        ] {
            set(&store, name, user, value);
        }
        harness
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("secrets.json")
    }

    fn key(&self) -> MasterKey {
        MasterKey::load(None, Some(&self.folder.path().join("key"))).unwrap()
    }

    fn new_key(&self) -> MasterKey {
        MasterKey::generate(&self.folder.path().join("new-key")).unwrap()
    }

    fn open(&self) -> SecretStore {
        SecretStore::open(&self.path(), self.key()).unwrap()
    }

    /// The error of opening the file, whose text and `Debug` have no value and no key.
    fn error(&self) -> SecretsError {
        let error = SecretStore::open(&self.path(), self.key()).unwrap_err();
        let key = fs::read_to_string(self.folder.path().join("key")).unwrap();
        let text = format!("{error} {error:?}");
        assert!(
            !text.contains("hush") && !text.contains(key.trim()),
            "{text}"
        );
        assert!(
            text.contains("secrets.json") || text.contains("folder"),
            "{text}"
        );
        error
    }

    fn bytes(&self) -> Vec<u8> {
        fs::read(self.path()).unwrap()
    }

    /// Changes the JSON of the file.
    fn edit(&self, change: impl FnOnce(&mut Value)) {
        let mut content = serde_json::from_slice(&self.bytes()).unwrap();
        change(&mut content);
        fs::write(self.path(), content.to_string()).unwrap();
    }

    fn files(&self) -> Vec<String> {
        let entries = self.folder.path().read_dir().unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    }
}

fn set(store: &SecretStore, name: &str, user: Option<&str>, value: &str) {
    let value = SecretText::new(value.to_owned());
    store.set(name, user, &value).unwrap();
}

fn get(store: &SecretStore, name: &str, user: Option<&str>) -> Option<String> {
    let value = store.get(name, user).unwrap();
    value.map(|value| value.expose().to_owned())
}

/// A time at which the file is checked again.
fn later() -> Instant {
    Instant::now() + Duration::from_secs(1)
}

#[test]
fn secrets_are_those_of_one_user_or_shared() {
    let harness = Harness::with_secrets();
    // As another process sees them.
    for store in [harness.open(), harness.open()] {
        assert_eq!(get(&store, "A", None).unwrap(), "hush-shared");
        assert_eq!(get(&store, "A", Some("ada")).unwrap(), "hush-of-ada");
        assert_eq!(
            get(&store, "A", Some("bob")),
            None,
            "nothing is shared silently"
        );
        assert_eq!(get(&store, "a", None), None);
        let shared = |name, user| {
            let value = store.get_or_shared(name, user).unwrap();
            value.map(|value| value.expose().to_owned())
        };
        assert_eq!(shared("A", "ada").unwrap(), "hush-of-ada");
        assert_eq!(shared("A", "bob").unwrap(), "hush-shared");
        assert_eq!(shared("C", "bob"), None);
        assert!(matches!(
            store.get("A", Some("")),
            Err(SecretsError::InvalidUser)
        ));
        assert!(matches!(
            store.get_or_shared("A", ""),
            Err(SecretsError::InvalidUser)
        ));
        assert!(matches!(
            store.get("A B", None),
            Err(SecretsError::InvalidName)
        ));
    }
}

#[test]
fn a_secret_is_replaced_and_removed() {
    let harness = Harness::with_secrets();
    let store = harness.open();
    set(&store, "A", Some("ada"), "hush-anew");
    assert!(store.remove("A", None).unwrap());
    assert!(!store.remove("A", None).unwrap());
    for store in [store, harness.open()] {
        let names = store.names().unwrap();
        let owners: Vec<_> = names
            .iter()
            .map(|it| (it.name.as_str(), it.user.as_deref()))
            .collect();
        assert_eq!(owners, [("A", Some("ada")), ("B", None)]);
        assert_eq!(get(&store, "A", Some("ada")).unwrap(), "hush-anew");
        let age = SystemTime::now().duration_since(names[0].set_at).unwrap();
        assert!(age < Duration::from_secs(600), "{age:?}");
    }
}

#[test]
fn the_file_has_no_value_and_its_fields_do_not_change() {
    let harness = Harness::with_secrets();
    let text = String::from_utf8(harness.bytes()).unwrap();
    assert!(!text.contains("hush"), "{text}");
    let content: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(content["format"], 1);
    assert_eq!(content["key_id"], harness.key().id().to_string());
    assert_eq!(content["secrets"][1]["user"], "ada");
    let fields =
        |value: &Value| -> Vec<String> { value.as_object().unwrap().keys().cloned().collect() };
    assert_eq!(
        fields(&content),
        ["format", "key_id", "authentication", "secrets"]
    );
    assert_eq!(
        fields(&content["secrets"][1]),
        ["name", "user", "set_at", "value"]
    );
    assert_eq!(
        fields(&content["secrets"][0]["value"]),
        ["nonce", "ciphertext"]
    );
    assert_eq!(
        harness.files(),
        ["key", "secrets.json", "secrets.json.lock"]
    );
}

#[test]
fn another_master_key_is_distinguished_from_a_changed_file() {
    let harness = Harness::with_secrets();
    let other = harness.new_key();
    let ids = [harness.key().id(), other.id()].map(|id| id.to_string());
    let error = SecretStore::open(&harness.path(), other).unwrap_err();
    assert!(matches!(error, SecretsError::OtherKey { .. }));
    let text = error.to_string();
    assert!(ids.iter().all(|id| text.contains(id)), "{text}");
    let path = harness.path().display().to_string();
    let rest = ids
        .iter()
        .fold(text.replace(&path, ""), |text, id| text.replace(id, ""));
    assert!(
        !rest.contains('A') && !rest.contains("ada"),
        "it names a secret: {rest}"
    );
    harness.edit(|it| it["key_id"] = json!("not an id"));
    assert!(matches!(harness.error(), SecretsError::Malformed(..)));
}

#[test]
fn exchanged_removed_and_repeated_entries_are_refused() {
    type Change = fn(&mut Value);
    let changes: [Change; 8] = [
        |it| {
            let value = it["secrets"][0]["value"].take();
            it["secrets"][0]["value"] = it["secrets"][1]["value"].take();
            it["secrets"][1]["value"] = value;
        },
        |it| it["secrets"][1]["user"] = json!("bob"),
        |it| it["secrets"][2]["name"] = json!("C"),
        |it| it["secrets"][0]["set_at"] = json!(1),
        |it| it["secrets"].as_array_mut().unwrap().truncate(2),
        |it| it["secrets"].as_array_mut().unwrap().reverse(),
        |it| {
            let entry = it["secrets"][0].clone();
            it["secrets"].as_array_mut().unwrap().insert(0, entry);
        },
        |it| it["authentication"] = it["secrets"][0]["value"].clone(),
    ];
    for (index, change) in changes.into_iter().enumerate() {
        let harness = Harness::with_secrets();
        harness.edit(change);
        assert!(
            matches!(harness.error(), SecretsError::Changed(_)),
            "{index}"
        );
    }
}

#[test]
fn an_entry_of_an_older_file_is_refused() {
    let harness = Harness::with_secrets();
    let older: Value = serde_json::from_slice(&harness.bytes()).unwrap();
    set(&harness.open(), "B", None, "hush-anew");
    harness.edit(|it| it["secrets"][2] = older["secrets"][2].clone());
    assert!(matches!(harness.error(), SecretsError::Changed(_)));
}

#[test]
fn every_flipped_bit_is_refused() {
    let harness = Harness::with_secrets();
    let bytes = harness.bytes();
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        fs::write(harness.path(), &flipped).unwrap();
        let opened = SecretStore::open(&harness.path(), harness.key());
        assert!(opened.is_err(), "{}", String::from_utf8_lossy(&flipped));
    }
    fs::write(harness.path(), &bytes).unwrap();
    harness.open();
}

#[test]
fn a_truncated_or_other_file_is_refused() {
    let harness = Harness::with_secrets();
    let bytes = harness.bytes();
    // Without the last line break, the file is complete.
    for len in 0..bytes.len() - 1 {
        fs::write(harness.path(), &bytes[..len]).unwrap();
        let error = harness.error().to_string();
        assert!(error.contains("it ends too early"), "{error}");
    }
    for (text, expected) in [
        ("hush = 'hush'", "line 1, column 1: this is not JSON"),
        (
            "{\"hush\": \"hush\"}",
            "a field is invalid, missing or unknown",
        ),
        ("{\"format\": 2, \"hush\": 1}", "the format 2"),
        (
            "{\"format\": 1, \"hush\": 1}",
            "a field is invalid, missing or unknown",
        ),
    ] {
        fs::write(harness.path(), text).unwrap();
        let error = harness.error().to_string();
        assert!(error.contains(expected), "{error}");
    }
    fs::remove_file(harness.path()).unwrap();
    fs::create_dir(harness.path()).unwrap();
    let error = harness.error().to_string();
    assert!(error.contains("not a regular file"), "{error}");
}

#[cfg(unix)]
#[test]
fn a_file_or_folder_that_others_can_use_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let set_mode = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    let harness = Harness::with_secrets();
    let path = harness.path();
    let store = harness.open();
    for file in ["secrets.json", "secrets.json.lock"] {
        let mode = harness
            .folder
            .path()
            .join(file)
            .metadata()
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    for mode in [0o640, 0o604, 0o620, 0o602] {
        set_mode(&path, mode);
        let error = harness.error().to_string();
        assert!(error.contains("chmod 600"), "{error}");
        // A store that is open already finds it at its next check.
        let error = store.find("A", &[None], later()).unwrap_err();
        assert!(matches!(
            error,
            SecretsError::File(PrivateFileError::OpenToOthers(_))
        ));
    }
    set_mode(&path, 0o400);
    assert!(store.find("A", &[None], later()).unwrap().is_some());
    for mode in [0o720, 0o702] {
        set_mode(harness.folder.path(), mode);
        let error = harness.error().to_string();
        assert!(error.contains("chmod go-w"), "{error}");
        let error = store.remove("A", None).unwrap_err();
        assert!(matches!(
            error,
            SecretsError::File(PrivateFileError::FolderWritableByOthers(_))
        ));
    }
}

#[cfg(unix)]
#[test]
fn a_symbolic_link_stays_one() {
    let harness = Harness::with_secrets();
    let (folder, link) = (tempfile::tempdir().unwrap(), "link.json");
    let link = folder.path().join(link);
    std::os::unix::fs::symlink(harness.path(), &link).unwrap();
    let store = SecretStore::open(&link, harness.key()).unwrap();
    set(&store, "A", None, "hush-anew");
    assert!(link.is_symlink());
    assert_eq!(get(&harness.open(), "A", None).unwrap(), "hush-anew");
    assert_eq!(
        harness.files(),
        ["key", "secrets.json", "secrets.json.lock"]
    );
}

#[test]
fn concurrent_writers_lose_nothing() {
    let harness = Harness::new();
    let shared = harness.open();
    thread::scope(|scope| {
        for writer in 0..4 {
            let (harness, shared) = (&harness, &shared);
            scope.spawn(move || {
                let own = harness.open();
                for index in 0..6 {
                    let store = if index % 2 == 0 { &own } else { shared };
                    let name = format!("{writer}-{index}");
                    set(store, &name, None, &format!("hush-{name}"));
                    set(&own, "removed", Some(&name), "hush");
                    assert!(shared.remove("removed", Some(&name)).unwrap());
                }
            });
        }
    });
    let store = harness.open();
    let names = store.names().unwrap();
    assert_eq!(names.len(), 24);
    for SecretInfo { name, .. } in names {
        assert_eq!(get(&store, &name, None).unwrap(), format!("hush-{name}"));
    }
}

#[test]
fn readers_see_whole_files_while_others_write() {
    let harness = Harness::with_secrets();
    let store = harness.open();
    thread::scope(|scope| {
        let writing = scope.spawn(|| {
            for index in 0..20 {
                set(&store, "A", None, &format!("hush-{index}"));
            }
        });
        while !writing.is_finished() {
            assert!(
                get(&harness.open(), "A", None)
                    .unwrap()
                    .starts_with("hush-")
            );
        }
    });
}

#[test]
fn rotation_encrypts_everything_under_another_key() {
    let harness = Harness::with_secrets();
    let (store, other_process) = (harness.open(), harness.open());
    let before: Value = serde_json::from_slice(&harness.bytes()).unwrap();
    let names = store.names().unwrap();
    store.rotate(harness.new_key()).unwrap();
    let after: Value = serde_json::from_slice(&harness.bytes()).unwrap();
    for index in 0..3 {
        let value = |content: &Value| content["secrets"][index]["value"].clone();
        assert_ne!(value(&before)["nonce"], value(&after)["nonce"]);
        assert_ne!(value(&before)["ciphertext"], value(&after)["ciphertext"]);
    }
    assert_eq!(store.names().unwrap(), names);
    assert_eq!(get(&store, "A", Some("ada")).unwrap(), "hush-of-ada");
    set(&store, "C", None, "hush-under-new-key");
    assert!(matches!(harness.error(), SecretsError::OtherKey { .. }));
    let found = other_process.find("A", &[None], later());
    assert!(matches!(found, Err(SecretsError::OtherKey { .. })));
    let value = SecretText::new("hush".to_owned());
    let written = other_process.set("A", None, &value);
    assert!(matches!(written, Err(SecretsError::OtherKey { .. })));
    let error =
        store.rotate(MasterKey::load(None, Some(&harness.folder.path().join("new-key"))).unwrap());
    assert!(matches!(error, Err(SecretsError::SameKey(_))));
}

#[test]
fn a_rotation_that_fails_changes_nothing() {
    let harness = Harness::with_secrets();
    let store = harness.open();
    let before = harness.bytes();
    // With that, not even root can write the temporary file.
    let temporary = harness.folder.path().join("secrets.json.tmp");
    fs::create_dir(&temporary).unwrap();
    let error = store.rotate(harness.new_key()).unwrap_err();
    assert!(matches!(
        error,
        SecretsError::File(PrivateFileError::Unwritable(..))
    ));
    assert!(error.to_string().contains("cannot be written"), "{error}");
    assert_eq!(harness.bytes(), before);
    for store in [&store, &harness.open()] {
        assert_eq!(get(store, "A", Some("ada")).unwrap(), "hush-of-ada");
    }
    fs::remove_dir(&temporary).unwrap();
    set(&store, "C", None, "hush-under-old-key");
    assert_eq!(
        get(&harness.open(), "C", None).unwrap(),
        "hush-under-old-key"
    );
}

#[test]
fn files_of_a_crashed_writer_are_not_used() {
    let harness = Harness::with_secrets();
    let temporary = harness.folder.path().join("secrets.json.tmp");
    fs::write(&temporary, &harness.bytes()[..100]).unwrap();
    let store = harness.open();
    assert_eq!(get(&store, "A", None).unwrap(), "hush-shared");
    set(&store, "A", None, "hush-anew");
    assert!(!temporary.exists());
    assert_eq!(get(&harness.open(), "A", None).unwrap(), "hush-anew");
}

#[test]
fn changes_of_other_processes_are_seen_after_a_second() {
    let harness = Harness::new();
    let running = harness.open();
    let value = |now| {
        let value = running.find("A", &[None], now).unwrap();
        value.map(|value| value.expose().to_owned())
    };
    let opened = Instant::now();
    let after = |seconds| opened + Duration::from_secs(seconds);
    assert_eq!(value(opened), None);
    set(&harness.open(), "A", None, "hush-one");
    assert_eq!(value(opened), None, "the file is checked once a second");
    assert_eq!(value(after(2)).unwrap(), "hush-one");
    set(&harness.open(), "A", None, "hush-another");
    assert_eq!(value(after(2)).unwrap(), "hush-one");
    assert_eq!(value(after(3)).unwrap(), "hush-another");
    harness.open().remove("A", None).unwrap();
    assert_eq!(value(after(4)), None);
    fs::remove_file(harness.path()).unwrap();
    assert_eq!(value(after(5)), None);
}

#[test]
fn a_file_that_breaks_is_an_error_until_it_is_repaired() {
    let harness = Harness::with_secrets();
    let store = harness.open();
    let redactor = store.redactor().unwrap();
    let bytes = harness.bytes();
    fs::write(harness.path(), &bytes[..100]).unwrap();
    let now = later();
    for _ in 0..2 {
        assert!(matches!(
            store.find("A", &[None], now),
            Err(SecretsError::Malformed(..))
        ));
        // Former values stay secret.
        let same = store.redactor_at(now).unwrap();
        assert_eq!(
            same.redact("a hush-of-ada"),
            redactor.redact("a hush-of-ada")
        );
    }
    assert!(matches!(
        store.remove("A", None),
        Err(SecretsError::Malformed(..))
    ));
    fs::write(harness.path(), &bytes).unwrap();
    let value = store.find("A", &[None], now).unwrap().unwrap();
    assert_eq!(value.expose(), "hush-shared");
}

#[test]
fn the_redactor_has_new_and_former_secrets() {
    let harness = Harness::with_secrets();
    let store = harness.open();
    let first = store.redactor().unwrap();
    let text = "hush-shared, hush-of-ada, hush-other, hush-anew-";
    assert_eq!(
        first.redact(text),
        "[secret A], [secret A], [secret B], hush-anew-"
    );
    assert!(std::sync::Arc::ptr_eq(&first, &store.redactor().unwrap()));
    let other_process = harness.open();
    set(&other_process, "C", None, "hush-anew-");
    other_process.remove("B", None).unwrap();
    let next = store.redactor_at(later()).unwrap();
    assert_eq!(
        next.redact(text),
        "[secret A], [secret A], [secret B], [secret C]"
    );
}

#[test]
fn debug_shows_nothing() {
    let harness = Harness::with_secrets();
    let store = harness.open();
    let value = store.get("A", None).unwrap().unwrap();
    assert_eq!(format!("{value:?}"), "SecretText(…)");
    let path = harness.path();
    assert_eq!(
        format!("{store:?}"),
        format!("SecretStore {{ path: {path:?}, .. }}")
    );
    let redactor = store.redactor().unwrap();
    assert_eq!(
        format!("{redactor:?} {:?}", harness.key()),
        "Redactor(…) MasterKey(…)"
    );
}
