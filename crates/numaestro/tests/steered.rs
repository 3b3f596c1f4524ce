//! `status` names the libraries in a program, says how each is steered and why, and a profile
//! changes that.

mod support;

use numaestro_abi::control::{AppStatus, Class, LibraryStatus};
use numaestro_skip::skip;
use std::path::Path;
use std::process::Command;
use support::ended::{self, Ended};
use support::manager::Manager;
use support::programs::{any, program, python, source};
use support::{eventually, processors, turn};

/// The state of the application once `wanted` holds of it, and the end of the program.
#[track_caller]
fn seen(manager: &Manager, command: &mut Command, wanted: impl Fn(&AppStatus) -> bool) -> (AppStatus, Ended) {
    let running = ended::start_until_told(command);
    let mut last = None;
    let mut texts = String::new();
    let found = eventually(|| {
        let apps = manager.status().map(|status| status.apps).unwrap_or_default();
        texts = format!("{apps:#?}");
        last = apps.into_iter().find(&wanted);
        last.is_some()
    });
    if found {
        texts = String::from_utf8_lossy(&manager.command(["status"]).output().expect("it runs").stdout).into_owned();
    }
    let ended = running.end();
    assert!(ended.status.success(), "{}{}", ended.stdout, ended.stderr);
    let Some(app) = last else { panic!("status never said so: {texts}") };
    for library in &app.libraries {
        assert!(texts.contains(&library.name), "{} has no line: {texts}", library.name);
    }
    (app, ended)
}

fn library<'a>(app: &'a AppStatus, name: &str) -> Option<&'a LibraryStatus> {
    app.libraries.iter().find(|one| one.name.starts_with(name))
}

fn is(app: &AppStatus, name: &str, how: &str) -> bool {
    library(app, name).is_some_and(|one| one.how == how)
}

/// One processor for a program that would use several.
fn on_one(manager: &Manager, words: &[&str]) -> Command {
    let mut command = manager.command(["run", "--max", "1", "--"]);
    command.args(words).env("OMP_NUM_THREADS", "2").env("OPENBLAS_NUM_THREADS", "2");
    command
}

#[test]
fn the_library_that_owns_the_regions_is_named() {
    let manager = Manager::started();
    let Some(plugin) = program("gcc", "plugin.so") else { skip!("no gcc that makes OpenMP libraries") };
    let loader = any("loader");
    let words = [loader.as_str(), ended::UNTIL_TOLD, &format!("keep:{plugin}")];
    let (app, ended) = seen(&manager, &mut on_one(&manager, &words), |app| is(app, "plugin", "whole"));
    let plugin = library(&app, "plugin").expect("is there");
    assert_eq!((plugin.runtime.as_str(), plugin.threads, app.class), ("libgomp", 2, Class::Whole));
    // Which of the two depends on the machine.
    assert!(plugin.folded_by == "user" || plugin.folded_by == "kernel" && !plugin.why.is_empty(), "{plugin:?}");
    assert!(library(&app, "loader").is_none(), "it opens no region itself: {:?}", app.libraries);
    assert!(ended.sizes().iter().all(|(size, _)| *size == 2), "{:?}", ended.sizes());
}

#[test]
fn the_program_itself_is_one_of_them_and_may_follow() {
    if processors() == 1 {
        skip!("one processor only");
    }
    let manager = Manager::started();
    let inside = any("inside");
    let mut follows = manager.command(["run", "--class", "malleable", "--max", "1", "--", &inside, ended::UNTIL_TOLD]);
    let (app, _) = seen(&manager, &mut follows, |app| is(app, "inside", "follows"));
    assert_eq!((library(&app, "inside").expect("is there").threads, app.class), (1, Class::Malleable));
    let mut kernel = manager.command(["run", "--fold", "kernel", "--max", "1", "--", &inside, ended::UNTIL_TOLD]);
    let (app, _) = seen(&manager, &mut kernel, |app| library(app, "inside").is_some_and(|it| it.folded_by == "kernel"));
    let why = &library(&app, "inside").expect("is there").why;
    assert!(why.contains("--fold kernel"), "{why}");
}

