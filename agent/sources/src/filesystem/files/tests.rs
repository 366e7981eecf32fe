//! The roots of the tests are directories of the real file system.

#![cfg(unix)]

mod races;

use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::limits::MAX_ENTRIES;
use super::*;

/// Content that no call may read or change.
const SECRET: &str = "secret of the host";

/// A directory `notes` that is a root, beside others that are not.
///
/// ```text
/// notes/a.md              "inside"
/// notes/sub/b.md          "below"
/// notes/inside            -> a.md
/// notes/inside-directory  -> sub
/// notes/file-out          -> ../notes-secret/secret.md
/// notes/file-absolute     -> <absolute path of secret.md>
/// notes/directory-out     -> ../notes-secret
/// notes-secret/secret.md  SECRET
/// ```
struct Host {
    directory: TempDir,
    files: Files,
}

impl Host {
    fn new() -> Self {
        Self::build(tempfile::tempdir().unwrap(), false)
    }

    fn read_only() -> Self {
        Self::build(tempfile::tempdir().unwrap(), true)
    }

    /// In memory where that is possible: a write does not wait for a disk there, so that many more of
    /// them take part in a race.
    fn in_memory() -> Self {
        let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        Self::build(directory.unwrap(), false)
    }

    fn build(directory: TempDir, read_only: bool) -> Self {
        let path = |name: &str| directory.path().join(name);
        fs::create_dir_all(path("notes/sub")).unwrap();
        fs::create_dir(path("notes-secret")).unwrap();
        fs::write(path("notes/a.md"), "inside").unwrap();
        fs::write(path("notes/sub/b.md"), "below").unwrap();
        fs::write(path("notes-secret/secret.md"), SECRET).unwrap();
        symlink("a.md", path("notes/inside")).unwrap();
        symlink("sub", path("notes/inside-directory")).unwrap();
        symlink("../notes-secret/secret.md", path("notes/file-out")).unwrap();
        symlink(path("notes-secret/secret.md"), path("notes/file-absolute")).unwrap();
        symlink("../notes-secret", path("notes/directory-out")).unwrap();
        let roots = roots([("notes", path("notes"))]);
        let files = Files::open(&roots, read_only).unwrap();
        Self { directory, files }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn names(&self, path: &str) -> Vec<String> {
        names(self.files.list(path).unwrap())
    }

    /// Fails if anything outside of the root has changed.
    fn check_outside(&self) {
        assert_eq!(
            fs::read_to_string(self.path("notes-secret/secret.md")).unwrap(),
            SECRET
        );
        assert_eq!(fs::read_dir(self.path("notes-secret")).unwrap().count(), 1);
        assert_eq!(fs::read_dir(self.directory.path()).unwrap().count(), 2);
    }
}

fn roots<const N: usize>(roots: [(&str, PathBuf); N]) -> BTreeMap<String, PathBuf> {
    roots
        .into_iter()
        .map(|(name, path)| (name.to_owned(), path))
        .collect()
}

fn text(text: &str) -> FileContent {
    FileContent::Text(text.to_owned())
}

fn names(listing: Listing) -> Vec<String> {
    let entries = listing.entries.into_iter();
    entries.map(|entry| entry.name).collect()
}

/// The names of all files in a directory, with temporary ones.
fn all_names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name();
    entries
        .map(|entry| name(entry).into_string().unwrap())
        .collect()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

/// Returns the error of a call of each kind on a path.
fn errors(files: &Files, path: &str) -> [String; 3] {
    [
        files.read(path).unwrap_err().to_string(),
        files.list(path).unwrap_err().to_string(),
        files.write(path, b"new").unwrap_err().to_string(),
    ]
}

/// Runs a call that may wait for ever if it is wrong.
fn within_a_second<T: Send + 'static>(call: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(call()));
    let result = receiver.recv_timeout(Duration::from_secs(1));
    result.expect("the call should return within a second")
}

#[test]
fn files_below_a_root_and_inside_links_are_read() {
    let host = Host::new();
    for (path, content) in [
        ("notes/a.md", "inside"),
        ("notes/sub/b.md", "below"),
        ("notes/inside", "inside"),
        ("notes/inside-directory/b.md", "below"),
    ] {
        assert_eq!(host.files.read(path).unwrap(), text(content), "{path}");
    }
}

