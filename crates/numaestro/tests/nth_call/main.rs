//! The n-th system call of the manager, its guard, `run` and the shim fails, for one n after the
//! other, in twelve stories. After each: every program has ended as without us, every mask is
//! whole, and no process and no file of ours is left.
//!
//! Usually some are drawn. `NUMAESTRO_TEST_FAULTS=all` for every n until none fails, with
//! `NUMAESTRO_TEST_STORY` and `NUMAESTRO_TEST_ROLE` for some of them, and `NUMAESTRO_TEST_N` for
//! one. `NUMAESTRO_TEST_SEED` for other errors.

mod scene;
#[path = "../support/mod.rs"]
mod support;

use numaestro_skip::skip;
use scene::{STORIES, Scene, Story, Verdict};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use support::nth::{Fault, Role};
use support::{Dice, number, processors};

/// Time that the drawn ones may take.
const BUDGET: Duration = Duration::from_secs(20);

/// What came of one case: the calls that were counted, the one that failed, and the verdict.
struct Case {
    count: u64,
    struck: Option<String>,
    verdict: Verdict,
}

fn tell((name, story): Story, role: Role, n: u64, seed: u64) -> Case {
    let mut scene = Scene::new(name, Fault::new(role, n, seed));
    let told = story(&mut scene);
    let fault = Fault::new(role, n, seed);
    let fault = std::mem::replace(&mut scene.fault, fault);
    let verdict = told.and_then(|()| scene.ends());
    Case { count: fault.count(), struck: fault.struck(), verdict }
}

/// Every n of a story and a role, until none fails; gives the last one and the problems.
fn all_of(story: Story, role: Role, seed: u64) -> (u64, Vec<String>) {
    let only = number("NUMAESTRO_TEST_N", 0);
    let (mut n, mut idle, mut problems) = (only.max(1), 0, Vec::new());
    // The number of calls differs a little from run to run.
    while idle < 3 {
        let case = tell(story, role, n, seed);
        idle = if case.struck.is_none() { idle + 1 } else { 0 };
        if let Err(what) = case.verdict {
            let struck = case.struck.unwrap_or_else(|| "no call failed".to_owned());
            eprintln!("FOUND {}, {}, n = {n}, {struck}: {what}", story.0, role.name());
            problems.push(format!("{}, {}, n = {n}, {struck}: {what}", story.0, role.name()));
        }
        if only > 0 {
            break;
        }
        n += 1;
    }
    (n - idle, problems)
}

fn chosen(variable: &str, name: &str) -> bool {
    std::env::var(variable).map_or(true, |wanted| wanted == name)
}

/// Every story with every role, two at a time.
fn all(seed: u64) -> Vec<String> {
    let pairs: Vec<(Story, Role)> = STORIES
        .into_iter()
        .flat_map(|story| Role::ALL.into_iter().map(move |role| (story, role)))
        .filter(|(story, role)| chosen("NUMAESTRO_TEST_STORY", story.0) && chosen("NUMAESTRO_TEST_ROLE", role.name()))
        .collect();
    let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..number("NUMAESTRO_TEST_WORKERS", 2) {
            scope.spawn(|| {
                while let Some((story, role)) = pairs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let (count, problems) = all_of(*story, *role, seed);
                    eprintln!("{}, {}: {count} calls failed, {} problems", story.0, role.name(), problems.len());
                    found.lock().expect("no panic").extend(problems);
                }
            });
        }
    });
    found.into_inner().expect("no panic")
}

/// The call of a role that fails, drawn: each power of two up to the last is as likely as the next,
/// because a manager makes thousands of calls and the first ones differ most.
fn drawn(role: Role, dice: &mut Dice) -> u64 {
    let powers = match role {
        Role::Manager => 12,
        Role::Guard => 2,
        Role::Run => 6,
        Role::Shim => 5,
    };
    let least = 1 << dice.roll(powers);
    least + dice.roll(least)
}

/// Some, drawn from the seed, as long as there is time.
fn some(seed: u64) -> Vec<String> {
    let (mut dice, mut problems, began) = (Dice::new(77), Vec::new(), Instant::now());
    let (mut told, mut struck) = (0, 0);
    while began.elapsed() < BUDGET {
        let story = STORIES[told % STORIES.len()];
        let role = Role::ALL[dice.roll(4) as usize];
        let n = drawn(role, &mut dice);
        let case = tell(story, role, n, seed);
        told += 1;
        struck += usize::from(case.struck.is_some());
        if let Err(what) = case.verdict {
            problems.push(format!("{}, {}, n = {n}, {:?}: {what}", story.0, role.name(), case.struck));
        }
    }
    eprintln!("{told} stories, {struck} calls failed");
    assert!(struck * 4 > told, "only {struck} calls of {told} stories failed");
    problems
}

#[test]
fn whichever_call_fails_programs_end_as_alone_and_nothing_is_left() {
    if processors() < 2 {
        skip!("one processor only");
    }
    let probe = tell(STORIES[0], Role::Run, 0, 0);
    if probe.count == 0 {
        skip!("no system call can be intercepted here (seccomp_unotify)");
    }
    assert_eq!(probe.verdict, Ok(()), "without a fault");
    let seed = number("NUMAESTRO_TEST_SEED", 1);
    let every = std::env::var("NUMAESTRO_TEST_FAULTS").is_ok_and(|word| word == "all");
    let problems = if every { all(seed) } else { some(seed) };
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
}
