//! A process that stops others, told so by lines. It is not the test itself, because the parent of
//! a program must not be the one that stops it: what the kernel tells the one, it would tell the
//! other.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io::{BufRead, Write};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use numaestro_host::stop::{Group, LEASE_NS, News, Outcome, Stopped, Stopper};

use crate::roles::say;
use crate::support::Actor;

/// The test's side of it; as [`Stopper`], but in another process.
pub struct Manager {
    pub actor: RefCell<Actor>,
}

impl Manager {
    pub fn start() -> Self {
        Self { actor: RefCell::new(Actor::ready("manager", "")) }
    }

    /// From now on the lease is renewed only by [`Self::renew`]; else it is renewed all the time,
    /// however slow the machine.
    pub fn renews_by_hand(&self) {
        assert_eq!(self.ask("by-hand"), "ok");
    }

    fn ask(&self, question: &str) -> String {
        self.tell(question);
        self.actor.borrow_mut().says()
    }

    /// Without waiting for the answer.
    pub fn tell(&self, question: &str) {
        writeln!(self.actor.borrow().input(), "{question}").unwrap();
    }

    pub fn stop(&self, key: u64, group: &Group) -> Outcome {
        let answer = self.ask(&question(key, group));
        let words: Vec<&str> = answer.split(' ').collect();
        match words[..] {
            ["stopped", threads, late, asleep] => Outcome::Stopped(Stopped {
                threads: threads.parse().unwrap(),
                late: late.parse().unwrap(),
                asleep: asleep.parse().unwrap(),
            }),
            ["pending"] => Outcome::Pending,
            _ => Outcome::Unstoppable(answer),
        }
    }

    pub fn resume(&self, key: u64) {
        assert_eq!(self.ask(&format!("go {key}")), "ok");
    }

    /// What [`Stopper::renew`] gives, in words.
    pub fn renew(&self) -> String {
        self.ask("renew")
    }

    pub fn kill(&self) {
        let child = &mut self.actor.borrow_mut().child;
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

/// The line that asks for a stop.
pub fn question(key: u64, group: &Group) -> String {
    let except = group
        .tree
        .as_ref()
        .map_or_else(|| "alone".to_owned(), |pids| pids.iter().map(ToString::to_string).collect::<Vec<_>>().join(","));
    format!("stop {key} {} {except}", group.root)
}

/// The other side: the role.
pub fn play() -> ! {
    let stopper = Stopper::start().unwrap();
    say("ready");
    let (lines, said) = mpsc::channel();
    std::thread::spawn(move || std::io::stdin().lock().lines().try_for_each(|line| lines.send(line.unwrap())));
    let mut by_hand = false;
    loop {
        let line = match said.recv_timeout(Duration::from_nanos(LEASE_NS / 10)) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => {
                // What has happened meanwhile is for those that renew by hand.
                let _ = if by_hand { Vec::new() } else { stopper.renew() };
                continue;
            }
            Err(RecvTimeoutError::Disconnected) => break,
        };
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["stop", key, root, tree] => {
                say(&match stopper.stop(key.parse().unwrap(), group(root, tree)) {
                    Outcome::Stopped(tally) => format!("stopped {} {} {}", tally.threads, tally.late, tally.asleep),
                    Outcome::Pending => "pending".to_owned(),
                    Outcome::Unstoppable(reason) => reason,
                });
            }
            ["go", key] => {
                stopper.resume(key.parse().unwrap());
                say("ok");
            }
            ["by-hand"] => {
                by_hand = true;
                say("ok");
            }
            _ => {
                let told: Vec<String> = stopper.renew().iter().map(|news: &News| format!("{news:?}")).collect();
                say(&told.join(" "));
            }
        }
    }
    std::process::exit(0)
}

fn group(root: &str, tree: &str) -> Group {
    let except: Option<BTreeSet<u32>> =
        (tree != "alone").then(|| tree.split(',').filter_map(|pid| pid.parse().ok()).collect());
    Group { root: root.parse().unwrap(), tree: except }
}
