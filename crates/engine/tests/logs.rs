//! Logs of rigid jobs under FCFS and EASY, against a reference that is naive in every way: lists,
//! no state, everything computed anew at each event.

use numaestro_engine::{Action, AppId, Class, Engine, Event, Settings, Wish};
use numaestro_policy::Random;
use numaestro_topology::synthetic;

/// A rigid job. Its number is its index plus one.
#[derive(Debug, Clone, Copy)]
struct Job {
    submit: u64,
    run: u64,
    processors: u32,
    estimate: Option<u64>,
}

/// Which rule the reference follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    Fcfs,
    Easy,
}

impl Rule {
    const fn name(self) -> &'static str {
        match self {
            Self::Fcfs => "fcfs",
            Self::Easy => "easy",
        }
    }
}

/// When each job started, by the reference, and the first reservation it had at the head of the
/// queue.
#[derive(Debug, Default)]
struct Reference {
    start: Vec<Option<u64>>,
    reserved: Vec<Option<u64>>,
}

impl Reference {
    fn run(jobs: &[Job], pus: u32, rule: Rule) -> Self {
        let mut this = Self { start: vec![None; jobs.len()], reserved: vec![None; jobs.len()] };
        let (mut arrived, mut gone) = (0, vec![false; jobs.len()]);
        loop {
            let runs = |job: usize, gone: &[bool]| this.start[job].is_some() && !gone[job];
            let ends = (0..arrived).filter(|&job| runs(job, &gone));
            let first_end = ends.map(|job| (this.start[job].unwrap() + jobs[job].run, job)).min();
            let arrival = jobs.get(arrived).map(|job| job.submit);
            let now = match (first_end, arrival) {
                (Some((at, job)), arrival) if arrival.is_none_or(|arrival| at <= arrival) => {
                    gone[job] = true;
                    at
                }
                (_, Some(at)) => {
                    arrived += 1;
                    at
                }
                _ => return this,
            };
            while this.start_one(jobs, pus, rule, arrived, &gone, now) {}
        }
    }

    /// Starts the first that may start now. False if there is none.
    fn start_one(&mut self, jobs: &[Job], pus: u32, rule: Rule, arrived: usize, gone: &[bool], now: u64) -> bool {
        let running: Vec<usize> = (0..arrived).filter(|&job| self.start[job].is_some() && !gone[job]).collect();
        let waiting: Vec<usize> = (0..arrived).filter(|&job| self.start[job].is_none()).collect();
        let free = pus - running.iter().map(|&job| jobs[job].processors).sum::<u32>();
        let Some((&head, others)) = waiting.split_first() else { return false };
        if jobs[head].processors <= free {
            self.start[head] = Some(now);
            return true;
        }
        let end = |job: usize| match jobs[job].estimate {
            Some(estimate) => (self.start[job].unwrap() + estimate).max(now),
            None => u64::MAX,
        };
        let free_at = |at: u64| {
            free + running.iter().filter(|&&job| end(job) <= at).map(|&job| jobs[job].processors).sum::<u32>()
        };
        let shadow = running.iter().map(|&job| end(job)).filter(|&at| free_at(at) >= jobs[head].processors).min();
        let shadow = shadow.expect("everybody ends at last, if only at the end of time");
        self.reserved[head].get_or_insert(shadow);
        let extra = free_at(shadow) - jobs[head].processors;
        let overtakes = |&&job: &&usize| {
            let in_time = jobs[job].estimate.is_some_and(|estimate| now + estimate <= shadow);
            jobs[job].processors <= free && (in_time || jobs[job].processors <= extra)
        };
        match others.iter().find(overtakes) {
            Some(&job) if rule == Rule::Easy => {
                self.start[job] = Some(now);
                true
            }
            _ => false,
        }
    }
}

