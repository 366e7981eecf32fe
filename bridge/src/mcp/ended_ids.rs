//! The ids of MCP sessions that their clients have ended, so that no request restores them. With a
//! state folder they are also known after a restart.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bridge_edge::{StateFile, StateFolder, StateFolderError};

use super::large_body::block_in_place;

/// The name of the file in the state folder.
const FILE: &str = "ended-mcp-sessions";

/// The maximum number of ids. Beyond it, the older half is forgotten, and no id that is as old as one
/// of them is restored any more.
const MAX_IDS: usize = 65_536;

/// The time after which an id is not restored, whether it has ended or not, in seconds.
pub(super) const MAX_AGE_SECONDS: u64 = 24 * 60 * 60;

/// The unique part of the id of an MCP session, and when the id was made in Unix seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct UniqueId {
    pub(super) number: u128,
    pub(super) made_at: u64,
}

impl UniqueId {
    /// Whether the id is too old to be restored. One from the future is not: the clock went back.
    pub(super) fn is_expired(&self, now: u64) -> bool {
        now.saturating_sub(self.made_at) >= MAX_AGE_SECONDS
    }
}

/// The ids of the sessions that have ended.
#[derive(Debug)]
pub(super) struct EndedIds {
    ids: Mutex<Ids>,
    file: Option<StateFile>,
}

#[derive(Debug, Default)]
struct Ids {
    /// When each id was made, by its number.
    made_at: HashMap<u128, u64>,
    /// Ids that were made until this time count as ended.
    forgotten_until: Option<u64>,
}

impl EndedIds {
    /// Loads the ids from the state folder, if there is one.
    ///
    /// # Errors
    ///
    /// [`StateFolderError`] when the file cannot be read. Without it, sessions that have ended could be
    /// restored.
    pub(super) fn load(folder: Option<&StateFolder>, now: u64) -> Result<Self, StateFolderError> {
        let file = folder.map(|folder| folder.file(FILE));
        let mut ids = Ids::default();
        if let Some(file) = &file {
            let text = file.load()?;
            ids = Ids::parse(&text);
            ids.remove_expired(now);
            let lines = ids.lines();
            if lines.len() != text.len() {
                file.begin().replace(&lines);
            }
        }
        Ok(Self {
            ids: Mutex::new(ids),
            file,
        })
    }

    /// Records that a session has ended.
    pub(super) fn insert(&self, id: UniqueId, now: u64) {
        let insert = || self.lock().insert(id, now);
        match &self.file {
            None => drop(insert()),
            Some(file) => block_in_place(|| {
                // Held from before the change, so that the file has the changes in their order.
                let change = file.begin();
                match insert() {
                    Some(all) => change.replace(&all),
                    None => change.append(&line(id.number, id.made_at)),
                }
            }),
        }
    }

    /// Calls `restore` unless the session has ended. No session ends meanwhile, and no other is
    /// restored.
    pub(super) fn unless_ended<T>(
        &self,
        id: UniqueId,
        restore: impl FnOnce() -> Option<T>,
    ) -> Option<T> {
        let ids = self.lock();
        let is_forgotten = ids.forgotten_until.is_some_and(|until| id.made_at <= until);
        if is_forgotten || ids.made_at.contains_key(&id.number) {
            return None;
        }
        restore()
    }

    fn lock(&self) -> MutexGuard<'_, Ids> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ids {
    /// Adds an id. Returns all lines if others were removed.
    fn insert(&mut self, id: UniqueId, now: u64) -> Option<String> {
        self.made_at.insert(id.number, id.made_at);
        if self.made_at.len() <= MAX_IDS {
            return None;
        }
        self.remove_expired(now);
        if self.made_at.len() > MAX_IDS / 2 {
            let mut times: Vec<u64> = self.made_at.values().copied().collect();
            let (_, median, _) = times.select_nth_unstable(self.made_at.len() / 2);
            let until = self.forgotten_until.unwrap_or(0).max(*median);
            self.forgotten_until = Some(until);
            self.made_at.retain(|_, made_at| *made_at > until);
        }
        Some(self.lines())
    }

    fn remove_expired(&mut self, now: u64) {
        let is_expired = |number, made_at| UniqueId { number, made_at }.is_expired(now);
        self.made_at
            .retain(|number, made_at| !is_expired(*number, *made_at));
        self.forgotten_until
            .take_if(|made_at| is_expired(0, *made_at));
    }

    /// Parses lines, and ignores those that are not complete.
    fn parse(text: &str) -> Self {
        let mut ids = Self::default();
        for line in text.lines() {
            match parse_line(line) {
                Some((Some(number), made_at)) => {
                    ids.made_at.insert(number, made_at);
                }
                Some((None, until)) => {
                    ids.forgotten_until = ids.forgotten_until.max(Some(until));
                }
                None => {}
            }
        }
        ids
    }

