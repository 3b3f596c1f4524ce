//! What the load programs of `numaestro bench` share: the arithmetic, the option and the report. It
//! knows no threads.

/// One step of a number: enough arithmetic to cost some nanoseconds, and every bit of the result
/// counts.
pub fn step(mut x: u64) -> u64 {
    for _ in 0..4 {
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x ^= x >> 27;
    }
    x.wrapping_add(0x9e37_79b9_7f4a_7c15)
}

/// The value of `--reps N`; `default` without it.
pub fn repetitions(arguments: impl Iterator<Item = String>, default: u64) -> u64 {
    option("--reps", arguments, default)
}

/// The value of an option; `default` without it.
pub fn option(name: &str, mut arguments: impl Iterator<Item = String>, default: u64) -> u64 {
    arguments.by_ref().find(|argument| argument == name);
    arguments.next().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// Prints the report; the value is the exit code of the program.
pub fn report(name: &str, size: usize, reps: u64, wall_s: f64, right: bool) -> std::process::ExitCode {
    let verdict = if right { "ok" } else { "FAILED" };
    println!(
        "{{\"name\":\"{name}\",\"size\":{size},\"reps\":{reps},\"wall_s\":{wall_s:.6},\"verification\":\"{verdict}\"}}"
    );
    std::process::ExitCode::from(u8::from(!right))
}
