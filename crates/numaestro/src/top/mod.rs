//! `numaestro top`: the live terminal view. Here: the threads that bring news, and the loop that
//! draws.
//!
//! [`model`] holds the view's contents, [`draw`] draws them; neither uses the terminal or the
//! manager.

mod draw;
mod ending;
mod model;

use crate::manager::{self, Manager};
use crate::{policy, say};
use crossterm::event::{Event as Input, KeyEventKind};
use model::{Model, Wish};
use numaestro_abi::control::{Reply, Request, Status};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Numbers that the programs themselves write (regions, team) change without a decision, so they
/// are asked for.
const REFRESH: Duration = Duration::from_secs(1);

/// Something to react to.
enum News {
    Snapshot(Box<Status>),
    NoManager(String),
    Input(Input),
    End,
}

/// The subcommand.
pub fn top(dir: Option<PathBuf>) -> anyhow::Result<u8> {
    let dir = manager::directory(dir)?;
    if !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
        let next = "for pipes and files use `numaestro status --watch`";
        return Err(say::Failure::error(say::FAILED, "`top` needs a terminal", next));
    }
    let (news, inbox) = channel();
    // Signals first: the threads started below inherit that they are blocked.
    ending::watch(sender(&news, || News::End))?;
    watch_manager(dir.clone(), news.clone());
    watch_input(news);
    let mut terminal = ratatui::init();
    let result = work(&mut terminal, &dir, &inbox);
    ratatui::restore();
    result.map(|()| say::OK)
}

fn sender(news: &Sender<News>, make: impl Fn() -> News + Send + 'static) -> impl Fn() + Send + 'static {
    let news = news.clone();
    move || {
        let _ = news.send(make());
    }
}

/// Every change the manager announces, and again when it comes back.
fn watch_manager(dir: PathBuf, news: Sender<News>) {
    thread::spawn(move || {
        loop {
            let ended = follow(&dir, &news);
            if news.send(News::NoManager(ended)).is_err() {
                return;
            }
            thread::sleep(REFRESH);
        }
    });
}

fn follow(dir: &Path, news: &Sender<News>) -> String {
    let mut manager = match Manager::reach(dir) {
        Ok(manager) => manager,
        Err(error) if manager::is_absent(&error) => {
            return "no manager runs; it starts by itself with `numaestro run -- PROGRAM`".into();
        }
        Err(error) => return format!("the manager cannot be reached: {error}"),
    };
    let mut reply = manager.ask(&Request::Watch);
    manager.be_patient();
    while let Ok(Reply::Status(status)) = reply {
        if news.send(News::Snapshot(status)).is_err() {
            break;
        }
        reply = manager.next();
    }
    "the manager has ended".into()
}

fn watch_input(news: Sender<News>) {
    thread::spawn(move || {
        while let Ok(input) = crossterm::event::read() {
            if news.send(News::Input(input)).is_err() {
                return;
            }
        }
        let _ = news.send(News::End);
    });
}

fn work(terminal: &mut ratatui::DefaultTerminal, dir: &Path, inbox: &Receiver<News>) -> anyhow::Result<()> {
    let mut model = Model::new(say::colours(&std::io::stdout()));
    let mut asked = Instant::now();
    loop {
        terminal.draw(|frame| draw::draw(frame, &model))?;
        let wish = match inbox.recv_timeout(REFRESH.saturating_sub(asked.elapsed())) {
            Ok(news) => react(&mut model, news),
            Err(RecvTimeoutError::Timeout) => {
                asked = Instant::now();
                if let Ok(status) = Manager::reach(dir).map_err(anyhow::Error::from).and_then(|mut m| m.status()) {
                    model.update(status, Instant::now());
                }
                None
            }
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        };
        match wish {
            Some(Wish::Quit) => return Ok(()),
            Some(Wish::Suspend) => suspend(terminal)?,
            Some(Wish::ListPolicies) => {
                match Manager::reach(dir).map_err(anyhow::Error::from).and_then(|mut m| policy::policies(&mut m)) {
                    Ok(policies) => model.choose_policy(policies),
                    Err(error) => model.say(format!("{error:#}")),
                }
            }
            Some(Wish::SetPolicy(name)) => match Manager::required(Some(dir.to_owned()))
                .and_then(|mut m| m.order(&Request::PolicySet { policy: name.clone() }))
            {
                Ok(()) => model.say(format!("policy {name}")),
                Err(error) => model.say(format!("{error:#}")),
            },
            None => {}
        }
    }
}

fn react(model: &mut Model, news: News) -> Option<Wish> {
    match news {
        News::Snapshot(status) => model.update(*status, Instant::now()),
        News::NoManager(why) => model.lose(why),
        News::Input(Input::Key(key)) if key.kind == KeyEventKind::Press => return model.key(key),
        News::Input(_) => {}
        News::End => return Some(Wish::Quit),
    }
    None
}

/// Ctrl-Z: the terminal as it was, stop, and after `fg` the view again.
fn suspend(terminal: &mut ratatui::DefaultTerminal) -> anyhow::Result<()> {
    ratatui::restore();
    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::STOP)?;
    *terminal = ratatui::init();
    Ok(())
}
