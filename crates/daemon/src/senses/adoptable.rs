//! Which processes are adopted only if their user insists: those on which everything else depends,
//! and those that the user did not mean. An adopted process takes its descendants with it, so init
//! or a shell of one's own would bring in nearly everything.

use numaestro_abi::control::RefusalKind;
use numaestro_host::procfs::Stat;

use crate::identity::rights::Refusal;

/// The process id of init.
const INIT: u32 = 1;

/// The reason against an adoption without `--force`. `askers`: the asking process and its
/// ancestors.
pub(crate) fn objection(process: &Stat, askers: &[u32]) -> Option<Refusal> {
    let Stat { pid, name, .. } = process;
    let refuse = |what: String, hint: &str| Some(Refusal::new(what, hint).of_kind(RefusalKind::Permission));
    if *pid == INIT {
        let what = format!("process {pid} ({name}) is init: every process on the machine descends from it");
        return refuse(what, "name the program that you mean: `pgrep -a NAME`; --force takes init all the same");
    }
    if process.kernel {
        let what = format!("process {pid} ({name}) is a thread of the kernel");
        return refuse(what, "name a program: `pgrep -a NAME`; --force tries it all the same");
    }
    if askers.contains(pid) {
        let what = format!("process {pid} ({name}) is the shell that you ask from, or one around it");
        let hint =
            "`numaestro shell` starts a shell in which every program is managed; --force takes this one all the same";
        return refuse(what, hint);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: u32, kernel: bool) -> Stat {
        let line =
            format!("{pid} (p) S 0 0 0 0 -1 {} 0 0 0 0 0 0 0 0 20 0 1 0 7 0 0", if kernel { 0x20_0000 } else { 0 });
        numaestro_host::procfs::parse_stat(&line).unwrap()
    }

    #[test]
    fn only_what_a_user_could_mean() {
        let askers = [90, 80, 1];
        for (pid, kernel, said) in [(1, false, "init"), (2, true, "kernel"), (90, false, "shell"), (80, false, "shell")]
        {
            let refusal = objection(&process(pid, kernel), &askers).unwrap();
            assert!(
                refusal.reason.contains(said) && refusal.reason.contains(&format!("process {pid} ")),
                "{refusal:?}"
            );
            assert!(refusal.hint.contains("--force") && refusal.kind == RefusalKind::Permission, "{refusal:?}");
        }
        assert_eq!(objection(&process(91, false), &askers), None);
    }
}