/// The class is that of the regions, whatever setters are called beside.
#[test]
fn a_setter_beside_regions_changes_no_class() {
    let Some(python) = python() else { skip!("no Python that has NumPy; NUMAESTRO_PYTHON names one") };
    let Some(plugin) = program("gcc", "plugin.so") else { skip!("no gcc that makes OpenMP libraries") };
    let manager = Manager::started();
    let script = source("beside.py");
    let blas = |app: &AppStatus| app.libraries.iter().any(|one| one.runtime == "OpenBLAS" && one.how == "set");
    let (app, _) = seen(&manager, &mut on_one(&manager, &[&python, &script, ended::UNTIL_TOLD]), blas);
    assert_eq!((app.class, app.libraries.len()), (Class::Setter, 1), "{:?}", app.libraries);
    assert_eq!(app.libraries[0].threads, 1);
    let both = |app: &AppStatus| blas(app) && is(app, "plugin", "whole");
    let (app, ended) = seen(&manager, &mut on_one(&manager, &[&python, &script, ended::UNTIL_TOLD, &plugin]), both);
    assert_eq!(app.class, Class::Whole);
    assert!(app.runtimes.contains(&"libgomp".to_owned()) && app.runtimes.contains(&"OpenBLAS".to_owned()));
    assert!(ended.sizes().iter().all(|(size, _)| *size == 2), "{:?}", ended.sizes());
    assert_eq!(ended.stdout, "beside 1\n");
}

#[test]
fn onetbb_is_set() {
    let Some(tbb) = program("gcc", "tbb") else { skip!("no oneTBB for gcc") };
    let manager = Manager::started();
    let (app, _) = seen(&manager, &mut on_one(&manager, &[&tbb, ended::UNTIL_TOLD]), |app| is(app, "libtbb", "set"));
    let one = library(&app, "libtbb").expect("is there");
    // A limit of one thread would keep a program that waits for the workers' end for ever.
    assert_eq!((one.runtime.as_str(), one.threads, app.class), ("oneTBB", 2, Class::Setter));
}

/// oneTBB as the system has it, and as its wheel brings it. Only the latter asks for permits.
fn libraries_of_onetbb() -> Vec<(&'static str, Option<std::path::PathBuf>)> {
    let wheel = python().and_then(|python| {
        let lib = Path::new(&python).parent()?.parent()?.join("lib");
        lib.join("libtbb.so.12").is_file().then_some(lib)
    });
    let mut all = vec![("Debian's", None)];
    match wheel {
        Some(lib) => all.push(("its wheel's", Some(lib))),
        None => numaestro_skip::part("oneTBB of a wheel: tbb is not here"),
    }
    all
}

/// Numba waits for the end of oneTBB's workers at its exit. With a limit of one thread that never
/// came for two of four programs.
#[test]
fn programs_that_wait_for_the_end_of_workers_end() {
    let has_layer = |python: &str| {
        let mut command = Command::new(python);
        command.args(["-c", "import numba.np.ufunc.tbbpool"]).output().is_ok_and(|output| output.status.success())
    };
    let Some(python) = python().filter(|python| has_layer(python)) else {
        skip!("no Python that has Numba with oneTBB");
    };
    let manager = Manager::started();
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/bench/programs/library.py");
    let program = program.to_str().expect("UTF-8");
    let words = ["run", "--", &python, program, "numba-tbb", "--reps", "40"];
    let four = [0; 4].map(|_| ended::start(&mut manager.command(words)));
    for running in four {
        let ended = running.end();
        assert!(ended.status.success(), "{}{}", ended.stdout, ended.stderr);
    }
}

/// A pool that grows because its setter was called: each new thread has the program's files and
/// signals, and only two threads are ours.
#[test]
fn a_pool_that_a_setter_fills_is_the_programs_own() {
    let Some(python) = python() else { skip!("no Python that has NumPy; NUMAESTRO_PYTHON names one") };
    if processors() == 1 {
        skip!("one processor only");
    }
    let manager = Manager::started();
    let words = ["run", "--max", "1", "--", &python, &source("beside.py"), ended::UNTIL_TOLD];
    let running = ended::start_until_told(&mut manager.command(words));
    let set_to = |threads| {
        let blas = |one: &LibraryStatus| one.runtime == "OpenBLAS" && one.how == "set" && one.threads == threads;
        let apps = manager.status().map(|status| status.apps).unwrap_or_default();
        apps.into_iter().find(|app| app.libraries.iter().any(blas)).map(|app| app.pid)
    };
    assert!(eventually(|| set_to(1).is_some()), "it is never told of one processor");
    let pid = set_to(1).expect("it runs").to_string();
    let grown = manager.command(["set", &pid, "--max", "2"]).output().expect("it runs");
    assert!(grown.status.success(), "{}", String::from_utf8_lossy(&grown.stderr));
    assert!(eventually(|| set_to(2).is_some()), "it is never told of two");
    let mut ours = 0;
    let mut theirs = 0;
    for task in std::fs::read_dir(format!("/proc/{pid}/task")).expect("it runs").flatten() {
        let read = |file| std::fs::read_to_string(task.path().join(file)).unwrap_or_default();
        if read("comm").trim() == "numaestro" {
            ours += 1;
            continue;
        }
        theirs += 1;
        let blocked = read("status").lines().find_map(|line| line.strip_prefix("SigBlk:\t").map(str::to_owned));
        assert_eq!(blocked.as_deref(), Some("0000000000000000"), "{}", read("comm"));
        assert!(std::fs::read_dir(task.path().join("fd")).is_ok_and(|mut all| all.next().is_some()), "it has no files");
    }
    assert!(ours == 2 && theirs >= 2, "{ours} of ours, {theirs} of the program's");
    assert!(running.end().status.success());
}

