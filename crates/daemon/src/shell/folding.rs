//! The folding of a program's team in words: each reason against user space, and its remedy.

use numaestro_abi::control::FoldStatus;
use numaestro_abi::page::{fold, why};
use numaestro_host::memory::Folding;

/// The picture of a program's folding; nothing until the program reports any.
pub(crate) fn shown(folding: &Folding) -> Option<FoldStatus> {
    if *folding == Folding::default() {
        return None;
    }
    // A reason counts only where the kernel folds.
    let reason = if folding.mode == fold::KERNEL { folding.why } else { why::NONE };
    let (why, next) = words(reason);
    Some(FoldStatus {
        by: match folding.mode {
            fold::USER => "user",
            fold::KERNEL => "kernel",
            _ => "none",
        }
        .to_owned(),
        reason: why::NAMES.get(reason as usize).copied().unwrap_or("other").to_owned(),
        why: why.to_owned(),
        next: next.to_owned(),
        threads: folding.threads,
        carriers: folding.carriers,
        switches: folding.switches,
        switches_per_second: folding.switches_per_second,
        unfolds: folding.unfolds,
        opened: folding.opened,
        dissolved: folding.dissolved,
    })
}

/// A reason against user space, and its remedy; both are one clause.
pub(crate) fn words(reason: u32) -> (&'static str, &'static str) {
    const NOTHING: &str = "nothing to do: its results are right, only its barriers take longer";
    match reason {
        why::NONE => ("", ""),
        why::USER => (
            "its user asks for it (--fold kernel, or a profile)",
            "start it with --fold user; `numaestro profile list` shows profiles",
        ),
        why::MACHINE => {
            ("this machine does not let programs switch between threads", "`numaestro doctor` says what is missing")
        }
        why::RUNTIME => (
            "numaestro does not know its OpenMP runtime, or a function of it that the program calls",
            "build it with gcc 9 to 15 or clang 11 to 20, and link the OpenMP library dynamically",
        ),
        why::ROOTS => {
            ("several of its threads open parallel regions", "let one thread open all of them, if that can be had")
        }
        why::SIZE => ("its team has more than 1024 threads", "set OMP_NUM_THREADS to at most 1024"),
        why::HELPER => (
            "numaestro could not start a thread of its own in it",
            "allow more threads: `ulimit -u`, pids.max of its cgroup",
        ),
        why::RSEQ => (
            "a library in it uses restartable sequences, as tcmalloc does",
            "run it with the C library's malloc, if that library can be left out",
        ),
        why::PI => ("it uses mutexes with priority inheritance", NOTHING),
        why::SHADOW => (
            "it uses shadow stacks or protection keys",
            "take x86_shstk out of GLIBC_TUNABLES, if that is where its shadow stacks come from",
        ),
        why::SYNC => (
            "its threads wait for each other without barriers: by flags, pipes or condition variables",
            "give it as many processors as it has threads: `numaestro run --wait --min THREADS`",
        ),
        why::TASKS => ("it uses tasks, ordered sections or doacross loops on several processors", NOTHING),
        why::NESTED => (
            "it opens parallel regions inside parallel regions",
            "OMP_MAX_ACTIVE_LEVELS=1, if it needs only the outer ones",
        ),
        why::CANCEL => ("OMP_CANCELLATION is on", "OMP_CANCELLATION=false, if it does not need to cancel anything"),
        why::FAULT => (
            "numaestro found a fault of its own in it, and gave the threads back to the kernel",
            "please report it with the output of `numaestro status --json`; `--fold kernel` avoids it",
        ),
        _ => ("its threads are no OpenMP team", NOTHING),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_is_said_in_words_with_what_to_do() {
        let mut said = Vec::new();
        for (number, name) in why::NAMES.iter().enumerate() {
            let folding =
                Folding { mode: fold::KERNEL, why: number as u32, threads: 8, carriers: 2, ..Folding::default() };
            let seen = shown(&folding).unwrap();
            assert_eq!((seen.by.as_str(), seen.reason.as_str()), ("kernel", *name));
            assert_eq!(seen.why.is_empty(), number == 0, "{name}");
            assert_eq!(seen.next.is_empty(), number == 0, "{name}");
            assert!(!said.contains(&seen.why), "{name} says the same as another");
            said.push(seen.why);
        }
    }

    #[test]
    fn a_reason_is_not_shown_where_it_does_not_hold() {
        let user = Folding { mode: fold::USER, why: why::RSEQ, threads: 8, carriers: 2, ..Folding::default() };
        let seen = shown(&user).unwrap();
        assert_eq!((seen.by.as_str(), seen.reason.as_str(), seen.why.as_str()), ("user", "none", ""));
        let before = Folding { opened: 3, dissolved: 3, ..Folding::default() };
        assert_eq!(shown(&before).unwrap().by, "none");
        assert_eq!(shown(&Folding::default()), None);
        let absurd = Folding { mode: fold::KERNEL, why: 99, ..Folding::default() };
        assert_eq!(shown(&absurd).unwrap().reason, "other");
    }
}
