//! Programs that take turns notice nothing of it: job control, results, and policies that change
//! all the time.
//!
//! No test knows how long anything takes.

mod support;

use numaestro_skip::skip;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use support::manager::{Manager, NUMAESTRO, alone};
use support::{ended, eventually, programs, turn};

const BUSY: &str = "while :; do :; done";

fn set(manager: &Manager, policy: &str) {
    let output = manager.command(["policy", "set", policy]).output().expect("the command runs");
    assert!(output.status.success(), "{policy}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A manager under a policy with turns; where nothing can be stopped, why not.
fn with_turns() -> Result<Manager, String> {
    let rung = numaestro_host::stop::rung();
    if !rung.works {
        return Err(rung.detail);
    }
    let manager = Manager::started();
    set(&manager, "round-robin");
    Ok(manager)
}

/// A shell in a terminal of its own.
struct Terminal {
    name: String,
}

impl Terminal {
    fn new(manager: &Manager) -> Self {
        let name = format!("numaestro-test-{}", std::process::id());
        let it = Self { name };
        let dir = manager.dir().display();
        let shell = format!("env NUMAESTRO_DIR={dir} PS1='ready> ' bash --norc --noprofile -i");
        let started = it.tmux(&["-f", "/dev/null", "new-session", "-d", "-x", "200", "-y", "500", &shell]);
        assert!(started.status.success(), "{}", String::from_utf8_lossy(&started.stderr));
        it.expect("ready>");
        it
    }

    fn tmux(&self, words: &[&str]) -> Output {
        Command::new("tmux").args(["-L", &self.name]).args(words).env_remove("TMUX").output().expect("tmux runs")
    }

    fn keys(&self, keys: &str) {
        assert!(self.tmux(&["send-keys", keys]).status.success());
    }

    fn types(&self, line: &str) {
        assert!(self.tmux(&["send-keys", "-l", line]).status.success());
        self.keys("Enter");
    }

    /// Everything on the screen.
    fn shows(&self) -> String {
        String::from_utf8_lossy(&self.tmux(&["capture-pane", "-p", "-S", "-"]).stdout).into_owned()
    }

    #[track_caller]
    fn expect(&self, what: &str) {
        assert!(eventually(|| self.shows().contains(what)), "never `{what}` in:\n{}", self.shows().trim_end());
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

#[test]
fn job_control_of_a_real_shell_is_as_it_was() {
    let _turn = turn();
    if !support::has("tmux") || !support::has("bash") {
        skip!("tmux or bash is not here");
    }
    let manager = match with_turns() {
        Ok(manager) => manager,
        Err(why) => skip!("programs cannot be stopped: {why}"),
    };
    let terminal = Terminal::new(&manager);
    let run = format!("{NUMAESTRO} run -- sh -c");
    terminal.types(&format!("{run} '{BUSY}' & {run} '{BUSY}' & {run} '{BUSY}' &"));
    let states = || manager.status().map(|s| s.apps.iter().map(|app| app.state.clone()).collect::<Vec<_>>());
    assert!(eventually(|| states().is_some_and(|states| states.iter().any(|state| state == "stopped"))));
    // The shell does not take turns for what its user does.
    std::thread::sleep(Duration::from_millis(500));
    terminal.types("jobs; echo listed-$((1+0))");
    terminal.expect("listed-1");
    let shown = terminal.shows();
    assert_eq!(shown.matches("Running").count(), 3, "{shown}");
    assert!(!shown.contains("Stopped") && !shown.contains("Done"), "{shown}");
    // One in the foreground, stopped by its user, whether or not it has its turn just then.
    for round in 1..=4 {
        terminal.types(if round == 1 { "fg %2" } else { "fg" });
        std::thread::sleep(Duration::from_millis(130));
        terminal.keys("C-z");
        assert!(
            eventually(|| terminal.shows().matches("Stopped").count() >= round),
            "not stopped in round {round}:\n{}",
            terminal.shows().trim_end()
        );
    }
    terminal.types("bg %2; sleep 0.5; jobs %2; echo listed-$((1+1))");
    terminal.expect("listed-2");
    assert!(terminal.shows().trim_end().contains("Running"));
    terminal.types("kill %1; wait %1; echo ended-$?");
    terminal.expect("ended-143");
    terminal.types("fg %3");
    std::thread::sleep(Duration::from_millis(150));
    terminal.keys("C-c");
    terminal.types("echo code-$?");
    terminal.expect("code-130");
    terminal.types("kill -9 %2; wait %2; echo ended-$?");
    terminal.expect("ended-137");
    manager.expect_all_free();
}

#[test]
fn a_parent_waits_as_if_nobody_had_stopped_its_children() {
    let _turn = turn();
    let manager = match with_turns() {
        Ok(manager) => manager,
        Err(why) => skip!("programs cannot be stopped: {why}"),
    };
    let script = format!(
        "( {BUSY} ) & a=$!; ( {BUSY} ) & b=$!; (sleep 0.4; exit 7) & c=$!; wait $c; echo $?; kill $a; wait $a; echo $?; \
         kill -9 $b; wait $b; echo $?"
    );
    let threads: Vec<_> = std::thread::scope(|scope| {
        let run = || ended::run(&mut manager.run_command(["bash", "-c", &script]));
        let started: Vec<_> = (0..3).map(|_| scope.spawn(run)).collect();
        started.into_iter().map(|thread| thread.join().expect("ran")).collect()
    });
    for ended in threads {
        ended.expect("a parent", "7\n143\n137\n");
    }
    manager.expect_all_free();
}

/// Several copies of each program while turns are taken and policies change: the same results as
/// alone.
#[test]
fn results_are_the_same_while_policies_with_turns_and_without_follow_each_other() {
    const POLICIES: [&str; 6] = ["round-robin", "equi", "sw-dss", "dss", "ssw-dss", "equi"];
    let _turn = turn();
    let manager = match with_turns() {
        Ok(manager) => manager,
        Err(why) => skip!("programs cannot be stopped: {why}"),
    };
    let over = AtomicBool::new(false);
    let names = ["reduce", "schedules", "tasks", "threads", "signals", "forks", "closes", "persist"];
    let programs = names.map(programs::any);
    let mut ends = Vec::new();
    let switches = std::thread::scope(|scope| {
        let switcher = scope.spawn(|| {
            for switches in 0.. {
                if over.load(Ordering::Relaxed) {
                    return switches;
                }
                set(&manager, POLICIES[switches % POLICIES.len()]);
                std::thread::sleep(Duration::from_millis(170));
            }
            0
        });
        for program in &programs {
            let run = || ended::run(&mut manager.run_command([program, "0.7"]));
            let copies: Vec<_> = (0..3).map(|_| scope.spawn(run)).collect();
            ends.extend(copies.into_iter().map(|copy| (program, copy.join())));
        }
        over.store(true, Ordering::Relaxed);
        switcher.join()
    });
    assert!(switches.expect("every policy could be set") > programs.len());
    for (program, end) in ends {
        let wanted = ended::run(&mut alone([program, "0.05"]));
        end.expect("ran").expect(program, &wanted.stdout);
    }
    manager.expect_all_free();
}
