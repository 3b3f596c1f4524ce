//! Builds the environment that a managed program is started with.
//!
//! It works on the raw entries, so that entries that are not ours stay byte for byte.

use crate::cli::PoolArg;
use crate::pool::Pool;
use crate::shim;
use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// Has the effect of libgomp's default and is found again by the shim in libgomp's data.
pub const SPIN_COUNT: &str = "300089";
/// The allowed set: the affinity that the user gave.
pub const CPUS_ALL: &str = "NUMAESTRO_CPUS_ALL";
/// The share of a program that begins on its allowed set.
pub const CPUS_NOW: &str = "NUMAESTRO_CPUS_NOW";
/// Neither a program with it nor what it starts is managed.
pub const OFF: &str = "NUMAESTRO_OFF";
/// What pools that are sized once are sized for.
pub const POOL: &str = "NUMAESTRO_POOL";
const SANITIZER: &str = "ASAN_OPTIONS";
const SANITIZER_LOOKS_NOT: &str = "verify_asan_link_order=0";

/// Wishes of the program's user to the shim. An outer `run` may have set the wishes that are
/// missing here.
#[derive(Debug, Clone, Default)]
pub struct Told {
    /// The class, by its name.
    pub class: Option<&'static str>,
    /// `user` or `kernel`: the party that switches between threads.
    pub fold: Option<&'static str>,
    /// Rules for libraries in the program.
    pub libraries: Option<String>,
    /// What pools are sized for.
    pub pool: Option<PoolArg>,
    /// The terminal at which a person looks on: its device number.
    pub terminal: Option<String>,
    /// The most processors that the program can ever have, where the manager says so.
    pub most: Option<u32>,
}

/// Entries in order, as `execve` takes them.
#[derive(Debug, Clone)]
pub struct Environment {
    entries: Vec<CString>,
}

impl Environment {
    /// Takes the entries that the process was given.
    pub fn new(entries: Vec<CString>) -> Self {
        Self { entries }
    }

    /// For `execve`.
    pub fn entries(&self) -> &[CString] {
        &self.entries
    }

    /// The first entry of that name, as `getenv` finds it.
    pub fn get(&self, name: &str) -> Option<OsString> {
        self.entries.iter().find_map(|entry| value_of(entry, name)).map(|bytes| OsString::from_vec(bytes.to_vec()))
    }

    /// The names of the entries, in order.
    pub fn names(&self) -> Vec<String> {
        let name = |entry: &CString| Some(entry.to_str().ok()?.split_once('=')?.0.to_owned());
        self.entries.iter().filter_map(name).collect()
    }

    /// Replaces the first entry of that name, removes others, or adds one.
    pub fn set(&mut self, name: &str, value: &OsStr) {
        let mut entry = format!("{name}=").into_bytes();
        entry.extend_from_slice(value.as_bytes());
        let Ok(entry) = CString::new(entry) else { return };
        let place = self.entries.iter().position(|old| value_of(old, name).is_some());
        self.remove(name);
        self.entries.insert(place.unwrap_or(self.entries.len()).min(self.entries.len()), entry);
    }

    /// Removes every entry of that name; tells whether there was one.
    pub fn remove(&mut self, name: &str) -> bool {
        let before = self.entries.len();
        self.entries.retain(|entry| value_of(entry, name).is_none());
        self.entries.len() != before
    }

    /// The processors that the user gives to what is started here. `own`: the affinity of this
    /// process, which below another `run` is only that one's share.
    pub fn allowed(&self, own: &str) -> String {
        self.get(CPUS_ALL).and_then(|list| list.into_string().ok()).unwrap_or_else(|| own.to_owned())
    }

