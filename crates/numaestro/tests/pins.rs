//! Who has bound itself, or was bound by somebody else, stays where it is, whatever the manager
//! does with its neighbours, and is given no other processor. All masks are read each
//! millisecond, by the programs themselves all the time.

mod support;

use numaestro_abi::control::Class;
use numaestro_skip::skip;
use numaestro_topology::CpuSet;
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use support::ended::{self, Running};
use support::manager::Manager;
use support::programs::{any, builds, program};
use support::{eventually, processors, turn};

/// The first two processors.
fn two() -> [String; 2] {
    let own = numaestro_host::affinity::get(0).expect("readable");
    let mut first = own.iter().take(2).map(|cpu| cpu.to_string());
    [first.next().expect("one"), first.next().expect("two")]
}

/// Reads the masks of all threads of a process each millisecond.
struct Watch {
    ends: Arc<AtomicBool>,
    /// Each change of a thread's mask, with its time.
    reader: std::thread::JoinHandle<Vec<(Duration, u32, String)>>,
}

impl Watch {
    fn of(pid: u32, tid: Option<u32>) -> Self {
        let ends = Arc::new(AtomicBool::new(false));
        let (over, mut seen) = (Arc::clone(&ends), Vec::new());
        let reader = std::thread::spawn(move || {
            let (began, mut latest) = (Instant::now(), BTreeMap::new());
            while !over.load(Ordering::Relaxed) {
                let all = || numaestro_host::procfs::threads(pid).unwrap_or_default();
                for tid in tid.map_or_else(all, |tid| vec![tid]) {
                    let Ok(mask) = numaestro_host::affinity::get(tid).map(|mask| mask.to_string()) else { continue };
                    if latest.insert(tid, mask.clone()).as_ref() != Some(&mask) {
                        seen.push((began.elapsed(), tid, mask));
                    }
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            seen
        });
        Self { ends, reader }
    }

    /// It has had this mask, and no other.
    #[track_caller]
    fn expect(self, what: &str, mask: &str) {
        self.ends.store(true, Ordering::Relaxed);
        let seen = self.reader.join().expect("it reads");
        assert!(!seen.is_empty() && seen.iter().all(|(_, _, seen)| seen == mask), "{what}: {seen:?}");
    }
}

/// A program that is bound already.
fn bound(command: &mut std::process::Command, mask: &str) -> Running {
    let running = ended::start_until_told(command);
    let is_bound = || numaestro_host::affinity::get(running.pid()).is_ok_and(|now| now.to_string() == mask);
    assert!(eventually(is_bound), "{command:?} is never bound");
    running
}

/// A program that comes and goes beside the others, some times.
fn come_and_go(manager: &Manager, times: u32) {
    for _ in 0..times {
        let neighbour = ended::start(&mut manager.run_command(["sh", "-c", "while :; do :; done"]));
        std::thread::sleep(Duration::from_millis(250));
        neighbour.signal(Signal::KILL);
        let _ = neighbour.end();
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn cpus_of(manager: &Manager, pid: u32) -> Option<CpuSet> {
    manager.status()?.apps.iter().find(|app| app.pid == pid).and_then(|app| app.cpus.parse().ok())
}

/// A second program that could use everything gets all but what the pinned ones have.
#[track_caller]
fn others_get_the_rest(manager: &Manager, pinned: &CpuSet) {
    let neighbour = ended::start(&mut manager.run_command(["sh", "-c", "while :; do :; done"]));
    let own = numaestro_host::affinity::get(0).expect("readable");
    let rest = own.difference(pinned);
    let has_it = eventually(|| cpus_of(manager, neighbour.pid()).is_some_and(|cpus| cpus == rest));
    let status = manager.status();
    neighbour.signal(Signal::KILL);
    let _ = neighbour.end();
    assert!(has_it, "{rest} were not given to the other: {status:#?}");
}

#[test]
fn every_kind_of_pin_stays_while_neighbours_come_and_go() {
    let _turn = turn();
    if processors() < 2 {
        skip!("one processor only");
    }
    let manager = Manager::started();
    let [first, second] = two();
    let pinned = any("pinned");
    let ways = [Some(("process", any("pinned"))), Some(("team", any("pinned"))), Some(("number", any("pinned")))];
    let by_number = program("gcc", "pinned-static").map(|path| ("number", path));
    for (way, path) in ways.into_iter().chain([by_number]).flatten() {
        let program = bound(&mut manager.run_command([path.as_str(), ended::UNTIL_TOLD, way, &first]), &first);
        let watch = Watch::of(program.pid(), Some(program.pid()));
        come_and_go(&manager, 4);
        watch.expect(way, &first);
        others_get_the_rest(&manager, &first.parse().expect("a list"));
        program.end().expect(way, "bound\nkept\n");
    }
    // Before it becomes the program: `taskset`, and what it says to the programs that it starts.
    for environment in [vec![], vec![format!("NUMAESTRO_CPUS_ALL={second}")]] {
        let mut words = vec!["taskset".to_owned(), "-c".to_owned(), second.clone(), "env".to_owned()];
        words.extend(environment);
        words.extend([pinned.clone(), ended::UNTIL_TOLD.to_owned(), "born".to_owned()]);
        let program = bound(&mut manager.run_command(words), &second);
        let watch = Watch::of(program.pid(), None);
        come_and_go(&manager, 4);
        watch.expect("taskset", &second);
        others_get_the_rest(&manager, &second.parse().expect("a list"));
        let why = manager.status().map(|status| status.apps.iter().map(|app| app.why.clone()).collect::<String>());
        let said = format!("allowed {second} by its own affinity");
        assert!(why.as_ref().is_some_and(|why| why.contains(&said)), "{why:?}");
        program.end().expect("taskset", "bound\nkept\n");
    }
    manager.expect_all_free();
}

#[test]
fn two_programs_on_different_processors_and_a_third_that_comes_and_goes() {
    let _turn = turn();
    if processors() < 2 {
        skip!("one processor only");
    }
    let manager = Manager::started();
    let cpus = two();
    let path = any("pinned");
    let start = |cpu: &String| {
        let script = format!("NUMAESTRO_CPUS_ALL={cpu} exec taskset -c {cpu} {path} {} born", ended::UNTIL_TOLD);
        bound(&mut manager.run_command(["sh", "-c", &script]), cpu)
    };
    let programs = cpus.each_ref().map(start);
    let watches = programs.each_ref().map(|program| Watch::of(program.pid(), None));
    come_and_go(&manager, 6);
    for ((watch, program), cpu) in watches.into_iter().zip(programs).zip(&cpus) {
        watch.expect("one of two", cpu);
        program.end().expect("one of two", "bound\nkept\n");
    }
    manager.expect_all_free();
}

#[test]
fn one_pinned_thread_stays_and_the_others_move() {
    let _turn = turn();
    if processors() < 2 {
        skip!("one processor only");
    }
    let manager = Manager::started();
    let [first, _] = two();
    let program =
        bound(&mut manager.run_command([any("pinned").as_str(), ended::UNTIL_TOLD, "thread", &first]), &first);
    let pid = program.pid();
    let watch = Watch::of(pid, Some(pid));
    let own = numaestro_host::affinity::get(0).expect("readable");
    // Half of the machine is a neighbour's: the free threads leave it.
    let neighbour = ended::start(&mut manager.run_command(["sh", "-c", "while :; do :; done"]));
    let others = || {
        let threads = numaestro_host::procfs::threads(pid).unwrap_or_default();
        threads.into_iter().filter(move |tid| *tid != pid).filter_map(|tid| numaestro_host::affinity::get(tid).ok())
    };
    let moved = eventually(|| {
        let cpus = cpus_of(&manager, pid).filter(|cpus| *cpus != own);
        cpus.is_some_and(|cpus| others().count() > 0 && others().all(|mask| mask == cpus))
    });
    neighbour.signal(Signal::KILL);
    let _ = neighbour.end();
    let back = eventually(|| others().count() > 0 && others().all(|mask| mask == own));
    watch.expect("the pinned thread", &first);
    assert!(moved && back, "the others move: {moved}, and come back: {back}");
    program.end().expect("thread", "bound\nkept\n");
}

#[test]
fn pins_outlive_limits_release_managers_and_the_end() {
    let _turn = turn();
    if processors() < 2 {
        skip!("one processor only");
    }
    let manager = Manager::started();
    let [first, second] = two();
    let start = |way: &'static str| {
        let path = any("pinned");
        bound(&mut manager.run_command([path.as_str(), ended::UNTIL_TOLD, way, &second]), &second)
    };
    let programs = [start("process"), start("team")];
    let watches = programs.each_ref().map(|program| Watch::of(program.pid(), Some(program.pid())));
    come_and_go(&manager, 1);
    let of = |program: &Running| {
        let status = manager.status().expect("a manager");
        let app = status.apps.iter().find(|app| app.pid == program.pid());
        app.map(|app| app.app.to_string()).expect("an application")
    };
    for words in [["set", "", "--max", "1"], ["set", "", "--max", "none"]] {
        let mut words = words.map(str::to_owned);
        words[1] = of(&programs[0]);
        let done = ended::run(&mut manager.command(words));
        assert!(done.status.success(), "{done:?}");
        come_and_go(&manager, 1);
    }
    // One manager dies, the next one takes over.
    Manager::signal(manager.pid(), Signal::KILL);
    assert!(eventually(|| manager.status().is_none()), "the manager does not die");
    let began = Instant::now();
    assert!(manager.run(["true"]).status.success() && began.elapsed() < support::hang());
    come_and_go(&manager, 2);
    let done = ended::run(&mut manager.command(["release", of(&programs[1]).as_str()]));
    assert!(done.status.success(), "{done:?}");
    come_and_go(&manager, 1);
    let done = ended::run(&mut manager.command(["stop"]));
    assert!(done.status.success(), "{done:?}");
    std::thread::sleep(Duration::from_millis(300));
    assert_ne!(first, second);
    for (watch, program) in watches.into_iter().zip(programs) {
        watch.expect("to the end", &second);
        program.signal(Signal::KILL);
        let _ = program.end();
    }
}

#[test]
fn who_was_bound_for_a_moment_only_gets_everything_again() {
    let _turn = turn();
    if processors() < 2 {
        skip!("one processor only");
    }
    let manager = Manager::started();
    let [first, _] = two();
    let own = numaestro_host::affinity::get(0).expect("readable");
    for path in [Some(any("pinned")), program("gcc", "pinned-static")].into_iter().flatten() {
        let program = bound(&mut manager.run_command([path.as_str(), "6", "briefly", &first]), &first);
        let only_one = eventually(|| cpus_of(&manager, program.pid()).is_some_and(|cpus| cpus.to_string() == first));
        let all_again = eventually(|| cpus_of(&manager, program.pid()).is_some_and(|cpus| cpus == own));
        let mask = numaestro_host::affinity::get(program.pid()).map(|mask| mask.to_string()).unwrap_or_default();
        assert!(only_one && all_again && mask == own.to_string(), "{path}: {only_one}, {all_again}, {mask}");
        program.end().expect("briefly", "bound\nkept\n");
    }
    manager.expect_all_free();
}

/// libomp takes all processors for a moment in regions of one thread, and puts back what it has
/// read.
#[test]
fn a_thread_that_has_bound_itself_stays_bound_through_regions_of_one() {
    let manager = Manager::started();
    for (compiler, path) in builds("rebound") {
        for threads in ["2", "4"] {
            let mut command = manager.command(["run", "--", &path, "0.3"]);
            let ended = ended::run(command.env("OMP_NUM_THREADS", threads));
            assert_eq!(ended.stdout, "rebound 0\n", "{compiler}, {threads}: {}", ended.stderr);
        }
    }
}

/// A binding that the runtime makes is no pin.
#[test]
fn threads_bound_to_places_stay_on_the_allocation() {
    let manager = Manager::started();
    for (compiler, path) in builds("places") {
        for fold in ["user", "kernel"] {
            let mut command = manager.command(["run", "--max", "1", "--fold", fold, "--", &path, "1", "one"]);
            let ended = ended::run(command.envs([("OMP_NUM_THREADS", "4"), ("OMP_PLACES", "threads")]));
            assert!(ended.status.success(), "{compiler}, {fold}: {}", ended.stderr);
        }
    }
}

/// The class that `status` shows, and what holds the size.
#[test]
fn status_tells_whole_teams_from_malleable_ones() {
    let manager = Manager::started();
    for (compiler, path) in builds("inside") {
        for (dynamic, class, shown) in [
            ("", "auto", (Class::Whole, "")),
            ("true", "auto", (Class::Malleable, "")),
            ("", "malleable", (Class::Malleable, "")),
            ("false", "malleable", (Class::Malleable, "OMP_DYNAMIC=false")),
            ("", "fold", (Class::Fold, "the user's wish")),
            ("true", "fold", (Class::Fold, "the user's wish")),
        ] {
            let mut command = manager.command(["run", "--class", class, "--", &path, "3600"]);
            command.env("OMP_NUM_THREADS", "2");
            if !dynamic.is_empty() {
                command.env("OMP_DYNAMIC", dynamic);
            }
            let running = ended::start(&mut command);
            let pid = running.pid();
            let seen = || manager.status()?.apps.into_iter().find(|app| app.pid == pid && app.regions > 0);
            let same = || seen().is_some_and(|app| (app.class, app.held_by.as_str()) == shown);
            assert!(eventually(same), "{compiler}, OMP_DYNAMIC={dynamic:?}, class {class}: {:?}", seen());
            running.signal(Signal::KILL);
            let _ = running.end();
        }
    }
    manager.expect_all_free();
}
