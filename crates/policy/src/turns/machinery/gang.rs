//! Gangs chosen by bandwidth: LQG and QWG. They differ in one number: the quanta over which a rate
//! is the mean.
//!
//! Source: Antonopoulos et al. 2004, §4, which describes them in a few sentences and refers to the
//! ICPP 2003 paper of the same authors.

use super::buses::{Buses, Line, Preferences, needs_buses};
use super::quantum::Quantum;
use crate::parameters::join;
use crate::part::{Info, Needs, Turns};
use crate::rejected::Rejected;
use crate::turn::Turn;
use crate::view::{AppId, Bus, Slot, View};

/// Longest window, quanta.
pub const WINDOW_MAX: u32 = 32;

/// One application: all of its threads, or none.
#[derive(Debug, Clone, Copy)]
struct Gang {
    app: AppId,
    slot: Slot,
    /// Number of threads that run together in this turn: all it has, folded to the machine.
    size: u32,
    /// It runs in this turn.
    chosen: bool,
    /// Number of the latest sample that was read.
    samples: u32,
    /// Mean BTR of its threads in the latest quanta it ran; `quanta` of them, the next goes to
    /// `at`.
    window: [u32; WINDOW_MAX as usize],
    quanta: u32,
    at: u32,
}

impl Gang {
    /// b: mean BTR of one of its threads over the window, transactions per millisecond.
    fn rate(&self) -> Option<u32> {
        let sum: u64 = self.window[..self.quanta as usize].iter().map(|&rate| u64::from(rate)).sum();
        sum.checked_div(u64::from(self.quanta)).map(|mean| mean as u32)
    }

    fn measured(&mut self, rate: u32, length: u32) {
        self.window[self.at as usize] = rate;
        self.at = (self.at + 1) % length;
        self.quanta = (self.quanta + 1).min(length);
    }
}

/// Config and state.
#[derive(Debug, Clone)]
pub struct Gangs {
    /// The answer that a policy text names.
    info: Info,
    quantum: Quantum,
    /// Config: quanta over which a rate is the mean, 1 to [`WINDOW_MAX`].
    window: u32,
    /// The default of `window`, quanta.
    usual: u32,
    /// The circular list, head first.
    list: Vec<Gang>,
    executed: Vec<Gang>,
    present: Vec<bool>,
    known: Vec<bool>,
    buses: Buses,
    preferences: Preferences,
}

impl Turns for Gangs {
    fn info(&self) -> Info {
        self.info
    }

    fn needs(&self) -> Needs {
        Needs { preemption: true, bandwidth: true, ..Needs::NONE }
    }

    fn parameters(&self) -> String {
        join([(self.window != self.usual).then(|| format!("window={}", self.window)), self.quantum.parameter()])
    }

    fn stops(&self) -> bool {
        true
    }

    fn chooses_threads(&self) -> bool {
        true
    }

    fn fits(&self, buses: &[Bus]) -> Result<(), Rejected> {
        needs_buses(buses)
    }

    fn now(&mut self, view: &View<'_>, turn: &mut Turn) -> Option<u64> {
        let over = self.quantum.is_over(view.now_ns);
        self.sync(view);
        if over || !self.list.iter().any(|gang| gang.chosen) {
            self.quantum.begin(view.now_ns);
            self.choose(view);
        }
        self.write(view, turn);
        (!self.list.is_empty()).then(|| self.quantum.end())
    }
}

impl Gangs {
    /// Gangs of this answer, with its usual window in quanta and the length of a quantum in
    /// nanoseconds.
    pub fn new(info: Info, window: u32, quantum_ns: u64) -> Self {
        Self {
            info,
            quantum: Quantum::new(quantum_ns),
            window,
            usual: window,
            list: Vec::new(),
            executed: Vec::new(),
            present: Vec::new(),
            known: Vec::new(),
            buses: Buses::default(),
            preferences: Preferences::default(),
        }
    }

    /// The same over a window of so many quanta, 1 to [`WINDOW_MAX`].
    pub fn over(self, window: u32) -> Self {
        Self { window, ..self }
    }

    /// Follows the view: applications that have gone leave the list, new ones join its tail, rates
    /// are the latest.
    fn sync(&mut self, view: &View<'_>) {
        self.present.clear();
        self.present.resize(view.apps.len(), false);
        for &slot in view.order {
            self.present[slot.index()] = true;
        }
        self.known.clear();
        self.known.resize(view.apps.len(), false);
        let (present, known, length) = (&self.present, &mut self.known, self.window);
        self.list.retain_mut(|gang| {
            let slot = gang.slot.index();
            let here = view.apps.get(slot).is_some_and(|app| app.id == gang.app) && present[slot];
            if here {
                known[slot] = true;
                look(view, gang, length);
            }
            here
        });
        for &slot in view.order {
            if !self.known[slot.index()] {
                let app = view.app(slot).id;
                let window = [0; WINDOW_MAX as usize];
                let mut gang = Gang { app, slot, size: 0, chosen: false, samples: 0, window, quanta: 0, at: 0 };
                look(view, &mut gang, length);
                self.list.push(gang);
            }
        }
        self.buses.survey(view, true, &self.present);
    }

