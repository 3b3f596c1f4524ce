//! People change programs that run: limits, weight, class, by any name; and what holds afterwards.

use numaestro_abi::control::{AppName, AppWishes, Class, Most, NewWishes, Options, RefusalKind, Reply, Request};
use numaestro_abi::page::flag;
use numaestro_skip::skip;

use crate::stage::{Client, Stage, wait_for};

const QUIET: &str = "unmanaged = false\n";

fn max(processors: u32) -> NewWishes {
    NewWishes { max: Some(Most::Processors(processors)), ..NewWishes::default() }
}

fn no_limit() -> NewWishes {
    NewWishes { max: Some(Most::All), ..NewWishes::default() }
}

fn ask(stage: &Stage, app: impl Into<String>, wishes: NewWishes) -> Reply {
    stage.connect().ask(&Request::Set { app: AppName::Word(app.into()), wishes }).unwrap()
}

/// Sets them; the wishes that hold then.
fn set(stage: &Stage, app: impl Into<String>, wishes: NewWishes) -> Vec<AppWishes> {
    match ask(stage, app, wishes) {
        Reply::Set { apps } => apps,
        other => panic!("{other:?}"),
    }
}

fn refused(stage: &Stage, app: &str, wishes: NewWishes) -> (String, RefusalKind) {
    match ask(stage, app, wishes) {
        Reply::Refused { reason, hint, kind } => {
            assert!(!hint.is_empty(), "{reason}");
            (reason, kind)
        }
        other => panic!("{app} is not refused: {other:?}"),
    }
}

/// A stage and a program with a page that has all its processors, at least two.
fn alone() -> Option<(Stage, Client, u64, u32)> {
    let stage = Stage::new(QUIET);
    let there = stage.processors();
    if there < 2 {
        return None;
    }
    let mut client = stage.client();
    let app = client.hello(64);
    client.say("adopted");
    assert_eq!(client.page()[1], there);
    Some((stage, client, app, there))
}

#[test]
fn a_limit_is_in_the_page_when_the_answer_comes() {
    let Some((stage, mut client, app, there)) = alone() else { skip!("one processor only") };
    let holds = set(&stage, client.pid().to_string(), max(1));
    assert_eq!((holds[0].app, holds[0].max, holds[0].count), (app, Some(1), 1));
    assert_eq!(client.page()[1], 1);
    client.say("adopted");
    let seen = stage.app(app).unwrap();
    assert_eq!((seen.count, seen.max, seen.request), (1, Some(1), 1));
    assert_eq!(set(&stage, "A", no_limit())[0].max, None);
    assert_eq!(client.page()[1], there);
}

#[test]
fn the_persons_limit_goes_before_the_programs_wishes_and_keeps_them() {
    let Some((stage, mut client, app, there)) = alone() else { skip!("one processor only") };
    set(&stage, "A", max(1));
    client.say("adopted");
    for word in [format!("request {there}"), "request 0".to_owned()] {
        client.say(&word);
        assert!(matches!(stage.connect().ask(&Request::Ping), Ok(Reply::Done)));
        assert_eq!((client.page()[1], stage.app(app).unwrap().request), (1, 1), "{word}");
    }
    // Its own later wish for fewer counts again when there is no limit any more.
    set(&stage, "A", no_limit());
    client.say("adopted");
    client.say("request 1");
    wait_for("its own wish", || (client.page()[1] == 1).then_some(()));
    set(&stage, "A", max(there));
    assert_eq!(client.page()[1], 1, "a limit is no wish");
    client.say("request 0");
    wait_for("all again", || (client.page()[1] == there).then_some(()));
}

#[test]
fn a_class_reaches_the_page_and_counts_at_once() {
    let stage = Stage::new(QUIET);
    let mut client = stage.client();
    let app = client.hello(2);
    client.say("adopted");
    let flags = |client: &mut Client| client.page()[2] & (flag::RESIZE_ALWAYS | flag::RESIZE_NEVER);
    assert_eq!(flags(&mut client), 0);
    for (class, expected) in
        [(Class::Malleable, flag::RESIZE_ALWAYS), (Class::Fold, flag::RESIZE_NEVER), (Class::Auto, 0)]
    {
        let before = client.page()[0];
        let holds = set(&stage, app.to_string(), NewWishes { class: Some(class), ..NewWishes::default() });
        assert_eq!(holds[0].class, class);
        assert_eq!(flags(&mut client), expected, "{class:?}");
        assert!(client.page()[0] > before, "a program looks only at new numbers");
        client.say("adopted");
    }
    let (reason, kind) = refused(&stage, "A", NewWishes { class: Some(Class::Setter), ..NewWishes::default() });
    assert!(reason.contains("libraries") && kind == RefusalKind::Usage, "{reason}");
}

