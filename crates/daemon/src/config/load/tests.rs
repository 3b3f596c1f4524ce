//! Tests with files as administrators write them, right and wrong.

use super::*;

fn place(files: &[(&str, &str)]) -> (tempfile::TempDir, Source) {
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir(root.path().join("config.d")).unwrap();
    for (name, text) in files {
        std::fs::write(root.path().join(name), text).unwrap();
    }
    let source = Source { system: true, ..Source::below(root.path()) };
    (root, source)
}

#[test]
fn drop_ins_are_merged_in_order_of_their_names() {
    let (root, mut source) = place(&[
        ("config.toml", "policy = \"dss\"\ngrace_ms = 5\n[memory]\nstrict = true\n[[rules]]\nuser = \"a\"\n"),
        ("config.d/20-b.toml", "policy = \"equi\"\n[[rules]]\nuser = \"c\"\n"),
        ("config.d/10-a.toml", "policy = \"pdpa\"\n[memory]\nmoves_mib_per_s = 7\n[[rules]]\nuser = \"b\"\n"),
        ("config.d/30-ignored.txt", "nonsense"),
        ("config.d/.40-hidden.toml", "nonsense"),
    ]);
    source.options.insert("grace_ms".to_owned(), Value::Integer(9));
    let loaded = Config::load(&source).unwrap();
    let config = &loaded.config;
    assert_eq!((config.policy.as_str(), config.grace_ms), ("equi", 9));
    assert!(config.memory.strict && config.memory.moves_mib_per_s == 7, "tables are merged key by key");
    let users: Vec<&str> = config.rules.iter().filter_map(|rule| rule.user.as_deref()).collect();
    assert_eq!(users, ["a", "b", "c"], "rules are appended");
    assert_eq!(config.idle_exit_s, None, "the system's manager stays");
    let at = |file: &str| root.path().join(file).display().to_string();
    assert_eq!(loaded.origins["policy"], format!("{}:1", at("config.d/20-b.toml")));
    assert_eq!(loaded.origins["memory.strict"], format!("{}:4", at("config.toml")));
    assert_eq!(loaded.origins["grace_ms"], "option");
    assert_eq!(loaded.origins["rules.3"], format!("{}:2", at("config.d/20-b.toml")));
    assert_eq!(loaded.files.len(), 3);
}

#[test]
fn what_is_wrong_has_a_file_a_line_and_a_reason() {
    let check = |text: &str, line: u32, expected: &str| {
        let (root, source) = place(&[("config.d/50-mine.toml", text)]);
        let message = Config::load(&source).unwrap_err().to_string();
        let file = root.path().join("config.d/50-mine.toml");
        let place = format!("{}:{line}: ", file.display());
        assert!(message.starts_with(&place), "{message}, expected it at {place}");
        assert!(message.contains(expected), "{message}");
    };
    check("\npolcy = \"equi\"\n", 2, "unknown field `polcy`; did you mean `policy`?");
    check("\n\n[memory]\nstrict = 1\n", 4, "invalid type: integer `1`, expected a boolean");
    check("[memory]\nstirct = true\n", 2, "did you mean `strict`?");
    check("completely_different = 1\n", 1, "unknown field `completely_different`, expected one of");
    check("policy = \n", 1, "");
    check("cgroups = \"of\"\n", 1, "did you mean `off`?");
    check("# a comment\ngrace_ms = 0\n", 2, "grace_ms: expected 1 to 10000");
    check("[users.alice]\nwieght = 2.0\n", 2, "did you mean `weight`?");
    check("policy = \"equi\"\npolicy = \"dss\"\n", 2, "duplicate key");
}

#[test]
fn what_only_the_system_has_is_refused_elsewhere() {
    let (_root, source) = place(&[("config.toml", "grace_ms = 5\n[users.alice]\nweight = 2.0\n")]);
    assert!(Config::load(&source).is_ok());
    let message = Config::load(&Source { system: false, ..source }).unwrap_err().to_string();
    assert!(message.contains("config.toml:2: `users` is only for the system's manager"), "{message}");
}

#[test]
fn a_file_that_must_be_there_is_missed() {
    let root = tempfile::tempdir().unwrap();
    let message = Config::load(&Source::only(root.path().join("none.toml"))).unwrap_err().to_string();
    assert!(message.contains("none.toml: cannot be read"), "{message}");
    let nothing = Config::load(&Source::below(root.path())).unwrap();
    assert_eq!(Config { source: Source::default(), ..nothing.config }, Config::default());
}

#[test]
fn what_one_may_not_read_is_no_reason_to_refuse_ones_own_manager() {
    let denied = || unreadable(Path::new("/etc/x/config.toml"), &ErrorKind::PermissionDenied.into());
    let mut warnings = Vec::new();
    let of = |system| Source { system, ..Source::default() };
    assert!(of(false).optional::<()>(Err(denied()), &mut warnings).unwrap().is_none());
    assert!(warnings[0].starts_with("/etc/x/config.toml: cannot be read"), "{warnings:?}");
    assert!(of(true).optional::<()>(Err(denied()), &mut warnings).is_err(), "the administrator's counts");
    // Other faults of one's own files are faults, and a file that is not there is none.
    let broken = unreadable(Path::new("/x"), &ErrorKind::InvalidData.into());
    assert!(of(false).optional::<()>(Err(broken), &mut warnings).is_err());
    let absent = unreadable(Path::new("/dev/null/x"), &ErrorKind::NotADirectory.into());
    assert!(of(true).optional::<()>(Err(absent), &mut warnings).unwrap().is_none());
    assert_eq!(warnings.len(), 1);
}