    fn lines(&self) -> String {
        let mut lines = String::new();
        if let Some(until) = self.forgotten_until {
            // Writing to a string does not fail.
            let _ = writeln!(lines, "{ALL_UNTIL}{until:020}");
        }
        for (number, made_at) in &self.made_at {
            lines.push_str(&line(*number, *made_at));
            lines.push('\n');
        }
        lines
    }
}

/// The beginning of a line about all ids until a time.
const ALL_UNTIL: &str = "all until ";

/// All numbers have all their digits, so that a part of a line is not another line.
fn line(number: u128, made_at: u64) -> String {
    format!("{made_at:020} {number:032x}")
}

/// Parses a line. Without a number, it is about all ids until the time.
fn parse_line(line: &str) -> Option<(Option<u128>, u64)> {
    let seconds = |digits: &str| digits.parse().ok().filter(|_| digits.len() == 20);
    if let Some(until) = line.strip_prefix(ALL_UNTIL) {
        return Some((None, seconds(until)?));
    }
    let (made_at, number) = line.split_once(' ')?;
    let parsed = u128::from_str_radix(number, 16).ok();
    let number = parsed.filter(|_| number.len() == 32)?;
    Some((Some(number), seconds(made_at)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_800_000_000;

    fn id(number: u128, made_at: u64) -> UniqueId {
        UniqueId { number, made_at }
    }

    fn has_ended(ids: &EndedIds, id: UniqueId) -> bool {
        ids.unless_ended(id, || Some(())).is_none()
    }

    fn file_of(folder: &std::path::Path) -> std::path::PathBuf {
        folder.join(FILE)
    }

    #[test]
    fn ids_stay_ended_over_restarts_until_they_expire() {
        let path = tempfile::tempdir().unwrap();
        let load = |now| {
            let folder = StateFolder::open(path.path()).unwrap();
            EndedIds::load(Some(&folder), now).unwrap()
        };
        let (old, new, other) = (id(1, NOW - 100), id(2, NOW), id(3, NOW));
        let ids = load(NOW);
        ids.insert(old, NOW);
        ids.insert(new, NOW);
        drop(ids);
        // The clock may go back, and a crash leaves a part of a line.
        let text = std::fs::read_to_string(file_of(path.path())).unwrap();
        for torn in [
            "",
            "0000",
            "00000000001800000000 0000000000000000000000000000000",
            "\u{0}",
        ] {
            std::fs::write(file_of(path.path()), format!("{text}{torn}")).unwrap();
            for now in [NOW, NOW - 10 * MAX_AGE_SECONDS] {
                let ids = load(now);
                assert!(has_ended(&ids, old) && has_ended(&ids, new), "{torn:?}");
                assert!(!has_ended(&ids, other), "{torn:?}");
            }
        }
        let ids = load(NOW - 100 + MAX_AGE_SECONDS);
        assert!(!has_ended(&ids, old) && has_ended(&ids, new));
        assert!(old.is_expired(NOW - 100 + MAX_AGE_SECONDS) && !new.is_expired(0));
        drop(ids);
        let lines = std::fs::read_to_string(file_of(path.path())).unwrap();
        assert_eq!(
            lines.lines().count(),
            1,
            "expired ones are removed: {lines}"
        );
    }

    #[test]
    fn beyond_the_maximum_older_ids_count_as_ended() {
        let path = tempfile::tempdir().unwrap();
        let folder = StateFolder::open(path.path()).unwrap();
        let check = |ids: &EndedIds| {
            assert!(ids.lock().made_at.len() <= MAX_IDS / 2 + 1);
            // One that was never recorded, and is as old as one that was forgotten.
            for made_at in [NOW, NOW + MAX_IDS as u64 / 2] {
                assert!(has_ended(ids, id(u128::MAX - 1, made_at)));
            }
            assert!(!has_ended(ids, id(u128::MAX - 1, NOW + MAX_IDS as u64)));
            assert!(has_ended(ids, id(MAX_IDS as u128, NOW + MAX_IDS as u64)));
        };
        let ids = EndedIds::load(None, NOW).unwrap();
        for number in 0..=MAX_IDS as u64 {
            ids.insert(id(number.into(), NOW + number), NOW);
        }
        check(&ids);
        // All of it is written when something is removed.
        let all = ids.lock().lines();
        std::fs::write(file_of(path.path()), all).unwrap();
        check(&EndedIds::load(Some(&folder), NOW).unwrap());
    }

    #[test]
    fn a_file_that_cannot_be_read_is_an_error() {
        let path = tempfile::tempdir().unwrap();
        let folder = StateFolder::open(path.path()).unwrap();
        std::fs::create_dir(file_of(path.path())).unwrap();
        let error = EndedIds::load(Some(&folder), NOW).unwrap_err().to_string();
        assert!(error.contains(FILE), "{error}");
    }
}