    /// Chooses the head, then the fittest that have room.
    fn choose(&mut self, view: &View<'_>) {
        self.executed.clear();
        self.executed.extend(self.list.iter().filter(|gang| gang.chosen));
        self.list.retain(|gang| !gang.chosen);
        self.list.append(&mut self.executed);
        let processors: u32 = self.buses.lines.iter().map(|line| line.processors).sum();
        for gang in &mut self.list {
            gang.chosen = false;
            gang.size = view.app(gang.slot).thread_count.min(processors);
        }
        let known = |line: &Line| line.saturation > 0 || line.processors == 0;
        let saturation = if self.buses.lines.iter().all(known) { self.saturation() } else { 0 };
        let unmeasured = (saturation / u64::from(processors.max(1))) as u32;
        let (mut free, mut left) = (processors, i128::from(saturation));
        while free > 0 {
            let rate = |gang: &Gang| if saturation == 0 { 0 } else { gang.rate().unwrap_or(unmeasured) };
            let has_room =
                |gang: &Gang| !gang.chosen && (1..=free).contains(&gang.size) && view.app(gang.slot).min <= free;
            let candidates = || self.list.iter().enumerate().filter(|(_, gang)| has_room(gang));
            // The head is always taken, so that every application makes progress; equation 1
            // chooses the others, with the mean rate of one thread.
            let distance = |gang: &Gang| (left - i128::from(rate(gang)) * i128::from(free)).abs();
            let next = if free == processors {
                candidates().next()
            } else {
                candidates().min_by_key(|&(position, gang)| (distance(gang), position))
            };
            let Some((position, gang)) = next else { break };
            left -= i128::from(rate(gang)) * i128::from(gang.size);
            free -= gang.size;
            self.list[position].chosen = true;
        }
    }

    /// SBTR of all buses together.
    fn saturation(&self) -> u64 {
        self.buses.lines.iter().map(|line| u64::from(line.saturation)).sum()
    }

    /// Leaves in `turn` the chosen applications, with the sizes they had then, folded if processors
    /// have gone away since.
    fn write(&mut self, view: &View<'_>, turn: &mut Turn) {
        self.present.fill(false);
        self.preferences.reset(view.apps.len(), self.buses.lines.len());
        for index in 0..self.list.len() {
            let gang = self.list[index];
            let app = view.app(gang.slot);
            let size = gang.size.min(app.thread_count).min(self.buses.free());
            if gang.chosen && size >= app.min.max(1) {
                self.present[gang.slot.index()] = true;
                turn.limit(gang.slot, size);
                self.prefer(view, gang.slot, size);
            }
        }
        let running = &self.present;
        turn.running.retain(|slot| running[slot.index()]);
        self.preferences.write(turn);
    }

    /// Prefers for each thread the bus where it ran last, while there is room; for the others, and
    /// those of a new gang, the bus with most free processors.
    fn prefer(&mut self, view: &View<'_>, slot: Slot, size: u32) {
        let most = (0..self.buses.lines.len()).rev().max_by_key(|&bus| self.buses.lines[bus].free()).unwrap_or(0);
        for thread in view.threads_of(slot).iter().take(size as usize) {
            let home = thread.last.map_or(most as u32, |pu| self.buses.of(pu));
            let Some(bus) = self.buses.with_room(home) else { return };
            self.buses.lines[bus as usize].chosen += 1;
            self.preferences.add(slot, bus, 1);
        }
    }

    /// Applications that run, for tests: in the order of the list.
    #[cfg(test)]
    pub fn running(&self) -> Vec<u64> {
        self.list.iter().filter(|gang| gang.chosen).map(|gang| gang.app.0).collect()
    }
}

/// Takes a new sample of a gang: the mean of its threads that have been measured.
fn look(view: &View<'_>, gang: &mut Gang, length: u32) {
    let (mut sum, mut measured, mut newest) = (0_u64, 0_u64, 0);
    for thread in view.threads_of(gang.slot) {
        newest = newest.max(thread.samples);
        if let Some(rate) = thread.rate {
            sum += u64::from(rate);
            measured += 1;
        }
    }
    match sum.checked_div(measured) {
        Some(mean) if newest != gang.samples => gang.measured(mean as u32, length),
        Some(_) => {}
        None => gang.quanta = 0,
    }
    gang.samples = newest;
}

