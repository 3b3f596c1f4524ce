//! Questions: what changes nothing. They are answered from copies, and a copy serves all who ask
//! until anybody has changed something: nobody is told less than what they know already. What time
//! changes is told a moment later. Answers that take long are made by another thread.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use numaestro_abi::control::{NodeStatus, Reply, Status};
use numaestro_host::monotonic_ns;
use numaestro_host::poll::Interest;
use tracing::warn;

use super::Front;
use crate::decision::witness::Witness;
use crate::hands::pages::Looked;
use crate::identity::rights::{self, Refusal, Role, Who};
use crate::people::answers::{Answers, Bytes, Made, Order};
use crate::people::connection::line_of;
use crate::shell::Shell;
use crate::wakeups::FrontSource;

/// Programs write into their pages, and time passes, without anybody's request: a copy is not used
/// for longer,
const FRESH_NS: u64 = 20_000_000;
/// nor, where it takes long to make, for more than so many times as long,
const FRESH_TIMES: u64 = 10;
/// and never for longer than this.
const FRESH_MOST_NS: u64 = 200_000_000;
/// Answers of one copy that are kept for others who ask the same.
const KEPT_MOST: usize = 16;

/// The copies, and the thread.
#[derive(Debug, Default)]
pub(super) struct Questions {
    answers: Option<Answers>,
    /// The thread cannot be started.
    failed: bool,
    picture: Copied<Arc<Picture>>,
    witness: Copied<Arc<(Witness, Kept)>>,
    page: Copied<Arc<String>>,
}

impl Questions {
    /// Something has happened: the copies are old.
    pub(super) fn forget(&mut self) {
        self.picture.kept = None;
        self.witness.kept = None;
        self.page.kept = None;
    }

    fn thread(&mut self, shell: &mut Shell) -> Option<&Answers> {
        if self.answers.is_none() && !self.failed {
            let started = Answers::start().and_then(|answers| {
                shell.wakeups().watch(answers.wake(), FrontSource::Answers, Interest::Read)?;
                Ok(answers)
            });
            self.answers = started.inspect_err(|cause| warn!("questions hold others up: {cause}")).ok();
            self.failed = self.answers.is_none();
        }
        self.answers.as_ref()
    }
}

/// A copy of something, as long as it is fresh.
#[derive(Debug)]
struct Copied<T> {
    /// And the time until which it is.
    kept: Option<(T, u64)>,
}

impl<T> Default for Copied<T> {
    fn default() -> Self {
        Self { kept: None }
    }
}

impl<T: Clone> Copied<T> {
    fn get(&self) -> Option<T> {
        self.kept.as_ref().filter(|(_, until)| monotonic_ns() < *until).map(|(copy, _)| copy.clone())
    }

    /// A new one, whose making has begun then.
    fn keep(&mut self, copy: T, begun_ns: u64) -> T {
        let now = monotonic_ns();
        let fresh = (now.saturating_sub(begun_ns) * FRESH_TIMES).clamp(FRESH_NS, FRESH_MOST_NS);
        self.kept = Some((copy.clone(), now + fresh));
        copy
    }
}

/// Answers that have been made of a copy, by who may see them and what was asked.
#[derive(Debug, Default)]
pub(super) struct Kept(Mutex<Vec<(View, String, Bytes)>>);

/// What a peer may see.
type View = (Role, Option<u32>);

fn view(who: Who) -> View {
    (who.role, (who.role == Role::User).then_some(who.peer.uid))
}

impl Kept {
    fn find(&self, who: Who, question: &str) -> Option<Bytes> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let same = kept.iter().find(|(other, asked, _)| *other == view(who) && asked == question);
        same.map(|(_, _, bytes)| bytes.clone())
    }

    /// The answer, made now if nobody has asked before.
    pub(super) fn find_or(&self, who: Who, question: &str, make: impl FnOnce() -> Reply) -> Bytes {
        self.find(who, question).unwrap_or_else(|| {
            let bytes = Arc::new(line_of(&make()));
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if kept.len() < KEPT_MOST {
                kept.push((view(who), question.to_owned(), bytes.clone()));
            }
            bytes
        })
    }
}

/// Everything there is to see, at one moment.
#[derive(Debug)]
struct Picture {
    status: Status,
    owners: BTreeMap<u64, u32>,
    kept: Kept,
}

impl Picture {
    /// As a peer may see it.
    fn seen(&self, who: Who) -> Box<Status> {
        Box::new(rights::as_seen(who, &|app| self.owners.get(&app).copied(), self.status.clone()))
    }

