//! Packs the first file system of a guest: busybox, the job, programs with the libraries they need.
//!
//! The loader of this machine (`ldd`) names the libraries. They lie at the same paths in the guest
//! as here, so that a program in the guest is linked as it is outside.

use crate::archive::Archive;
use crate::shape::Shape;
use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The work of a guest, and the files for it.
#[derive(Debug, Clone, Default)]
pub struct Job {
    /// Program and arguments.
    pub command: Vec<String>,
    /// Programs, put into the search path with their libraries.
    pub programs: Vec<PathBuf>,
    /// Other files: here, and the absolute path in the guest. Libraries of dynamically linked ones
    /// come along.
    pub files: Vec<(PathBuf, String)>,
    /// Environment of the command.
    pub environment: Vec<(String, String)>,
}

/// Libraries that programs load when they run, without naming them as needed.
const LOADED_LATER: [&str; 1] = ["libgcc_s.so.1"];

const PASSWORDS: &str = "root:x:0:0::/root:/bin/sh\nalice:x:1001:1001::/users/alice:/bin/sh\n\
    bob:x:1002:1002::/users/bob:/bin/sh\ncarol:x:1003:1003::/users/carol:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n";
const GROUPS: &str =
    "root:x:0:\nusers:x:100:alice,bob,carol\nalice:x:1001:\nbob:x:1002:\ncarol:x:1003:\nnogroup:x:65534:\n";

/// The first file system of a guest. `root` holds the fetched packages, `cache` keeps programs
/// without debug information.
///
/// # Errors
/// A file is missing, or a library of a program is.
pub fn pack(root: &Path, cache: &Path, shape: &Shape, job: &Job) -> Result<Vec<u8>> {
    let mut archive = Archive::default();
    for directory in ["/proc", "/sys", "/dev", "/etc", "/bin", "/sbin", "/root"] {
        archive.directory(directory);
    }
    archive.device("/dev/console", 5, 1);
    archive.device("/dev/null", 1, 3);
    let busybox = ["bin/busybox", "usr/bin/busybox"].map(|path| root.join(path)).into_iter().find(|path| path.exists());
    let busybox = busybox.context("no busybox among what was fetched: remove build/guest and try again")?;
    archive.file("/bin/busybox", true, &read(&busybox)?);
    for name in applets(&busybox)? {
        archive.link(&format!("/bin/{name}"), "busybox");
    }
    archive.file("/init", true, include_bytes!("init.sh"));
    archive.file("/etc/passwd", false, PASSWORDS.as_bytes());
    archive.file("/etc/group", false, GROUPS.as_bytes());
    archive.file("/etc/hosts", false, b"127.0.0.1 localhost guest\n");

    let mut packed = BTreeSet::new();
    for program in &job.programs {
        let name = program.file_name().with_context(|| format!("{} is no program", program.display()))?;
        with_libraries(&mut archive, cache, program, &format!("/job/bin/{}", name.to_string_lossy()), &mut packed)?;
    }
    for (file, target) in &job.files {
        ensure!(target.starts_with('/'), "{target}: a path in the guest begins with /");
        with_libraries(&mut archive, cache, file, target, &mut packed)?;
    }
    archive.file(
        "/job/shape",
        false,
        format!("{shape}\n{}\n{}\n", shape.distances_text(), shape.threads_per_core).as_bytes(),
    );
    archive.file("/job/command", false, script(job).as_bytes());
    Ok(archive.finish())
}

/// The job as a script: every word is quoted, so it arrives as it was given.
fn script(job: &Job) -> String {
    let quoted = |word: &String| format!("'{}'", word.replace('\'', "'\\''"));
    let mut out = String::new();
    for (name, value) in &job.environment {
        out.extend(["export ", name, "=", &quoted(value), "\n"]);
    }
    out + "exec " + &job.command.iter().map(quoted).collect::<Vec<_>>().join(" ") + "\n"
}

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).with_context(|| format!("{} cannot be read", path.display()))
}

fn applets(busybox: &Path) -> Result<Vec<String>> {
    let output = Command::new(busybox).arg("--list").output().context("busybox does not run")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let names: Vec<String> = text.lines().filter(|name| *name != "busybox").map(str::to_owned).collect();
    ensure!(names.iter().any(|name| name == "sh"), "this busybox has no shell");
    Ok(names)
}

