// What the load programs of `numaestro bench` share; included by each.

/// One step of a number: enough arithmetic to cost some nanoseconds, and every bit of the result counts.
fn step(mut x: u64) -> u64 {
    for _ in 0..4 {
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x ^= x >> 27;
    }
    x.wrapping_add(0x9e37_79b9_7f4a_7c15)
}

/// The value of `--reps N`; `default` without it.
fn repetitions(mut arguments: impl Iterator<Item = String>, default: u64) -> u64 {
    arguments.by_ref().find(|argument| argument == "--reps");
    arguments.next().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// Prints the report; the value is the exit code of the program.
fn report(name: &str, reps: u64, wall_s: f64, right: bool) -> std::process::ExitCode {
    let verdict = if right { "ok" } else { "FAILED" };
    println!(
        "{{\"name\":\"{name}\",\"size\":{LENGTH},\"reps\":{reps},\"wall_s\":{wall_s:.6},\"verification\":\"{verdict}\"}}"
    );
    std::process::ExitCode::from(u8::from(!right))
}
