//! The metrics page, read by a strict reader of the format, by curl where it is there, and by
//! readers who do not behave.
// What is compared here are counts.
#![allow(clippy::float_cmp)]

use std::collections::{BTreeMap, BTreeSet};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use numaestro_skip::skip;

use crate::boot::wait_for;
use crate::standin::StandIn;

/// Names and values, in order.
pub type Labels = Vec<(String, String)>;

/// One family as it was read.
#[derive(Debug, Default)]
pub struct Family {
    kind: String,
    unit: String,
    help: bool,
    /// Suffix and labels, in order, with the value.
    pub samples: Vec<(String, Labels, f64)>,
}

/// Reads a page as OpenMetrics 1.0 has it: every line, in its order, with nothing left over.
pub fn read(text: &str) -> BTreeMap<String, Family> {
    let body = text.strip_suffix("# EOF\n").expect("ends with # EOF");
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    let mut present = String::new();
    for line in body.lines() {
        if let Some(comment) = line.strip_prefix("# ") {
            let words: Vec<&str> = comment.splitn(3, ' ').collect();
            let [word, name, rest] = words[..] else { panic!("{line}") };
            if word == "TYPE" {
                assert!(!families.contains_key(name), "{name} comes twice");
                assert!(["counter", "gauge", "histogram", "info"].contains(&rest), "{line}");
                name.to_owned().clone_into(&mut present);
                families.insert(present.clone(), Family { kind: rest.to_owned(), ..Family::default() });
                continue;
            }
            assert_eq!(name, present, "{line}: families must not be mixed");
            let family = families.get_mut(name).unwrap();
            assert!(family.samples.is_empty(), "{line} comes after samples");
            match word {
                "UNIT" => {
                    assert!(name.ends_with(&format!("_{rest}")), "{line}: the unit must end the name");
                    rest.clone_into(&mut family.unit);
                }
                "HELP" => family.help = true,
                _ => panic!("{line}"),
            }
            continue;
        }
        assert!(!line.is_empty() && !line.starts_with('#'), "`{line}` is nothing");
        let rest = line.strip_prefix(present.as_str()).unwrap_or_else(|| panic!("{line} is not of {present}"));
        let end = rest.find(['{', ' ']).unwrap_or_else(|| panic!("{line}"));
        let (suffix, rest) = rest.split_at(end);
        let (labels, value) = labels(rest);
        let value = value.strip_prefix(' ').unwrap_or_else(|| panic!("{line}"));
        assert!(!value.contains(' '), "{line}");
        let family = families.get_mut(&present).unwrap();
        family.samples.push((suffix.to_owned(), labels, value.parse().unwrap_or_else(|_| panic!("{line}"))));
    }
    for (name, family) in &families {
        check(name, family);
    }
    families
}

/// `{a="b",c="d"}` and what follows.
fn labels(text: &str) -> (Labels, &str) {
    let Some(mut rest) = text.strip_prefix('{') else { return (Vec::new(), text) };
    let mut found = Vec::new();
    loop {
        let (name, after) = rest.split_once("=\"").unwrap();
        assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !name.is_empty(), "{text}");
        let mut value = String::new();
        let mut letters = after.char_indices();
        let end = loop {
            match letters.next().expect("a closing quote") {
                (at, '"') => break at,
                (_, '\\') => match letters.next().unwrap().1 {
                    'n' => value.push('\n'),
                    other @ ('\\' | '"') => value.push(other),
                    other => panic!("\\{other} in {text}"),
                },
                (_, other) => value.push(other),
            }
        };
        found.push((name.to_owned(), value));
        rest = &after[end + 1..];
        match rest.as_bytes().first() {
            Some(b',') => rest = &rest[1..],
            Some(b'}') => return (found, &rest[1..]),
            _ => panic!("{text}"),
        }
    }
}

/// What holds for a family of its kind.
fn check(name: &str, family: &Family) {
    assert!(family.help, "{name} does not say what it is");
    let mut seen = BTreeSet::new();
    for (suffix, labels, value) in &family.samples {
        assert!(seen.insert((suffix, labels)), "{name}: {suffix}{labels:?} comes twice");
        let allowed: &[&str] = match family.kind.as_str() {
            "counter" => &["_total"],
            "gauge" => &[""],
            "info" => &["_info"],
            _ => &["_bucket", "_count", "_sum"],
        };
        assert!(allowed.contains(&suffix.as_str()), "{name}{suffix} is not of a {}", family.kind);
        assert!(value.is_finite() && (*value >= 0.0 || family.kind == "gauge"), "{name}{suffix} {value}");
        assert!(family.kind != "info" || *value == 1.0);
    }
    if family.kind == "histogram" {
        let of = |wanted: &str| family.samples.iter().filter(|(suffix, ..)| suffix == wanted).collect::<Vec<_>>();
        let ends: Vec<f64> = of("_bucket").iter().map(|(_, labels, _)| labels[0].1.parse().unwrap()).collect();
        assert!(ends.is_sorted() && ends.last() == Some(&f64::INFINITY), "{name}: {ends:?}");
        let counts: Vec<f64> = of("_bucket").iter().map(|(.., value)| *value).collect();
        assert!(counts.is_sorted() && counts.last() == Some(&of("_count")[0].2), "{name}: {counts:?}");
    }
}

fn started() -> (StandIn, std::path::PathBuf) {
    let stand = StandIn::new("");
    let path = stand.dir().join("metrics");
    let config = format!("unmanaged = false\nidle_exit_s = 0\n[metrics]\nlisten = \"{}\"\n", path.display());
    std::fs::write(stand.root.path().join("config.toml"), config).unwrap();
    let mut stand = stand;
    stand.start();
    wait_for("the endpoint", || UnixStream::connect(&path).ok());
    (stand, path)
}