#[test]
fn paths_that_are_not_well_formed_are_refused_by_every_call() {
    let host = Host::new();
    let long = format!("notes/{}", "a/".repeat(MAX_FILE_BYTES));
    let absolute = host.path("notes/a.md").to_str().unwrap().to_owned();
    for (path, part) in [
        ("../notes-secret/secret.md", "a part `.` or `..`"),
        ("notes/../notes-secret/secret.md", "a part `.` or `..`"),
        ("notes/sub/../a.md", "a part `.` or `..`"),
        ("notes/..", "a part `.` or `..`"),
        ("notes/../", "a part `.` or `..`"),
        ("notes/./a.md", "a part `.` or `..`"),
        ("/notes/a.md", "begins with a slash"),
        ("//", "begins with a slash"),
        (&absolute, "begins with a slash"),
        ("notes//a.md", "two slashes"),
        ("notes/a.md//", "two slashes"),
        ("notes/a\0.md", "NUL"),
        ("notes/.mcp-web-1.tmp", "uses itself"),
        (&long, "longer than 4096"),
    ] {
        for error in errors(&host.files, path) {
            assert!(error.contains(part), "{path}: {error}");
            assert!(error.contains("the path \"\" for the roots"), "{error}");
        }
    }
    assert!(matches!(
        host.files.read(""),
        Err(FileError::InvalidPath(..))
    ));
    host.check_outside();
}

#[test]
fn an_unknown_root_is_refused_with_the_names_of_all() {
    let host = Host::new();
    for path in ["notes-secret/secret.md", "note/a.md", "Notes/a.md", "a.md"] {
        for error in errors(&host.files, path) {
            let expected =
                format!("the path {path:?} begins with no root: begin it with one of notes");
            assert_eq!(error, expected);
        }
    }
}

#[test]
fn links_that_lead_out_of_the_root_are_refused() {
    let host = Host::new();
    let leaves_root = |result| matches!(result, Err(FileError::LeavesRoot(_)));
    for path in [
        "notes/file-out",
        "notes/file-absolute",
        "notes/directory-out",
        "notes/directory-out/secret.md",
        "notes/directory-out/new.md",
    ] {
        assert!(leaves_root(host.files.read(path).map(drop)), "{path}");
        assert!(leaves_root(host.files.list(path).map(drop)), "{path}");
    }
    for path in [
        "notes/directory-out/secret.md",
        "notes/directory-out/new.md",
    ] {
        assert!(leaves_root(host.files.write(path, b"new")), "{path}");
    }
    host.check_outside();
}

#[test]
fn a_link_is_not_replaced() {
    let host = Host::new();
    for path in ["notes/inside", "notes/file-out", "notes/directory-out"] {
        let error = host.files.write(path, b"new").unwrap_err();
        assert!(matches!(error, FileError::IsLink(_)), "{path}: {error}");
    }
    assert_eq!(host.files.read("notes/a.md").unwrap(), text("inside"));
    host.check_outside();
}

#[test]
fn a_write_follows_a_directory_link_that_stays_in_the_root() {
    let host = Host::new();
    host.files
        .write("notes/inside-directory/b.md", b"new")
        .unwrap();
    assert_eq!(host.files.read("notes/sub/b.md").unwrap(), text("new"));
}

#[test]
fn a_directory_is_not_a_file_and_a_file_is_not_a_directory() {
    let host = Host::new();
    for path in ["notes", "notes/", "notes/sub", "notes/sub/", "notes/a.md/"] {
        let errors = [
            host.files.read(path).unwrap_err(),
            host.files.write(path, b"new").unwrap_err(),
        ];
        for error in errors {
            assert!(
                matches!(error, FileError::IsDirectory(_)),
                "{path}: {error}"
            );
        }
    }
    for path in ["notes/a.md", "notes/a.md/", "notes/a.md/c"] {
        let error = host.files.list(path).unwrap_err();
        assert!(
            matches!(error, FileError::NotADirectory(_)),
            "{path}: {error}"
        );
    }
}

