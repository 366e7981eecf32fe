//! Calls while links take the place of files and folders.

use super::*;

/// How long links and files take each other's place.
const RACE_TIME: Duration = Duration::from_secs(1);

/// After which a race has failed if not everything has happened in it that should.
const MAX_RACE_TIME: Duration = Duration::from_secs(30);

/// Swaps the file `file` and the directory `swapped` for links out of the root, again and again.
fn swap_for_links(host: &Host, is_over: &AtomicBool) {
    let path = |name: &str| host.path("notes").join(name);
    let rename = |from: &str, to: &str| fs::rename(path(from), path(to)).unwrap();
    while !is_over.load(Ordering::Relaxed) {
        symlink("../notes-secret/secret.md", path("next")).unwrap();
        rename("next", "file");
        rename("swapped", "away");
        symlink("../notes-secret", path("swapped")).unwrap();
        fs::write(path("next"), "inside").unwrap();
        rename("next", "file");
        fs::remove_file(path("swapped")).unwrap();
        rename("away", "swapped");
    }
}

/// The results of the calls of a race.
#[derive(Debug, Default)]
struct RaceCounts {
    successes: [usize; 2],
    refusals: [usize; 2],
}

impl RaceCounts {
    fn add<T>(&mut self, call: usize, result: &Result<T, FileError>) {
        match result {
            Ok(_) => self.successes[call] += 1,
            Err(FileError::LeavesRoot(_) | FileError::IsLink(_)) => self.refusals[call] += 1,
            // In between, the directory does not exist.
            Err(_) => {}
        }
    }

    /// Whether every call has met both the file and the link.
    fn is_complete(&self) -> bool {
        let mut counts = self.successes.iter().chain(&self.refusals);
        counts.all(|count| *count > 0)
    }
}

/// Calls until time is over, and checks that nothing outside is seen.
fn race(host: &Host, mut calls: impl FnMut(&mut RaceCounts)) {
    fs::create_dir(host.path("notes/swapped")).unwrap();
    fs::write(host.path("notes/swapped/secret.md"), "inside").unwrap();
    fs::write(host.path("notes/file"), "inside").unwrap();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| swap_for_links(host, &is_over));
        // Ends the other thread also if a check fails.
        let _end = EndGuard(&is_over);
        let started = Instant::now();
        let mut counts = RaceCounts::default();
        while started.elapsed() < RACE_TIME || !counts.is_complete() {
            calls(&mut counts);
            assert!(started.elapsed() < MAX_RACE_TIME, "{counts:?}");
        }
    });
    host.check_outside();
}

struct EndGuard<'a>(&'a AtomicBool);

impl Drop for EndGuard<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn no_read_leaves_the_root_while_links_take_the_place_of_files() {
    let host = Host::in_memory();
    race(&host, |counts| {
        for (call, path) in ["notes/file", "notes/swapped/secret.md"].iter().enumerate() {
            let result = host.files.read(path);
            counts.add(call, &result);
            if let Ok(content) = result {
                assert_eq!(content, text("inside"));
            }
        }
    });
}

#[test]
fn no_write_leaves_the_root_while_links_take_the_place_of_files() {
    let host = Host::in_memory();
    race(&host, |counts| {
        for (call, path) in ["notes/file", "notes/swapped/secret.md"].iter().enumerate() {
            let result = host.files.write(path, b"written");
            counts.add(call, &result);
        }
    });
    let names = [
        all_names(&host.path("notes")),
        all_names(&host.path("notes/swapped")),
    ];
    assert!(names.iter().flatten().all(|name| !name.ends_with(".tmp")));
}

#[test]
fn no_listing_leaves_the_root_while_links_take_the_place_of_directories() {
    let host = Host::in_memory();
    race(&host, |counts| {
        let result = host.files.list("notes/swapped");
        counts.add(0, &result);
        counts.add(1, &result);
        if let Ok(listing) = result {
            assert_eq!(listing.entries[0].size, Some("inside".len() as u64));
        }
    });
}