    /// Sets every variable that a managed program needs. `all` is the user's own affinity, a Linux
    /// list: the program would have it without us, and runtimes that size themselves once are told
    /// it. Gives a sentence for each thing changed.
    /// `preload`: our files for `LD_PRELOAD`.
    pub fn prepare(&mut self, attach: &Path, all: &str, preload: &[&Path], told: &Told) -> Vec<String> {
        let mut changes = Vec::new();
        if self.get(CPUS_ALL).is_none() {
            // Below another `run` the present affinity is only that one's share, and the variable
            // holds the user's.
            self.set(CPUS_ALL, OsStr::new(all));
            changes.push(format!("{CPUS_ALL}={all}"));
        }
        // Somebody may have switched us off for everything else.
        self.remove(OFF);
        changes.extend(self.preload(preload));
        self.set("NUMAESTRO_ATTACH", attach.as_os_str());
        changes.push(format!("NUMAESTRO_ATTACH={}", attach.display()));
        let words = [
            ("NUMAESTRO_CLASS", told.class),
            ("NUMAESTRO_FOLD", told.fold),
            ("NUMAESTRO_LIBRARIES", told.libraries.as_deref()),
            ("NUMAESTRO_TERMINAL", told.terminal.as_deref()),
        ];
        for (name, value) in words {
            if let Some(value) = value {
                self.set(name, OsStr::new(value));
                changes.push(format!("{name}={value}"));
            }
        }
        // The variable holds the user's own processors by now.
        let given = self.allowed(all);
        let pool = Pool::of(told.pool, self.get(POOL).as_deref(), &given, told.most);
        if let Some(pool) = pool.map(|pool| pool.to_string()) {
            self.set(POOL, OsStr::new(&pool));
            changes.push(format!("{POOL}={pool}"));
        }
        if self.get("GOMP_SPINCOUNT").is_none() && self.get("OMP_WAIT_POLICY").is_none() {
            self.set("GOMP_SPINCOUNT", OsStr::new(SPIN_COUNT));
            changes.push(format!("GOMP_SPINCOUNT={SPIN_COUNT} (the shim adjusts waiting)"));
        }
        changes
    }

    /// Removes the words of an outer `run` about the processors of its machine.
    pub fn forget_machine(&mut self) {
        self.remove(CPUS_ALL);
        if self.get(POOL).is_some_and(|pool| pool != "now") {
            self.remove(POOL);
        }
    }

    /// Takes back what [`Self::prepare`] has set. `is_shim` tells our library from others.
    pub fn undo(&mut self, is_shim: impl Fn(&OsStr) -> bool) {
        for name in self.names().into_iter().filter(|name| name.starts_with("NUMAESTRO_")) {
            self.remove(&name);
        }
        if self.get("GOMP_SPINCOUNT").is_some_and(|value| value == SPIN_COUNT) {
            self.remove("GOMP_SPINCOUNT");
        }
        self.preload_only(&[], is_shim);
    }

    /// Our files first in `LD_PRELOAD`, and each only once; a sentence if there are any.
    fn preload(&mut self, ours: &[&Path]) -> Option<String> {
        self.preload_only(ours, shim::is_one);
        let names: Vec<String> = ours.iter().map(|file| file.display().to_string()).collect();
        (!ours.is_empty()).then(|| format!("LD_PRELOAD begins with {}", names.join(":")))
    }

    fn preload_only(&mut self, ours: &[&Path], is_ours: impl Fn(&OsStr) -> bool) {
        let before = self.get("LD_PRELOAD").unwrap_or_default();
        let others = before.as_bytes().split(|byte| *byte == b':' || *byte == b' ');
        let others = others.filter(|one| !one.is_empty() && !is_ours(OsStr::from_bytes(one)));
        let all: Vec<&[u8]> = ours.iter().map(|file| file.as_os_str().as_bytes()).chain(others).collect();
        if all.is_empty() {
            self.remove("LD_PRELOAD");
        } else {
            self.set("LD_PRELOAD", OsStr::from_bytes(&all.join(&b':')));
        }
    }

    /// `AddressSanitizer` ends a program in which another library comes before it, unless it is
    /// told not to look.
    pub fn calm_sanitizer(&mut self) -> Option<String> {
        let before = self.get(SANITIZER).unwrap_or_default();
        if before.to_string_lossy().contains(SANITIZER_LOOKS_NOT) {
            return None;
        }
        let mut value = before;
        if !value.is_empty() {
            value.push(":");
        }
        value.push(SANITIZER_LOOKS_NOT);
        self.set(SANITIZER, &value);
        Some(format!("{SANITIZER} ends with {SANITIZER_LOOKS_NOT}: another library comes before its own"))
    }
}

fn value_of<'a>(entry: &'a CString, name: &str) -> Option<&'a [u8]> {
    entry.as_bytes().strip_prefix(name.as_bytes())?.strip_prefix(b"=")
}