#[cfg(test)]
mod tests {
    use super::super::threading::{Decided, QUANTUM, survives};
    use super::*;
    use crate::conformance::Case;

    const INFO: Info = Info { name: "gangs", summary: "", source: "" };

    fn gangs(window: u32) -> Gangs {
        Gangs::new(INFO, window, QUANTUM)
    }

    fn ask(gangs: &mut Gangs, case: &mut Case) -> Vec<u64> {
        let mut turn = Turn::new();
        turn.reset(&case.order);
        let end = case.with_view(|view| gangs.now(view, &mut turn));
        case.now_ns = end.unwrap();
        gangs.running()
    }

    #[test]
    fn all_of_a_gang_or_none_the_head_first() {
        let mut case = Case::with_threads(4, &[3, 2, 1, 9], 1000);
        let mut gangs = gangs(1);
        assert_eq!(ask(&mut gangs, &mut case), [1, 3]);
        assert_eq!(ask(&mut gangs, &mut case), [2, 3], "nine do not fit beside two");
        assert_eq!(ask(&mut gangs, &mut case), [4], "nine folded to four");
        assert_eq!(ask(&mut gangs, &mut case), [1, 3]);
    }

    #[test]
    fn beside_the_head_the_one_that_fits_the_bandwidth() {
        let mut case = Case::with_threads(4, &[2, 2, 2], 100);
        case.rates(&[40, 45, 9]);
        assert_eq!(ask(&mut gangs(1), &mut case), [1, 3], "20 left for two: 9 is nearer to 10 than 45");
        case.now_ns = 0;
        case.rate(0, 5);
        assert_eq!(ask(&mut gangs(1), &mut case), [1, 2], "90 left for two: 45 is 45");
    }

    #[test]
    fn the_mean_of_the_window_or_the_latest() {
        let mut case = Case::with_threads(4, &[2, 2, 2], 100);
        case.rates(&[0, 20, 10]);
        let (mut latest, mut window) = (gangs(1), gangs(2));
        for rate in [Some(40), Some(41)] {
            case.rate(0, rate);
            for gangs in [&mut latest, &mut window] {
                ask(gangs, &mut case.clone());
            }
        }
        let rate = |gangs: &Gangs| gangs.list.iter().find(|gang| gang.app.0 == 1).unwrap().rate();
        assert_eq!((rate(&latest), rate(&window)), (Some(41), Some(40)));
        case.rate(0, None);
        for gangs in [&mut latest, &mut window] {
            ask(gangs, &mut case.clone());
        }
        assert_eq!((rate(&latest), rate(&window)), (None, None));
    }

    #[test]
    fn a_processor_that_becomes_free_stays_idle_until_nobody_runs() {
        let mut case = Case::with_threads(4, &[2, 2, 2], 100);
        let mut lqg = gangs(1);
        assert_eq!(case.decide(&mut lqg).count, [2, 2, 0]);
        case.order.remove(0);
        case.lay_out();
        assert_eq!(case.decide(&mut lqg).count, [0, 2, 0]);
        case.order.remove(0);
        case.lay_out();
        assert_eq!(case.decide(&mut lqg).count, [0, 0, 2]);
    }

    #[test]
    fn gangs_stay_on_their_buses() {
        let mut case = Case::with_threads(8, &[4, 4, 6], 0).on_buses(2, 1000);
        let mut lqg = gangs(1);
        let first = case.decide(&mut lqg);
        assert_eq!(first.preferred, [(Slot(0), 0, 4), (Slot(1), 1, 4)]);
        case.run(&first, |_, _| 100);
        let wide = case.decide(&mut lqg);
        assert_eq!(wide.preferred, [(Slot(2), 0, 4), (Slot(2), 1, 2)]);
        case.run(&wide, |_, _| 100);
        assert_eq!(case.decide(&mut lqg).preferred, first.preferred);
    }

    #[test]
    fn survives_whatever_happens() {
        // Requests that fall within a quantum make a gang smaller at once; nothing makes it larger
        // than the machine.
        let whole = |case: &Case, decided: &Decided| {
            for (app, &count) in case.apps.iter().zip(&decided.count) {
                assert!(count <= app.thread_count, "{decided:?}");
            }
        };
        let bound = |case: &Case| case.order.len() as u32 + 1;
        survives(&|| Box::new(gangs(1)), &whole, &bound);
        survives(&|| Box::new(gangs(5)), &whole, &bound);
    }
}
