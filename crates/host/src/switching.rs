//! The means that this machine offers to programs that switch between their threads by themselves.

use std::fs;

use crate::error::{self, HostError};

/// Bit of `AT_HWCAP2` on x86-64: programs may write the FS base.
const HWCAP2_FSGSBASE: usize = 1 << 1;
/// Bit of `AT_HWCAP` on aarch64: there are guarded control stacks.
const HWCAP_GCS: u64 = 1 << 32;

/// Facts about the machine, its kernel, and the environment that programs are started with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Facts {
    /// As Rust calls it: `x86_64`, `aarch64`, …
    pub arch: String,
    /// The kernel lets programs write the FS base (x86-64).
    pub fsgsbase: bool,
    /// The processor could do that.
    pub fsgsbase_in_processor: bool,
    /// Release of the kernel, as `uname -r` shows it.
    pub release: String,
    /// Programs may have shadow stacks (x86-64) or guarded control stacks (aarch64).
    pub shadow_stacks: bool,
    /// Programs that are started now are to have them.
    pub shadow_stacks_wanted: bool,
    /// The obstacle to slices of a length that threads choose; empty if there is none.
    pub no_slices: String,
}

impl Facts {
    /// Finds the means of this machine; a thread of its own tries the slices.
    pub fn of_this_machine() -> Self {
        let (first, second) = rustix::param::linux_hwcap();
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let processor = read("/proc/cpuinfo");
        let has = |flag: &str| is_flag(&processor, flag);
        let arm = cfg!(target_arch = "aarch64");
        let tunables = std::env::var("GLIBC_TUNABLES").unwrap_or_default();
        let release = read("/proc/sys/kernel/osrelease").trim().to_owned();
        Self {
            arch: std::env::consts::ARCH.to_owned(),
            fsgsbase: cfg!(target_arch = "x86_64") && second & HWCAP2_FSGSBASE != 0,
            fsgsbase_in_processor: has("fsgsbase"),
            shadow_stacks: has("user_shstk") || arm && first as u64 & HWCAP_GCS != 0,
            shadow_stacks_wanted: wants_shadow_stacks(&tunables),
            no_slices: match custom_slices() {
                Ok(true) => String::new(),
                Ok(false) => format!("Linux {release} has none"),
                Err(cause) => cause.to_string(),
            },
            release,
        }
    }

    /// Major and minor number of the kernel, if its release begins with them.
    pub fn version(&self) -> Option<(u32, u32)> {
        let mut numbers = self.release.split(|c: char| !c.is_ascii_digit()).map(str::parse);
        Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
    }
}

/// Looks into the first list of flags only: all processors have the same.
fn is_flag(cpuinfo: &str, flag: &str) -> bool {
    let list = cpuinfo.lines().find_map(|line| line.strip_prefix("flags")?.split_once(':'));
    list.is_some_and(|(_, flags)| flags.split_whitespace().any(|word| word == flag))
}

/// The settings of the C library that turn shadow stacks on.
fn wants_shadow_stacks(tunables: &str) -> bool {
    tunables.split(':').filter_map(|entry| entry.split_once('=')).any(|(name, value)| match name {
        "glibc.cpu.x86_shstk" => value == "on" || value == "permissive",
        "glibc.cpu.aarch64_gcs" => value != "0",
        _ => false,
    })
}

/// `struct sched_attr` as the first kernel with it had it; every later kernel takes it.
#[repr(C)]
#[derive(Debug, Default)]
struct SchedulingAttributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

/// True if a thread can choose the length of its slices. A thread tries it and ends at once.
fn custom_slices() -> Result<bool, HostError> {
    let thread = std::thread::Builder::new().name("slices".to_owned()).spawn(try_slices);
    let thread = thread.map_err(error::call("start a thread"))?;
    thread.join().unwrap_or(Ok(false))
}

fn try_slices() -> Result<bool, HostError> {
    let mut attributes = attributes()?;
    let wish = if attributes.runtime == 5_000_000 { 4_000_000 } else { 5_000_000 };
    attributes.runtime = wish;
    // SAFETY: the kernel reads `size` bytes of a structure that has so many, and changes the
    // calling thread only.
    let result = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
    if result != 0 {
        return Err(error::call("choose a slice")(std::io::Error::last_os_error()));
    }
    // Kernels without slices take the call, and forget the wish.
    Ok(self::attributes()?.runtime == wish)
}

fn attributes() -> Result<SchedulingAttributes, HostError> {
    let size = size_of::<SchedulingAttributes>() as u32;
    let mut found = SchedulingAttributes { size, ..SchedulingAttributes::default() };
    // SAFETY: the kernel writes at most `size` bytes into the structure, which has that many.
    let result = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut found, size, 0) };
    if result == 0 { Ok(found) } else { Err(error::call("read a slice")(std::io::Error::last_os_error())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_looked_at() {
        let facts = Facts::of_this_machine();
        assert_eq!(facts.arch, std::env::consts::ARCH);
        assert!(facts.version().is_some(), "{facts:?}");
    }

    #[test]
    fn trying_leaves_the_caller_as_it_was() {
        let before = attributes().unwrap().runtime;
        let _ = custom_slices();
        assert_eq!(attributes().unwrap().runtime, before);
    }

    #[test]
    fn versions_begin_with_two_numbers() {
        let version = |release: &str| Facts { release: release.to_owned(), ..Facts::default() }.version();
        assert_eq!(version("6.18.44-generic"), Some((6, 18)));
        assert_eq!(version("5.9-rc1"), Some((5, 9)));
        assert_eq!(version(""), None);
        assert_eq!(version("six"), None);
    }

    #[test]
    fn flags_are_whole_words() {
        let text = "processor\t: 0\nflags\t\t: fpu fsgsbase user_shstk\nvmx flags\t: ept\n";
        assert!(is_flag(text, "fsgsbase") && !is_flag(text, "shstk") && !is_flag(text, "ept") && !is_flag("", "fpu"));
    }

    #[test]
    fn only_the_right_settings_ask_for_shadow_stacks() {
        assert!(wants_shadow_stacks("glibc.malloc.check=1:glibc.cpu.x86_shstk=on"));
        assert!(wants_shadow_stacks("glibc.cpu.aarch64_gcs=1"));
        for text in ["", "glibc.cpu.x86_shstk=off", "glibc.cpu.aarch64_gcs=0", "x86_shstk=on"] {
            assert!(!wants_shadow_stacks(text), "{text}");
        }
    }
}
