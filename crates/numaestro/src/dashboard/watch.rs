//! Asks the manager again and again for what has happened, and tells the pages.

use super::broadcast::Broadcast;
use super::message::{AppStatus, Load, May, Message, Status, Step};
use super::teller::Teller;
use crate::manager::{self, Manager};
use crate::policy;
use crate::rates::{NS_PER_PERCENT, Rates, processor_times};
use numaestro_abi::control::{self, History, Reply, Request};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

/// While somebody looks: a decision is on the way at most so long after it was made.
const WATCHED: Duration = Duration::from_millis(40);
/// While nobody looks, often enough that the manager still remembers what comes.
const UNWATCHED: Duration = Duration::from_millis(500);
/// Processor time and pages.
const STATUS: Duration = Duration::from_secs(1);
/// The same after programs have come or gone: of a build they do all the time.
const STATUS_SOON: Duration = Duration::from_millis(200);
/// Until the next attempt to reach a manager.
const AGAIN: Duration = Duration::from_secs(1);

/// Goes on until the process ends.
pub fn watch(dir: &Path, title: &str, broadcast: &Broadcast) {
    let mut said = String::new();
    loop {
        let problem = match Manager::reach(dir) {
            Ok(mut manager) => match follow(&mut manager, title, broadcast) {
                Ok(never) => match never {},
                Err(error) if manager::has_gone(&error) => "the manager has ended".to_owned(),
                Err(error) => format!("{error:#}"),
            },
            Err(error) if manager::is_absent(&error) => {
                "no manager runs: it starts with the first `numaestro run -- PROGRAM`".to_owned()
            }
            Err(error) => format!("the manager cannot be reached: {error}"),
        };
        if said != problem || broadcast.is_watched() {
            broadcast.lost(&problem);
            said = problem;
        }
        std::thread::sleep(AGAIN);
    }
}

/// Follows one manager until it cannot be asked.
fn follow(manager: &mut Manager, title: &str, broadcast: &Broadcast) -> anyhow::Result<std::convert::Infallible> {
    let available = policy::policies(manager)?.available.into_iter();
    let policies: Vec<String> = available.filter(|found| found.part == "preset").map(|found| found.name).collect();
    let mut measured = Measured::default();
    loop {
        let mut told_at = numaestro_host::monotonic_ns();
        let History { journal, mut next, .. } = history(manager, None)?;
        let mut lines = journal.lines();
        let mut teller = Teller::new(lines.next().unwrap_or_default())?;
        let steps: Vec<_> = lines.map(|line| teller.line(line)).collect::<Result<_, _>>()?;
        let steps: Vec<_> = steps.into_iter().flatten().collect();
        for step in &steps {
            measured.hear(step);
        }
        let may = May { policy: !teller.is_veiled() };
        broadcast.begin(&teller.hello(title.to_owned(), true, policies.clone(), may), &steps);
        loop {
            if measured.is_due() {
                let status = manager.status()?;
                // Not the time now: what has happened since is told later, with its own time.
                broadcast.passing(&Message::Status(&measured.status(&status, teller.t(told_at))));
            }
            std::thread::sleep(if broadcast.is_watched() { WATCHED } else { UNWATCHED });
            told_at = numaestro_host::monotonic_ns();
            let news = history(manager, Some(next))?;
            if !news.is_rest {
                break;
            }
            next = news.next;
            for line in news.journal.lines() {
                if let Some(step) = teller.line(line)? {
                    measured.hear(&step);
                    broadcast.step(&step, || teller.whole());
                }
            }
        }
    }
}

fn history(manager: &mut Manager, after: Option<u64>) -> anyhow::Result<History> {
    match manager.ask(&Request::History { app: None, after })? {
        Reply::History(history) => Ok(*history),
        other => Err(manager::unexpected(&other)),
    }
}

/// What changes without decisions.
#[derive(Debug, Default)]
struct Measured {
    times: Rates,
    at: Option<Instant>,
    /// Programs have come or gone since then.
    hurries: bool,
    apps: BTreeSet<u64>,
}

impl Measured {
    /// A program that comes or goes gives others their letters: a viewer who types one a moment
    /// later must not hit another program.
    fn hear(&mut self, step: &Step) {
        let fresh = step.apps.iter().filter(|app| self.apps.insert(app.number)).count();
        let gone = step.gone.iter().filter(|app| self.apps.remove(app)).count();
        self.hurries |= fresh + gone > 0;
    }

    fn is_due(&self) -> bool {
        let interval = if self.hurries { STATUS_SOON } else { STATUS };
        self.at.is_none_or(|at| at.elapsed() >= interval)
    }

    fn status(&mut self, status: &control::Status, t: u64) -> Status {
        let now = Instant::now();
        (self.at, self.hurries) = (Some(now), false);
        self.times.read(processor_times(status).into_iter(), now);
        let of = |(place, app): (usize, &control::AppStatus)| {
            let pages = app.memory.iter().flat_map(|memory| &memory.bytes);
            let status = AppStatus {
                pid: app.pid,
                // `#` stands for many, and names none.
                letter: Some(control::letter(place)).filter(|letter| *letter != '#'),
                user: app.user.clone(),
                // An administrator may change all, and a user is shown their own programs only.
                mine: true,
                cpu_percent: self.times.per_second(app.app).map(|ns| (10.0 * ns / NS_PER_PERCENT).round() / 10.0),
                pages: pages.map(|on| (on.node, on.count)).collect(),
            };
            (app.app, status)
        };
        Status {
            t,
            apps: status.apps.iter().enumerate().map(of).collect(),
            load: Load { outside_percent: f64::from(status.unmanaged) * 100.0 },
        }
    }
}