#[test]
fn missing_files_are_reported_as_missing() {
    let host = Host::new();
    for error in [
        host.files.read("notes/x").unwrap_err(),
        host.files.list("notes/x/").unwrap_err(),
    ] {
        assert!(matches!(error, FileError::NotFound(_)), "{error}");
    }
    for path in ["notes/x/new.md", "notes/a.md/new.md"] {
        let error = host.files.write(path, b"new").unwrap_err();
        assert!(matches!(error, FileError::NoParent(_)), "{path}: {error}");
    }
}

#[test]
fn pipes_sockets_and_devices_are_refused_at_once() {
    let host = Host::new();
    let pipe = Command::new("mkfifo").arg(host.path("notes/pipe")).status();
    assert!(pipe.unwrap().success());
    let _socket = UnixListener::bind(host.path("notes/socket")).unwrap();
    symlink("pipe", host.path("notes/link-to-pipe")).unwrap();
    let roots = roots([("notes", host.path("notes")), ("dev", "/dev".into())]);
    let files = Files::open(&roots, false).unwrap();
    let errors = within_a_second(move || {
        [
            files.read("notes/pipe").unwrap_err(),
            files.read("notes/link-to-pipe").unwrap_err(),
            files.read("notes/socket").unwrap_err(),
            files.read("dev/zero").unwrap_err(),
            files.write("notes/pipe", b"new").unwrap_err(),
            files.write("notes/socket", b"new").unwrap_err(),
            files.write("dev/null", b"new").unwrap_err(),
        ]
    });
    for error in errors {
        assert!(matches!(error, FileError::NotRegular(_)), "{error}");
    }
}

#[test]
fn a_pipe_is_not_listed() {
    let host = Host::new();
    let pipe = Command::new("mkfifo").arg(host.path("notes/pipe")).status();
    assert!(pipe.unwrap().success());
    let error = within_a_second(move || host.files.list("notes/pipe").unwrap_err());
    assert!(matches!(error, FileError::NotADirectory(_)), "{error}");
}

#[test]
fn the_roots_are_listed_by_the_empty_path() {
    let host = Host::new();
    let roots = roots([
        ("work", host.path("notes/sub")),
        ("notes", host.path("notes")),
    ]);
    let files = Files::open(&roots, true).unwrap();
    for path in ["", "/", "."] {
        let listing = files.list(path).unwrap();
        let directories = |entry: &ListingEntry| entry.kind == EntryKind::Directory;
        assert!(listing.entries.iter().all(directories));
        assert_eq!(names(listing), ["notes", "work"]);
    }
}

#[test]
fn a_listing_is_sorted_with_kinds_and_sizes() {
    let host = Host::new();
    let _socket = UnixListener::bind(host.path("notes/socket")).unwrap();
    let not_utf8 = std::ffi::OsStr::from_bytes(b"z\xff");
    fs::write(host.path("notes").join(not_utf8), "").unwrap();
    fs::write(host.path("notes/.mcp-web-0123.tmp"), "left by a crash").unwrap();
    let expected = [
        ("a.md", EntryKind::File, Some(6)),
        ("directory-out", EntryKind::Link, None),
        ("file-absolute", EntryKind::Link, None),
        ("file-out", EntryKind::Link, None),
        ("inside", EntryKind::Link, None),
        ("inside-directory", EntryKind::Link, None),
        ("socket", EntryKind::Other, None),
        ("sub", EntryKind::Directory, None),
        ("z\u{fffd}", EntryKind::File, Some(0)),
    ];
    for path in ["notes", "notes/"] {
        let listing = host.files.list(path).unwrap();
        let entries = listing.entries.iter();
        let entries = entries.map(|entry| (entry.name.as_str(), entry.kind, entry.size));
        assert_eq!(entries.collect::<Vec<_>>(), expected);
        assert_eq!(listing.omitted, 0);
    }
    assert_eq!(host.names("notes/inside-directory"), ["b.md"]);
}