#[test]
fn a_weight_moves_processors_between_programs_that_run() {
    let stage = Stage::new(QUIET);
    let there = stage.processors();
    if there < 4 {
        skip!("fewer than four processors: a weight changes no count");
    }
    let (mut one, mut two) = (stage.client(), stage.client());
    let (first, second) = (one.hello(64), two.hello(64));
    one.say("adopted");
    two.say("adopted");
    set(&stage, first.to_string(), NewWishes { weight_milli: Some(3000), ..NewWishes::default() });
    two.say("adopted");
    one.say("adopted");
    let count = |app| stage.app(app).unwrap().count;
    assert!(count(first) > count(second), "{} and {}", count(first), count(second));
}

#[test]
fn what_cannot_be_is_refused_and_nothing_changes() {
    let stage = Stage::new(QUIET);
    let (mut one, mut two) = (stage.client(), stage.client());
    let (first, _) = (one.hello(64), two.hello(64));
    let there = stage.processors();
    for (word, wishes, said) in [
        ("A", max(there + 1), "to give out"),
        ("A", max(0), "to give out"),
        ("A", NewWishes { min: Some(there + 1), ..NewWishes::default() }, "to give out"),
        ("A", NewWishes { min: Some(2), ..max(1) }, "to give out"),
        ("A", NewWishes { weight_milli: Some(0), ..NewWishes::default() }, "weight"),
    ] {
        let (reason, kind) = refused(&stage, word, wishes);
        assert!(reason.contains(said) || reason.contains("is more than"), "{reason}");
        assert_eq!(kind, RefusalKind::Usage, "{reason}");
    }
    let name = stage.app(first).unwrap().name;
    let (reason, kind) = refused(&stage, &name, max(1));
    assert!(reason.contains("fits 2 applications: A ") && kind == RefusalKind::Usage, "{reason}");
    let (reason, kind) = refused(&stage, "nobody", max(1));
    assert!(reason.contains("there is no application `nobody`") && kind == RefusalKind::Absent, "{reason}");
    assert!(stage.status().apps.iter().all(|app| app.max.is_none() && app.min == 1 && app.weight_milli == 1000));
}

#[test]
fn a_program_without_a_page_is_moved_at_once() {
    let stage = Stage::new(QUIET);
    let there = stage.processors();
    let mut program = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
    let pid = program.id();
    let adopt = Request::Adopt { pid, options: Options::default(), force: false };
    assert_eq!(stage.connect().ask(&adopt).unwrap(), Reply::Done);
    let allowed = || numaestro_host::affinity::get(pid).unwrap().len() as u32;
    set(&stage, "sleep", max(1));
    assert_eq!(allowed(), 1);
    set(&stage, "sleep", no_limit());
    assert_eq!(allowed(), there);
    let (reason, _) = refused(&stage, "sleep", NewWishes { class: Some(Class::Malleable), ..NewWishes::default() });
    assert!(reason.contains("sleep cannot become malleable"), "{reason}");
    program.kill().unwrap();
    program.wait().unwrap();
}

#[test]
fn the_next_manager_knows_the_wishes() {
    let Some((mut stage, client, app, there)) = alone() else { skip!("one processor only") };
    set(&stage, "A", NewWishes { weight_milli: Some(2000), class: Some(Class::Fold), ..max(1) });
    // No time passes for the state file: the answer says that it is kept.
    stage.kill_manager();
    stage.start();
    let seen = stage.app(app).expect("it is known");
    assert_eq!((seen.pid, seen.max, seen.weight_milli), (client.pid(), Some(1), 2000));
    assert_eq!(seen.class, Class::Fold);
    assert_eq!(seen.request, 1);
    set(&stage, "A", no_limit());
    assert_eq!(stage.app(app).unwrap().request, there, "its team was not forgotten");
}

#[test]
fn what_is_set_for_a_shell_holds_for_the_programs_in_it() {
    let stage = Stage::new(QUIET);
    let client = crate::stage::example("client");
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "\"$0\"; read rest", client.to_str().unwrap()]);
    let mut shell = Client::under(&mut command, &stage.dir());
    let adopt = Request::Adopt { pid: shell.pid(), options: Options::default(), force: false };
    assert_eq!(stage.connect().ask(&adopt).unwrap(), Reply::Done);
    let outer = stage.status().apps[0].app;
    let inner = shell.hello(64);
    shell.say("adopted");
    let holds = set(&stage, outer.to_string(), max(1));
    assert_eq!(holds.iter().map(|app| (app.app, app.max)).collect::<Vec<_>>(), [(outer, Some(1)), (inner, Some(1))]);
    assert_eq!(shell.page()[1], 1);
}
