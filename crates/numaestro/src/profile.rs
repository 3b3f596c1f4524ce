//! Keeps profiles: how a program is to be run, by its path or name, in
//! `$XDG_CONFIG_HOME/numaestro/profiles.toml`.
//!
//! A file that cannot be read never keeps a program from running.

use crate::class::ClassArg;
use crate::cli::{FoldArg, LibraryRule, PoolArg, ProfileCommand, WishArgs, parse_weight};
use crate::say;
use anyhow::Context;
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The profile of one program.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// `auto`, `malleable`, `setter` or `fold`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// Never more processors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<u32>,
    /// Share relative to others; 1 is usual.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
    /// Cache lines that each of its threads moves per millisecond, where nothing counts them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub btr: Option<u32>,
    /// `user` or `kernel`: the party that switches between threads while they are more than the
    /// processors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fold: Option<String>,
    /// Names of libraries in it, with `*` and `?`: `set`, `answer` or `leave`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub libraries: BTreeMap<String, String>,
    /// `whole` or `now`: what pools that are sized once are sized for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pool: Option<String>,
}

impl Profile {
    /// Fills in the wishes that the command line left open.
    pub fn complete(&self, wish: &mut WishArgs) {
        let class = self.class.as_deref().and_then(|name| ClassArg::from_str(name, false).ok());
        wish.class = wish.class.or(class);
        wish.max = wish.max.or(self.max.filter(|max| wish.min.is_none_or(|min| min <= *max)));
        wish.weight = wish.weight.or(self.weight);
        wish.btr = wish.btr.or(self.btr);
    }

    /// A person may have written it with an editor: the values are those of the command line.
    fn check(&self) -> Result<(), String> {
        let of = |name: &str, value: &str, expected: &str| Err(format!("{name} = {value}: expected {expected}"));
        if let Some(class) = self.class.as_deref()
            && ClassArg::from_str(class, false).is_err()
        {
            return of("class", class, &words::<ClassArg>());
        }
        if let Some(fold) = self.fold.as_deref()
            && FoldArg::from_str(fold, false).is_err()
        {
            return of("fold", fold, &words::<FoldArg>());
        }
        if let Some(pool) = self.pool.as_deref()
            && PoolArg::from_str(pool, false).is_err()
        {
            return of("pool", pool, &words::<PoolArg>());
        }
        for (name, verb) in &self.libraries {
            format!("{name}={verb}").parse::<LibraryRule>().map_err(|wrong| format!("libraries: {wrong}"))?;
        }
        if self.max == Some(0) {
            return of("max", "0", "a number from 1");
        }
        match self.weight.map(|weight| (weight, parse_weight(&weight.to_string()))) {
            Some((weight, Err(expected))) => of("weight", &weight.to_string(), &expected),
            _ => Ok(()),
        }
    }

    /// The party that is to switch between threads, if one that is known stands there.
    pub fn folding(&self) -> Option<FoldArg> {
        self.fold.as_deref().and_then(|name| FoldArg::from_str(name, false).ok())
    }

    /// What pools are sized for, if a word that is known stands there.
    pub fn pool(&self) -> Option<PoolArg> {
        self.pool.as_deref().and_then(|name| PoolArg::from_str(name, false).ok())
    }

    /// The rules for libraries, of those that are as they should be.
    pub fn rules(&self) -> Vec<LibraryRule> {
        let rule = |(name, verb): (&String, &String)| format!("{name}={verb}").parse().ok();
        self.libraries.iter().filter_map(rule).collect()
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let class = self.class.iter().map(|c| format!("class {c}"));
        let max = self.max.iter().map(|m| format!("max {m}"));
        let weight = self.weight.iter().map(|w| format!("weight {w}"));
        let btr = self.btr.iter().map(|rate| format!("btr {rate}"));
        let fold = self.fold.iter().map(|word| format!("fold {word}"));
        let libraries = self.libraries.iter().map(|(name, verb)| format!("library {name}={verb}"));
        let pool = self.pool.iter().map(|word| format!("pool {word}"));
        let parts = class.chain(max).chain(weight).chain(btr).chain(fold).chain(pool).chain(libraries);
        f.write_str(&parts.collect::<Vec<_>>().join(", "))
    }
}

