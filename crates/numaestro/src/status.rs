//! `numaestro status`: shows which application has which processors, as a table or as JSON, once or
//! after every change.
//!
//! The drawing is a pure function of the snapshot.

mod jobserver;
mod library;
mod memory;

use crate::cli::StatusArgs;
use crate::columns;
use crate::folding;
use crate::manager::{self, Manager};
use crate::occupancy::{self, LEGEND};
use crate::say::{self, Tone, paint};
use numaestro_abi::control::{AppStatus, Class, Reply, Request, Status, letter};
use serde::Serialize;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The output of `--json`.
#[derive(Debug, Serialize)]
struct Shown<'a> {
    /// A manager runs; then the fields of its snapshot follow.
    running: bool,
    /// Its runtime directory.
    dir: &'a Path,
    #[serde(flatten)]
    status: Option<&'a Status>,
}

/// The subcommand.
pub fn status(dir: Option<PathBuf>, args: &StatusArgs) -> anyhow::Result<u8> {
    let dir = manager::directory(dir)?;
    let mut manager = match Manager::reach(&dir) {
        Ok(manager) => manager,
        Err(error) if manager::is_absent(&error) => {
            say::print(&if args.json { json(&dir, None)? } else { nobody(&dir) })?;
            return Ok(say::OK);
        }
        Err(_) => Manager::required(Some(dir.clone()))?,
    };
    if args.memory {
        manager.be_patient();
        match manager.ask(&Request::Memory)? {
            Reply::Status(status) if args.json => say::print(&json(&dir, Some(&status))?)?,
            Reply::Status(status) => say::print(&memory::render(&status, say::colours(&std::io::stdout())))?,
            other => return Err(manager::unexpected(&other)),
        }
        return Ok(say::OK);
    }
    if !args.watch {
        match manager.status() {
            Ok(status) => show(&dir, &status, args)?,
            // It was killed at this moment.
            Err(_) if Manager::reach(&dir).is_err_and(|error| manager::is_absent(&error)) => {
                say::print(&if args.json { json(&dir, None)? } else { nobody(&dir) })?;
            }
            Err(error) => return Err(error),
        }
        return Ok(say::OK);
    }
    let mut reply = manager.ask(&Request::Watch)?;
    manager.be_patient();
    loop {
        match reply {
            Reply::Status(status) => show(&dir, &status, args)?,
            other => return Err(manager::unexpected(&other)),
        }
        reply = match manager.answer() {
            Ok(reply) => reply,
            Err(error) if Manager::reach(&dir).is_ok() => return Err(error),
            Err(_) => {
                say::note("the manager has ended");
                return Ok(say::OK);
            }
        };
    }
}

fn nobody(dir: &Path) -> String {
    if manager::is_of_system(dir) {
        return "the system's manager does not run; `systemctl start numaestro` starts it, for administrators\n"
            .to_owned();
    }
    format!("no manager runs in {}; it starts by itself with `numaestro run -- PROGRAM`\n", dir.display())
}

fn json(dir: &Path, status: Option<&Status>) -> anyhow::Result<String> {
    Ok(format!("{}\n", serde_json::to_string(&Shown { running: status.is_some(), dir, status })?))
}

fn show(dir: &Path, status: &Status, args: &StatusArgs) -> anyhow::Result<()> {
    if args.json {
        return say::print(&json(dir, Some(status))?);
    }
    let colours = say::colours(&std::io::stdout());
    let clear = if args.watch && colours { "\x1b[H\x1b[2J" } else { "" };
    let apart = if args.watch && !colours { "\n" } else { "" };
    say::print(&format!("{clear}{}{apart}", render(status, colours)))
}

/// The class in a word.
pub fn class_word(class: Class) -> &'static str {
    match class {
        Class::Auto => "auto",
        Class::Whole => "whole",
        Class::Malleable => "malleable",
        Class::Setter => "setter",
        Class::Fold => "fold",
    }
}