/// Its threads can write where the program writes, take its signals and have its name: the program
/// says so itself.
#[test]
fn a_thread_that_a_library_starts_for_us_is_the_programs_own() {
    let Some(tbb) = program("gcc", "tbb") else { skip!("no oneTBB for gcc") };
    if processors() == 1 {
        skip!("one processor only");
    }
    let manager = Manager::started();
    for (whose, lib) in libraries_of_onetbb() {
        for how in ["", "libtbb=set"] {
            let mut command = on_one(&manager, &[&tbb, ended::UNTIL_TOLD, "2"]);
            command.envs(lib.iter().map(|lib| ("LD_LIBRARY_PATH", lib))).env("NUMAESTRO_LIBRARIES", how);
            let running = ended::start_until_told(&mut command);
            let of_one = || {
                let apps = manager.status()?.apps;
                apps.into_iter().find(|app| library(app, "libtbb").is_some_and(|it| it.how == "set"))
            };
            assert!(eventually(|| of_one().is_some()), "{whose} {how}: it is never told of one processor");
            let id = of_one().expect("it runs").pid.to_string();
            // It works by then, with permits in one thread: it starts another because it is told.
            std::thread::sleep(std::time::Duration::from_millis(1500));
            let grown = manager.command(["set", &id, "--max", "2"]).output().expect("it runs");
            assert!(grown.status.success(), "{}", String::from_utf8_lossy(&grown.stderr));
            let ended = running.end();
            assert!(ended.status.success(), "{whose} {how}: {}{}", ended.stdout, ended.stderr);
        }
    }
}

/// A directory with the profile that this `--library` makes for the program.
fn profile(manager: &Manager, rules: &[&str], program: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    let mut add = manager.command(["profile", "add"]);
    for rule in rules {
        add.args(["--library", rule]);
    }
    let added = add.arg(program).env("XDG_CONFIG_HOME", dir.path()).output().expect("it runs");
    assert!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
    dir
}

fn with_profile<'a>(command: &'a mut Command, dir: &Path) -> &'a mut Command {
    command.env("XDG_CONFIG_HOME", dir)
}

/// `OpenBLAS` counts its processors at its start: it is to lose one afterwards.
#[test]
fn a_profile_leaves_a_library_alone() {
    let Some(python) = python() else { skip!("no Python that has NumPy; NUMAESTRO_PYTHON names one") };
    if processors() == 1 {
        skip!("one processor only");
    }
    let manager = Manager::started();
    let script = source("beside.py");
    let run = || {
        let mut command = manager.command(["run", "--max", "2", "--", &python, &script, ended::UNTIL_TOLD]);
        command.env("OPENBLAS_NUM_THREADS", "2");
        command
    };
    let lower = |app: &AppStatus| {
        if app.libraries.iter().all(|one| one.runtime != "OpenBLAS") {
            return; // it has not counted yet
        }
        let _ = manager.command(["set", &app.app.to_string(), "--max", "1"]).output();
    };
    let blas = |app: &AppStatus, how: &str| app.libraries.iter().any(|one| one.runtime == "OpenBLAS" && one.how == how);
    let (app, ended) = seen(&manager, &mut run(), |app| {
        lower(app);
        app.count == 1 && blas(app, "set") && app.libraries[0].threads == 1
    });
    assert_eq!((ended.stdout.as_str(), app.class), ("beside 1\n", Class::Setter));
    let dir = profile(&manager, &["*openblas*=leave", "libnowhere=set"], &python);
    let mut command = run();
    let (app, ended) = seen(&manager, with_profile(&mut command, dir.path()), |app| {
        lower(app);
        app.count == 1 && blas(app, "left") && is(app, "libnowhere", "absent")
    });
    assert!(app.libraries.iter().all(|one| one.why == "its user said so"), "{:?}", app.libraries);
    assert_eq!((ended.stdout.as_str(), app.class), ("beside 2\n", Class::Fold), "its number is its own");
}

#[test]
fn a_library_of_openmp_that_is_left_alone_is_folded_by_the_kernel() {
    let manager = Manager::started();
    let inside = any("inside");
    let dir = profile(&manager, &["inside=leave"], &inside);
    let mut command = on_one(&manager, &[&inside, ended::UNTIL_TOLD]);
    let (app, ended) = seen(&manager, with_profile(&mut command, dir.path()), |app| is(app, "inside", "left"));
    assert_ne!(app.folding.map(|fold| fold.by), Some("user".to_owned()));
    assert!(ended.sizes().iter().all(|(size, _)| *size == 2), "{:?}", ended.sizes());
}