/// Head and body of the answer to a request.
fn ask(path: &Path, request: &str) -> (String, String) {
    let mut stream = UnixStream::connect(path).unwrap();
    stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{text}"));
    (head.to_owned(), body.to_owned())
}

fn sum(families: &BTreeMap<String, Family>, name: &str) -> f64 {
    families[name].samples.iter().map(|(.., value)| value).sum()
}

#[test]
fn the_page_is_right_and_its_numbers_too() {
    let (stand, path) = started();
    let mut program = stand.command(&["run", "--", "sleep", "600"]).spawn().unwrap();
    let get = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept: application/openmetrics-text\r\n\r\n";
    let page = wait_for("a program with processors", || {
        let page = read(&ask(&path, get).1);
        (sum(&page, "numaestro_user_processors") > 0.0).then_some(page)
    });
    let (head, body) = ask(&path, get);
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    assert!(head.contains("Content-Type: application/openmetrics-text; version=1.0.0"), "{head}");
    assert!(head.contains(&format!("Content-Length: {}", body.len())), "{head}");
    assert!(!body.contains("sleep"), "programs are nobody's business");
    let status = stand.command(&["status", "--json"]).output().unwrap();
    let status = crate::status_of(&status.stdout).unwrap();
    assert_eq!(sum(&page, "numaestro_processors"), status.pus.len() as f64);
    assert_eq!(sum(&page, "numaestro_applications"), 1.0);
    let owned = status.pus.iter().filter(|pu| pu.owner.is_some()).count();
    assert_eq!(sum(&page, "numaestro_user_processors"), owned as f64);
    assert_eq!((page["numaestro_folded_programs"].samples.len(), sum(&page, "numaestro_folded_programs")), (17, 0.0));
    assert!(page["numaestro_decisions"].samples[0].2 >= 1.0);
    let steps = page["numaestro_step_seconds"].samples.iter().find(|(suffix, ..)| suffix == "_count").unwrap().2;
    assert!(steps >= 1.0);
    program.kill().unwrap();
    program.wait().unwrap();
    wait_for("the program to be gone", || {
        (sum(&read(&ask(&path, get).1), "numaestro_applications") == 0.0).then_some(())
    });
}

#[test]
fn what_else_is_asked_gets_an_answer_too() {
    let (_stand, path) = started();
    let status = |request: &str| ask(&path, request).0.split(' ').nth(1).map(ToOwned::to_owned).unwrap();
    assert_eq!(status("GET / HTTP/1.1\r\n\r\n"), "404");
    assert_eq!(status("DELETE /metrics HTTP/1.1\r\n\r\n"), "405");
    assert_eq!(status("nonsense\r\n\r\n"), "400");
    assert_eq!(status(&format!("GET /metrics HTTP/1.1\r\nX: {}", "y".repeat(20_000))), "431");
    let (head, body) = ask(&path, "HEAD /metrics HTTP/1.1\r\n\r\n");
    assert!(head.contains("200 OK") && body.is_empty());
}

#[test]
fn curl_understands_it() {
    let (_stand, path) = started();
    if Command::new("curl").arg("--version").output().is_err() {
        skip!("curl is not here");
    }
    let output = Command::new("curl")
        .args(["--silent", "--show-error", "--fail", "--unix-socket"])
        .arg(&path)
        .arg("http://localhost/metrics")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(read(std::str::from_utf8(&output.stdout).unwrap()).contains_key("numaestro_build"));
}

#[test]
fn bad_readers_hold_up_nobody() {
    let (stand, path) = started();
    // Three times as many as are served at once, which say nothing or half of something.
    let idle: Vec<UnixStream> = (0..48)
        .map(|number| {
            let mut stream = UnixStream::connect(&path).unwrap();
            if number % 2 == 0 {
                stream.write_all(b"GET /met").unwrap();
            }
            stream
        })
        .collect();
    // The manager's other work goes on at once; a hang would take as long as the peers are given.
    let begun = Instant::now();
    for _ in 0..5 {
        assert!(stand.command(&["status"]).output().unwrap().status.success());
    }
    assert!(begun.elapsed() < Duration::from_mins(1));
    // One that asks is served at once, and those that say nothing are cut off, all of them.
    let (head, _) = ask(&path, "GET /metrics HTTP/1.1\r\n\r\n");
    assert!(head.contains("200 OK"), "{head}");
    assert!(idle.len() == 48);
    for mut stream in idle {
        stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        let ended = stream.read(&mut [0; 16]);
        assert!(
            matches!(&ended, Ok(0)) || ended.as_ref().is_err_and(|error| error.kind() == ErrorKind::ConnectionReset),
            "{ended:?}"
        );
    }
}

#[test]
fn a_file_in_the_way_is_left_alone() {
    let stand = StandIn::new("");
    let path = stand.root.path().join("precious");
    std::fs::write(&path, "data").unwrap();
    let config = format!("[metrics]\nlisten = \"{}\"\n", path.display());
    std::fs::write(stand.root.path().join("config.toml"), config).unwrap();
    let mut stand = stand;
    stand.start();
    stand.wait_notice("being ready all the same", |notice| notice.starts_with("READY=1"));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "data");
    let log = std::fs::read_to_string(stand.root.path().join("log")).unwrap();
    assert!(log.contains("no metrics") && log.contains("is no socket"), "{log}");
}
