//! The names by which models call the tools of sources.

use super::*;

fn names(sources: &Sources) -> Vec<String> {
    sources
        .offered()
        .iter()
        .map(|tool| tool.name.clone())
        .collect()
}

#[test]
fn tools_of_two_sources_never_have_one_name() {
    let new = |names: &[&str]| {
        let sources = names
            .iter()
            .map(|name| Arc::new(FakeSource::new(name)) as Arc<_>);
        let limits = SourceLimits {
            max_calls: 1,
            max_calls_per_user: 1,
        };
        let records = Records {
            audit: AuditLog::default(),
            metrics: Arc::new(Metrics::new()),
            secrets: None,
        };
        Sources::new(sources.collect(), Vec::new(), Vec::new(), limits, records).map(|_| ())
    };
    assert_eq!(new(&["mail", "mailbox", "mcp-mail"]), Ok(()));
    let error = new(&["mcp-mail-work", "mcp-mail"]).unwrap_err();
    assert!(
        error.contains("`mcp-mail-work` has a name that begins with `mcp-mail-`"),
        "{error}"
    );
    for names in [["a", "a"], ["notes", "Notes"]] {
        let error = new(&names).unwrap_err();
        assert!(error.contains("differ at most in case"), "{error}");
    }
}

#[test]
fn a_source_that_lists_a_name_twice_has_one_tool_with_it() {
    let source = FakeSource::with_names("s", &["a.b", "a.b", "a b"]);
    let names = names(&sources("", vec![Arc::new(source)]));
    assert_eq!(names.len(), 2, "{names:?}");
    assert_ne!(names[0], names[1]);
}

#[test]
fn a_source_whose_tools_change_is_named_anew() {
    let source = Arc::new(FakeSource::with_names("s", &["old"]));
    let sources = sources("", vec![Arc::clone(&source) as _]);
    assert_eq!(names(&sources), ["s-old"]);
    assert!(Arc::ptr_eq(&sources.offered(), &sources.offered()));
    source.set_tools(&["new", "newer"]);
    assert_eq!(names(&sources), ["s-new", "s-newer"]);
}

#[test]
fn long_definitions_are_warned_of_with_the_largest_source() {
    let named = |prefix: &str, count: usize| {
        let names: Vec<_> = (0..count).map(|n| format!("{prefix}{n}")).collect();
        FakeSource::with_names(
            prefix,
            &names.iter().map(String::as_str).collect::<Vec<_>>(),
        )
    };
    let all = "[profiles.all]\nallow = ['*']\ngrant = ['read']\n";
    let few = "[profiles.few]\nallow = ['small-*']\ngrant = ['read']\n";
    let sources = sources(
        &format!("{all}{few}"),
        vec![Arc::new(named("small", 3)), Arc::new(named("large", 400))],
    );
    let offered = sources.offered();
    let warning = |index: usize| sources.definitions_warning(index, &offered);
    let text = warning(0).unwrap();
    assert!(
        text.contains("`all` has") && text.contains("`large` alone has"),
        "{text}"
    );
    assert_eq!(warning(1), None);
}

#[test]
fn names_with_hyphens_and_of_sixty_characters_stay_as_they_are() {
    let long = "l".repeat(60);
    let source = FakeSource::with_names("s-1", &["get-env", &long, &format!("{long}x")]);
    let names = names(&sources("", vec![Arc::new(source)]));
    assert_eq!(names[0], "s-1-get-env");
    assert_eq!(names[1], format!("s-1-{long}"));
    assert!(names[2].len() == 64 && names[2] != names[1], "{names:?}");
}

#[test]
fn patterns_that_match_no_known_tool_are_warned_of() {
    let profile = "[profiles.p]\ngrant = ['read']\nallow = ['notes-*', 'note-*', 'read', 'mcp-late-*', \
                   '*-search', '*-find']\ndeny = ['notes-writ', 'notes-write', '*-delete_*']\n";
    let mut late = FakeSource::with_names("mcp-late", &[]);
    late.has_known_tools = false;
    let notes: Arc<dyn source::ToolSource> = Arc::new(FakeSource::new("notes"));
    let patterns = |warnings: Vec<String>| -> Vec<String> {
        let pattern = |text: &String| text.split('`').nth(3).unwrap().to_owned();
        warnings.iter().map(pattern).collect()
    };
    let known = sources(profile, vec![Arc::clone(&notes)]).pattern_warnings();
    assert!(
        known[0].starts_with("the profile `p` has `note-*` in `allow`, which matches no tool"),
        "{known:?}"
    );
    assert_eq!(
        patterns(known),
        ["note-*", "read", "mcp-late-*", "*-find", "notes-writ"]
    );
    // A pattern that could match a tool that is not known yet is not a mistake.
    let partly_known = sources(profile, vec![notes, Arc::new(late)]).pattern_warnings();
    assert_eq!(patterns(partly_known), ["note-*", "read", "notes-writ"]);
}

#[test]
fn sources_and_profiles_are_described() {
    let profiles = "[profiles.staff]\nroles = ['staff']\nallow = ['notes-*', 'mcp-late-*']\n\
                    grant = ['read', 'write']\nask = ['write']\n[profiles.none]\nself_made = true\n";
    let mut late = FakeSource::with_names("mcp-late", &[]);
    late.has_known_tools = false;
    let notes = FakeSource::new("notes");
    let sources = sources(profiles, vec![Arc::new(notes), Arc::new(late)]);
    assert_eq!(
        sources.describe(),
        "source notes: fake, 4 tools\n\
         source mcp-late: fake, its tools are not pinned\n\
         profile staff: for signed tokens, with roles [\"staff\"]\n  \
           notes-read: read\n  \
           notes-write: write, after a person's approval\n  \
           mcp-late-…: not known before it has started\n\
         profile none: for all tokens, also those that pages have made themselves\n  \
           no tool\n"
    );
}
