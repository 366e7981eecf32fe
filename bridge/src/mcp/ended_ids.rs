//! The ids of MCP sessions that their clients have ended, so that no request restores them. With a
//! state folder they are also known after a restart.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bridge_auth::RealmId;
use bridge_edge::{StateFile, StateFolder, StateFolderError};

use super::large_body::block_in_place;

/// The name of the file in the state folder.
pub(crate) const ENDED_IDS_FILE: &str = "ended-mcp-sessions";

/// The maximum number of ids. Beyond it, older ones of the groups with the most are forgotten, and no
/// id of such a group that is as old as one of them is restored any more.
const MAX_IDS: usize = 65_536;

/// How many ids remain at most when some are forgotten.
const KEPT_IDS: usize = MAX_IDS / 4 * 3;

/// The number of groups into which realms are divided by their hashes. Each can keep an id, and a token
/// that ends many sessions affects few others.
const GROUPS: u16 = 16_384;

/// The maximum number of bytes that wait for the disk. Beyond it, the whole file is written.
const MAX_UNWRITTEN_BYTES: usize = 64 * 1024;

/// The time after which an id is not restored, whether it has ended or not, in seconds.
pub(super) const MAX_AGE_SECONDS: u64 = 24 * 60 * 60;

/// The unique part of the id of an MCP session, when the id was made in Unix seconds, and the group of
/// its realm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct UniqueId {
    number: u128,
    made_at: u64,
    group: u16,
}

impl UniqueId {
    pub(super) fn new(realm: RealmId, number: u128, made_at: u64) -> Self {
        let [first, second, ..] = *realm.as_bytes();
        let group = u16::from_be_bytes([first, second]) % GROUPS;
        Self {
            number,
            made_at,
            group,
        }
    }

    /// Whether the id is too old to be restored.
    pub(super) fn is_expired(&self, now: u64) -> bool {
        is_expired(self.made_at, now)
    }
}

/// Whether a time is a day ago. The clock may go back, but a time that is a day ahead was wrong.
fn is_expired(time: u64, now: u64) -> bool {
    time.abs_diff(now) >= MAX_AGE_SECONDS
}

/// The ids of the sessions that have ended.
#[derive(Debug)]
pub(super) struct EndedIds {
    ids: Mutex<Ids>,
    file: Option<StateFile>,
}

#[derive(Debug, Default)]
struct Ids {
    /// The ids by their numbers.
    ended: HashMap<u128, UniqueId>,
    /// The ids of a group that were made until this time count as ended.
    forgotten_until: HashMap<u16, u64>,
    /// The lines that are not in the file yet.
    unwritten: String,
    /// Whether the whole file must be written.
    must_replace: bool,
    /// Whether a thread writes to the file. It writes what is added meanwhile.
    is_writing: bool,
}

/// A change of the file.
enum Change {
    Append(String),
    Replace(String),
}

impl EndedIds {
    /// Loads the ids from the state folder, if there is one.
    ///
    /// # Errors
    ///
    /// [`StateFolderError`] when the file cannot be read. Without it, sessions that have ended could be
    /// restored.
    pub(super) fn load(folder: Option<&StateFolder>) -> Result<Self, StateFolderError> {
        let file = folder.map(|folder| folder.file(ENDED_IDS_FILE));
        let mut ids = Ids::default();
        if let Some(file) = &file {
            let text = file.load()?;
            ids = Ids::parse(&text);
            let lines = ids.lines();
            // Expired ids stay until others need room: the clock may be wrong.
            ids.must_replace = lines.len() != text.len() && !file.replace(&lines);
        }
        Ok(Self {
            ids: Mutex::new(ids),
            file,
        })
    }

    /// Records that a session has ended.
    pub(super) fn insert(&self, id: UniqueId, now: u64) {
        let mut ids = self.lock();
        ids.insert(id, now);
        let is_writing = std::mem::replace(&mut ids.is_writing, self.file.is_some());
        drop(ids);
        if let Some(file) = self.file.as_ref().filter(|_| !is_writing) {
            block_in_place(|| self.write(file));
        }
    }

