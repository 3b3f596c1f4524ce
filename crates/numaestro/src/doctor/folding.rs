//! The checks of folding in user space.
//!
//! Where a machine fails them, the kernel folds teams. That is as right, and takes longer.

use super::{Check, Outcome};
use numaestro_host::switching::Facts;

const RUNG: u8 = 2;
/// The first kernel that lets programs on x86-64 write the FS base.
const KERNEL_OF_FSGSBASE: (u32, u32) = (5, 9);
/// The first kernel with slices of a length that threads choose.
const KERNEL_OF_SLICES: (u32, u32) = (6, 12);

/// Everything there is to say of folding.
pub fn checks() -> Vec<Check> {
    of(&Facts::of_this_machine())
}

fn of(facts: &Facts) -> Vec<Check> {
    vec![user_space(facts), shadow_stacks(facts), kernel(facts), slices(facts)]
}

fn user_space(facts: &Facts) -> Check {
    let name = "folding in user space";
    let old = facts.version().is_some_and(|version| version < KERNEL_OF_FSGSBASE);
    let (found, next) = match facts.arch.as_str() {
        "x86_64" if facts.fsgsbase => return Check::good(RUNG, name, "possible: programs may use FSGSBASE"),
        "aarch64" => return Check::good(RUNG, name, "possible: programs may write TPIDR_EL0"),
        "x86_64" if old => (
            format!("Linux {} keeps FSGSBASE from programs; 5.9 and later do not", facts.release),
            "a newer kernel; the kernel folds teams until then",
        ),
        "x86_64" if facts.fsgsbase_in_processor => (
            "the processor has FSGSBASE, and the kernel keeps it from programs".to_owned(),
            "boot without `nofsgsbase`; the kernel folds teams until then",
        ),
        "x86_64" => (
            "the processor has no FSGSBASE, or the virtual machine hides it".to_owned(),
            "virtual machines: pass the processor's features to the guest (QEMU: -cpu host); the kernel folds teams until then",
        ),
        arch => (format!("not written for {arch}"), "nothing to do: the kernel folds teams"),
    };
    Check::lacking(RUNG, name, Outcome::No, found, next)
}

fn shadow_stacks(facts: &Facts) -> Check {
    let name = "shadow stacks";
    if !facts.shadow_stacks {
        return Check::good(RUNG, name, "not on this machine; they would be in the way of folding in user space");
    }
    if !facts.shadow_stacks_wanted {
        return Check::good(RUNG, name, "off, as long as GLIBC_TUNABLES does not ask for them");
    }
    let found = "GLIBC_TUNABLES asks for them; the kernel folds programs that have them";
    let next =
        "take x86_shstk (aarch64: aarch64_gcs) out of GLIBC_TUNABLES for programs that are to be folded in user space";
    Check::lacking(RUNG, name, Outcome::Partly, found, next)
}

fn kernel(facts: &Facts) -> Check {
    let name = "kernel";
    let Some(version) = facts.version() else {
        let found = format!("its release cannot be read: `{}`", facts.release);
        return Check::lacking(RUNG, name, Outcome::Partly, found, "is /proc mounted?");
    };
    let release = format!("Linux {}", facts.release);
    if facts.arch == "x86_64" && version < KERNEL_OF_FSGSBASE {
        let next = "Linux 5.9 for folding in user space, 6.12 for custom slices";
        return Check::lacking(RUNG, name, Outcome::Partly, release, next);
    }
    let more = if version < KERNEL_OF_SLICES { "; 6.12 has custom slices as well" } else { "" };
    Check::good(RUNG, name, format!("{release}{more}"))
}

fn slices(facts: &Facts) -> Check {
    let name = "custom slices";
    if facts.no_slices.is_empty() {
        return Check::good(RUNG, name, "threads may choose how long the kernel lets them run at a time");
    }
    let old = facts.version().is_none_or(|version| version < KERNEL_OF_SLICES);
    let next = if old {
        "Linux 6.12 has them; until then the kernel chooses how long threads run at a time"
    } else {
        "containers: allow sched_setattr in the seccomp profile; until then the kernel chooses how long threads run at a time"
    };
    Check::lacking(RUNG, name, Outcome::Partly, facts.no_slices.clone(), next)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine() -> Facts {
        Facts {
            arch: "x86_64".into(),
            fsgsbase: true,
            fsgsbase_in_processor: true,
            release: "6.18.4".into(),
            ..Facts::default()
        }
    }

    fn outcomes(facts: &Facts) -> Vec<Outcome> {
        let checks = of(facts);
        for check in &checks {
            assert_eq!(check.next.is_empty(), check.outcome == Outcome::Yes, "{check:?}");
            assert!(!check.found.is_empty());
        }
        checks.iter().map(|check| check.outcome).collect()
    }

    #[test]
    fn a_machine_with_everything() {
        use Outcome::Yes;
        assert_eq!(outcomes(&machine()), [Yes; 4]);
        let arm = Facts { arch: "aarch64".into(), fsgsbase: false, fsgsbase_in_processor: false, ..machine() };
        assert_eq!(outcomes(&arm), [Yes; 4]);
        assert_eq!(outcomes(&Facts { shadow_stacks: true, ..machine() }), [Yes; 4], "nobody asks for them");
    }

    #[test]
    fn each_way_to_lack_fsgsbase_has_its_own_remedy() {
        let without = Facts { fsgsbase: false, ..machine() };
        let cases = [
            (
                Facts { release: "5.4.0".into(), no_slices: "Linux 5.4.0 has none".into(), ..without.clone() },
                "a newer kernel",
            ),
            (without.clone(), "nofsgsbase"),
            (Facts { fsgsbase_in_processor: false, ..without.clone() }, "-cpu host"),
            (Facts { arch: "riscv64".into(), ..without }, "nothing to do"),
        ];
        for (facts, remedy) in cases {
            assert_eq!(outcomes(&facts)[0], Outcome::No);
            assert!(user_space(&facts).next.contains(remedy), "{facts:?}");
        }
    }

    #[test]
    fn old_kernels_and_shadow_stacks_are_named() {
        use Outcome::{No, Partly, Yes};
        let old =
            Facts { release: "5.4.0".into(), no_slices: "Linux 5.4.0 has none".into(), fsgsbase: false, ..machine() };
        assert_eq!(outcomes(&old), [No, Yes, Partly, Partly]);
        let between = Facts { release: "6.1.0".into(), no_slices: "Linux 6.1.0 has none".into(), ..machine() };
        assert_eq!(outcomes(&between), [Yes, Yes, Yes, Partly]);
        assert!(kernel(&between).found.contains("6.12"));
        let shadow = Facts { shadow_stacks: true, shadow_stacks_wanted: true, ..machine() };
        assert_eq!(outcomes(&shadow), [Yes, Partly, Yes, Yes]);
        let refused = Facts { no_slices: "choose a slice: EPERM".into(), ..machine() };
        assert!(slices(&refused).next.contains("seccomp"));
        assert_eq!(outcomes(&Facts { release: String::new(), ..machine() })[2], Partly);
    }
}
