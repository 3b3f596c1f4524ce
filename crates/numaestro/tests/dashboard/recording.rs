//! The page of a recording, and of a simulated run.

use crate::user::{User, text};
use numaestro_engine::{Event, journal};
use numaestro_recording::Stamp;
use std::fmt::Write as _;
use std::path::Path;

/// The messages in a page.
fn messages(page: &str) -> Vec<serde_json::Value> {
    let packed = page.split_once("data-encoding=\"gzip\">").expect("messages").1.split_once("</script>").unwrap().0;
    let mut unpack = std::process::Command::new("sh");
    unpack.args(["-c", "base64 -d | gzip -d"]).stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = unpack.spawn().expect("starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let packed = packed.to_owned();
    let writer = std::thread::spawn(move || std::io::Write::write_all(&mut stdin, packed.as_bytes()).expect("taken"));
    let output = child.wait_with_output().expect("an end");
    writer.join().expect("written");
    text(&output.stdout).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn a_simulated_run_is_one_file() {
    let user = User::new();
    let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/scenarios/two-openmp.toml");
    let journal = user.path("two.journal");
    let output = user.command(["sim", "run"]).arg(&scenario).arg("--journal").arg(&journal).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let page = user.path("two.html");
    let output = user.command(["dashboard"]).arg(&journal).arg("--output").arg(&page).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("two.html: "), "{}", text(&output.stdout));
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("default-src 'none'"), "it loads nothing");
    let messages = messages(&page);
    assert_eq!((&messages[0]["kind"], &messages[0]["live"]), (&"hello".into(), &false.into()));
    assert!(messages[0]["began_ms"].is_null(), "a simulated run has no time of day");
    let steps: Vec<_> = messages.iter().flat_map(crate::server::steps).collect();
    let names: Vec<_> = messages.iter().flat_map(crate::server::names).collect();
    assert!(steps.len() > 2 && !names.is_empty(), "{} steps", steps.len());
    let last = messages.last().unwrap();
    assert_eq!((&last["kind"], &last["t"]), (&"now".into(), &steps.last().unwrap()["t"]));

    // A torn end is left out; what is no journal is refused, and nothing is written.
    let text_of = std::fs::read_to_string(&journal).unwrap();
    std::fs::write(&journal, &text_of[..text_of.len() - 5]).unwrap();
    assert!(user.command(["dashboard"]).arg(&journal).current_dir(user.path("")).output().unwrap().status.success());
    std::fs::write(user.path("wrong.txt"), "not a journal\n").unwrap();
    let output = user.command(["dashboard"]).arg(user.path("wrong.txt")).current_dir(user.path("")).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("wrong.txt:1: "), "{}", text(&output.stderr));
    assert!(!user.path("wrong.html").exists());
}

#[test]
fn a_part_in_which_nothing_happens_shows_what_was_until_its_end() {
    let user = User::new();
    let path = user.path("quiet.journal");
    let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/scenarios/two-openmp.toml");
    let output = user.command(["sim", "run"]).arg(&scenario).arg("--journal").arg(&path).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    // The time of day is told before the first event, as of a manager that records from its begin,
    // and then each second for a minute in which nothing happens, until load comes from outside.
    let run = std::fs::read_to_string(&path).unwrap();
    let (head, events) = run.split_once('\n').unwrap();
    let at = |line: &str| line.split_once(':').unwrap().1.split_once(',').unwrap().0.parse::<u64>().unwrap();
    let (first, last) = (at(events.lines().next().unwrap()), at(events.lines().last().unwrap()));
    let (hour, day) = (3_600_000_000_000, 1_764_150_000_000_000_000);
    let stamp = |at: u64| Stamp { at: at + hour, wall: day + at }.encode();
    let mut long = format!("{head}\n{}\n", stamp(0));
    for line in events.lines() {
        let later = format!("{{\"at\":{}", at(line) + hour);
        writeln!(long, "{}", line.replacen(&format!("{{\"at\":{}", at(line)), &later, 1)).unwrap();
    }
    (1..=60).for_each(|second| writeln!(long, "{}", stamp(last + second * 1_000_000_000)).unwrap());
    let event = Event::Unmanaged { processors: 1 };
    let next = last + hour + 60_000_000_001;
    writeln!(long, "{}\n{}", journal::encode_named(next, None, &event, &[]), stamp(next - hour)).unwrap();
    std::fs::write(&path, long).unwrap();

    let page = user.path("page.html");
    let page_of = |words: &[&str]| {
        let mut command = user.command(["dashboard"]);
        let output = command.arg(&path).args(words).arg("-o").arg(&page).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        messages(&std::fs::read_to_string(&page).unwrap())
    };
    let end = |messages: &[serde_json::Value]| messages.last().unwrap()["t"].as_u64().unwrap();
    let whole = page_of(&[]);
    assert_eq!(whole[0]["began_ms"], (day + first) / 1_000_000, "its first event, not when the clock began");
    assert_eq!(end(&whole), (last - first) / 1000 + 60_000_000, "until the last that is told");
    let since = (last - first) / 1_000_000_000 + 20;
    let quiet = page_of(&["--since", &format!("+{since}s"), "--until", &format!("+{}s", since + 10)]);
    assert_eq!(quiet[0]["began_ms"], (day + first) / 1_000_000 + since * 1000);
    let steps: Vec<_> = quiet.iter().flat_map(crate::server::steps).collect();
    assert!(steps.len() == 1 && steps[0]["pus"].as_array().unwrap().len() > 1, "{steps:?}");
    assert_eq!((&steps[0]["t"], end(&quiet)), (&0.into(), 10_000_000));
}

#[test]
fn a_recording_of_the_manager_has_its_times_of_day() {
    let user = User::new();
    let _manager = crate::server::manager(&user);
    assert!(user.output(["record", "on"]).status.success());
    drop(crate::server::program(&user, "recorded"));
    assert!(user.output(["record", "off"]).status.success());
    let page = user.path("1.html");
    let output = user.command(["dashboard", "1", "-o"]).arg(&page).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let messages = messages(&std::fs::read_to_string(page).unwrap());
    assert!(messages[0]["began_ms"].is_u64(), "{}", messages[0]);
    assert_eq!(messages[0]["title"], "recording 1");
    assert!(messages.iter().flat_map(crate::server::names).any(|name| name == "recorded"));
}