    /// Writes to the file until it contains everything. Only one thread does so: on a slow disk, the
    /// others continue.
    fn write(&self, file: &StateFile) {
        loop {
            let mut ids = self.lock();
            let Some(change) = ids.take_change() else {
                ids.is_writing = false;
                return;
            };
            drop(ids);
            let is_written = match change {
                Change::Append(lines) => file.append(&lines),
                Change::Replace(lines) => file.replace(&lines),
            };
            if !is_written {
                // The next id that is added tries again.
                let mut ids = self.lock();
                ids.must_replace = true;
                ids.is_writing = false;
                return;
            }
        }
    }

    /// Calls `restore` unless the session has ended. No session ends meanwhile, and no other is
    /// restored. Returns `None` if it has ended.
    pub(super) fn unless_ended<T>(
        &self,
        id: UniqueId,
        now: u64,
        restore: impl FnOnce() -> T,
    ) -> Option<T> {
        let ids = self.lock();
        let has_ended = ids.ended.contains_key(&id.number) || ids.is_forgotten(&id, now);
        (!has_ended).then(restore)
    }

    fn lock(&self) -> MutexGuard<'_, Ids> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ids {
    fn insert(&mut self, id: UniqueId, now: u64) {
        self.ended.insert(id.number, id);
        self.unwritten.push_str(&line(&id));
        if self.ended.len() > MAX_IDS {
            self.make_room(now);
            self.must_replace = true;
        }
        if self.must_replace || self.unwritten.len() > MAX_UNWRITTEN_BYTES {
            self.must_replace = true;
            self.unwritten.clear();
        }
    }

    fn take_change(&mut self) -> Option<Change> {
        let unwritten = std::mem::take(&mut self.unwritten);
        if std::mem::take(&mut self.must_replace) {
            return Some(Change::Replace(self.lines()));
        }
        (!unwritten.is_empty()).then_some(Change::Append(unwritten))
    }

    fn is_forgotten(&self, id: &UniqueId, now: u64) -> bool {
        let until = self.forgotten_until.get(&id.group);
        until.is_some_and(|until| id.made_at <= *until && !is_expired(*until, now))
    }

    /// Removes expired ids. Beyond [`KEPT_IDS`], the groups with the most lose their oldest ids.
    fn make_room(&mut self, now: u64) {
        self.ended.retain(|_, id| !id.is_expired(now));
        self.forgotten_until
            .retain(|_, until| !is_expired(*until, now));
        let mut groups: HashMap<u16, Vec<u64>> = HashMap::new();
        for id in self.ended.values() {
            groups.entry(id.group).or_default().push(id.made_at);
        }
        let mut share = MAX_IDS;
        while groups.values().map(|it| it.len().min(share)).sum::<usize>() > KEPT_IDS {
            share /= 2;
        }
        for (group, mut times) in groups {
            times.sort_unstable_by(|one, other| other.cmp(one));
            if let Some(newest) = times.get(share) {
                let until = self.forgotten_until.entry(group).or_default();
                *until = (*until).max(*newest);
            }
        }
        let mut ended = std::mem::take(&mut self.ended);
        let count = ended.len();
        ended.retain(|_, id| !self.is_forgotten(id, now));
        let forgotten = count - ended.len();
        self.ended = ended;
        if forgotten > 0 {
            tracing::warn!(
                forgotten,
                "too many MCP sessions were ended within 24 h: older sessions of the tokens that \
                 ended the most do not continue after a restart"
            );
        }
    }

    /// Parses lines, and ignores those that are not complete.
    fn parse(text: &str) -> Self {
        let mut ids = Self::default();
        for line in text.lines() {
            match parse_line(line) {
                Some(EndedRecord::Ended(id)) => {
                    ids.ended.insert(id.number, id);
                }
                Some(EndedRecord::ForgottenUntil { group, until }) => {
                    let latest = ids.forgotten_until.entry(group).or_default();
                    *latest = (*latest).max(until);
                }
                None => {}
            }
        }
        ids
    }

