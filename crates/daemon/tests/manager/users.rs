//! The manager of all users, asked by processes of several: what they may see and steer, and what
//! they try in vain. Needs root, to be other users.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use numaestro_abi::control::{AppName, History, Most, NewWishes, Options, Reply, Request, Status};
use numaestro_host::{own_uid, procfs};
use numaestro_skip::skip;

use crate::stage::{Client, Stage, example, turn, wait_for};

pub const ALICE: u32 = 730_001;
pub const BOB: u32 = 730_002;
/// A member of the administrators' group.
const DAVE: u32 = 730_004;
const ADMINS: u32 = 740_000;

const ACCOUNTS: &str = "root:x:0:0::/:/bin/sh\nalice:x:730001:730001::/:/bin/sh\nbob:x:730002:730002::/:/bin/sh\n\
                        dave:x:730004:730004::/:/bin/sh\nwardens:x:740000:dave\n";

/// A manager of all users with these settings; `None` where we cannot be other users.
pub fn system(settings: &str) -> Option<Stage> {
    system_under(Command::new(example("manager")), settings)
}

pub fn system_under(mut manager: Command, settings: &str) -> Option<Stage> {
    if own_uid() != 0 {
        return None;
    }
    let mut stage = Stage::empty("");
    let dir = stage.dir();
    // The directory above is a temporary one of root's own.
    std::fs::set_permissions(dir.parent().unwrap(), std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::write(dir.join("accounts"), ACCOUNTS).unwrap();
    numaestro_skip::programs::copy(example("client"), dir.join("client"), 0o755);
    configure(&stage, settings);
    stage.start_under(manager.arg("--system"));
    Some(stage)
}

fn configure(stage: &Stage, settings: &str) {
    let accounts = stage.dir().join("accounts");
    let service = format!("[service]\naccounts = \"{}\"\nadmin_group = \"wardens\"\n", accounts.display());
    // What is before the tables comes first.
    std::fs::write(stage.dir().join("config.toml"), format!("unmanaged = false\n{settings}\n{service}")).unwrap();
}

/// A process of this user.
pub fn of(stage: &Stage, uid: u32) -> Client {
    Client::under(Command::new(stage.dir().join("client")).uid(uid).gid(uid), &stage.dir())
}

/// The same with supplementary groups: only a shell's tools can set them without unsafe code.
fn member(stage: &Stage, uid: u32, group: u32) -> Client {
    let mut command = Command::new("setpriv");
    command.args(["--reuid", &uid.to_string(), "--regid", &uid.to_string(), "--groups", &group.to_string()]);
    Client::under(command.arg(stage.dir().join("client")), &stage.dir())
}

fn ask(client: &mut Client, request: &Request) -> Reply {
    let answer = client.say(&format!("ask {}", serde_json::to_string(request).unwrap()));
    serde_json::from_str(&answer).unwrap_or_else(|_| panic!("{answer}"))
}

fn refused(client: &mut Client, request: &Request) -> (String, String) {
    match ask(client, request) {
        Reply::Refused { reason, hint, .. } => (reason, hint),
        other => panic!("{request:?} is not refused: {other:?}"),
    }
}

fn seen(client: &mut Client) -> Status {
    match ask(client, &Request::Status) {
        Reply::Status(status) => *status,
        other => panic!("{other:?}"),
    }
}

#[test]
fn everybody_sees_their_own_programs_and_which_processors_are_taken() {
    let _turn = turn();
    let Some(stage) = system("") else { skip!("only root can be several users") };
    let (mut alice, mut bob) = (of(&stage, ALICE), of(&stage, BOB));
    // Who sleeps lends, and two looks would differ.
    for client in [&mut alice, &mut bob] {
        client.say("spin");
        client.say("spin");
    }
    let (hers, his) = (alice.hello(8), bob.hello(8));
    for (client, app) in [(&mut alice, hers), (&mut bob, his)] {
        stage.adopts(client, app);
    }
    let all = stage.status();
    let users: Vec<_> = all.apps.iter().filter_map(|app| app.user.clone()).collect();
    assert_eq!(users, ["alice", "bob"], "an administrator sees everybody");
    let status = seen(&mut bob);
    assert_eq!(status.apps.iter().map(|app| app.app).collect::<Vec<_>>(), [his]);
    assert_eq!(status.apps[0].user.as_deref(), Some("bob"));
    assert!(status.pus.iter().all(|pu| pu.owner.is_none_or(|owner| owner == his)), "{:?}", status.pus);
    assert!(status.pus.iter().all(|pu| pu.guests.iter().all(|guest| *guest == his)));
    for (shown, known) in status.pus.iter().zip(&all.pus) {
        let taken = known.owner == Some(hers);
        assert_eq!(taken, shown.owner.is_none() && shown.state == "owned", "{shown:?}");
    }
    let text = serde_json::to_string(&status).unwrap();
    assert!(!text.contains("alice") && !text.contains(&alice.pid().to_string()), "{text}");
}

fn history(client: &mut Client, app: Option<AppName>) -> History {
    match ask(client, &Request::History { app, after: None }) {
        Reply::History(history) => *history,
        other => panic!("{other:?}"),
    }
}

/// The events after so many.
fn rest(client: &mut Client, after: u64) -> History {
    match ask(client, &Request::History { app: None, after: Some(after) }) {
        Reply::History(history) => *history,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_history_shows_no_more_of_others_than_the_status() {
    let Some(stage) = system("") else { skip!("only root can be several users") };
    let (mut alice, mut bob) = (of(&stage, ALICE), of(&stage, BOB));
    let (hers, his) = (alice.hello(8), bob.hello(8));
    alice.say("adopted");
    bob.say("adopted");
    let mut admin = member(&stage, DAVE, ADMINS);
    // Something may happen between the questions: the manager finds out that both programs wait.
    let (all, all_but_the_first, nothing) = std::iter::repeat_with(|| {
        let all = history(&mut admin, Some(AppName::Number(hers)));
        let but_the_first = rest(&mut admin, all.next - 1);
        let nothing = rest(&mut admin, all.next);
        (all, but_the_first, nothing)
    })
    .find(|(all, but_the_first, nothing)| all.next == but_the_first.next && all.next == nothing.next)
    .unwrap();
    let about = |app: u64| [format!("\"app\":{app},"), format!("\"app\":{app}}}")];
    let shows = |text: &str, app: u64| about(app).iter().any(|words| text.contains(words));
    assert!(shows(&all.journal, hers) && shows(&all.journal, his), "{}", all.journal);

    assert!(all_but_the_first.is_rest, "{all_but_the_first:?}");
    let (latest, present) = all_but_the_first.journal.split_once('\n').unwrap();
    assert!(all.journal.contains(latest) && present.contains("\"pus\""), "{}", all_but_the_first.journal);
    assert_eq!(nothing.journal, "");
    let of_both = rest(&mut bob, all.next - 4);
    assert!(of_both.is_rest && !shows(&of_both.journal, hers), "{}", of_both.journal);

    let own = history(&mut bob, Some(AppName::Number(his)));
    assert!(shows(&own.journal, his) && !shows(&own.journal, hers), "{}", own.journal);
    assert!(!own.journal.contains(&format!("\"owner\":{hers}")) && !own.journal.contains("\"parties\""));
    let (there, _) = refused(&mut bob, &Request::History { app: Some(AppName::Number(hers)), after: None });
    let (not_there, _) = refused(&mut bob, &Request::History { app: Some(AppName::Number(999)), after: None });
    assert_eq!(there.replace(&hers.to_string(), "N"), not_there.replace("999", "N"));
}

#[test]
fn nobody_steers_what_is_not_theirs() {
    let Some(stage) = system("") else { skip!("only root can be several users") };
    let (mut alice, mut bob) = (of(&stage, ALICE), of(&stage, BOB));
    let hers = alice.hello(8);
    let before = stage.app(hers).unwrap();
    let options = Options::default();
    // What is there and what is not look the same.
    let (there, _) = refused(&mut bob, &Request::Release { app: AppName::Number(hers) });
    let (not_there, _) = refused(&mut bob, &Request::Release { app: AppName::Number(999) });
    assert_eq!(there.replace(&hers.to_string(), "N"), not_there.replace("999", "N"));
    let wishes = NewWishes { max: Some(Most::Processors(1)), ..NewWishes::default() };
    for word in [alice.pid().to_string(), hers.to_string(), "A".to_owned(), "client".to_owned()] {
        let (reason, hint) = refused(&mut bob, &Request::Set { app: AppName::Word(word.clone()), wishes });
        assert_eq!(reason, format!("you have no application `{word}`"));
        assert!(!hint.contains(&alice.pid().to_string()), "{hint}");
    }
    assert!(stage.app(hers).unwrap().max.is_none());
    for pid in [alice.pid(), 1, stage.manager.as_ref().unwrap().id(), 4_000_000] {
        let (reason, _) = refused(&mut bob, &Request::Adopt { pid, options: options.clone(), force: false });
        assert!(reason.contains("is not one of your programs"), "{reason}");
    }
    let policy = "dss".to_owned();
    for request in [Request::PolicySet { policy }, Request::Reload, Request::Stop] {
        let (reason, hint) = refused(&mut bob, &request);
        assert!(reason.contains("needs an administrator") && hint.contains("wardens"), "{reason}, {hint}");
    }
    // Messages in her name count for nothing.
    bob.say(&format!("adopted {hers} {}", before.epoch[0]));
    bob.say("garbage 600");
    assert!(matches!(ask(&mut bob, &Request::Ping), Reply::Done), "the manager is well");
    let after = stage.app(hers).unwrap();
    assert_eq!((after.epoch, after.count, after.pid), (before.epoch, before.count, alice.pid()));
    assert_eq!(stage.status().policy, "equi");
    // Her own are hers to change and to let go.
    let changed = ask(&mut alice, &Request::Set { app: AppName::Word("A".to_owned()), wishes });
    assert!(matches!(&changed, Reply::Set { apps } if apps[0].app == hers && apps[0].max == Some(1)), "{changed:?}");
    assert!(matches!(ask(&mut alice, &Request::Release { app: AppName::Number(hers) }), Reply::Released { .. }));
    assert!(stage.app(hers).is_none());
}

#[test]
fn one_takes_over_what_is_ones_own_and_nothing_with_other_rights() {
    let Some(stage) = system("") else { skip!("only root can be several users") };
    let mut bob = of(&stage, BOB);
    let spawn = |user: u32| Command::new("sleep").arg("1000").uid(user).gid(user).spawn().unwrap();
    let (mut own, mut hers) = (spawn(BOB), spawn(ALICE));
    let options = Options::default();
    wait_for("both to be who they are", || {
        let is = |pid, uid| procfs::identity(pid).is_ok_and(|who| who.only() == Some(uid));
        (is(own.id(), BOB) && is(hers.id(), ALICE)).then_some(())
    });
    assert!(matches!(
        ask(&mut bob, &Request::Adopt { pid: own.id(), options: options.clone(), force: false }),
        Reply::Done
    ));
    refused(&mut bob, &Request::Adopt { pid: hers.id(), options: options.clone(), force: false });
    assert_eq!(stage.status().apps.iter().map(|app| app.pid).collect::<Vec<_>>(), [own.id()]);
    // Real user bob, rights of alice: neither his nor hers to have managed.
    let mut mixed = Command::new("setpriv")
        .args(["--ruid", &BOB.to_string(), "--euid", &ALICE.to_string(), "--clear-groups", "sleep", "1000"])
        .spawn()
        .unwrap();
    let both = wait_for("a process with other rights", || {
        if mixed.try_wait().unwrap().is_some() {
            return Some(false);
        }
        procfs::has_other_rights(mixed.id()).then_some(true)
    });
    assert!(both, "setpriv cannot set the users apart");
    refused(&mut bob, &Request::Adopt { pid: mixed.id(), options, force: false });
    for child in [&mut own, &mut hers, &mut mixed] {
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

#[test]
fn members_of_the_administrators_group_may_do_everything() {
    let Some(stage) = system("") else { skip!("only root can be several users") };
    let mut alice = of(&stage, ALICE);
    let hers = alice.hello(8);
    let mut plain = of(&stage, DAVE);
    refused(&mut plain, &Request::PolicySet { policy: "dss".to_owned() });
    let mut dave = member(&stage, DAVE, ADMINS);
    assert!(matches!(ask(&mut dave, &Request::PolicySet { policy: "dss".to_owned() }), Reply::Done));
    assert_eq!(stage.status().policy, "dss");
    assert_eq!(seen(&mut dave).apps[0].user.as_deref(), Some("alice"));
    assert!(matches!(ask(&mut dave, &Request::Release { app: AppName::Number(hers) }), Reply::Released { .. }));
}

#[test]
fn one_user_cannot_use_the_manager_up() {
    let Some(mut stage) = system("") else { skip!("only root can be several users") };
    stage.kill_manager();
    configure(&stage, "");
    let file = stage.dir().join("config.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{text}connections_per_user = 4\nprograms_per_user = 2\n")).unwrap();
    stage.start_under(Command::new(example("manager")).arg("--system"));
    let (mut alice, mut bob) = (of(&stage, ALICE), of(&stage, BOB));
    bob.say("hold 4");
    let (reason, _) = refused(&mut bob, &Request::Ping);
    assert!(reason.contains("4 connections already"), "{reason}");
    assert!(matches!(ask(&mut alice, &Request::Ping), Reply::Done), "others are served");
    let mut programs: Vec<Client> = (0..3).map(|_| of(&stage, ALICE)).collect();
    assert!(programs[0].hello(1) > 0 && programs[1].hello(1) > 0);
    assert_eq!(programs[2].say("hello 1"), format!("refused {}", numaestro_abi::attach::code::EXHAUSTED));
    let run = programs[2].run(&Options::default());
    assert!(matches!(&run, Reply::Refused { reason, .. } if reason.contains("2 programs already")), "{run:?}");
    let (mut admin, before) = (stage.connect(), stage.status().apps.len());
    assert!(matches!(admin.ask(&Request::Ping), Ok(Reply::Done)));
    assert_eq!(before, 2);
}

#[test]
fn users_share_by_what_they_are_entitled_to_and_a_reload_changes_that_at_once() {
    let Some(stage) = system("[users.alice]\nmax = 1\n") else { skip!("only root can be several users") };
    let (mut alice, mut bob) = (of(&stage, ALICE), of(&stage, BOB));
    // A program that sleeps would lend.
    for client in [&mut alice, &mut bob] {
        client.say("spin");
    }
    let min = Options { min: Some(2), ..Options::default() };
    let run = alice.run(&min);
    assert!(matches!(&run, Reply::Refused { reason, .. } if reason.contains("alice may have 1 at most")), "{run:?}");
    let hers = alice.hello(8);
    alice.say("adopted");
    assert_eq!(stage.app(hers).unwrap().count, 1);
    // What is wrong changes nothing, and says where it is.
    let mut admin = stage.connect();
    configure(&stage, "[users.alice]\nmax = 0\n");
    let answer = admin.ask(&Request::Reload).unwrap();
    assert!(matches!(&answer, Reply::Refused { reason, .. } if reason.contains("alice")), "{answer:?}");
    configure(&stage, "policy = \"nonsense\"\n[users.alice]\nmax = 2\n");
    let answer = admin.ask(&Request::Reload).unwrap();
    assert!(matches!(&answer, Reply::Refused { reason, .. } if reason.contains("nonsense")), "{answer:?}");
    assert_eq!(stage.app(hers).unwrap().count, 1);
    // What is right takes effect at once; what cannot change is said, and so are names that nobody
    // has.
    configure(&stage, "grace_ms = 99\n[users.alice]\nmax = 2\n[users.nobody-here]\n");
    let answer = admin.ask(&Request::Reload).unwrap();
    let Reply::Reloaded(reloaded) = &answer else { panic!("{answer:?}") };
    let said = reloaded.warnings.join("\n");
    assert!(said.contains("grace_ms: takes effect when") && said.contains("users.nobody-here"), "{said}");
    let processors = stage.processors();
    stage.wait_app(hers, "more than one processor", |app| app.count == 2.min(processors));
    // By a signal too.
    configure(&stage, "[users.alice]\nmax = 1\n");
    let pid = stage.manager.as_ref().unwrap().id();
    assert!(Command::new("kill").args(["-HUP", &pid.to_string()]).status().unwrap().success());
    stage.wait_app(hers, "one processor again", |app| app.count == 1);
    let his = bob.hello(8);
    if processors > 1 {
        stage.wait_app(his, "all the others", |app| app.count == processors - 1);
    }
}

#[test]
fn a_manager_that_is_killed_is_followed_by_one_that_knows_whose_is_what() {
    let Some(mut stage) = system("[users.alice]\nmax = 1\n") else { skip!("only root can be several users") };
    let (mut alice, mut bob) = (of(&stage, ALICE), of(&stage, BOB));
    let (hers, _) = (alice.hello(8), bob.hello(8));
    wait_for("the state file", || {
        let text = std::fs::read_to_string(stage.dir().join("state.json")).ok()?;
        (text.contains("730001") && text.contains("730002")).then_some(())
    });
    stage.kill_manager();
    stage.start_under(Command::new(example("manager")).arg("--system"));
    let users: Vec<_> = stage.status().apps.into_iter().filter_map(|app| app.user).collect();
    assert_eq!(users, ["alice", "bob"]);
    refused(&mut bob, &Request::Release { app: AppName::Number(hers) });
    let file = std::fs::metadata(stage.dir().join("state.json")).unwrap();
    assert_eq!(file.permissions().mode() & 0o077, 0, "what all users run is nobody else's to read");
}
