//! `numaestro dashboard`: who has which processors, why, and what may be changed, as a page in the
//! browser: live, or of a recording as one file.
//!
//! `teller` turns the lines of a journal into `message`s. `watch` asks the manager for new lines
//! and keeps the messages in `broadcast`, from where `serve` gives them to every page that bears
//! the link's token (`access`). `change` passes the viewer's wishes on to the manager. `file`
//! writes a recording's messages into a page of its own.

mod access;
mod backlog;
mod broadcast;
mod change;
mod file;
mod message;
mod page;
mod places;
mod serve;

mod teller;
mod watch;

use crate::cli::DashboardArgs;
use crate::recordings::{Part, Recording};
use crate::say::Failure;
use crate::{manager, say};
use access::Token;
use anyhow::Context;
use broadcast::Broadcast;
use serve::Site;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A page of a recording has the newest events by itself: so many bytes of the ring, that it opens
/// at once.
const PAGE_BYTES: u64 = 2 << 20;

/// The subcommand.
pub fn dashboard(dir: Option<PathBuf>, args: &DashboardArgs) -> anyhow::Result<u8> {
    let part = Part::of(&args.part)?;
    match &args.recording {
        Some(recording) => of_recording(dir, recording, part, args.output.as_deref()),
        None if part.is_whole() => live(dir, args),
        None => {
            let next = "name one, as in `numaestro dashboard 1 --since 14:00`";
            Err(Failure::error(say::USAGE, "--since and --until name a part of a recording", next))
        }
    }
}

fn of_recording(dir: Option<PathBuf>, name: &str, part: Part, output: Option<&Path>) -> anyhow::Result<u8> {
    let recording = Recording::named(dir, Some(name))?;
    let newest = if part.is_whole() { recording.newest(PAGE_BYTES) } else { None };
    let has_more = newest.is_some();
    let recording = newest.unwrap_or(recording);
    let path = match output {
        Some(path) => path.to_owned(),
        None => usual_output(name),
    };
    let events = file::write(&path, recording.journal(part)?)?;
    recording.warn();
    let events = say::counted(usize::try_from(events)?, "event");
    say::print(&format!("{}: {events}; open it in a browser\n", path.display()))?;
    if has_more {
        say::note("these are the newest events; --since and --until choose others, `--since +0s` takes all");
    }
    Ok(say::OK)
}

/// Beside a journal, `recording-3.html` here for the third in the list.
fn usual_output(recording: &str) -> PathBuf {
    let path = Path::new(recording);
    match path.file_name() {
        Some(_) if recording.parse::<u32>().is_ok() => PathBuf::from(format!("recording-{recording}.html")),
        Some(_) => path.with_extension("html"),
        None => PathBuf::from("recording.html"),
    }
}

fn live(dir: Option<PathBuf>, args: &DashboardArgs) -> anyhow::Result<u8> {
    let dir = manager::directory(dir)?;
    let listener = TcpListener::bind(args.listen)
        .with_context(|| format!("cannot listen on {} (port 0 takes one that is free)", args.listen))?;
    let address = listener.local_addr()?;
    let site = Arc::new(Site { dir, token: Token::new()?, broadcast: Broadcast::default() });
    say::print(&format!("http://{address}/#token={}\n", site.token.text()))?;
    say::note("open this link in a browser on this machine; whoever has it can do what you can do with the manager");
    if std::env::var_os("SSH_CONNECTION").is_some() {
        let port = address.port();
        say::note(&format!("from another machine: `ssh -L {port}:{address} …` first, then the link there"));
    }
    let title = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let watched = Arc::clone(&site);
    std::thread::Builder::new()
        .name("watch".to_owned())
        .spawn(move || watch::watch(&watched.dir, &title, &watched.broadcast))?;
    serve::serve(listener, site)?;
    Ok(say::OK)
}