    fn lines(&self) -> String {
        let mut lines = String::new();
        for (group, until) in &self.forgotten_until {
            // Writing to a string does not fail.
            let _ = writeln!(lines, "{ALL_UNTIL}{until:020} {group:05}");
        }
        for id in self.ended.values() {
            lines.push_str(&line(id));
        }
        lines
    }
}

/// The beginning of a line about all ids of a group until a time.
const ALL_UNTIL: &str = "all until ";

/// The record in a line of the file.
enum EndedRecord {
    Ended(UniqueId),
    ForgottenUntil { group: u16, until: u64 },
}

/// All numbers have all their digits, so that a part of a line is not another line.
fn line(id: &UniqueId) -> String {
    let UniqueId {
        number,
        made_at,
        group,
    } = id;
    format!("{made_at:020} {group:05} {number:032x}\n")
}

fn parse_line(line: &str) -> Option<EndedRecord> {
    let is_about_all = line.starts_with(ALL_UNTIL);
    let mut fields = line.trim_start_matches(ALL_UNTIL).split(' ');
    let mut field = |digits: usize| fields.next().filter(|it| it.len() == digits);
    let (time, group) = (field(20)?.parse().ok()?, field(5)?.parse().ok()?);
    if is_about_all {
        return Some(EndedRecord::ForgottenUntil { group, until: time });
    }
    let number = u128::from_str_radix(field(32)?, 16).ok()?;
    Some(EndedRecord::Ended(UniqueId {
        number,
        made_at: time,
        group,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_800_000_000;

    fn realm(token: &str) -> RealmId {
        RealmId::from_token(token)
    }

    fn id(number: u128, made_at: u64) -> UniqueId {
        UniqueId::new(realm("token"), number, made_at)
    }

    fn has_ended(ids: &EndedIds, id: UniqueId) -> bool {
        ids.unless_ended(id, NOW, || ()).is_none()
    }

    fn load(folder: &std::path::Path) -> EndedIds {
        EndedIds::load(Some(&StateFolder::open(folder).unwrap())).unwrap()
    }

    fn file_of(folder: &std::path::Path) -> std::path::PathBuf {
        folder.join(ENDED_IDS_FILE)
    }

    #[test]
    fn ids_stay_ended_over_restarts() {
        let path = tempfile::tempdir().unwrap();
        let (old, new, other) = (id(1, NOW - 100), id(2, NOW), id(3, NOW));
        let ids = load(path.path());
        ids.insert(old, NOW);
        // The clock may be wrong.
        ids.insert(new, NOW + 2 * MAX_AGE_SECONDS);
        drop(ids);
        // A crash leaves a part of a line.
        let text = std::fs::read_to_string(file_of(path.path())).unwrap();
        for torn in [
            "",
            "0000",
            "00000000001800000000 00001 0000000000000000000000000000000",
            "all until 00000000001800000000 0000",
            "\u{0}",
        ] {
            std::fs::write(file_of(path.path()), format!("{text}{torn}")).unwrap();
            let ids = load(path.path());
            assert!(has_ended(&ids, old) && has_ended(&ids, new), "{torn:?}");
            assert!(!has_ended(&ids, other), "{torn:?}");
            let lines = std::fs::read_to_string(file_of(path.path())).unwrap();
            assert_eq!(lines.len(), text.len(), "{torn:?}");
        }
    }

    #[test]
    fn an_id_expires_a_day_before_and_after_its_time() {
        for (now, is_expired) in [
            (NOW, false),
            (NOW + MAX_AGE_SECONDS - 1, false),
            (NOW + MAX_AGE_SECONDS, true),
            (NOW - MAX_AGE_SECONDS + 1, false),
            (NOW - MAX_AGE_SECONDS, true),
            (0, true),
            (u64::MAX, true),
        ] {
            assert_eq!(id(1, NOW).is_expired(now), is_expired, "{now}");
        }
        // An entry that was made while the clock was wrong does not count once it is right.
        let ids = EndedIds::load(None).unwrap();
        let group = id(1, NOW).group;
        for (until, is_forgotten) in [(NOW + 100, true), (NOW + 365 * MAX_AGE_SECONDS, false)] {
            ids.lock().forgotten_until.insert(group, until);
            assert_eq!(has_ended(&ids, id(1, NOW)), is_forgotten, "{until}");
        }
    }

    #[test]
    fn beyond_the_maximum_only_the_token_with_the_most_loses_older_ids() {
        let path = tempfile::tempdir().unwrap();
        let other = UniqueId::new(realm("other"), u128::MAX, NOW);
        assert_ne!(other.group, id(0, NOW).group);
        let check = |ids: &EndedIds| {
            assert!(ids.lock().ended.len() <= KEPT_IDS);
            // One that was never recorded, and is as old as one that was forgotten.
            for made_at in [NOW, NOW + MAX_IDS as u64 / 2 - 1] {
                assert!(has_ended(ids, id(u128::MAX - 1, made_at)));
            }
            assert!(!has_ended(ids, id(u128::MAX - 1, NOW + MAX_IDS as u64)));
            assert!(has_ended(ids, id(MAX_IDS as u128, NOW + MAX_IDS as u64)));
            assert!(has_ended(ids, other));
            let number = u128::MAX - 1;
            assert!(!has_ended(ids, UniqueId { number, ..other }), "not ended");
        };
        let ids = EndedIds::load(None).unwrap();
        ids.insert(other, NOW);
        for number in 0..=MAX_IDS as u64 {
            ids.insert(id(number.into(), NOW + number), NOW);
        }
        check(&ids);
        let all = ids.lock().lines();
        std::fs::write(file_of(path.path()), all).unwrap();
        check(&load(path.path()));
    }

    #[test]
    fn groups_with_few_ids_keep_them() {
        let mut ids = Ids::default();
        for number in 0..=MAX_IDS as u64 {
            let group = u16::try_from(number % u64::from(GROUPS)).unwrap();
            let made_at = NOW + number / u64::from(GROUPS);
            let number = number.into();
            ids.insert(
                UniqueId {
                    number,
                    made_at,
                    group,
                },
                NOW,
            );
        }
        let newest = |id: &&UniqueId| id.made_at > NOW + 1;
        assert_eq!(ids.ended.values().filter(newest).count(), ids.ended.len());
        assert!(ids.ended.len() > usize::from(GROUPS), "{}", ids.ended.len());
    }

    #[test]
    fn what_could_not_be_written_is_written_later() {
        let parent = tempfile::tempdir().unwrap();
        let [path, away] = ["state", "away"].map(|name| parent.path().join(name));
        let ids = load(&path);
        ids.insert(id(1, NOW), NOW);
        std::fs::rename(&path, &away).unwrap();
        ids.insert(id(2, NOW), NOW);
        std::fs::rename(&away, &path).unwrap();
        // The first part of a line, which a full disk leaves.
        let text = std::fs::read_to_string(file_of(&path)).unwrap();
        std::fs::write(file_of(&path), format!("{text}000")).unwrap();
        ids.insert(id(3, NOW), NOW);
        drop(ids);
        let ids = load(&path);
        assert!(
            [1, 2, 3]
                .iter()
                .all(|number| has_ended(&ids, id(*number, NOW)))
        );
    }

    #[test]
    fn while_a_thread_writes_the_others_leave_their_lines_to_it() {
        let path = tempfile::tempdir().unwrap();
        let ids = load(path.path());
        ids.lock().is_writing = true;
        for number in 0..10_000 {
            ids.insert(id(number, NOW), NOW);
        }
        assert!(!file_of(path.path()).exists());
        assert!(ids.lock().unwritten.len() <= MAX_UNWRITTEN_BYTES);
        ids.write(ids.file.as_ref().unwrap());
        assert!(!ids.lock().is_writing);
        drop(ids);
        assert_eq!(load(path.path()).lock().ended.len(), 10_000);
    }

    #[test]
    fn a_file_that_cannot_be_read_is_an_error() {
        let path = tempfile::tempdir().unwrap();
        let folder = StateFolder::open(path.path()).unwrap();
        std::fs::create_dir(file_of(path.path())).unwrap();
        let error = EndedIds::load(Some(&folder)).unwrap_err().to_string();
        assert!(error.contains(ENDED_IDS_FILE), "{error}");
    }
}
