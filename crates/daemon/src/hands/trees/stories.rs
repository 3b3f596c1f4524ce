//! Stories without processes: `run`s come and wait, take turns, become programs, start others and
//! leave; the manager is killed before any of its moves, and the next one takes over what the
//! state file and the notes say, the file as old as it may be. The invariant: who is not managed is
//! on the mask that its user gave it, or that somebody else has bound it to.
//!
//! `NUMAESTRO_TEST_STORIES=100000` for the long form, `NUMAESTRO_TEST_SEED` for other stories. Each
//! story that breaks the invariant is named by its seed.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;

use numaestro_host::rundir::RuntimeDir;
use numaestro_marks::Marks;
use numaestro_policy::Random;

use super::*;

mod model;
mod situations;

use model::{Killed, Model, Process};
use situations::Seen;

const STEPS: u64 = 40;
/// Stories that come to every situation.
const USUAL: u64 = 400;

/// Something that a manager could do wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    /// It believes the kernel and not what `run` has said.
    Deaf,
    /// It does not note moves before it makes them.
    Unnoted,
}

/// The state file.
#[derive(Debug, Clone, Default)]
struct Saved {
    /// Process, its own mask, and whether it waits.
    apps: Vec<(u64, u32, CpuSet)>,
    masks: SavedMasks,
}

struct Story {
    kernel: Model,
    dice: Random,
    dir: RuntimeDir,
    fault: Fault,
    trees: Trees,
    /// The processes of applications.
    apps: BTreeMap<u64, u32>,
    next: u64,
    saved: Option<Saved>,
    /// The first process that has left and was not given its own mask at once.
    narrow: Option<Process>,
    wakeups: Wakeups,
    /// A move was made that the state file does not know.
    unsaved: bool,
    marks: Marks<Seen>,
}

fn set(text: &str) -> CpuSet {
    text.parse().unwrap()
}

fn usable() -> CpuSet {
    set("0-7")
}

fn merged(mut masks: SavedMasks, dir: &RuntimeDir) -> SavedMasks {
    masks.add_notes(Notes::read(dir));
    masks
}

impl Story {
    fn new(seed: u64, fault: Fault, root: &Path) -> Self {
        let kernel = Model::default();
        let dir = RuntimeDir::open(root.join(seed.to_string())).unwrap();
        let dice = Random::new(seed);
        let trees = Trees::on(Rc::new(kernel.clone()), dir.attach_socket());
        let (apps, wakeups) = (BTreeMap::new(), Wakeups::new().unwrap());
        let (next, saved, narrow, unsaved, marks) = (1, None, None, false, Marks::default());
        let mut story = Self { kernel, dice, dir, fault, trees, apps, next, saved, narrow, wakeups, unsaved, marks };
        story.note();
        story
    }

    fn note(&mut self) {
        if self.fault != Fault::Unnoted {
            self.trees.note_in(Notes::of(&self.dir));
        }
    }

    fn save(&mut self) {
        let one = |(app, pid): (&u64, &u32)| (*app, *pid, self.trees.original(*app));
        self.saved = Some(Saved { apps: self.apps.iter().map(one).collect(), masks: self.trees.memory() });
        self.trees.saved();
        self.unsaved = false;
    }

    fn enter(&mut self, pid: u32, said: CpuSet) -> u64 {
        let said = Some(said).filter(|_| self.fault != Fault::Deaf);
        let above = std::iter::successors(self.kernel.parent_of(pid), |pid| self.kernel.parent_of(*pid));
        let around = above.into_iter().find_map(|pid| self.apps.iter().find(|(_, root)| **root == pid));
        let around = around.map(|(app, _)| *app);
        let app = self.next;
        self.next += 1;
        self.trees.enter(app, pid, said, around, &usable());
        self.apps.insert(app, pid);
        app
    }