/// The state, with the facts that have no column in the table.
pub fn state_words(app: &AppStatus) -> String {
    let folded = app.folded || folding::present(app).is_some();
    let marks = [(app.shared, "shared"), (folded, "folded"), (app.epoch[0] != app.epoch[1], "moving")];
    let marks = marks.iter().filter(|(on, _)| *on).map(|(_, word)| *word);
    std::iter::once(app.state.as_str()).chain(marks).collect::<Vec<_>>().join(",")
}

/// The limit that the user has set.
pub fn limit_word(app: &AppStatus) -> String {
    app.max.map_or_else(|| "-".to_owned(), |max| max.to_string())
}

/// The weight; 1 is usual.
pub fn weight_word(app: &AppStatus) -> String {
    (f64::from(app.weight_milli) / 1000.0).to_string()
}

/// Seconds for people: `12s`, `3m05s`, `2h07m`.
pub fn age(seconds: f64) -> String {
    #[allow(clippy::cast_sign_loss)]
    let s = seconds.clamp(0.0, 1e9) as u64;
    match s {
        0..60 => format!("{s}s"),
        60..3600 => format!("{}m{:02}s", s / 60, s % 60),
        _ => format!("{}h{:02}m", s / 3600, s / 60 % 60),
    }
}

/// Everything, for a terminal or a pipe.
pub fn render(status: &Status, colours: bool) -> String {
    let mut text = String::new();
    let line = format!(
        "policy {}, processors {}, manager {} up {}{}",
        status.policy,
        status.cpus,
        status.pid,
        age(status.uptime_s),
        if status.recording { ", recording" } else { "" }
    );
    let _ = writeln!(text, "{}", paint(&line, Tone::Strong, colours));
    if !status.confined.is_empty() {
        let line = format!(
            "the manager's own cgroup allows processors {} only; a `run` from outside of it tells the manager of more",
            status.confined
        );
        let _ = writeln!(text, "{}", paint(&line, Tone::Warn, colours));
    }
    if status.unmanaged > 0 {
        let verb = if status.unmanaged == 1 { "is" } else { "are" };
        let line = format!(
            "{} {verb} taken by load that is not managed",
            say::counted(status.unmanaged as usize, "processor")
        );
        let _ = writeln!(text, "{}", paint(&line, Tone::Warn, colours));
    }
    strip(&mut text, status, colours);
    if status.apps.is_empty() {
        text.push_str("no applications; start one with `numaestro run -- PROGRAM`\n");
        return text;
    }
    table(&mut text, status, colours);
    folded(&mut text, status);
    library::lines(&mut text, status);
    jobserver::lines(&mut text, status);
    rates(&mut text, status);
    if !status.queue.is_empty() {
        let word = |app: &u64| if *app == 0 { "another user's".to_owned() } else { app.to_string() };
        let queue = status.queue.iter().map(word).collect::<Vec<_>>().join(", ");
        let _ = writeln!(text, "queue, first one next: {queue}");
    }
    text
}

/// Teams with more threads than processors.
fn folded(text: &mut String, status: &Status) {
    for (place, app) in status.apps.iter().enumerate() {
        if let Some(sentence) = folding::sentence(app) {
            let _ = writeln!(text, "{} {sentence}", letter(place));
        }
    }
}

/// The rates of buses and of threads, while the policy needs them.
fn rates(text: &mut String, status: &Status) {
    let Some(sensing) = &status.bandwidth else { return };
    for bus in &sensing.buses {
        let most =
            if bus.saturation == 0 { "not measured yet".to_owned() } else { format!("{} lines/ms", bus.saturation) };
        let full =
            bus.stretch_milli.map(|milli| format!(", streams are slowed down {:.2} times", f64::from(milli) / 1000.0));
        let _ = writeln!(text, "bus of processors {}: at most {most}{}", bus.cpus, full.unwrap_or_default());
    }
    for (place, app) in status.apps.iter().enumerate() {
        let Some(btr) = &app.btr else { continue };
        let rate = |rate: &Option<u32>| rate.map_or_else(|| "-".to_owned(), |rate| rate.to_string());
        let rates: Vec<String> = btr.rates.iter().map(rate).collect();
        let rates = if rates.is_empty() { "not known yet".to_owned() } else { rates.join(" ") };
        let error = btr.error_permille.map(|error| format!(" ±{} %", error / 10)).unwrap_or_default();
        let _ = writeln!(text, "{} lines/ms by thread: {rates} ({}{error})", letter(place), clean(&btr.rung));
    }
}

