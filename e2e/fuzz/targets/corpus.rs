//! Every target has a corpus.

use std::fs;
use std::path::{Path, PathBuf};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/targets/__fuzz__");

/// The largest corpus of all targets together, in bytes.
const MAX_BYTES: u64 = 400 * 1024;

/// The targets, by the names of their folders: module and test.
const TARGETS: [&str; 10] = [
    "definitions__schemas_agree_with_the_validator_of_their_draft",
    "definitions__published_definitions_can_be_registered_again",
    "event_streams__events_do_not_depend_on_chunks",
    "http_requests__an_agent_answers_every_request",
    "http_requests__a_bridge_answers_every_request",
    "json_text__long_texts_are_scanned_like_short_ones",
    "json_text__scans_agree_with_serde_json",
    "page_frames__the_state_of_a_realm_stays_consistent",
    "page_socket__a_bridge_survives_every_page",
    "settings__printed_settings_can_be_loaded_again",
];

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// A test whose folder is missing would replay nothing, without an error.
#[test]
fn every_target_has_a_small_corpus() {
    let mut folders: Vec<String> = files(Path::new(FOLDER))
        .iter()
        .filter_map(|path| Some(path.file_name()?.to_str()?.to_owned()))
        .collect();
    folders.sort_unstable();
    let mut targets = TARGETS;
    targets.sort_unstable();
    assert_eq!(folders, targets);
    let mut bytes = 0;
    for target in TARGETS {
        let folder = Path::new(FOLDER).join(target);
        assert!(!files(&folder.join("corpus")).is_empty(), "{target}");
        for file in ["corpus", "crashes"]
            .map(|name| files(&folder.join(name)))
            .concat()
        {
            bytes += fs::metadata(file).unwrap().len();
        }
    }
    assert!(bytes <= MAX_BYTES, "all corpora have {bytes} bytes");
}