/// Adds a file and, if it is linked dynamically, its libraries.
fn with_libraries(
    archive: &mut Archive,
    cache: &Path,
    file: &Path,
    target: &str,
    packed: &mut BTreeSet<String>,
) -> Result<()> {
    let content = read(file)?;
    if !content.starts_with(b"\x7fELF") {
        let executable = content.starts_with(b"#!");
        archive.file(target, executable, &content);
        return Ok(());
    }
    archive.file(target, true, &read(&without_debug_information(cache, file))?);
    for library in libraries(file)? {
        let path = library.to_string_lossy().into_owned();
        if packed.insert(path.clone()) {
            archive.file(&path, true, &read(&without_debug_information(cache, &library))?);
        }
        for name in LOADED_LATER {
            let later = library.with_file_name(name);
            let path = later.to_string_lossy().into_owned();
            if later.exists() && packed.insert(path.clone()) {
                archive.file(&path, true, &read(&later)?);
            }
        }
    }
    Ok(())
}

/// The loader and the libraries, at the paths where the loader finds them; nothing for a program
/// that is linked statically.
fn libraries(program: &Path) -> Result<Vec<PathBuf>> {
    let output = Command::new("ldd").arg(program).env("LC_ALL", "C").output().context("ldd does not run")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let said = text.clone() + String::from_utf8_lossy(&output.stderr);
    if said.contains("not a dynamic executable") || said.contains("statically linked") {
        return Ok(Vec::new());
    }
    ensure!(output.status.success(), "ldd {}: {}", program.display(), said.trim());
    let mut out = Vec::new();
    for line in text.lines().map(str::trim) {
        if line.contains("not found") {
            bail!("{} needs a library that is not here: {line}", program.display());
        }
        let path = line.split_once("=> ").map_or(line, |(_, path)| path).split(" (").next().unwrap_or_default();
        if path.starts_with('/') {
            out.push(PathBuf::from(path));
        }
    }
    Ok(out)
}

/// A copy without debug information, kept until the file changes; the file itself where that is not
/// possible.
fn without_debug_information(cache: &Path, file: &Path) -> PathBuf {
    const SMALL: u64 = 1 << 20;
    let stripped = || -> Option<PathBuf> {
        let about = std::fs::metadata(file).ok()?;
        if about.len() < SMALL {
            return None;
        }
        let absolute = std::fs::canonicalize(file).ok()?;
        std::fs::create_dir_all(cache).ok()?;
        let copy = cache.join(absolute.to_string_lossy().replace('/', "%"));
        let newer = std::fs::metadata(&copy).ok().and_then(|copy| copy.modified().ok()) > about.modified().ok();
        if !newer {
            let part = cache.join(format!("part-{}", std::process::id()));
            let done = Command::new("strip").arg("--strip-debug").arg("-o").arg(&part).arg(&absolute).output();
            if !done.is_ok_and(|done| done.status.success()) || std::fs::rename(&part, &copy).is_err() {
                let _ = std::fs::remove_file(&part);
                return None;
            }
        }
        Some(copy)
    };
    stripped().unwrap_or_else(|| file.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_keeps_every_word() {
        let command = ["printf", "%s\n", "it's", "a b", ""].map(str::to_owned).to_vec();
        let job = Job { command, environment: vec![("WORD".into(), "x 'y'".into())], ..Job::default() };
        let output = Command::new("sh").arg("-c").arg(script(&job)).output().expect("sh");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "it's\na b\n\n");
        let job = Job { command: ["sh", "-c", "echo \"$WORD\""].map(str::to_owned).to_vec(), ..job };
        let output = Command::new("sh").arg("-c").arg(script(&job)).output().expect("sh");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "x 'y'\n");
    }

    #[test]
    fn libraries_of_this_very_program_are_found() {
        let own = std::env::current_exe().expect("this program has a file");
        let found = libraries(&own).expect("ldd works");
        assert!(found.iter().any(|path| path.to_string_lossy().contains("libc.so.6")), "{found:?}");
        assert!(found.iter().all(|path| path.exists()), "{found:?}");
    }
}
