//! How long values and names may be, and how many secrets a file may have.

use super::*;

#[test]
fn values_are_limited() {
    let harness = Harness::new();
    let store = harness.open();
    let largest = "é".repeat(MAX_SECRET_BYTES / 2);
    set(&store, "A", None, &largest);
    assert!(get(&harness.open(), "A", None).unwrap() == largest);
    for value in ["", "a\0", &format!("{largest}a")] {
        let value = SecretText::new(value.to_owned());
        let error = store.set("A", None, &value).unwrap_err();
        assert!(matches!(error, SecretsError::InvalidValue(_)));
    }
    assert!(get(&store, "A", None).unwrap() == largest);
}

#[test]
fn the_number_of_secrets_is_limited() {
    let harness = Harness::new();
    let (path, key) = (harness.path(), harness.key());
    let encrypt = |index: usize| {
        let name = format!("{index:04}");
        let value = format!("hush-hush-{name}");
        let at = SystemTime::now();
        encrypted_secret::EncryptedSecret::encrypt(&name, None, at, &value, &key).unwrap()
    };
    let mut secrets: Vec<_> = (0..MAX_SECRETS).map(encrypt).collect();
    let write = |secrets: &[_]| {
        let bytes = store_file::to_bytes(secrets, &key, &path).unwrap();
        let lock = private_file::WriteLock::acquire(&path).unwrap();
        private_file::replace(&path, &bytes, &lock).unwrap();
    };
    write(&secrets);
    let store = harness.open();
    let value = SecretText::new("hush".to_owned());
    let error = store.set("A", None, &value).unwrap_err();
    assert!(error.to_string().contains("has 4096 secrets"), "{error}");
    store.set("0000", None, &value).unwrap();
    let redactor = store.redactor().unwrap();
    assert_eq!(redactor.redact("a hush-hush-4095"), "a [secret 4095]");
    assert!(store.remove("0001", None).unwrap());
    store.set("A", None, &value).unwrap();
    // A file with more of them is not one that this program has written.
    secrets.push(encrypt(MAX_SECRETS));
    write(&secrets);
    assert!(matches!(harness.error(), SecretsError::Malformed(..)));
}

#[test]
fn the_size_of_the_file_is_limited() {
    let harness = Harness::new();
    let store = harness.open();
    let file = fs::File::create(harness.path()).unwrap();
    file.set_len(MAX_FILE_BYTES as u64 + 1).unwrap();
    #[cfg(unix)]
    fs::set_permissions(
        harness.path(),
        std::os::unix::fs::PermissionsExt::from_mode(0o600),
    )
    .unwrap();
    assert!(matches!(
        harness.error(),
        SecretsError::File(PrivateFileError::TooLarge(..))
    ));
    fs::remove_file(harness.path()).unwrap();
    set(&store, "A", None, &"a".repeat(MAX_SECRET_BYTES));
    let secret = store_file::parse(&harness.bytes(), &harness.key(), &harness.path())
        .unwrap()
        .remove(0);
    let secrets = vec![secret; MAX_FILE_BYTES / MAX_SECRET_BYTES];
    let error = store_file::to_bytes(&secrets, &harness.key(), &harness.path()).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("would be larger than 16777216 bytes"),
        "{error}"
    );
}

#[test]
fn a_folder_that_does_not_exist_is_named() {
    let harness = Harness::new();
    let path = harness.folder.path().join("none/secrets.json");
    let store = SecretStore::open(&path, harness.key()).unwrap();
    let value = SecretText::new("hush".to_owned());
    let error = store.set("A", None, &value).unwrap_err().to_string();
    assert!(error.contains("Its folder must exist"), "{error}");
    assert!(error.contains("none/secrets.json"), "{error}");
}