fn strip(text: &mut String, status: &Status, colours: bool) {
    let rows = occupancy::rows(status);
    for row in &rows {
        let cells: String =
            row.cells.iter().map(|c| if c.moving { format!("{}*", c.sign) } else { c.sign.to_string() }).collect();
        let _ = writeln!(text, "node {:<3} [{cells}]", row.node);
    }
    if rows.iter().flat_map(|r| &r.cells).any(|c| c.owner.is_none() || c.moving) {
        let _ = writeln!(text, "{}", paint(LEGEND, Tone::Dim, colours));
    }
}

/// A column of the table: its head and its contents.
type Column = (&'static str, fn(usize, &AppStatus) -> String);

const COLUMNS: [Column; 17] = [
    ("", |place, _| letter(place).to_string()),
    ("APP", |_, app| app.app.to_string()),
    ("PID", |_, app| app.pid.to_string()),
    ("USER", |_, app| clean(app.user.as_deref().unwrap_or("-"))),
    ("JOB", |_, app| clean(app.job.as_deref().unwrap_or("-"))),
    ("NAME", |_, app| clean(&app.name)),
    ("CLASS", |_, app| class_word(app.class).to_owned()),
    ("STATE", |_, app| state_words(app)),
    ("HAS", |_, app| app.count.to_string()),
    ("ASKS", |_, app| app.request.to_string()),
    ("MAX", |_, app| limit_word(app)),
    ("WEIGHT", |_, app| weight_word(app)),
    ("CPUS", |_, app| app.cpus.clone()),
    ("TEAM", |_, app| app.team.to_string()),
    ("AGE", |_, app| age(app.age_s)),
    ("HELD BY", |_, app| if app.held_by.is_empty() { "-".to_owned() } else { app.held_by.clone() }),
    ("WHY", |_, app| app.why.clone()),
];

/// Says whether a column says something about these applications: users, limits and weights are
/// shown where there are any.
fn says_something(head: &str, apps: &[AppStatus]) -> bool {
    match head {
        "USER" => apps.iter().any(|app| app.user.is_some()),
        "JOB" => apps.iter().any(|app| app.job.is_some()),
        "MAX" => apps.iter().any(|app| app.max.is_some()),
        "WEIGHT" => apps.iter().any(|app| app.weight_milli != 1000),
        _ => true,
    }
}

fn table(text: &mut String, status: &Status, colours: bool) {
    let shown: Vec<&Column> = COLUMNS.iter().filter(|(head, _)| says_something(head, &status.apps)).collect();
    let mut lines: Vec<Vec<String>> = vec![shown.iter().map(|(head, _)| (*head).to_owned()).collect()];
    let line = |(place, app)| shown.iter().map(|(_, of)| of(place, app)).collect();
    lines.extend(status.apps.iter().enumerate().map(line));
    text.push_str(&columns::headed(&lines, colours));
}

/// A program chooses its name: nothing in it may steer the terminal, or turn a line round.
pub fn clean(name: &str) -> String {
    numaestro_quantity::label::label(name).chars().take(24).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::occupancy::tests::example;
    use numaestro_abi::control::{BusStatus, RateStatus, SensingStatus};

    #[test]
    fn the_table_is_aligned_and_says_everything() {
        let text = render(&example(), false);
        let lines: Vec<&str> = text.lines().collect();
        let head = lines.iter().position(|l| l.contains("APP")).expect("a head line");
        let column = |word: &str| lines[head].find(word).expect("a column");
        assert_eq!(&lines[head + 1][column("NAME")..][..6], "lulesh");
        assert_eq!(&lines[head + 2][column("STATE")..][..14], "running,folded");
        assert_eq!(&lines[head + 2][column("HELD BY")..][..14], "explicit sizes");
        assert!(text.contains("node 0   [AA*]\nnode 1   [Bx]\n"));
        assert!(text.contains("up 1h01m") && text.contains("queue, first one next: 11"));
        assert!(!text.contains('\x1b'));
        assert!(render(&example(), true).contains('\x1b'));
    }

    #[test]
    fn limits_and_weights_have_columns_where_there_are_any() {
        let mut status = example();
        let head =
            |status: &Status| render(status, false).lines().find(|l| l.contains("APP")).unwrap_or_default().to_owned();
        assert!(!head(&status).contains("MAX") && !head(&status).contains("WEIGHT"));
        status.apps[0].max = Some(2);
        status.apps[1].weight_milli = 1500;
        assert!(head(&status).contains("MAX") && head(&status).contains("WEIGHT"));
        let text = render(&status, false);
        assert!(text.lines().any(|l| l.contains("python3") && l.contains("1.5")), "{text}");
    }

    #[test]
    fn rates_are_shown_with_their_error_while_the_policy_wants_them() {
        let mut status = example();
        assert!(!render(&status, false).contains("lines/ms"));
        let bus = BusStatus { cpus: "0-3".into(), saturation: 5000, stretch_milli: Some(1500) };
        status.bandwidth = Some(SensingStatus { rungs: vec![], buses: vec![bus], dropped: 0 });
        let btr = RateStatus { rates: vec![Some(11), None], rung: "perf".into(), error_permille: Some(300) };
        status.apps[1].btr = Some(btr);
        let text = render(&status, false);
        assert!(
            text.contains("bus of processors 0-3: at most 5000 lines/ms, streams are slowed down 1.50 times\n"),
            "{text}"
        );
        assert!(text.contains("B lines/ms by thread: 11 - (perf ±30 %)\n"), "{text}");
    }

    #[test]
    fn folded_teams_have_a_line_each() {
        let mut status = example();
        assert!(!render(&status, false).contains("folded by"));
        status.apps[0].folding = Some(crate::folding::tests::folding("user"));
        status.apps[1].folding = Some(crate::folding::tests::folding("kernel"));
        let text = render(&status, false);
        assert!(text.contains("running,folded"), "{text}");
        assert!(
            text.contains("\nA folded in user space: 8 threads on 2 kernel threads, 412k switches a second.\n"),
            "{text}"
        );
        assert!(text.contains("\nB folded by the kernel: 8 threads on 1 processor, because a library in it"), "{text}");
        let json: serde_json::Value =
            serde_json::from_str(&json(Path::new("/d"), Some(&status)).expect("json")).expect("json");
        assert_eq!(json["apps"][0]["folding"]["by"], "user");
        assert_eq!(json["apps"][0]["folding"]["carriers"], 2);
        assert_eq!(json["apps"][1]["folding"]["reason"], "rseq");
    }

    #[test]
    fn json_has_one_shape_with_and_without_a_manager() {
        let none: serde_json::Value = serde_json::from_str(&json(Path::new("/d"), None).expect("json")).expect("json");
        assert_eq!(none, serde_json::json!({ "running": false, "dir": "/d" }));
        let some: serde_json::Value =
            serde_json::from_str(&json(Path::new("/d"), Some(&example())).expect("json")).expect("json");
        assert_eq!(some["running"], true);
        assert_eq!(some["apps"][1]["name"], "python3");
    }

    #[test]
    fn names_cannot_steer_the_terminal() {
        assert_eq!(clean("a\x1b[2Jb\u{202e}c"), "a?[2Jb?c");
    }
}