/// Without the profile the answer is the program's own number, and the team has it.
#[test]
fn a_profile_has_questions_answered_with_the_allocation() {
    let _turn = turn();
    let manager = Manager::started();
    for compiler in ["gcc", "clang"] {
        let Some(asks) = program(compiler, "asks") else { continue };
        let ended = ended::run(&mut on_one(&manager, &[&asks, "0.5"]));
        ended.expect("asks", "asks 199990000\n");
        assert!(ended.sizes().iter().all(|(size, _)| *size == 2), "{:?}", ended.sizes());
        let dir = profile(&manager, &["asks=answer"], &asks);
        let mut command = on_one(&manager, &[&asks, ended::UNTIL_TOLD]);
        let (app, ended) = seen(&manager, with_profile(&mut command, dir.path()), |app| {
            // It may have asked before its first decision came: the answer was two then.
            is(app, "asks", "answered") && library(app, "asks").is_some_and(|one| one.threads == 1)
        });
        assert_eq!(app.count, 1);
        let ones = ended.sizes().iter().filter(|(size, _)| *size == 1).map(|(_, times)| times).sum::<u64>();
        let others = ended.sizes().iter().filter(|(size, _)| *size != 1).map(|(_, times)| times).sum::<u64>();
        assert!(ones > 10 * others, "{:?}", ended.sizes());
    }
}

/// The library's own setter, called by the program, has the last word.
#[test]
fn the_programs_own_number_wins() {
    let _turn = turn();
    if processors() < 2 {
        skip!("one processor only");
    }
    let Some(python) = python() else { skip!("no Python that has NumPy; NUMAESTRO_PYTHON names one") };
    let manager = Manager::started();
    let script = source("beside.py");
    let mut command = manager.command(["run", "--", &python, &script, "5", "own"]);
    command.env("OPENBLAS_NUM_THREADS", "2");
    let has_counted = std::cell::Cell::new(false);
    let (app, ended) = seen(&manager, &mut command, |app| {
        // A library that counts one processor at its start never has two threads. Once it has
        // counted two, each change of the limit is a decision, with which the shim looks at it.
        has_counted.set(has_counted.get() || app.libraries.iter().any(|one| one.threads == 2));
        if !has_counted.get() {
            return false;
        }
        for max in ["1", "2"] {
            let _ = manager.command(["set", &app.app.to_string(), "--max", max]).output();
        }
        app.libraries.iter().any(|one| one.how == "left")
    });
    assert!(app.libraries[0].why.contains("by itself"), "{:?}", app.libraries);
    assert_eq!(ended.stdout, "beside 3\n");
}

#[test]
fn a_profile_with_a_wrong_rule_is_refused() {
    let manager = Manager::new();
    for (rule, hint) in [("libtbb", "NAME=VERB"), ("libtbb=eat", "set, answer and leave")] {
        let told = manager.command(["profile", "add", "--library", rule, "x"]).output().expect("it runs");
        let text = String::from_utf8_lossy(&told.stderr).into_owned();
        assert!(!told.status.success() && text.contains(hint), "{text}");
    }
}

/// A program that waits for something else can lend only what its threads do not use.
#[test]
fn threads_that_wait_for_a_region_sleep_soon() {
    let _turn = turn();
    if processors() < 2 {
        skip!("one processor only");
    }
    let manager = Manager::started();
    let used = |compiler: &str, longer: Option<(&str, &str)>| {
        let program = program(compiler, "waits")?;
        let mut command = manager.run_command([&program]);
        let ended = ended::run(command.envs(longer));
        let said = ended.stdout.strip_prefix("2 threads ").and_then(|rest| rest.strip_suffix(" ms\n"));
        Some(said.unwrap_or_else(|| panic!("{}{}", ended.stdout, ended.stderr)).parse::<u64>().expect("a number"))
    };
    // The user's word counts, and shows how long threads can spin here. Others may keep them
    // from it.
    for (compiler, longer) in [("gcc", ("GOMP_SPINCOUNT", "infinite")), ("clang", ("KMP_BLOCKTIME", "200"))] {
        let mut seen = Vec::new();
        while seen.len() < 5 {
            // `program` reports a part that is skipped where a compiler is missing.
            let (Some(own), Some(long)) = (used(compiler, None), used(compiler, Some(longer))) else { break };
            seen.push((own, long));
            if 3 * own < long {
                break;
            }
        }
        let sleeps = seen.last().is_none_or(|(own, long)| 3 * own < *long);
        assert!(sleeps, "{compiler}: milliseconds that its threads used, and those that spin: {seen:?}");
    }
}
