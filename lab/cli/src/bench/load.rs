//! Measures how busy the machine was during a run, and through which programs, and decides whether
//! the run may count.
//!
//! The judgement (`Window::foreign`, `Verdict`) is plain arithmetic on figures; reading them is at
//! the end of the file.

use std::fs;
use std::time::{Duration, Instant};

/// Smallest share of foreign time that is told from the clock tick's error, in seconds: two ticks
/// of 10 ms.
const TICK_ERROR_S: f64 = 0.02;

/// Processor seconds of the whole machine since its start.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct MachineTime {
    /// Running something: user, nice, system and interrupts.
    pub busy_s: f64,
    /// Wanted to run, but the hypervisor ran something else.
    pub steal_s: f64,
}

/// The cost of one run, and the load beside it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Window {
    /// Length in seconds.
    pub length_s: f64,
    /// Processors of the machine.
    pub processors: usize,
    /// Busy processor seconds of the machine in it.
    pub busy_s: f64,
    /// Stolen processor seconds in it.
    pub steal_s: f64,
    /// Processor seconds of the programs of the mix, the manager, the unmanaged load of the mix and
    /// this command.
    pub own_s: f64,
}

impl Window {
    /// Share of the machine (0 to 1) that went to others, stolen time included.
    pub fn foreign(&self) -> f64 {
        let capacity = self.length_s * self.processors as f64;
        if capacity > 0.0 { (self.busy_s + self.steal_s - self.own_s).max(0.0) / capacity } else { 0.0 }
    }

    /// May it count, if others may use the share `limit` of the machine?
    pub fn verdict(&self, limit: f64) -> Verdict {
        let seconds = (self.busy_s + self.steal_s - self.own_s).max(0.0);
        if self.foreign() <= limit || seconds <= TICK_ERROR_S { Verdict::Quiet } else { Verdict::Noisy }
    }
}

/// The verdict whether a run may count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It had the machine for itself.
    Quiet,
    /// Something else ran beside it: repeat.
    Noisy,
}

/// Decides which runs of one cell are kept.
#[derive(Debug)]
pub struct Gate {
    limit: f64,
    tries_left: u32,
}

impl Gate {
    /// Others may use the share `limit`; at most `tries` runs of this cell are rejected.
    pub fn new(limit: f64, tries: u32) -> Self {
        Self { limit, tries_left: tries }
    }

    /// `true`: the run counts. `false`: repeat it. Once all tries are used up every run counts, and
    /// shows its foreign load.
    pub fn admit(&mut self, window: &Window) -> bool {
        if window.verdict(self.limit) == Verdict::Quiet || self.tries_left == 0 {
            return true;
        }
        self.tries_left -= 1;
        false
    }
}

/// Reads the machine's busy and stolen time.
pub fn machine_time() -> MachineTime {
    let text = fs::read_to_string("/proc/stat").unwrap_or_default();
    parse_stat(&text, rustix::param::clock_ticks_per_second() as f64)
}

/// The clocks at one moment.
pub struct Reading {
    at: Instant,
    machine: MachineTime,
    own_s: f64,
}

impl Reading {
    /// Reads them; programs of ours other than this command have used `others_s` processor seconds
    /// so far.
    pub fn take(others_s: f64) -> Self {
        let own_s = others_s + process_time(std::process::id());
        Self { at: Instant::now(), machine: machine_time(), own_s }
    }

    /// The time between two readings, in which children that have ended used `children_s`
    /// processor seconds.
    pub fn until(&self, later: &Self, children_s: f64, processors: usize) -> Window {
        Window {
            length_s: (later.at - self.at).as_secs_f64(),
            processors,
            busy_s: later.machine.busy_s - self.machine.busy_s,
            steal_s: later.machine.steal_s - self.machine.steal_s,
            own_s: later.own_s - self.own_s + children_s,
        }
    }
}

