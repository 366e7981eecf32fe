//! The settings of a database in the tools file.

use super::*;

fn error(settings: &str) -> String {
    let error = open(Path::new("/srv"), settings).unwrap_err();
    assert!(!error.contains("hunter2"), "{error}");
    error
}

#[test]
fn settings_that_cannot_be_used_are_refused_and_no_password_is_shown() {
    for (settings, expected) in [
        ("url = 'sqlite:shop.db'", "missing field `tables`"),
        ("tables = ['a']", "missing field `url`"),
        (
            "url = 'mysql://root:hunter2@h/d'\ntables = ['a']",
            "not a URL of a database",
        ),
        ("url = 'sqlite:'\ntables = ['a']", "has no file"),
        ("url = 'sqlite::memory:'\ntables = ['a']", "has no file"),
        ("url = 'sqlite:none.db'\ntables = ['a']", "names no file"),
        ("url = 'sqlite:.'\ntables = ['a']", "names no file"),
        ("url = 'sqlite:a'\ntables = []", "`tables` is empty"),
        ("url = 'sqlite:a'\ntables = ['*', 'a']", "must stand alone"),
        (
            "url = 'sqlite:a'\ntables = ['a', 'sqlite_master']",
            "`sqlite_master` in `tables`",
        ),
        (
            "url = 'sqlite:a'\ntables = ['pg_catalog.pg_class']",
            "not a table that can be read",
        ),
        (
            "url = 'sqlite:a'\ntables = ['']",
            "not a table that can be read",
        ),
        (
            "url = 'sqlite:a'\ntables = ['a']\nmax_rows = 0",
            "`max_rows` must be 1 to 1000",
        ),
        (
            "url = 'sqlite:a'\ntables = ['a']\nmax_rows = 1001",
            "`max_rows` must be",
        ),
        (
            "url = 'sqlite:a'\ntables = ['a']\ntimeout = '2m'",
            "`timeout` must be",
        ),
        (
            "url = 'sqlite:a'\ntables = ['a']\ntimeout = '0s'",
            "`timeout` must be",
        ),
        (
            "url = 'sqlite:a'\ntables = ['a']\nwrite = true",
            "unknown field `write`",
        ),
        (
            "url = 'sqlite:a'\ntables = ['a']\npassword = 'hunter2'",
            "has no password",
        ),
        (
            "url = 'sqlite:a'\ntables = ['a']\npassword = 5",
            "`password` must be a string",
        ),
        (
            "url = 'sqlite:a'\ntables = ['a']\npassword = ''",
            "`password` is empty",
        ),
    ] {
        let error = error(settings);
        assert!(error.contains(expected), "{settings}: {error}");
    }
}

#[test]
fn relative_paths_begin_at_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("shop.db"), "").unwrap();
    open(folder.path(), "url = 'sqlite:shop.db'\ntables = ['a']").unwrap();
    // Nothing in a path is a parameter of SQLite.
    let path = folder.path().join("file:shop.db?mode=rwc");
    std::fs::write(path, "").unwrap();
    open(
        folder.path(),
        "url = 'sqlite:file:shop.db?mode=rwc'\ntables = ['a']",
    )
    .unwrap();
}

#[test]
fn all_tools_only_read_and_bound_the_rows() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("shop.db"), "").unwrap();
    let settings = "url = 'sqlite:shop.db'\ntables = ['orders']\nmax_rows = 7";
    let database = open(folder.path(), settings).unwrap();
    let tools = database.tools();
    let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["list_tables", "describe_table", "query"]);
    for tool in tools.iter() {
        assert_eq!(tool.class.effect, ToolEffect::Read);
        assert!(!tool.class.is_open_world);
    }
    let limit = &tools[2].arguments.schema()["properties"]["limit"];
    assert_eq!(limit["maximum"], 7);
    let prompt = database.prompt().unwrap();
    assert_eq!(
        prompt,
        "a SQLite database, which is only read: the tables are `orders`."
    );
}

#[test]
fn the_prompt_names_thirty_tables() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("shop.db"), "").unwrap();
    let names: Vec<_> = (1..=31).map(|number| format!("'t{number}'")).collect();
    let settings = format!("url = 'sqlite:shop.db'\ntables = [{}]", names.join(", "));
    let database = open(folder.path(), &settings).unwrap();
    let prompt = database.prompt().unwrap();
    let end = "`t29`, `t30`, and more that `list_tables` lists.";
    assert!(prompt.ends_with(end), "{prompt}");
}

#[cfg(feature = "postgres")]
#[test]
fn a_server_has_its_password_apart() {
    let tables = "tables = ['a']";
    for (settings, expected) in [
        ("url = 'postgres://u:hunter2@h/d'", "`url` has a password"),
        (
            "url = 'postgres://u@h/d?password=hunter2'",
            "`url` has a password",
        ),
        ("url = 'postgres://u:x?hunter2@h/d'", "`url` has a password"),
        (
            "url = 'postgres://u@h/d?x=hunter2'",
            "not a URL of PostgreSQL",
        ),
        ("url = 'postgres://h:port/d'", "not a URL of PostgreSQL"),
        (
            "url = 'postgres://u@h/d'\npassword = 'hunter2'\npassword_file = 'p'",
            "more than one of",
        ),
        (
            "url = 'postgres://u@h/d'\npassword_file = 'none'",
            "cannot be read",
        ),
        (
            "url = 'postgres://u@h/d'\npassword_secret = 'shop'",
            "`password_secret` needs stored secrets",
        ),
    ] {
        let error = error(&format!("{settings}\n{tables}"));
        assert!(error.contains(expected), "{settings}: {error}");
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("password"), "hunter2\n").unwrap();
    for password in ["password = 'hunter2'", "password_file = 'password'"] {
        let settings = format!("url = 'postgres://u@localhost/d'\n{password}\n{tables}");
        let parsed: DatabaseSettings = toml::from_str(&settings).unwrap();
        let database = open(folder.path(), &settings).unwrap();
        let shown = format!("{parsed:?} {database:?}");
        assert!(!shown.contains("hunter2"), "{shown}");
    }
}

#[cfg(not(feature = "postgres"))]
#[test]
fn a_server_needs_the_feature() {
    let error = error("url = 'postgres://u:hunter2@h/d'\ntables = ['a']");
    assert!(error.contains("feature `postgres`"), "{error}");
}
