//! The permissions of files with tokens.

use std::path::Path;

/// The bits of a Unix mode with which any user of the machine can read or write a file.
const READ_OR_WRITE_BY_ALL: u32 = 0o006;

/// Returns a warning if any user of the machine can read or write a file with secrets. Its group may:
/// programs often read their secrets by it.
pub fn warning_if_open_to_all(path: &Path) -> Option<String> {
    has_mode_bits(path, READ_OR_WRITE_BY_ALL).then(|| {
        let path = path.display();
        format!(
            "every user of this machine can read or write {path}, which has secrets: forbid it with \
             `chmod o= {path}`"
        )
    })
}

/// Whether a file or folder has any of these permissions, which are the bits of a Unix mode. On other
/// systems it has none.
#[cfg(unix)]
pub fn has_mode_bits(path: &Path, bits: u32) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata()
        .is_ok_and(|metadata| metadata.permissions().mode() & bits != 0)
}

#[cfg(not(unix))]
pub fn has_mode_bits(_: &Path, _: u32) -> bool {
    false
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_file_that_all_can_read_or_write_is_warned_of() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let warning_with = |mode| {
            set_permissions(file.path(), Permissions::from_mode(mode)).unwrap();
            warning_if_open_to_all(file.path())
        };
        for mode in [0o604, 0o602, 0o666] {
            let warning = warning_with(mode).unwrap();
            assert!(warning.contains("chmod o="), "{warning}");
        }
        for mode in [0o600, 0o640, 0o660] {
            assert_eq!(warning_with(mode), None);
        }
        assert_eq!(warning_if_open_to_all(Path::new("/no/such/file")), None);
    }
}