#[cfg(test)]
mod tests {
    use super::*;

    const STUB: &str = "/libnumaestro_preload.so";

    fn environment(entries: &[&str]) -> Environment {
        Environment::new(entries.iter().map(|e| CString::new(*e).expect("no zero")).collect())
    }

    fn shown(environment: &Environment) -> Vec<String> {
        environment.entries().iter().map(|e| e.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn prepares_and_leaves_the_rest_alone() {
        let mut it = environment(&[
            "A=1",
            "odd entry",
            "OMP_PLACES=cores",
            "LD_PRELOAD=/x.so /old/libnumaestro_shim-1.so:/y.so",
            "A=2",
        ]);
        it.prepare(
            Path::new("/run/attach"),
            "0-3",
            &[Path::new(STUB)],
            &Told {
                class: Some("fold"),
                fold: Some("kernel"),
                libraries: Some("libx*=leave".into()),
                ..Told::default()
            },
        );
        assert_eq!(
            shown(&it),
            [
                "A=1",
                "odd entry",
                "OMP_PLACES=cores",
                "LD_PRELOAD=/libnumaestro_preload.so:/x.so:/y.so",
                "A=2",
                "NUMAESTRO_CPUS_ALL=0-3",
                "NUMAESTRO_ATTACH=/run/attach",
                "NUMAESTRO_CLASS=fold",
                "NUMAESTRO_FOLD=kernel",
                "NUMAESTRO_LIBRARIES=libx*=leave",
                "NUMAESTRO_POOL=whole:4",
                "GOMP_SPINCOUNT=300089"
            ]
        );
    }

    #[test]
    fn the_users_waiting_policy_wins() {
        for own in ["GOMP_SPINCOUNT=7", "OMP_WAIT_POLICY=passive"] {
            let mut it = environment(&[own]);
            it.prepare(Path::new("/a"), "0", &[], &Told::default());
            let ours = ["NUMAESTRO_CPUS_ALL=0", "NUMAESTRO_ATTACH=/a", "NUMAESTRO_POOL=whole:1"];
            assert_eq!(shown(&it), [&[own], &ours[..]].concat());
        }
    }

    #[test]
    fn an_inner_run_may_say_otherwise_and_else_keeps_what_was_said() {
        let mut it = environment(&["NUMAESTRO_FOLD=kernel", "GOMP_SPINCOUNT=7"]);
        it.prepare(Path::new("/a"), "0", &[], &Told::default());
        assert_eq!(it.get("NUMAESTRO_FOLD"), Some("kernel".into()));
        it.prepare(
            Path::new("/a"),
            "0",
            &[],
            &Told { fold: Some("user"), pool: Some(PoolArg::Now), ..Told::default() },
        );
        assert_eq!(it.get("NUMAESTRO_FOLD"), Some("user".into()));
        it.prepare(Path::new("/a"), "0", &[], &Told::default());
        assert_eq!(it.get(POOL), Some("now".into()));
    }

    #[test]
    fn what_was_prepared_is_taken_back() {
        let is_shim = |file: &OsStr| file == STUB;
        let before = ["A=1", "LD_PRELOAD=/x.so:/y.so", "OMP_NUM_THREADS=4"];
        let mut it = environment(&before);
        it.prepare(Path::new("/a"), "0-3", &[Path::new(STUB)], &Told { class: Some("fold"), ..Told::default() });
        it.undo(is_shim);
        assert_eq!(shown(&it), before);
        let mut alone = environment(&["GOMP_SPINCOUNT=7"]);
        alone.prepare(Path::new("/a"), "0", &[Path::new(STUB)], &Told::default());
        alone.undo(is_shim);
        assert_eq!(shown(&alone), ["GOMP_SPINCOUNT=7"]);
    }

    #[test]
    fn preparing_twice_is_preparing_once() {
        let mut once = environment(&["LD_PRELOAD=/x.so"]);
        once.prepare(Path::new("/a"), "0-3", &[Path::new(STUB)], &Told::default());
        let mut twice = once.clone();
        twice.prepare(Path::new("/a"), "0", &[Path::new(STUB)], &Told::default());
        assert_eq!(shown(&once), shown(&twice));
    }
}