#[test]
fn a_long_listing_ends_with_the_number_of_omitted_entries() {
    let host = Host::new();
    for index in 0..MAX_ENTRIES {
        fs::write(host.path(&format!("notes/sub/c{index:04}")), "").unwrap();
    }
    let listing = host.files.list("notes/sub").unwrap();
    assert_eq!((listing.entries.len(), listing.omitted), (MAX_ENTRIES, 1));
    assert_eq!(listing.entries[0].name, "b.md");
    assert_eq!(listing.entries[MAX_ENTRIES - 1].name, "c0998");
    fs::remove_file(host.path("notes/sub/c0000")).unwrap();
    let listing = host.files.list("notes/sub").unwrap();
    assert_eq!((listing.entries.len(), listing.omitted), (MAX_ENTRIES, 0));
}

#[test]
fn a_file_may_have_one_mebibyte_and_no_byte_more() {
    let host = Host::new();
    let content = "a".repeat(MAX_FILE_BYTES);
    host.files.write("notes/c", content.as_bytes()).unwrap();
    assert_eq!(host.files.read("notes/c").unwrap(), text(&content));
    let content = content + "a";
    let error = host.files.write("notes/c", content.as_bytes()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the content for \"notes/c\" has 1048577 bytes, but at most 1048576 can be written: \
         write less, or several files"
    );
    fs::write(host.path("notes/c"), content).unwrap();
    let error = host.files.read("notes/c").unwrap_err();
    assert_eq!(
        error.to_string(),
        "the file \"notes/c\" is larger than 1048576 bytes and cannot be read: use a smaller file"
    );
}

#[test]
fn content_that_is_not_utf8_is_base64() {
    let host = Host::new();
    host.files.write("notes/c", b"a\xff\0").unwrap();
    let expected = FileContent::Binary {
        base64: "Yf8A".to_owned(),
        size: 3,
    };
    assert_eq!(host.files.read("notes/c").unwrap(), expected);
}

#[test]
fn a_backslash_is_a_character_of_a_name() {
    let host = Host::new();
    host.files.write(r"notes/..\a.md", b"new").unwrap();
    assert_eq!(host.files.read(r"notes/..\a.md").unwrap(), text("new"));
    assert!(host.path(r"notes/..\a.md").exists());
}

#[test]
fn nothing_is_written_if_the_files_are_read_only() {
    let host = Host::read_only();
    for path in ["notes/a.md", "notes/new.md"] {
        let error = host.files.write(path, b"new").unwrap_err();
        assert!(matches!(error, FileError::ReadOnly(_)), "{error}");
    }
    assert_eq!(host.files.read("notes/a.md").unwrap(), text("inside"));
    assert!(!host.path("notes/new.md").exists());
}

#[test]
fn a_replaced_file_keeps_its_mode_without_privileges() {
    let host = Host::new();
    for (before, after) in [
        (0o600, 0o600),
        (0o666, 0o666),
        (0o755, 0o755),
        (0o6751, 0o751),
    ] {
        fs::set_permissions(host.path("notes/a.md"), Permissions::from_mode(before)).unwrap();
        host.files.write("notes/a.md", b"new").unwrap();
        assert_eq!(mode(&host.path("notes/a.md")), after);
    }
}

#[test]
fn a_new_file_has_a_mode_that_respects_the_umask() {
    let host = Host::new();
    host.files.write("notes/new.md", b"new").unwrap();
    // The standard library creates files with 0666 & !umask.
    let expected = mode(&host.path("notes/a.md")) & 0o644;
    assert_eq!(mode(&host.path("notes/new.md")), expected);
}

#[test]
fn a_file_that_may_not_be_written_is_not_replaced() {
    let host = Host::new();
    let path = host.path("notes/a.md");
    // The first has no bit for writing. The second has one of the group only, which binds all but root.
    for bits in [0o444, 0o464] {
        fs::set_permissions(&path, Permissions::from_mode(bits)).unwrap();
        let is_writable = bits == 0o464 && fs::OpenOptions::new().write(true).open(&path).is_ok();
        let result = host.files.write("notes/a.md", b"new");
        let is_denied = matches!(result, Err(FileError::Denied(_)));
        assert_eq!(is_denied, !is_writable, "{result:?}");
    }
}

