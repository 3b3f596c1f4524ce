//! The payloads, and what they are started from: a directory that everybody may read, and a root
//! directory with a program and its libraries.

use super::support::programs::{any, program};
use numaestro_skip::programs;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Rounds of a payload: long enough that copies run at the same time.
const ROUNDS: &str = "100";

pub struct Images {
    place: TempDir,
    programs: Vec<(&'static str, Option<String>)>,
    processors: (String, String),
}

/// Readable by everybody, whatever the mask says.
fn open_to_all(path: &Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("ours");
}

fn copy(from: &str, to: &Path) {
    fs::create_dir_all(to.parent().expect("a directory")).expect("writable");
    programs::copy(from, to, 0o755);
}

impl Images {
    pub fn new() -> Self {
        let place = tempfile::Builder::new().prefix("numaestro-launchers-").tempdir().expect("a directory");
        open_to_all(place.path());
        let built = [
            ("omp", Some(any("counts"))),
            ("seq", Some(any("counts-alone"))),
            ("static", program("gcc", "counts-static")),
            ("musl", program("gcc", "counts-musl")),
            ("clang", program("clang", "counts")),
            ("address", program("gcc", "counts-address")),
            ("undefined", program("gcc", "counts-undefined")),
            ("leak", program("gcc", "counts-leak")),
            ("libasan", program("clang", "counts-address")),
        ];
        let programs = built.map(|(name, path)| {
            let to = place.path().join(name);
            let copied = path.map(|from| {
                copy(&from, &to);
                to.to_str().expect("a plain path").to_owned()
            });
            (name, copied)
        });
        let allowed = fs::read_to_string("/proc/self/status").expect("readable");
        let list = allowed.lines().find_map(|l| l.strip_prefix("Cpus_allowed_list:")).expect("there").trim().to_owned();
        let end = |at: Option<&str>| at.expect("a processor").to_owned();
        let mut ends = list.split([',', '-']);
        let first = end(ends.next());
        let processors = (first.clone(), ends.next_back().map_or(first, str::to_owned));
        let it = Self { place, programs: programs.to_vec(), processors };
        it.make_files();
        it
    }

    /// A directory that everybody may read.
    pub fn open(&self) -> &Path {
        self.place.path()
    }

    fn payload(&self, name: &str) -> Option<&str> {
        self.programs.iter().find(|(known, _)| *known == name)?.1.as_deref()
    }

    fn make_files(&self) {
        let script = self.open().join("script");
        let omp = self.payload("omp").expect("made");
        programs::script(script, &format!("{omp} {ROUNDS}\n"));
        fs::write(self.open().join("Makefile"), format!("all:\n\t@{omp} {ROUNDS}\n")).expect("writable");
        let root = self.open().join("root");
        for directory in ["proc", "dev", "tmp", "sys", "etc", "home", "usr", "bin", "var/tmp", "run", "mnt"] {
            fs::create_dir_all(root.join(directory)).expect("writable");
        }
        for file in ["passwd", "group", "hosts", "resolv.conf"] {
            fs::write(root.join("etc").join(file), "").expect("writable");
        }
        copy(omp, &root.join("bin/omp"));
        let needed = Command::new("ldd").arg(omp).output().expect("ldd");
        let needed = String::from_utf8_lossy(&needed.stdout).into_owned();
        for library in needed.split_whitespace().filter(|word| word.starts_with('/')) {
            copy(library, &root.join(library.trim_start_matches('/')));
        }
        if let Some(musl) = self.payload("musl") {
            copy(musl, &root.join("bin/musl"));
            let libraries = fs::read_dir("/lib").into_iter().flatten().flatten();
            for file in libraries.filter(|file| file.file_name().to_string_lossy().starts_with("ld-musl-")) {
                copy(file.path().to_str().expect("plain"), &root.join("lib").join(file.file_name()));
            }
        }
    }

    /// Puts programs and places into the words of a kind.
    pub fn fill(&self, words: &str) -> String {
        let mut filled = words.to_owned();
        for (name, path) in &self.programs {
            let program = path.clone().unwrap_or_default();
            filled = filled.replace(&format!("{{{name}}}"), &format!("{program} {ROUNDS}"));
            filled = filled.replace(&format!("{{{name}-path}}"), &program);
        }
        let built = any("counts");
        let loader = loader_of(&built).unwrap_or_default();
        for (name, value) in [
            ("{dir}", self.open().to_str().expect("plain")),
            ("{built}", format!("{built} {ROUNDS}").as_str()),
            ("{loader}", loader.as_str()),
            ("{rounds}", ROUNDS),
            ("{first}", self.processors.0.as_str()),
            ("{last}", self.processors.1.as_str()),
        ] {
            filled = filled.replace(name, value);
        }
        filled
    }

    /// A payload that these words need and nobody has made.
    pub fn missing(&self, words: &str) -> Option<String> {
        let absent = |name: &str| words.contains(&format!("{{{name}")) || words.contains(&format!("/bin/{name}"));
        let found = self.programs.iter().find(|(name, path)| path.is_none() && absent(name));
        found.map(|(name, _)| format!("no compiler has made counts for {name}"))
    }
}

fn loader_of(program: &str) -> Option<String> {
    let needed = Command::new("ldd").arg(program).output().ok()?;
    let text = String::from_utf8_lossy(&needed.stdout).into_owned();
    let found = text.split_whitespace().find(|word| word.starts_with('/') && word.contains("/ld-")).map(PathBuf::from);
    Some(found?.to_str()?.to_owned())
}