    fn place(&mut self, app: u64, cpus: &CpuSet) {
        let Some(root) = self.apps.get(&app).copied() else { return };
        let others = self.apps.values().copied().filter(|pid| *pid != root).collect();
        self.marks.reach_if(Seen::OwnIsNarrow, self.trees.original(app) != usable());
        self.trees.place(app, root, &others, cpus).unwrap();
        self.unsaved = true;
        self.trees.settled(app);
        let members = self.kernel.tree(root, &others);
        self.trees.note_members(app, &members);
    }

    /// A share: of one or two processors.
    fn share(&mut self) -> CpuSet {
        let first = self.dice.below(7);
        (first..=first + self.dice.below(2)).collect()
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> Option<T> {
        (!of.is_empty()).then(|| of[self.dice.below(of.len() as u32) as usize])
    }

    fn let_go(&mut self, app: u64) {
        let own = self.trees.original(app);
        self.place(app, &own);
    }

    fn leave(&mut self, app: u64) {
        let gone = self.apps.remove(&app);
        let narrow = gone.is_some_and(|pid| self.kernel.with(pid, |process| process.is_narrow()) == Some(true));
        self.marks.reach_if(Seen::LeavesNarrow, narrow);
        let roots: BTreeSet<u32> = self.apps.values().copied().collect();
        let parent = gone.and_then(|pid| self.kernel.parent_of(pid));
        self.marks.reach_if(Seen::LeavesAround, parent.is_some_and(|pid| roots.contains(&pid)));
        self.trees.leave(app, &|pid| roots.contains(&pid), &mut self.wakeups);
        let gone = gone.and_then(|pid| self.kernel.with(pid, |process| process.clone()));
        self.narrow = self.narrow.take().or(gone.filter(Process::is_narrow));
    }

    /// The processor time of `run` has come, or it waits for that.
    fn answer(&mut self, app: u64) {
        let share = self.share();
        self.place(app, &share);
        self.save();
        let Some(pid) = self.apps.get(&app).copied() else { return };
        if self.dice.below(2) == 0 {
            self.kernel.with(pid, |process| {
                process.waits = false;
                process.environment = Some(process.own.clone());
            });
        }
    }

    /// `run` asks.
    fn ask(&mut self, pid: u32, own: CpuSet) {
        let former = self.apps.iter().find(|(_, root)| **root == pid).map(|(app, _)| *app);
        if let Some(former) = former {
            if self.dice.below(2) == 0 {
                self.marks.reach(Seen::AnsweredAsFormer);
                return self.answer(former);
            }
            self.marks.reach(Seen::EnteredAnew);
            self.leave(former);
        }
        let app = self.enter(pid, own);
        self.answer(app);
    }

    /// A `run`: a user's, or one of a program that is managed, as the environment says.
    fn asker(&mut self, programs: &[u32]) -> Process {
        let above = if self.dice.below(3) == 0 { self.one(programs) } else { None };
        if let Some(child) = above.and_then(|pid| self.kernel.born_of(pid)) {
            self.marks.reach_if(Seen::AsksBelow, child.is_narrow());
            return Process { waits: true, ..child };
        }
        let own = if self.dice.below(4) == 0 { set("0-5") } else { usable() };
        Process { parent: 1, mask: own.clone(), own, environment: None, waits: true }
    }

    fn step(&mut self) {
        let apps: Vec<u64> = self.apps.keys().copied().collect();
        let programs: Vec<u32> =
            self.kernel.pids().into_iter().filter(|pid| self.kernel.with(*pid, |p| !p.waits) == Some(true)).collect();
        match self.dice.below(9) {
            0 | 1 => {
                let process = self.asker(&programs);
                let own = process.own.clone();
                let pid = self.kernel.add(process);
                self.ask(pid, own);
            }
            // Turns change without a word in the state file.
            2 | 3 => {
                for app in apps {
                    let share = self.share();
                    self.place(app, &share);
                }
            }
            4 => {
                if let Some(app) = self.one(&apps) {
                    self.answer(app);
                }
            }
            5 => {
                if let Some(pid) = self.one(&programs) {
                    let child = self.kernel.born_of(pid).unwrap();
                    self.marks.reach_if(Seen::BornNarrow, child.is_narrow());
                    self.kernel.add(child);
                }
            }
            6 => {
                if let Some(app) = self.one(&apps) {
                    self.leave(app);
                }
            }
            7 => {
                // A program ends, and leaves what it has started.
                if let Some(pid) = self.one(&programs) {
                    self.kernel.0.borrow_mut().processes.remove(&pid);
                    for process in self.kernel.0.borrow_mut().processes.values_mut().filter(|p| p.parent == pid) {
                        process.parent = 1;
                        self.marks.reach_if(Seen::Orphaned, process.is_narrow());
                    }
                    if let Some((app, _)) = self.apps.clone().into_iter().find(|(_, root)| *root == pid) {
                        self.leave(app);
                    }
                }
            }
            _ => self.save(),
        }
    }

    /// The next manager, and the `run`s that come to it.
    fn take_over(&mut self) {
        self.kernel.0.borrow_mut().moves = None;
        self.trees = Trees::on(Rc::new(self.kernel.clone()), self.dir.attach_socket());
        self.marks.reach_if(Seen::NoFile, self.saved.is_none());
        let saved = self.saved.clone().unwrap_or_default();
        let gone = saved.apps.iter().any(|(_, pid, _)| self.kernel.start_of(*pid).is_none());
        let lacks = |pid: &u32| saved.apps.iter().all(|(_, saved, _)| saved != pid);
        self.marks.reach_if(Seen::FileNamesTheGone, gone);
        self.marks.reach_if(Seen::FileLacksOne, self.apps.values().any(lacks));
        self.apps.clear();
        self.note();
        self.trees.remember(merged(saved.masks, &self.dir));
        for (app, pid, own) in saved.apps {
            if self.kernel.start_of(pid).is_some() {
                self.next = self.next.max(app);
                self.enter(pid, own);
            }
        }
        self.save();
        for pid in self.kernel.pids() {
            let waits = self.kernel.with(pid, |process| process.waits.then(|| process.own.clone()));
            let Some(own) = waits.flatten() else { continue };
            // Most have gone back before the next manager is there.
            if self.dice.below(4) > 0 || !self.apps.values().any(|root| *root == pid) {
                self.kernel.with(pid, |process| process.mask = own.clone());
            }
            let narrow = self.kernel.with(pid, |process| process.is_narrow()) == Some(true);
            self.marks.reach_if(Seen::AsksNarrow, narrow);
            self.marks.reach(Seen::WaitsOverDeath);
            self.ask(pid, own);
        }
    }

    fn stop(&mut self) {
        self.marks.reach_if(Seen::StopsSeveral, self.apps.len() > 1);
        self.marks.reach_if(Seen::StopsNobody, self.apps.is_empty());
        for app in self.apps.keys().copied().collect::<Vec<_>>() {
            self.let_go(app);
        }
        let owed: Vec<_> = self.apps.keys().flat_map(|app| self.trees.owed(*app)).collect();
        let managed = self.apps.values().copied().collect();
        let whole = self.trees.pay(&owed, managed, std::time::Duration::ZERO, || true);
        assert!(whole.left.is_empty(), "{whole:?}");
        self.apps.clear();
    }

    /// The first process that nobody manages and that is not on its own mask.
    fn left_narrow(&self) -> Option<Process> {
        self.kernel.0.borrow().processes.values().find(|process| process.is_narrow()).cloned()
    }

    /// Tells the story; gives the process that breaks the invariant, and the situations.
    fn tell(mut self) -> (Option<Process>, Marks<Seen>) {
        let mut kills = 0;
        for _ in 0..self.dice.below(3) {
            let moves = self.dice.below(30);
            self.kernel.0.borrow_mut().moves = Some(u64::from(moves));
            let told = catch_unwind(AssertUnwindSafe(|| (0..STEPS).for_each(|_| self.step())));
            if let Err(cause) = told {
                if !cause.is::<Killed>() {
                    resume_unwind(cause);
                }
                kills += 1;
                self.marks.reach(Seen::KilledBeforeMove);
                self.marks.reach_if(Seen::KilledUnsaved, self.unsaved);
                self.marks.reach_if(Seen::KilledTwice, kills > 1);
            }
            self.take_over();
        }
        (0..5).for_each(|_| self.step());
        self.stop();
        (self.narrow.take().or_else(|| self.left_narrow()), self.marks)
    }
}

fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// The stories that break the invariant, and the situations of all.
fn broken(fault: Fault, stories: u64) -> (Vec<(u64, Process)>, Marks<Seen>) {
    let root = tempfile::tempdir().unwrap();
    let first = number("NUMAESTRO_TEST_SEED", 1) << 32;
    let seeds = first..first + stories;
    let mut marks = Marks::default();
    let mut tell = |seed| {
        let (narrow, seen) = Story::new(seed, fault, root.path()).tell();
        marks.add(&seen);
        Some((seed, narrow?))
    };
    let broken = seeds.filter_map(&mut tell).collect();
    (broken, marks)
}

#[test]
fn who_is_not_managed_is_on_its_own_mask() {
    let stories = number("NUMAESTRO_TEST_STORIES", USUAL);
    let (broken, marks) = broken(Fault::None, stories);
    assert!(broken.is_empty(), "{} stories, such as {:#?}", broken.len(), broken.first());
    if stories >= USUAL
        && let Err(problems) = marks.check(&[])
    {
        panic!("the stories leave situations out:\n{problems}");
    }
}

#[test]
fn what_an_inner_application_leaves_is_of_the_one_around_it() {
    let root = tempfile::tempdir().unwrap();
    let mut story = Story::new(1, Fault::None, root.path());
    let process = Process { parent: 1, mask: usable(), own: usable(), environment: Some(usable()), waits: false };
    let outer = story.kernel.add(process);
    let around = story.enter(outer, usable());
    story.place(around, &set("1"));
    let inner = story.kernel.add(story.kernel.born_of(outer).unwrap());
    let within = story.enter(inner, usable());
    story.place(within, &set("2"));
    let child = story.kernel.add(story.kernel.born_of(inner).unwrap());
    let late = story.kernel.born_of(inner).unwrap();
    story.leave(within);
    assert_eq!(story.kernel.mask(child), Some(usable()), "born since the latest look");
    // The kernel shows this one only now.
    let late = story.kernel.add(late);
    story.place(around, &set("3"));
    assert_eq!([child, late].map(|pid| story.kernel.mask(pid)), [Some(set("3")), Some(set("3"))]);
    story.stop();
    assert!(story.left_narrow().is_none());
}

#[test]
fn a_number_that_is_another_processs_by_now_is_left_alone() {
    let root = tempfile::tempdir().unwrap();
    let mut story = Story::new(1, Fault::None, root.path());
    let process = Process { parent: 1, mask: usable(), own: usable(), environment: None, waits: false };
    let pid = story.kernel.add(process);
    let app = story.enter(pid, set("0-5"));
    let child = story.kernel.add(story.kernel.born_of(pid).unwrap());
    // The program began at another time than the process that has its number.
    story.trees.by_app.get_mut(&app).unwrap().root.1 += 1;
    story.leave(app);
    assert_eq!([pid, child].map(|pid| story.kernel.mask(pid)), [Some(usable()), Some(usable())]);
}

#[test]
fn the_stories_find_a_manager_that_believes_the_kernel_or_moves_before_it_notes() {
    for fault in [Fault::Deaf, Fault::Unnoted] {
        assert!(!broken(fault, 200).0.is_empty(), "{fault:?}");
    }
}