/// When each job started, by the engine.
fn by_engine(jobs: &[Job], pus: u32, policy: &str) -> Vec<Option<u64>> {
    let machine = synthetic::parse(&format!("core:{pus} pu:1")).unwrap();
    let settings = Settings { policy: policy.into(), positions: 2, ..Settings::default() };
    let mut engine = Engine::new(machine, settings, 1).unwrap();
    let (mut start, mut gone) = (vec![None::<u64>; jobs.len()], vec![false; jobs.len()]);
    let (mut arrived, mut actions) = (0, Vec::new());
    loop {
        let ends = (0..arrived).filter(|&job| start[job].is_some() && !gone[job]);
        let first_end = ends.map(|job| (start[job].unwrap() + jobs[job].run, job)).min();
        let arrival = jobs.get(arrived).map(|job| job.submit);
        let (now, event) = match (first_end, arrival) {
            (Some((at, job)), arrival) if arrival.is_none_or(|arrival| at <= arrival) => {
                gone[job] = true;
                (at, Event::Depart { app: AppId(job as u64 + 1) })
            }
            (_, Some(at)) => {
                arrived += 1;
                (at, Event::Arrive { app: AppId(arrived as u64), wish: wish(&jobs[arrived - 1]) })
            }
            _ => return start,
        };
        engine.step(now, &event, &mut actions);
        for action in actions.drain(..) {
            match action {
                Action::Start { app } => {
                    assert_eq!(start[app.0 as usize - 1].replace(now), None, "{app} started twice");
                }
                Action::Target { app, count, shared, .. } => {
                    assert_eq!((count, shared), (jobs[app.0 as usize - 1].processors, false), "{app}");
                }
                Action::Wait { app, position } => {
                    assert!(start[app.0 as usize - 1].is_none());
                    assert!(position <= 2 || app.0 == arrived as u64, "{app} need not know that it is at {position}");
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

fn wish(job: &Job) -> Wish {
    Wish {
        min: job.processors,
        max: job.processors,
        class: Class::Fold,
        estimate_ns: job.estimate,
        ..Wish::new(job.processors)
    }
}

/// What is known of run times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Estimates {
    UpperBounds,
    /// Too short, too long or none.
    Any,
}

fn random_jobs(random: &mut Random, pus: u32, estimates: Estimates) -> Vec<Job> {
    let mut at = 0;
    let (pace, count) = (1 + random.below(60), 1 + random.below(40));
    let job = |_| {
        at += u64::from(random.below(pace));
        let run = u64::from(random.below(100));
        let slack = u64::from(random.below(3) * random.below(60));
        let estimate = match (estimates, random.below(6)) {
            (Estimates::Any, 0) => None,
            (Estimates::Any, 1 | 2) => Some(run.saturating_sub(slack)),
            _ => Some(run + slack),
        };
        let widest = 1 + random.below(pus);
        Job { submit: at, run, processors: 1 + random.below(widest), estimate }
    };
    (0..count).map(job).collect()
}

fn same_starts(rule: Rule, estimates: Estimates) {
    let mut random = Random::new(7);
    for round in 0..1500 {
        let pus = 1 + random.below(16);
        let jobs = random_jobs(&mut random, pus, estimates);
        let reference = Reference::run(&jobs, pus, rule);
        let engine = by_engine(&jobs, pus, rule.name());
        assert_eq!(engine, reference.start, "round {round}, {pus} processors: {jobs:#?}");
        assert!(engine.iter().all(Option::is_some), "round {round}: somebody never starts");
        for (job, reserved) in reference.reserved.iter().enumerate() {
            let late = reserved.is_some_and(|reserved| engine[job].unwrap() > reserved);
            assert!(!late || estimates == Estimates::Any, "round {round}: job {job} was promised {reserved:?}");
        }
    }
}

#[test]
fn easy_starts_as_the_reference_does() {
    same_starts(Rule::Easy, Estimates::Any);
}

#[test]
fn easy_keeps_its_promise_to_the_head_if_estimates_are_upper_bounds() {
    same_starts(Rule::Easy, Estimates::UpperBounds);
}

#[test]
fn fcfs_starts_as_the_reference_does_and_nobody_overtakes() {
    same_starts(Rule::Fcfs, Estimates::Any);
    let mut random = Random::new(8);
    for _ in 0..300 {
        let jobs = random_jobs(&mut random, 8, Estimates::Any);
        assert!(by_engine(&jobs, 8, "fcfs").is_sorted());
    }
}

#[test]
fn easy_overtakes_where_fcfs_does_not() {
    let job = |submit, run, processors| Job { submit, run, processors, estimate: Some(run) };
    let jobs = [job(0, 100, 6), job(1, 50, 8), job(2, 98, 2), job(3, 98, 2), job(4, 9, 1)];
    assert_eq!(by_engine(&jobs, 8, "fcfs"), [0, 100, 150, 150, 150].map(Some));
    assert_eq!(by_engine(&jobs, 8, "easy"), [0, 100, 2, 150, 150].map(Some));
}