/// The `cpu` line of `/proc/stat`: user nice system idle iowait irq softirq steal guest; guest is
/// part of user.
fn parse_stat(text: &str, ticks_per_s: f64) -> MachineTime {
    let line = text.lines().find(|line| line.starts_with("cpu ")).unwrap_or_default();
    let ticks: Vec<f64> = line.split_whitespace().skip(1).filter_map(|word| word.parse().ok()).collect();
    let at = |i: usize| ticks.get(i).copied().unwrap_or(0.0);
    MachineTime { busy_s: (at(0) + at(1) + at(2) + at(5) + at(6)) / ticks_per_s, steal_s: at(7) / ticks_per_s }
}

/// Waits until others use no more than the share `limit` of `processors` processors, or three
/// seconds.
pub fn await_quiet(limit: f64, processors: usize) {
    let since = Instant::now();
    while since.elapsed() < Duration::from_secs(3) {
        let (begin, before) = (Instant::now(), machine_time());
        std::thread::sleep(Duration::from_millis(200));
        let (length_s, after) = (begin.elapsed().as_secs_f64(), machine_time());
        let (busy_s, steal_s) = (after.busy_s - before.busy_s, after.steal_s - before.steal_s);
        if (Window { length_s, processors, busy_s, steal_s, own_s: 0.0 }).verdict(limit) == Verdict::Quiet {
            return;
        }
    }
}

/// Processor seconds so far of all living threads of `pid`; 0 if it is gone.
pub fn process_time(pid: u32) -> f64 {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return 0.0 };
    let of_task = |path: std::path::PathBuf| -> Option<f64> {
        fs::read_to_string(path.join("schedstat")).ok()?.split_whitespace().next()?.parse::<f64>().ok()
    };
    tasks.flatten().filter_map(|task| of_task(task.path())).sum::<f64>() / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(busy_s: f64, steal_s: f64, own_s: f64) -> Window {
        Window { length_s: 1.0, processors: 2, busy_s, steal_s, own_s }
    }

    #[test]
    fn the_share_of_others_is_what_is_left_of_the_machine() {
        assert!((window(2.0, 0.0, 1.8).foreign() - 0.1).abs() < 1e-12);
        assert!((window(1.8, 0.2, 1.8).foreign() - 0.1).abs() < 1e-12);
        assert!(window(1.0, 0.0, 1.5).foreign().abs() < 1e-12, "rounding never makes it negative");
        assert!(Window::default().foreign().abs() < 1e-12);
    }

    #[test]
    fn the_limit_decides() {
        assert_eq!(window(1.90, 0.0, 1.8).verdict(0.06), Verdict::Quiet);
        assert_eq!(window(1.95, 0.0, 1.8).verdict(0.06), Verdict::Noisy);
        let short = Window { length_s: 0.1, processors: 2, busy_s: 0.215, steal_s: 0.0, own_s: 0.2 };
        assert_eq!(short.verdict(0.06), Verdict::Quiet, "15 of 200 ms are within the error of the tick");
    }

    #[test]
    fn a_gate_rejects_so_often_and_then_lets_everything_through() {
        let (quiet, noisy) = (window(1.8, 0.0, 1.8), window(2.0, 0.0, 1.0));
        let mut gate = Gate::new(0.06, 2);
        let kept: Vec<bool> = [noisy, quiet, noisy, noisy, quiet].iter().map(|w| gate.admit(w)).collect();
        assert_eq!(kept, [false, true, false, true, true]);
    }

    #[test]
    fn the_line_of_the_whole_machine_is_read() {
        let time = parse_stat("cpu  100 10 50 900 7 3 2 40 30 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n", 100.0);
        assert!((time.busy_s - 1.65).abs() < 1e-12);
        assert!((time.steal_s - 0.4).abs() < 1e-12);
        assert_eq!(parse_stat("", 100.0), MachineTime::default());
    }

    #[test]
    fn the_clocks_of_this_machine_go_on() {
        let before = (machine_time(), process_time(std::process::id()));
        let mut x = 1_u64;
        while process_time(std::process::id()) <= before.1 {
            x = std::hint::black_box(x.wrapping_mul(3));
        }
        assert!(machine_time().busy_s >= before.0.busy_s);
        assert!(process_time(u32::MAX) == 0.0);
    }
}