/// The words of a choice, for people.
fn words<T: ValueEnum>() -> String {
    let words = T::value_variants().iter().filter_map(ValueEnum::to_possible_value);
    words.map(|word| word.get_name().to_owned()).collect::<Vec<_>>().join(", ")
}

type Profiles = BTreeMap<String, Profile>;

/// The profile of the program at `path`, by its path, its real path, or its name; and under which
/// key.
pub fn find(path: &Path) -> Option<(String, Profile)> {
    let file = file().ok()?;
    let mut all = match read(&file) {
        Ok(all) => all,
        // The home is another user's (`su`, `sudo -E`): nobody wants to hear of it at each program.
        Err(error) if is_denied(&error) => {
            tracing::info!("profiles are not used: {error:#}");
            return None;
        }
        Err(error) => {
            say::warn(&format!("profiles are not used: {error:#}"));
            return None;
        }
    };
    let absolute = std::path::absolute(path).ok();
    let real = path.canonicalize().ok();
    let name = path.file_name().map(PathBuf::from);
    let keys = [absolute, real, name].into_iter().flatten().filter_map(|key| key.to_str().map(str::to_owned));
    keys.into_iter().find_map(|key| all.remove_entry(&key))
}

/// The subcommand.
pub fn command(what: ProfileCommand) -> anyhow::Result<u8> {
    let file = file()?;
    let mut all = read(&file)?;
    match what {
        ProfileCommand::List { json } => list(&file, &all, json)?,
        ProfileCommand::Add { class, max, weight, btr, fold, library, pool, program } => {
            let class = class.and_then(|c| c.to_possible_value()).map(|v| v.get_name().to_owned());
            let fold = fold.map(|fold| fold.word().to_owned());
            let libraries = library.iter().map(LibraryRule::entry).collect();
            let pool = pool.map(|pool| pool.word().to_owned());
            let profile = Profile { class, max, weight, btr, fold, libraries, pool };
            if profile == Profile::default() {
                return Err(say::Failure::error(
                    say::USAGE,
                    "nothing to remember",
                    "give --class, --max, --weight, --btr, --fold, --pool or --library",
                ));
            }
            let key = key(&program)?;
            let shown = format!("{key}: {profile}\n");
            all.insert(key, profile);
            write(&file, &all)?;
            say::print(&shown)?;
        }
        ProfileCommand::Remove { program } => {
            let key = if all.contains_key(&program) { program } else { key(&program)? };
            if all.remove(&key).is_none() {
                let what = format!("there is no profile for {key}");
                return Err(say::Failure::error(say::FAILED, what, "`numaestro profile list` shows those there are"));
            }
            write(&file, &all)?;
        }
    }
    Ok(say::OK)
}

fn is_denied(error: &anyhow::Error) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|cause| cause.kind() == ErrorKind::PermissionDenied)
}

fn list(file: &Path, all: &Profiles, json: bool) -> anyhow::Result<()> {
    if json {
        return say::print(&format!("{}\n", serde_json::to_string_pretty(all)?));
    }
    if all.is_empty() {
        return say::print(&format!("no profiles in {}\n", file.display()));
    }
    let width = all.keys().map(|k| k.chars().count()).max().unwrap_or(0);
    let lines: Vec<String> = all.iter().map(|(key, profile)| format!("{key:width$}  {profile}\n")).collect();
    say::print(&lines.concat())
}

/// A name stays a name; with a slash in it, it is a path and made absolute.
fn key(program: &str) -> anyhow::Result<String> {
    if !program.contains('/') {
        return Ok(program.to_owned());
    }
    let path = Path::new(program).canonicalize().or_else(|_| std::path::absolute(program))?;
    path.to_str().map(str::to_owned).context("the path is not UTF-8; name the program without its directory")
}

fn file() -> anyhow::Result<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let base = absolute("XDG_CONFIG_HOME").or_else(|| absolute("HOME").map(|home| home.join(".config")));
    let base = base.ok_or_else(|| {
        say::Failure::error(say::FAILED, "there is no place for profiles", "set HOME or XDG_CONFIG_HOME")
    })?;
    Ok(base.join("numaestro/profiles.toml"))
}

