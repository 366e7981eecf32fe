//! Watches the files of settings: a change is reported when it is complete.
//!
//! The files are polled, and not watched through the operating system. A Kubernetes Secret changes by a
//! symbolic link of its folder, an editor replaces the file by another one, and a network file system
//! reports nothing. Polling a few paths sees all of these alike, and costs a few system calls a second.
//!
//! A file that is being written is not reported before two polls have found the same content.

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use sha2::{Digest, Sha256};
use tokio::sync::{mpsc, watch};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::task::AbortOnDropHandle;

/// The interval of the polls. A change is reported after at most two of them.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Of a longer file, only so many bytes are compared.
const MAX_COMPARED_BYTES: u64 = 16 * 1024 * 1024;

/// Watches files until it is dropped.
#[derive(Debug)]
pub struct FileWatch {
    paths: watch::Sender<Vec<PathBuf>>,
    changes: mpsc::Receiver<()>,
    _task: AbortOnDropHandle<()>,
}

impl FileWatch {
    /// Reads these files, and watches them from now on. A change between their use and this call is not
    /// reported: the caller uses them again afterwards. Files that do not exist are watched as well. Must
    /// be called within a Tokio runtime.
    pub fn start(paths: Vec<PathBuf>) -> Self {
        let files = WatchedFiles::load(&paths);
        let (sender, receiver) = watch::channel(paths);
        let (changed, changes) = mpsc::channel(1);
        Self {
            paths: sender,
            changes,
            _task: AbortOnDropHandle::new(tokio::spawn(poll_files(files, receiver, changed))),
        }
    }

    /// Watches these files from now on. A file that was not watched before is reported once, because it
    /// may have changed since it was used.
    pub fn set_paths(&self, paths: Vec<PathBuf>) {
        self.paths.send_replace(paths);
    }

    /// Waits until a file has changed. Several changes may be reported as one. This method is cancel
    /// safe.
    pub async fn changed(&mut self) {
        if self.changes.recv().await.is_none() {
            std::future::pending().await
        }
    }
}

async fn poll_files(
    mut files: WatchedFiles,
    mut paths: watch::Receiver<Vec<PathBuf>>,
    changed: mpsc::Sender<()>,
) {
    let mut ticks = interval(POLL_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let paths = paths.borrow_and_update().clone();
        // A network file system may block.
        let polled = tokio::task::spawn_blocking(move || {
            let has_changed = files.poll(&paths);
            (files, has_changed)
        });
        let Ok((polled, has_changed)) = polled.await else {
            return;
        };
        files = polled;
        if has_changed && changed.send(()).await.is_err() {
            return;
        }
    }
}

/// The hash of the content of a file; `None` if it cannot be read.
type ContentHash = Option<[u8; 32]>;

/// The files as they were at the last poll.
#[derive(Debug, Default)]
struct WatchedFiles(BTreeMap<PathBuf, WatchedFile>);

#[derive(Debug)]
struct WatchedFile {
    /// The attributes with which the content was read.
    attributes: Option<FileAttributes>,
    latest: ContentHash,
    /// The content that was reported last, or that the file had at the start of the watch.
    reported: Option<ContentHash>,
}

impl WatchedFiles {
    fn load(paths: &[PathBuf]) -> Self {
        let known = |path: &PathBuf| (path.clone(), WatchedFile::load(path).known());
        Self(paths.iter().map(known).collect())
    }

    /// Looks at all files. Returns whether a content has changed since it was reported, and none has
    /// changed since the poll before.
    fn poll(&mut self, paths: &[PathBuf]) -> bool {
        self.0.retain(|path, _| paths.contains(path));
        let mut has_changed = false;
        let mut is_settled = true;
        for path in paths {
            match self.0.get_mut(path) {
                None => {
                    self.0.insert(path.clone(), WatchedFile::load(path));
                    has_changed = true;
                    is_settled = false;
                }
                Some(file) => {
                    is_settled &= !file.update(path);
                    has_changed |= file.reported != Some(file.latest);
                }
            }
        }
        if !has_changed || !is_settled {
            return false;
        }
        for file in self.0.values_mut() {
            file.reported = Some(file.latest);
        }
        true
    }
}

impl WatchedFile {
    fn load(path: &Path) -> Self {
        let attributes = FileAttributes::load(path);
        let latest = content_hash(path, attributes.as_ref());
        Self {
            attributes,
            latest,
            reported: None,
        }
    }

    fn known(self) -> Self {
        Self {
            reported: Some(self.latest),
            ..self
        }
    }

    /// Looks at the file, and returns whether its content has changed.
    fn update(&mut self, path: &Path) -> bool {
        let attributes = FileAttributes::load(path);
        if attributes == self.attributes {
            return false;
        }
        let latest = content_hash(path, attributes.as_ref());
        self.attributes = attributes;
        std::mem::replace(&mut self.latest, latest) != latest
    }
}

