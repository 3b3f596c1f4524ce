//! Reports of folding are shown in words, and never trusted.
//!
//! The programs here only play: they fill their pages as a folded program would.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use crate::stage::{Stage, wait_for};
use numaestro_abi::page::why;

#[test]
fn a_folded_team_is_shown() {
    let stage = Stage::new("unmanaged = false\n");
    let mut client = stage.client();
    let app = client.hello(8);
    assert_eq!(stage.app(app).unwrap().folding, None, "it has said nothing");
    // Mode, why, threads, carriers, switches (two words), switches a second, unfolds, opened,
    // dissolved.
    client.say("fold 1 0 8 2 1000 0 400000 1 3 2");
    let seen = stage.wait_app(app, "its folding", |seen| seen.folding.is_some());
    assert!(seen.folded, "it says so, whatever was carried out last");
    let seen = seen.folding.unwrap();
    assert_eq!((seen.by.as_str(), seen.threads, seen.carriers, seen.switches), ("user", 8, 2, 1000));
    assert_eq!((seen.switches_per_second, seen.unfolds, seen.opened, seen.dissolved), (400_000, 1, 3, 2));
    for (number, name) in why::NAMES.iter().enumerate().skip(1) {
        client.say(&format!("fold 2 {number} 8 2"));
        let of = |seen: &numaestro_abi::control::AppStatus| seen.folding.clone().unwrap();
        let seen = of(&stage.wait_app(app, name, |seen| of(seen).reason == *name));
        assert!(seen.by == "kernel" && !seen.why.is_empty() && !seen.next.is_empty(), "{seen:?}");
    }
}

#[test]
fn garbage_is_clamped() {
    let stage = Stage::new("unmanaged = false\n");
    let mut client = stage.client();
    let app = client.hello(8);
    client.say(&format!("fold{}", " 4294967295".repeat(16)));
    let seen = stage.wait_app(app, "its folding", |seen| seen.folding.is_some()).folding.unwrap();
    assert_eq!((seen.by.as_str(), seen.reason.as_str()), ("none", "none"));
    assert_eq!((seen.threads, seen.carriers), (8192, 8192));
    client.say("fold 2 77 3 9 0 0 4294967295");
    let of = |seen: &numaestro_abi::control::AppStatus| seen.folding.clone().unwrap();
    let seen = of(&stage.wait_app(app, "the second lie", |seen| of(seen).threads == 3));
    assert_eq!((seen.reason.as_str(), seen.carriers, seen.switches_per_second), ("other", 3, 300_000_000));
}

#[test]
fn folded_programs_are_counted_by_reason() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("metrics");
    let stage = Stage::new(&format!("unmanaged = false\n[metrics]\nlisten = {:?}\n", path.display().to_string()));
    let (mut first, mut second, mut liar) = (stage.client(), stage.client(), stage.client());
    for (client, words) in [
        (&mut first, "fold 1 0 8 2 0 0 400000".to_owned()),
        (&mut second, format!("fold 2 {} 4 1", why::RSEQ)),
        (&mut liar, format!("fold{}", " 4294967295".repeat(16))),
    ] {
        client.hello(8);
        assert_eq!(client.say(&words), "ok");
    }
    let mut stream = wait_for("the endpoint", || UnixStream::connect(&path).ok());
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).unwrap();
    for line in [
        "numaestro_folded_programs{by=\"user\",reason=\"none\"} 1",
        "numaestro_folded_programs{by=\"kernel\",reason=\"rseq\"} 1",
        "numaestro_folded_programs{by=\"kernel\",reason=\"other\"} 0",
        "numaestro_user_folded_threads 8",
        "numaestro_carriers 2",
        "numaestro_fold_switches_per_second 400000",
    ] {
        assert!(page.lines().any(|found| found == line), "{line} is not in\n{page}");
    }
}
