//! Replacement of files in a folder.

use std::fs;
use std::io::ErrorKind;

use bridge_shared_files::{FileMode, read_file, replace_file};

const MAX_BYTES: usize = 1024;

#[test]
fn a_file_that_was_changed_meanwhile_is_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.json");
    let replace = |expected: Option<&[u8]>, content: &[u8]| {
        replace_file(&path, expected, content, MAX_BYTES, FileMode::Keep).unwrap()
    };
    assert!(!replace(Some(b"old"), b"new"));
    assert!(replace(None, b"one"));
    assert!(!replace(None, b"two"));
    assert!(!replace(Some(b"other"), b"two"));
    assert!(replace(Some(b"one"), b"two"));
    assert_eq!(read_file(&path, MAX_BYTES).unwrap(), b"two");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_file_that_is_too_large_is_neither_read_nor_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.json");
    fs::write(&path, vec![b'a'; MAX_BYTES + 1]).unwrap();
    let error = read_file(&path, MAX_BYTES).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::FileTooLarge);
    assert!(!replace_file(&path, Some(b"a"), b"b", MAX_BYTES, FileMode::Keep).unwrap());
    assert!(read_file(folder.path(), MAX_BYTES).is_err());
}

#[cfg(unix)]
#[test]
fn the_mode_stays_or_others_lose_their_permissions() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.json");
    let mode = || path.metadata().unwrap().permissions().mode() & 0o777;
    assert!(replace_file(&path, None, b"1", MAX_BYTES, FileMode::Keep).unwrap());
    assert_eq!(mode(), 0o600);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o754)).unwrap();
    assert!(replace_file(&path, Some(b"1"), b"2", MAX_BYTES, FileMode::Keep).unwrap());
    assert_eq!(mode(), 0o754);
    assert!(replace_file(&path, Some(b"2"), b"3", MAX_BYTES, FileMode::OwnerOnly).unwrap());
    assert_eq!(mode(), 0o700);
}

#[cfg(unix)]
#[test]
fn a_symbolic_link_stays_one() {
    let folder = tempfile::tempdir().unwrap();
    let (target, link) = (folder.path().join("a.json"), folder.path().join("link"));
    fs::write(&target, "1").unwrap();
    std::os::unix::fs::symlink("a.json", &link).unwrap();
    assert!(replace_file(&link, Some(b"1"), b"2", MAX_BYTES, FileMode::Keep).unwrap());
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert_eq!(fs::read(&target).unwrap(), b"2");
    fs::remove_file(&target).unwrap();
    assert!(replace_file(&link, None, b"3", MAX_BYTES, FileMode::Keep).unwrap());
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert_eq!(fs::read(&target).unwrap(), b"3");
}