    fn show(&self, who: Who) -> Bytes {
        self.kept.find_or(who, "status", || Reply::Status(self.seen(who)))
    }

    fn show_with(&self, who: Who, nodes: Vec<NodeStatus>) -> Bytes {
        let mut status = self.seen(who);
        status.nodes = nodes;
        Arc::new(line_of(&Reply::Status(status)))
    }
}

impl Front {
    fn picture(&mut self, shell: &Shell) -> Arc<Picture> {
        self.questions.picture.get().unwrap_or_else(|| {
            let begun = monotonic_ns();
            let status = shell.picture().status(&|uid| self.users.name_of(uid), self.started_ns);
            let owners = shell.programs().iter().map(|app| (app.number, app.owner.uid)).collect();
            self.questions.picture.keep(Arc::new(Picture { status, owners, kept: Kept::default() }), begun)
        })
    }

    pub(super) fn witness(&mut self, shell: &Shell) -> Arc<(Witness, Kept)> {
        self.questions.witness.get().unwrap_or_else(|| {
            let begun = monotonic_ns();
            let witness = shell.witness();
            self.questions.witness.keep(Arc::new((witness, Kept::default())), begun)
        })
    }

    /// The page for scrapers.
    pub(super) fn page(&mut self, shell: &Shell) -> Arc<String> {
        let page = self.questions.page.get();
        page.unwrap_or_else(|| {
            let begun = monotonic_ns();
            let page = self.figures_page(shell);
            self.questions.page.keep(Arc::new(page), begun)
        })
    }

    /// A connection gets the picture as its peer may see it.
    pub(super) fn show_picture(&mut self, number: u64, shell: &mut Shell) {
        let Some(who) = self.connections.who(number) else { return };
        let picture = self.picture(shell);
        match picture.kept.find(who, "status") {
            Some(bytes) => self.connections.write(number, &bytes, shell.wakeups()),
            None => self.answer_by_thread(vec![number], move || picture.show(who), shell),
        }
    }

    /// A connection gets the picture after a look at the memory of the programs in it.
    pub(super) fn look_at_memory(&mut self, number: u64, who: Who, shell: &mut Shell) -> Result<(), Refusal> {
        let of = if who.role == Role::Admin { None } else { Some(who.peer.uid) };
        if !shell.observe_memory(number, of) {
            let reason = "the thread that looks at memory cannot be started";
            return Err(Refusal::new(reason, "`numaestro doctor` says more"));
        }
        self.connections.await_answer(number);
        Ok(())
    }

    /// The look at memory is done, for these connections, which all see the same.
    pub(super) fn show_memory(&mut self, Looked { askers, spent_ns }: Looked, shell: &mut Shell) {
        let first =
            askers.iter().find_map(|number| Some((self.connections.who(*number)?, self.connections.payer(*number)?)));
        let Some((who, payer)) = first else { return };
        self.connections.charge(payer, spent_ns);
        let (picture, nodes) = (self.picture(shell), shell.picture().node_statuses());
        self.answer_by_thread(askers, move || picture.show_with(who, nodes), shell);
    }

    /// These connections wait for an answer, which another thread makes.
    pub(super) fn answer_by_thread(
        &mut self,
        askers: Vec<u64>,
        make: impl FnOnce() -> Bytes + Send + 'static,
        shell: &mut Shell,
    ) {
        let Some(payer) = askers.iter().find_map(|number| self.connections.payer(*number)) else { return };
        for number in &askers {
            self.connections.await_answer(*number);
        }
        self.connections.answer_begins(payer);
        let order = Order { payer, askers, make: Box::new(make) };
        if let Some(made) = Answers::order(self.questions.thread(shell), order) {
            self.answered(made, shell);
        }
    }

    /// Answers are made.
    pub(super) fn take_answers(&mut self, shell: &mut Shell) {
        let made = self.questions.answers.as_ref().map(Answers::take).unwrap_or_default();
        for made in made {
            self.answered(made, shell);
        }
    }

    fn answered(&mut self, made: Made, shell: &mut Shell) {
        self.connections.answer_ends(made.payer, made.spent_ns);
        for number in made.askers {
            match &made.bytes {
                Some(bytes) => self.connections.answer(number, bytes, shell.wakeups()),
                None => self.connections.hang_up(number, shell.wakeups()),
            }
        }
    }
}