fn read(file: &Path) -> anyhow::Result<Profiles> {
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(Profiles::new());
        }
        Err(error) => return Err(error).with_context(|| file.display().to_string()),
    };
    let wrong = || format!("{} is not as it should be", file.display());
    let all: Profiles = toml::from_str(&text).with_context(wrong)?;
    for (program, profile) in &all {
        profile.check().map_err(|wrong| anyhow::anyhow!("[{program}] {wrong}")).with_context(wrong)?;
    }
    Ok(all)
}

/// Complete or not at all.
fn write(file: &Path, all: &Profiles) -> anyhow::Result<()> {
    let directory = file.parent().context("a file has a directory")?;
    let draft = directory.join(format!(".profiles-{}", std::process::id()));
    let written = std::fs::create_dir_all(directory)
        .and_then(|()| std::fs::write(&draft, toml::to_string(all).map_err(std::io::Error::other)?))
        .and_then(|()| std::fs::rename(&draft, file));
    written.with_context(|| format!("{} cannot be written", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_wins() {
        let profile = Profile {
            class: Some("malleable".into()),
            max: Some(4),
            weight: Some(2.0),
            btr: Some(11_000),
            fold: Some("kernel".into()),
            libraries: [("libtbb".into(), "leave".into()), ("liby".into(), "eat".into())].into(),
            pool: Some("now".into()),
        };
        assert_eq!(profile.rules(), ["libtbb=leave".parse().expect("a rule")], "the other one is no verb");
        assert_eq!(profile.folding(), Some(FoldArg::Kernel));
        assert_eq!(Profile { fold: Some("nobody".into()), ..Profile::default() }.folding(), None);
        assert_eq!(profile.pool(), Some(PoolArg::Now));
        assert_eq!(Profile { pool: Some("half".into()), ..Profile::default() }.pool(), None);
        assert_eq!(
            profile.to_string(),
            "class malleable, max 4, weight 2, btr 11000, fold kernel, pool now, library libtbb=leave, library liby=eat"
        );
        let mut wish = WishArgs { class: Some(ClassArg::Fold), ..WishArgs::default() };
        profile.complete(&mut wish);
        assert_eq!((wish.class, wish.max, wish.weight), (Some(ClassArg::Fold), Some(4), Some(2.0)));
        assert_eq!(wish.btr, Some(11_000));
        let mut wish = WishArgs { min: Some(6), ..WishArgs::default() };
        profile.complete(&mut wish);
        assert_eq!((wish.class, wish.max), (Some(ClassArg::Malleable), None), "--min 6 is not contradicted by max 4");
    }

    #[test]
    fn what_is_written_is_read() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("a/profiles.toml");
        assert_eq!(read(&file).expect("none is fine"), Profiles::new());
        let (max, weight, btr) = (Some(3), Some(0.5), Some(9));
        let (fold, pool) = (Some("user".into()), Some("whole".into()));
        let libraries = [("lib*.x".into(), "leave".into())].into();
        let one = Profile { class: None, max, weight, btr, fold, libraries, pool };
        let all = Profiles::from([("/bin/a b".to_owned(), one.clone()), ("x.y".to_owned(), one)]);
        write(&file, &all).expect("writable");
        assert_eq!(read(&file).expect("readable"), all);
        std::fs::write(&file, "[x]\nclas = \"fold\"\n").expect("writable");
        assert!(format!("{:#}", read(&file).expect_err("a typo")).contains("clas"));
    }

    #[test]
    fn values_that_the_command_line_would_refuse_are_named() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("profiles.toml");
        for (line, expected) in [
            ("class = \"maleable\"", "[lulesh] class = maleable: expected auto, malleable"),
            ("fold = \"me\"", "[lulesh] fold = me: expected user, kernel"),
            ("max = 0", "[lulesh] max = 0: expected a number from 1"),
            ("max = -1", "max"),
            ("weight = 0.0", "[lulesh] weight = 0: expected a number from 0.001 to 1000"),
            ("weight = nan", "[lulesh] weight = NaN: expected a number from 0.001 to 1000"),
        ] {
            std::fs::write(&file, format!("[other]\nmax = 4\n[lulesh]\n{line}\n")).expect("writable");
            let said = format!("{:#}", read(&file).expect_err(line));
            assert!(said.contains(expected) && said.contains("profiles.toml"), "{line}: {said}");
        }
    }
}
