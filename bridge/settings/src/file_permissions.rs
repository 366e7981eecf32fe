//! The permissions of files with tokens.

use std::path::Path;

/// The bits of a Unix mode with which any user of the machine can read or write a file.
const READ_OR_WRITE_BY_ALL: u32 = 0o006;

/// Those with which the group of a file can do so.
#[cfg(unix)]
const READ_OR_WRITE_BY_GROUP: u32 = 0o060;

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

/// Returns a warning if other users of the machine can read or write a file with secrets: all of them,
/// or those of its group although this process reads it as its owner.
pub fn warning_if_open_to_others(path: &Path) -> Option<String> {
    warning_if_open_to_all(path).or_else(|| {
        is_open_to_group(path).then(|| {
            let path = path.display();
            format!(
                "the group of {path} can read or write it, which has secrets, and this program reads \
                 it as its owner: forbid it with `chmod g= {path}`"
            )
        })
    })
}

#[cfg(unix)]
fn is_open_to_group(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    // Linux shows the effective user of a process as the owner of its folder.
    let user = Path::new("/proc/self").metadata().map(|it| it.uid());
    let file = path.metadata().map(|it| (it.mode(), it.uid()));
    matches!((file, user), (Ok((mode, owner)), Ok(user)) if opens_to_group(mode, owner, user))
}

#[cfg(not(unix))]
fn is_open_to_group(_: &Path) -> bool {
    false
}

/// Whether a file of this mode and owner is open to its group for no purpose. Root may check the file
/// for a program that reads it by the group.
#[cfg(unix)]
fn opens_to_group(mode: u32, owner: u32, user: u32) -> bool {
    mode & READ_OR_WRITE_BY_GROUP != 0 && owner == user && user != 0
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

    #[test]
    fn a_file_that_its_owner_reads_needs_no_group() {
        for (mode, owner, user, is_open) in [
            (0o640, 1000, 1000, true),
            (0o620, 1000, 1000, true),
            (0o610, 1000, 1000, false),
            (0o600, 1000, 1000, false),
            // The user reads the file of root by the group, or root checks it for that user.
            (0o640, 0, 1000, false),
            (0o640, 0, 0, false),
        ] {
            assert_eq!(opens_to_group(mode, owner, user), is_open, "{mode:o}");
        }
        assert_eq!(warning_if_open_to_others(Path::new("/no/such/file")), None);
    }
}
