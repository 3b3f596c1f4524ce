//! Programs that attach: pages, adoption, lies, wrappers.

use std::process::Command;

use crate::stage::{Client, Stage, example, wait_for};
use numaestro_abi::control::Class;
use numaestro_abi::page::flag;
use numaestro_skip::skip;

const QUIET: &str = "unmanaged = false\ngrace_ms = 2000\n";

#[test]
fn an_application_gets_a_page_with_its_processors() {
    let stage = Stage::new(QUIET);
    let mut client = stage.client();
    let app = client.hello(64);
    let all = stage.processors();
    let [epoch, count, flags, cpus] = client.page();
    assert!(epoch > 0, "the first target is in the page when it arrives");
    assert_eq!((count, flags), (all, 0));
    assert_eq!(cpus.count_ones(), all.min(32));
    let seen = stage.app(app).unwrap();
    assert_eq!((seen.pid, seen.class, seen.name.as_str()), (client.pid(), Class::Whole, "client"));
    assert_eq!(seen.request, all);
    client.say("adopted");
    stage.wait_app(app, "adoption", |seen| seen.epoch[1] == epoch);
}

#[test]
fn a_second_one_takes_its_half_when_the_first_has_let_go() {
    let stage = Stage::new(QUIET);
    let all = stage.processors();
    if all < 2 {
        skip!("one processor only");
    }
    let (mut first, mut second) = (stage.busy(), stage.busy());
    first.hello(all);
    first.say("adopted");
    let other = second.hello(all);
    wait_for("the announcement", || (first.page()[1] < all).then_some(()));
    first.say("adopted");
    stage.wait_app(other, "the second one's part", |seen| seen.count == all / 2);
    let (mine, yours) = (first.page()[3], second.page()[3]);
    assert_eq!(mine & yours, 0, "a processor has two owners");
    second.kill();
    wait_for("everything back", || (first.page()[1] == all).then_some(()));
}

#[test]
fn who_does_not_adopt_is_moved_from_outside() {
    let stage = Stage::new("unmanaged = false\ngrace_ms = 20\n");
    let all = stage.processors();
    if all < 2 {
        skip!("one processor only");
    }
    let (mut deaf, mut second) = (stage.busy(), stage.busy());
    let app = deaf.hello(all);
    deaf.say("adopted");
    let other = second.hello(all);
    stage.wait_app(other, "its part", |seen| seen.count == all / 2);
    let forced = stage.app(app).unwrap();
    assert_eq!(deaf.say("affinity"), forced.cpus);
    assert_eq!(forced.epoch[0], forced.epoch[1]);
}

#[test]
fn only_the_application_itself_speaks_for_it() {
    let stage = Stage::new(QUIET);
    let (mut honest, mut liar) = (stage.client(), stage.client());
    let app = honest.hello(2);
    liar.hello(1);
    let epoch = honest.page()[0];
    liar.say(&format!("adopted {app} {epoch}"));
    honest.say(&format!("adopted {app} {}", epoch + 1000));
    assert_eq!(stage.app(app).unwrap().epoch[1], 0, "believed a stranger, or a number that was never given");
    stage.adopts(&mut honest, app);
}

#[test]
fn a_shell_around_an_application_holds_nothing() {
    let stage = Stage::new(QUIET);
    let client = example("client");
    // The shell asks as `run` would; what it starts attaches by itself.
    let mut shell =
        Client::under(Command::new("sh").args(["-c", "\"$0\"; read rest", client.to_str().unwrap()]), &stage.dir());
    let adopted = stage.connect().ask(&numaestro_abi::control::Request::Adopt {
        pid: shell.pid(),
        options: numaestro_abi::control::Options::default(),
        force: false,
    });
    assert_eq!(adopted.unwrap(), numaestro_abi::control::Reply::Done);
    let outer = stage.status().apps[0].app;
    let inner = shell.hello(64);
    assert_ne!(inner, outer);
    let wrapper = stage.app(outer).unwrap();
    assert_eq!((wrapper.state.as_str(), wrapper.request, wrapper.count), ("wrapper", 0, 0));
    assert_eq!(shell.page()[1], stage.processors());
    // The program ends, the shell goes on: it is a program like any other again.
    let pid = stage.app(inner).unwrap().pid;
    Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap();
    stage.wait_app(outer, "the end of the wrapper", |seen| seen.state == "running" && seen.request > 0);
    assert!(stage.app(inner).is_none());
}

#[test]
fn a_new_hello_replaces_the_page() {
    let stage = Stage::new(QUIET);
    let mut client = stage.client();
    let first = client.hello(4);
    let second = client.hello(4);
    assert_eq!(first, second);
    assert!(client.page()[0] > 0);
    assert_eq!(stage.status().apps.len(), 1);
}

#[test]
fn two_hundred_at_once() {
    let stage = Stage::new(QUIET);
    let mut clients: Vec<Client> = (0..200).map(|_| stage.client()).collect();
    let apps: std::collections::BTreeSet<u64> = clients.iter_mut().map(|client| client.hello(4)).collect();
    assert_eq!(apps.len(), 200);
    assert_eq!(stage.status().apps.len(), 200);
    for client in &mut clients {
        client.kill();
    }
    wait_for("all to be forgotten", || stage.status().apps.is_empty().then_some(()));
    let free = stage.status().pus.iter().filter(|pu| pu.owner.is_none()).count();
    assert_eq!(free, stage.status().pus.len(), "a processor is lost to the dead");
}

#[test]
fn the_orderly_end_releases_everybody() {
    let mut stage = Stage::new(QUIET);
    let (mut first, mut second) = (stage.client(), stage.client());
    first.hello(64);
    second.hello(64);
    let all = stage.processors();
    let mut manager = stage.manager.take().unwrap();
    Command::new("kill").arg(manager.id().to_string()).status().unwrap();
    assert!(manager.wait().unwrap().success());
    for client in [&mut first, &mut second] {
        let [_, count, flags, _] = client.page();
        assert_eq!((count, flags), (all, flag::RELEASED));
    }
    for left in ["attach", "control", "state.json"] {
        assert!(!stage.dir().join(left).exists(), "{left} is left behind");
    }
}
