//! Advice as words before a command, and as lines for a shell. The printed commands and lines work
//! without numaestro afterwards.

use crate::command_line::quoted;
use numaestro_abi::control::Advice;
use numaestro_topology::CpuSet;
use std::ffi::OsString;
use std::fmt::Write;

/// They would bind threads elsewhere, against the variables of OpenMP.
const IN_THE_WAY: [&str; 2] = ["GOMP_CPU_AFFINITY", "KMP_AFFINITY"];

/// The variables of OpenMP. Threads are bound to places only where these are the program's own: two
/// teams bound to the same processor could not get out of each other's way.
fn variables(advice: &Advice, threads: u32) -> Vec<(&'static str, String)> {
    let mut variables = vec![("OMP_NUM_THREADS", threads.to_string())];
    let places: Vec<String> = cpus(advice).iter().map(|cpu| format!("{{{cpu}}}")).collect();
    if advice.shared || places.is_empty() {
        variables.push(("OMP_PROC_BIND", "false".to_owned()));
    } else {
        variables.push(("OMP_PLACES", places.join(",")));
        variables.push(("OMP_PROC_BIND", "close".to_owned()));
    }
    variables
}

fn cpus(advice: &Advice) -> CpuSet {
    advice.cpus.parse().unwrap_or_default()
}

/// Lines for `eval`.
pub fn exports(advice: &Advice, threads: u32) -> String {
    let variables = variables(advice, threads);
    let mut text = String::new();
    let unset: Vec<&str> = IN_THE_WAY.into_iter().chain(unwanted(&variables)).collect();
    let _ = writeln!(text, "unset {}", unset.join(" "));
    for (name, value) in variables {
        let value = String::from_utf8_lossy(&quoted(value.as_bytes())).into_owned();
        let _ = writeln!(text, "export {name}={value}");
    }
    text
}

/// The variable that a former answer may have left behind.
fn unwanted(variables: &[(&'static str, String)]) -> Option<&'static str> {
    let has_places = variables.iter().any(|(name, _)| *name == "OMP_PLACES");
    (!has_places).then_some("OMP_PLACES")
}

/// `env -u ... OMP_NUM_THREADS=...`
pub fn environment(advice: &Advice, threads: u32) -> Vec<OsString> {
    let variables = variables(advice, threads);
    let mut words = vec![OsString::from("env")];
    for name in IN_THE_WAY.into_iter().chain(unwanted(&variables)) {
        words.extend(["-u".into(), name.into()]);
    }
    words.extend(variables.into_iter().map(|(name, value)| format!("{name}={value}").into()));
    words
}

/// `taskset -c LIST`
pub fn taskset(advice: &Advice) -> Vec<OsString> {
    vec!["taskset".into(), "-c".into(), advice.cpus.as_str().into()]
}

/// `numactl --physcpubind=LIST`, and the nodes for pages: a preference, never a bound. Of several
/// nodes each thread's own is best, and pages that do not fit there go to the next nearest by
/// themselves.
pub fn numactl(advice: &Advice) -> Vec<OsString> {
    let mut words = vec!["numactl".into(), format!("--physcpubind={}", advice.cpus).into()];
    match advice.memory_nodes.parse::<CpuSet>() {
        Ok(nodes) if nodes.len() == 1 => words.push(format!("--preferred={nodes}").into()),
        Ok(nodes) if !nodes.is_empty() => words.push("--localalloc".into()),
        _ => {}
    }
    words
}

/// Everything at once, before a command.
pub fn placed(advice: &Advice, threads: u32, command: &[OsString]) -> Vec<OsString> {
    let words = environment(advice, threads).into_iter().chain(taskset(advice));
    words.chain(command.iter().cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn advice() -> Advice {
        Advice { count: 3, cpus: "0-1,4".into(), memory_nodes: "1".into(), ..Advice::default() }
    }

    #[test]
    fn own_processors_are_places_and_shared_ones_are_not() {
        let own = "unset GOMP_CPU_AFFINITY KMP_AFFINITY\nexport OMP_NUM_THREADS=3\nexport OMP_PLACES='{0},{1},{4}'\n\
                   export OMP_PROC_BIND=close\n";
        assert_eq!(exports(&advice(), 3), own);
        let shared =
            "unset GOMP_CPU_AFFINITY KMP_AFFINITY OMP_PLACES\nexport OMP_NUM_THREADS=2\nexport OMP_PROC_BIND=false\n";
        assert_eq!(exports(&Advice { count: 0, shared: true, ..advice() }, 2), shared);
    }

    #[test]
    fn memory_is_preferred_and_never_bound() {
        assert_eq!(numactl(&advice()), ["numactl", "--physcpubind=0-1,4", "--preferred=1"]);
        let several = Advice { memory_nodes: "0-1".into(), ..advice() };
        assert_eq!(numactl(&several), ["numactl", "--physcpubind=0-1,4", "--localalloc"]);
        assert_eq!(numactl(&Advice { memory_nodes: String::new(), ..advice() }), ["numactl", "--physcpubind=0-1,4"]);
    }
}