/// The attributes of a file that change with its content.
#[derive(Debug, PartialEq, Eq)]
struct FileAttributes {
    length: u64,
    modified: Option<SystemTime>,
    /// Device, file and time of the last change, which a program cannot set.
    #[cfg(unix)]
    inode: (u64, u64, i64, i64),
}

impl FileAttributes {
    /// Follows symbolic links. `None` for what is not a file: reading a pipe would take its content.
    fn load(path: &Path) -> Option<Self> {
        let metadata = path.metadata().ok().filter(Metadata::is_file)?;
        #[cfg(unix)]
        use std::os::unix::fs::MetadataExt;
        Some(Self {
            length: metadata.len(),
            modified: metadata.modified().ok(),
            #[cfg(unix)]
            inode: (
                metadata.dev(),
                metadata.ino(),
                metadata.ctime(),
                metadata.ctime_nsec(),
            ),
        })
    }
}

fn content_hash(path: &Path, attributes: Option<&FileAttributes>) -> ContentHash {
    attributes?;
    let mut content = Vec::new();
    let file = File::open(path).ok()?;
    file.take(MAX_COMPARED_BYTES)
        .read_to_end(&mut content)
        .ok()?;
    Some(Sha256::digest(&content).into())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A file that is watched.
    struct Scene {
        folder: tempfile::TempDir,
        path: PathBuf,
        files: WatchedFiles,
    }

    impl Scene {
        fn new(content: &str) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("tokens");
            fs::write(&path, content).unwrap();
            let mut scene = Self {
                files: WatchedFiles::load(std::slice::from_ref(&path)),
                folder,
                path,
            };
            assert!(!scene.poll());
            scene
        }

        fn poll(&mut self) -> bool {
            self.files.poll(std::slice::from_ref(&self.path))
        }

        /// Polls as often as a change can take.
        fn polls(&mut self) -> [bool; 3] {
            [self.poll(), self.poll(), self.poll()]
        }
    }

    const ONCE: [bool; 3] = [false, true, false];

    #[test]
    fn a_change_is_reported_once_when_it_is_complete() {
        let mut scene = Scene::new("one");
        assert_eq!(scene.polls(), [false; 3]);
        fs::write(&scene.path, "o").unwrap();
        assert!(!scene.poll());
        fs::write(&scene.path, "other").unwrap();
        assert!(!scene.poll(), "it is being written");
        assert_eq!([scene.poll(), scene.poll()], [true, false]);
        // A file that is written again, or touched, is the same.
        fs::write(&scene.path, "other").unwrap();
        assert_eq!(scene.polls(), [false; 3]);
    }

    #[test]
    fn a_file_that_is_replaced_removed_or_created_has_changed() {
        let mut scene = Scene::new("one");
        let next = scene.folder.path().join("next");
        fs::write(&next, "two").unwrap();
        fs::rename(&next, &scene.path).unwrap();
        assert_eq!(scene.polls(), ONCE);
        fs::remove_file(&scene.path).unwrap();
        assert_eq!(scene.polls(), ONCE);
        fs::write(&scene.path, "two").unwrap();
        assert_eq!(scene.polls(), ONCE);
    }

    #[test]
    fn a_file_that_comes_back_unchanged_has_not_changed() {
        let mut scene = Scene::new("one");
        fs::remove_file(&scene.path).unwrap();
        assert!(!scene.poll());
        fs::write(&scene.path, "one").unwrap();
        assert_eq!(scene.polls(), [false; 3]);
    }

    /// A Kubernetes volume: `tokens` → `..data/tokens`, and `..data` → `..1`, which is replaced.
    #[cfg(unix)]
    #[test]
    fn the_link_of_a_kubernetes_volume_is_followed() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for (version, content) in [("..1", "one"), ("..2", "two")] {
            fs::create_dir(at(version)).unwrap();
            fs::write(at(version).join("tokens"), content).unwrap();
        }
        symlink("..1", at("..data")).unwrap();
        symlink("..data/tokens", at("tokens")).unwrap();
        let paths = [at("tokens")];
        let mut files = WatchedFiles::load(&paths);
        assert!(!files.poll(&paths));
        symlink("..2", at("..data_tmp")).unwrap();
        fs::rename(at("..data_tmp"), at("..data")).unwrap();
        assert_eq!([(); 3].map(|()| files.poll(&paths)), ONCE);
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_is_awaited() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens");
        let mut files = FileWatch::start(vec![path.clone()]);
        // Before the first poll.
        fs::write(&path, "one").unwrap();
        files.changed().await;
    }

    #[test]
    fn a_file_that_is_watched_later_is_reported_once() {
        let mut scene = Scene::new("one");
        let paths = [scene.path.clone(), scene.folder.path().join("later")];
        fs::write(&paths[1], "two").unwrap();
        assert_eq!([(); 3].map(|()| scene.files.poll(&paths)), ONCE);
        assert_eq!(scene.polls(), [false; 3]);
    }
}
