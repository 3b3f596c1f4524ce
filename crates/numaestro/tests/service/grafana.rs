//! The dashboard for Grafana: each question asks for families and labels that the metrics page has,
//! and a real Prometheus understands and answers it, where there is one.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use numaestro_skip::skip;
use serde_json::Value;

use crate::boot::wait_for;
use crate::free_port;
use crate::metrics::{Family, read};
use crate::standin::StandIn;

/// A child that does not outlive the test.
struct Ends(Child);

impl Drop for Ends {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn dashboard() -> Value {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/grafana/numaestro.json");
    serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
}

/// The questions to Prometheus, with the title of the panel that asks.
fn questions(dashboard: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let of_panel = |panel: &Value| {
        let title = text(&panel["title"]);
        let targets = panel["targets"].as_array().unwrap().iter();
        targets.map(|target| (title.clone(), text(&target["expr"]))).collect::<Vec<_>>()
    };
    dashboard["panels"].as_array().unwrap().iter().flat_map(of_panel).collect()
}

/// Grafana's variables as it would fill them in.
fn filled_in(question: &str) -> String {
    let question = question.replace("$__rate_interval", "30s").replace("$__range", "1h");
    question.replace("$instance", ".*")
}

/// The names of metrics in a question, and the labels by which it sums.
fn asked(question: &str) -> (BTreeSet<String>, BTreeSet<String>) {
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let words: BTreeSet<String> = question.split(|letter| !is_name(letter)).map(str::to_owned).collect();
    let names = words.into_iter().filter(|word| word.starts_with("numaestro_")).collect();
    let by = question.split("by (").skip(1).filter_map(|rest| rest.split(')').next());
    let labels = by.flat_map(|list| list.split(',')).map(|label| label.trim().to_owned()).collect();
    (names, labels)
}

/// What of a question the page cannot answer.
fn missing(question: &str, page: &BTreeMap<String, Family>) -> Vec<String> {
    let samples: BTreeMap<String, BTreeSet<&str>> = page
        .iter()
        .flat_map(|(name, family)| {
            family.samples.iter().map(move |(suffix, labels, _)| {
                (format!("{name}{suffix}"), labels.iter().map(|(label, _)| label.as_str()).collect())
            })
        })
        .collect();
    let (names, labels) = asked(question);
    // A family without samples (no user has a program) has no labels to look at.
    let known = |name: &String| samples.contains_key(name) || page.contains_key(name);
    let mut missing: Vec<String> = names.iter().filter(|name| !known(name)).cloned().collect();
    for name in names.iter().filter(|name| samples.contains_key(*name)) {
        missing.extend(labels.iter().filter(|label| !samples[name].contains(label.as_str())).cloned());
    }
    missing
}

/// A manager with its metrics on a port of the loopback address.
fn started() -> (StandIn, u16) {
    let port = free_port();
    let mut stand = StandIn::new("");
    let config = format!("unmanaged = false\nidle_exit_s = 0\n[metrics]\nlisten = \"127.0.0.1:{port}\"\n");
    std::fs::write(stand.root.path().join("config.toml"), config).unwrap();
    stand.start();
    wait_for("the endpoint", || TcpStream::connect(("127.0.0.1", port)).ok());
    (stand, port)
}

/// The body of the answer to a GET request.
fn get(port: u16, path: &str) -> Option<String> {
    use std::io::{Read, Write};
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(10))).ok()?;
    let accept = "Accept: application/openmetrics-text";
    write!(stream, "GET {path} HTTP/1.0\r\nHost: localhost\r\n{accept}\r\n\r\n").ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    Some(text.split_once("\r\n\r\n")?.1.to_owned())
}

#[test]
fn every_question_of_the_dashboard_can_be_answered() {
    let (stand, port) = started();
    let program = stand.command(&["run", "--", "sleep", "600"]).spawn().unwrap();
    let _program = Ends(program);
    wait_for("the program", || {
        let page = get(port, "/metrics")?;
        page.contains("numaestro_user_processors{").then_some(())
    });
    let page = read(&get(port, "/metrics").unwrap());
    let dashboard = dashboard();
    let questions = questions(&dashboard);
    assert!(questions.len() > 10);
    for (title, question) in &questions {
        assert_eq!(missing(question, &page), Vec::<String>::new(), "{title}: {question}");
    }
    // The check can fail.
    assert_eq!(missing("sum by (colour) (numaestro_processors)", &page), ["colour"]);
    assert_eq!(missing("rate(numaestro_wishes_total[5m])", &page), ["numaestro_wishes_total"]);
    let ids: BTreeSet<i64> =
        dashboard["panels"].as_array().unwrap().iter().map(|panel| panel["id"].as_i64().unwrap()).collect();
    assert_eq!(ids.len(), dashboard["panels"].as_array().unwrap().len(), "each panel has a number of its own");
}

#[test]
fn a_real_prometheus_answers_the_questions() {
    if Command::new("prometheus").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_err() {
        skip!("prometheus is not here");
    }
    let (stand, port) = started();
    let program = stand.command(&["run", "--", "sleep", "600"]).spawn().unwrap();
    let _program = Ends(program);
    let own = free_port();
    let config = stand.root.path().join("prometheus.yml");
    let scrape = format!(
        "global:\n  scrape_interval: 1s\nscrape_configs:\n  - job_name: numaestro\n    static_configs:\n      - targets: ['127.0.0.1:{port}']\n"
    );
    std::fs::write(&config, scrape).unwrap();
    let mut command = Command::new("prometheus");
    command.arg(format!("--config.file={}", config.display()));
    command.arg(format!("--storage.tsdb.path={}", stand.root.path().join("data").display()));
    command.arg(format!("--web.listen-address=127.0.0.1:{own}"));
    let _prometheus = Ends(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    let ask = |question: &str| -> Option<Value> {
        let encoded = question.bytes().fold(String::new(), |mut encoded, byte| {
            let _ = write!(encoded, "%{byte:02X}");
            encoded
        });
        let answer: Value = serde_json::from_str(&get(own, &format!("/api/v1/query?query={encoded}"))?).ok()?;
        Some(answer)
    };
    wait_for("several samples", || {
        let samples = ask("count_over_time(numaestro_decisions_total[1m])")?;
        let count = samples["data"]["result"][0]["value"][1].as_str()?.parse::<f64>().ok()?;
        (count >= 4.0).then_some(())
    });
    let mut blank: BTreeSet<String> = questions(&dashboard()).into_iter().map(|(title, _)| title).collect();
    for (title, question) in questions(&dashboard()) {
        let answer = ask(&filled_in(&question)).unwrap();
        assert_eq!(answer["status"], "success", "{title}: {question}: {answer}");
        // Nothing may be folded; zeros are left out only where they are many.
        let may_be_empty = question.contains("reason");
        let empty = answer["data"]["result"].as_array().is_none_or(Vec::is_empty);
        assert!(!empty || may_be_empty, "{title}: {question}: {answer}");
        if !empty {
            blank.remove(&title);
        }
    }
    assert_eq!(blank, BTreeSet::new(), "a panel shows nothing");
    let wrong = ask("sum by (state").unwrap();
    assert_eq!(wrong["status"], "error", "a question that is wrong is told");
}
