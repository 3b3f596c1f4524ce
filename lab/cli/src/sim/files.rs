//! Reads scenarios and the files that they name from the file system.

use super::scenario_args::ScenarioArgs;
use crate::finished::fingerprint;
use crate::output;
use crate::say::Failure;
use crate::say::WRONG_FILE;
use crate::texts;
use numaestro_sim::read::{Files, Mistake, Text};
use numaestro_sim::scenario::Scenario;
use std::cell::Cell;
use std::path::{Path, PathBuf};

/// Files named by a text: relative to its directory; `.gz` is unpacked.
#[derive(Debug)]
pub struct Directory {
    base: PathBuf,
    /// Fingerprint of all texts that were read, in their order.
    fingerprint: Cell<u64>,
}

impl Directory {
    /// The directory of a file.
    pub fn of(file: &Path) -> Self {
        Self { base: file.parent().unwrap_or(Path::new("")).to_owned(), fingerprint: Cell::new(0) }
    }

    fn note(&self, text: &str) {
        let both = [self.fingerprint.get(), fingerprint(text.as_bytes())];
        self.fingerprint.set(fingerprint(&both.map(u64::to_le_bytes).concat()));
    }
}

impl Files for Directory {
    fn text(&self, name: &str) -> Result<String, String> {
        let text = texts::text(&self.base.join(name)).map_err(|error| error.to_string())?;
        self.note(&text);
        Ok(text)
    }
}

/// A scenario that has been read, and the fingerprint of all that it is made of.
#[derive(Debug)]
pub struct Loaded {
    /// The scenario.
    pub scenario: Scenario,
    /// Fingerprint of its text, the files it names and the changes on the command line, policies
    /// left out.
    pub fingerprint: u64,
}

/// Reads the scenario with the command line's changes: `--set`, seeds, and further `changes` (path
/// and TOML value).
///
/// # Errors
/// The first mistake with file, line, field and the expected value; exit code 2.
pub fn scenario(args: &ScenarioArgs, changes: &[(String, String)]) -> anyhow::Result<Loaded> {
    let name = args.scenario.display().to_string();
    let contents = texts::text(&args.scenario).map_err(|error| {
        Failure::error(WRONG_FILE, format!("cannot read {name}: {error}"), "examples are in lab/scenarios/")
    })?;
    let sets = args.set.iter().map(|set| change(set)).collect::<anyhow::Result<Vec<_>>>()?;
    let read = |changes: &[(String, String)]| {
        let files = Directory::of(&args.scenario);
        files.note(&contents);
        args.set.iter().for_each(|set| files.note(set));
        let scenario = Scenario::read_changed(Text::new(&name, &contents), changes, &files)?;
        Ok::<_, Mistake>(Loaded { scenario, fingerprint: files.fingerprint.get() })
    };
    let all: Vec<(String, String)> = sets.iter().chain(changes).cloned().collect();
    let mut loaded = read(&all).map_err(|mistake| match read(&[]) {
        // The file itself is right.
        Ok(_) if !all.is_empty() => {
            let field = if mistake.field.is_empty() { String::new() } else { format!("{}: ", mistake.field) };
            let words: Vec<String> = all.iter().map(|(path, value)| format!("{path}={value}")).collect();
            let what = format!("{name} with {}: {field}{}", words.join(" "), mistake.problem);
            Failure::error(WRONG_FILE, what, "")
        }
        _ => Failure::error(WRONG_FILE, mistake.to_string(), ""),
    })?;
    loaded.scenario.seed = args.seed.unwrap_or(loaded.scenario.seed);
    loaded.scenario.seeds = args.seeds.unwrap_or(loaded.scenario.seeds);
    Ok(loaded)
}

/// `path=value`. A value that is no TOML is a text, so that quotes can be left out.
pub fn change(set: &str) -> anyhow::Result<(String, String)> {
    let parts = set.split_once('=').filter(|(path, _)| !path.trim().is_empty());
    let (path, value) = parts.ok_or_else(|| {
        Failure::error(crate::say::USAGE, format!("--set {set}: expected PATH=VALUE, such as machine.delay=4"), "")
    })?;
    Ok((path.trim().to_owned(), toml_value(value.trim())))
}

/// `value` if it is a TOML value, else the text that it is.
fn toml_value(value: &str) -> String {
    if format!("x = {value}").parse::<toml::Table>().is_ok_and(|table| table.len() == 1) {
        value.to_owned()
    } else {
        quoted(value)
    }
}

/// As a TOML string.
pub fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// Writes a result as a whole or not at all: beside its place first, then into it.
pub fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    output::write(path.to_owned(), |out| out.write_all(text.as_bytes()))?;
    Ok(())
}

/// Refuses a place where nothing can be written, before anything has run.
pub fn check_writable(paths: &[Option<&PathBuf>]) -> anyhow::Result<()> {
    for path in paths.iter().flatten() {
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        anyhow::ensure!(
            directory.is_dir(),
            "cannot write {}: there is no directory {}",
            path.display(),
            directory.display()
        );
        anyhow::ensure!(!path.is_dir(), "cannot write {}: it is a directory", path.display());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_may_lack_its_quotes() {
        assert_eq!(change("policy=dss").expect("a change"), ("policy".to_owned(), "\"dss\"".to_owned()));
        assert_eq!(change("machine.delay = 4").expect("a change"), ("machine.delay".to_owned(), "4".to_owned()));
        assert_eq!(change("program.mm.work=2 ms").expect("a change").1, "\"2 ms\"");
        assert_eq!(change("workload.mix=[[\"a\", 1]]").expect("a change").1, "[[\"a\", 1]]");
        assert_eq!(change("policy=share=dss").expect("a change").1, "\"share=dss\"");
        assert!(change("nothing").is_err() && change("=3").is_err());
    }

    #[test]
    fn packed_files_are_unpacked() {
        let place = tempfile::tempdir().expect("a directory");
        let path = place.path().join("log.swf.gz");
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        std::io::Write::write_all(&mut packer, b"; a log\n").expect("packs");
        std::fs::write(&path, packer.finish().expect("packs")).expect("writable");
        assert_eq!(texts::text(&path).expect("readable"), "; a log\n");
        assert_eq!(Directory::of(&place.path().join("s.toml")).text("log.swf.gz").expect("readable"), "; a log\n");
    }

    #[test]
    fn results_are_written_as_a_whole() {
        let place = tempfile::tempdir().expect("a directory");
        let path = place.path().join("x.json");
        write(&path, "one").expect("writes");
        write(&path, "two").expect("writes");
        assert_eq!(std::fs::read_to_string(&path).expect("readable"), "two");
        assert_eq!(std::fs::read_dir(place.path()).expect("a directory").count(), 1);
        assert!(check_writable(&[Some(&place.path().join("gone/x.json"))]).is_err());
        assert!(check_writable(&[Some(&place.path().to_owned())]).is_err());
    }
}