#[test]
fn a_temporary_file_is_removed_on_a_failure() {
    let host = Host::new();
    let directory = Dir::open_ambient_dir(host.path("notes/sub"), ambient_authority()).unwrap();
    directory.create_dir("target").unwrap();
    let mut file = TemporaryFile::create(&directory, None).unwrap();
    file.write(b"new").unwrap();
    assert_eq!(all_names(&host.path("notes/sub")).len(), 3);
    assert_eq!(host.names("notes/sub"), ["b.md", "target"]);
    let error = file.rename("target").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::IsADirectory);
    drop(TemporaryFile::create(&directory, None).unwrap());
    let mut names = all_names(&host.path("notes/sub"));
    names.sort();
    assert_eq!(names, ["b.md", "target"]);
}

#[test]
fn a_temporary_file_for_a_private_file_is_private_at_once() {
    let host = Host::new();
    let directory = Dir::open_ambient_dir(host.path("notes/sub"), ambient_authority()).unwrap();
    let permissions = directory.metadata("b.md").unwrap().permissions();
    let _file = TemporaryFile::create(&directory, Some(permissions)).unwrap();
    let names = all_names(&host.path("notes/sub"));
    let name = names.iter().find(|name| name.starts_with(".mcp-web-"));
    assert_eq!(mode(&host.path("notes/sub").join(name.unwrap())) & 0o077, 0);
}

#[test]
fn errors_have_the_given_path_shortened_and_none_of_the_host() {
    let host = Host::new();
    let path = format!("notes/{}/c", "ä".repeat(1000));
    let host_path = host.directory.path().to_str().unwrap().to_owned();
    for error in errors(&host.files, &path) {
        assert!(
            error.contains(&format!("\"notes/{}…\"", "ä".repeat(194))),
            "{error}"
        );
        assert!(!error.contains(&host_path), "{error}");
    }
    for path in ["notes/x/y", "notes/a.md/y", "notes/directory-out/x", "x"] {
        for error in errors(&host.files, path) {
            assert!(error.contains(&format!("{path:?}")), "{error}");
            assert!(!error.contains(&host_path), "{error}");
        }
    }
}

#[test]
fn a_root_that_cannot_be_opened_is_named_with_its_path() {
    let host = Host::new();
    for (path, part) in [
        ("missing", "No such file or directory"),
        ("notes/a.md", "Not a directory"),
    ] {
        let path = host.path(path);
        let error = Files::open(&roots([("docs", path.clone())]), false).unwrap_err();
        assert!(error.contains("the root \"docs\" at"), "{error}");
        assert!(error.contains(path.to_str().unwrap()), "{error}");
        assert!(error.contains(part), "{error}");
        assert!(error.contains("make it a directory"), "{error}");
    }
}

#[test]
fn root_names_have_letters_digits_underscores_and_dashes() {
    let host = Host::new();
    let open = |name: &str| Files::open(&roots([(name, host.path("notes"))]), false);
    for name in ["a", "My_Notes-2", &"a".repeat(32)] {
        open(name).unwrap();
    }
    for name in ["", ".", "..", "a/b", "a b", "ä", "a\0", &"a".repeat(33)] {
        let error = open(name).unwrap_err();
        assert!(error.contains("1 to 32 ASCII letters"), "{error}");
    }
}

#[test]
fn a_reader_sees_only_whole_contents() {
    let host = Host::new();
    let contents = ["a".repeat(MAX_FILE_BYTES), "b".repeat(MAX_FILE_BYTES / 2)];
    host.files.write("notes/c", contents[0].as_bytes()).unwrap();
    let is_written = AtomicBool::new(false);
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut reads = 0;
            while !is_written.load(Ordering::Relaxed) || reads == 0 {
                let content = fs::read_to_string(host.path("notes/c")).unwrap();
                assert!(contents.contains(&content), "{} bytes", content.len());
                reads += 1;
            }
        });
        for index in 0..50 {
            let content = contents[index % 2].as_bytes();
            host.files.write("notes/c", content).unwrap();
        }
        is_written.store(true, Ordering::Relaxed);
        reader.join().unwrap();
    });
    assert!(
        all_names(&host.path("notes"))
            .iter()
            .all(|name| !name.ends_with(".tmp"))
    );
}
