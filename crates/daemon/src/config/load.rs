//! Puts the configuration together: merges files, drop-ins and options key by key, and names the
//! place of each mistake.
//!
//! Every layer is a table of TOML. A later layer's tables are merged into the earlier one's key by
//! key, its scalars and lists replace the earlier one's, and its `[[rules]]` come after the earlier
//! ones'. The layers are: the main file, the `*.toml` of the drop-in directory in order of their
//! names, and the options of the command line.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use numaestro_quantity::names::nearest;
use toml::de::{DeTable, DeValue};
use toml::{Spanned, Table, Value};

use super::{Config, ConfigError};

/// The directory of the system manager's settings.
const SYSTEM_DIRECTORY: &str = "/etc/numaestro";
/// Sections that mean nothing for a manager that has one user.
const SYSTEM_ONLY: [&str; 6] = ["users", "groups", "default", "containers", "parties", "service"];
/// Longest settings file: more than that is a mistake.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The files and options that make a configuration. Kept, so that it can be made again.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Source {
    /// The main file, and whether it must be there.
    pub file: Option<(PathBuf, bool)>,
    /// Directory of drop-ins; none if it is not there.
    pub drop_ins: Option<PathBuf>,
    /// The options of the command line: the last layer.
    pub options: Table,
    /// Runtime directory, which goes before the files' one; empty = as the files say.
    pub dir: PathBuf,
    /// For the system's manager.
    pub system: bool,
}

/// A configuration and how it came about.
#[derive(Debug, Clone, Default)]
pub struct Loaded {
    /// The configuration, merged and checked.
    pub config: Config,
    /// Files that were read, in order.
    pub files: Vec<PathBuf>,
    /// By dotted name: `FILE:LINE`, or `option`.
    pub origins: BTreeMap<String, String>,
    /// Faults that are worth a warning and no reason to refuse.
    pub warnings: Vec<String>,
}

impl Source {
    /// The system's files below `/etc/numaestro`.
    pub fn of_system() -> Self {
        Self { system: true, ..Self::below(Path::new(SYSTEM_DIRECTORY)) }
    }

    /// The user's own files below `$XDG_CONFIG_HOME/numaestro`, else `$HOME/.config/numaestro`.
    pub fn of_user() -> Self {
        let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let base = absolute("XDG_CONFIG_HOME").or_else(|| absolute("HOME").map(|home| home.join(".config")));
        base.map(|base| Self::below(&base.join("numaestro"))).unwrap_or_default()
    }

    /// Exactly this file, which must be there.
    pub fn only(file: PathBuf) -> Self {
        Self { file: Some((file, true)), ..Self::default() }
    }

    /// `config.toml` and `config.d` in a directory, where they exist.
    pub fn below(directory: &Path) -> Self {
        Self {
            file: Some((directory.join("config.toml"), false)),
            drop_ins: Some(directory.join("config.d")),
            ..Self::default()
        }
    }

    /// The main file and the drop-ins that are there, each with its text.
    fn texts(&self, warnings: &mut Vec<String>) -> Result<Vec<(PathBuf, String)>, ConfigError> {
        let mut texts = Vec::new();
        if let Some((file, required)) = &self.file {
            let text = if *required { Some(read(file)?) } else { self.optional(read(file), warnings)? };
            texts.extend(text.map(|text| (file.clone(), text)));
        }
        let Some(directory) = &self.drop_ins else { return Ok(texts) };
        let entries = std::fs::read_dir(directory).map_err(|cause| unreadable(directory, &cause));
        let entries = self.optional(entries, warnings)?;
        let mut files: Vec<PathBuf> =
            entries.into_iter().flatten().flatten().map(|entry| entry.path()).filter(|path| is_drop_in(path)).collect();
        files.sort();
        for file in files {
            let text = self.optional(read(&file), warnings)?;
            texts.extend(text.map(|text| (file, text)));
        }
        Ok(texts)
    }

    /// A file that need not be there. A user's own file that cannot be opened is worth a warning:
    /// the home may be another user's (`su`, `sudo -E`, a container), and programs are to be
    /// managed there too. The administrator's file counts, or nothing does.
    fn optional<T>(&self, found: Result<T, Unreadable>, warnings: &mut Vec<String>) -> Result<Option<T>, ConfigError> {
        match found {
            Ok(found) => Ok(Some(found)),
            Err(Unreadable { absent: true, .. }) => Ok(None),
            Err(Unreadable { cause, .. }) if self.system => Err(cause),
            Err(Unreadable { cause, denied: true, .. }) => {
                warnings.push(format!("{cause}; going on without it"));
                Ok(None)
            }
            Err(Unreadable { cause, .. }) => Err(cause),
        }
    }
}

/// Editors leave copies beside the edited file.
fn is_drop_in(path: &Path) -> bool {
    let hidden = path.file_name().is_none_or(|name| name.as_encoded_bytes().starts_with(b"."));
    !hidden && path.extension().is_some_and(|extension| extension == "toml") && path.is_file()
}

impl Config {
    /// Reads the files, merges them with the options, and checks the whole. A configuration that is
    /// wrong anywhere is refused whole.
    pub fn load(source: &Source) -> Result<Loaded, ConfigError> {
        let mut merged = Table::new();
        let mut loaded = Loaded::default();
        for (path, text) in source.texts(&mut loaded.warnings)? {
            let name = path.display().to_string();
            merge(&mut merged, layer(&name, &text, source.system, &mut loaded.origins)?, true);
            loaded.files.push(path);
        }
        for (key, value) in &source.options {
            note_option(key, value, &mut loaded.origins);
        }
        merge(&mut merged, source.options.clone(), true);
        // Every layer is right by itself, so only a combination of several can fail here.
        let mut config: Config = merged.try_into().map_err(|cause: toml::de::Error| ConfigError {
            file: "the merged configuration".to_owned(),
            field: "",
            problem: cause.message().to_owned(),
        })?;
        if !source.dir.as_os_str().is_empty() {
            config.dir.clone_from(&source.dir);
        }
        // Nothing in a file could say "absent" where that is not the default.
        config.idle_exit_s = config.idle_exit_s.filter(|seconds| *seconds > 0);
        config.system = source.system;
        if source.system {
            if loaded.origins.contains_key("idle_exit_s") && config.idle_exit_s.is_some() {
                loaded.warnings.push("idle_exit_s: the system's manager never ends by itself".to_owned());
            }
            config.idle_exit_s = None;
        }
        config.source = source.clone();
        config.validate().map_err(|cause| placed(cause, &loaded.origins))?;
        loaded.config = config;
        Ok(loaded)
    }
}

/// A file or directory that could not be read.
struct Unreadable {
    cause: ConfigError,
    /// It is not there.
    absent: bool,
    /// We may not open it.
    denied: bool,
}

impl From<Unreadable> for ConfigError {
    fn from(found: Unreadable) -> Self {
        found.cause
    }
}

fn read(path: &Path) -> Result<String, Unreadable> {
    let size = std::fs::metadata(path).map_err(|cause| unreadable(path, &cause))?;
    if !size.is_file() || size.len() > FILE_BYTES_MAX {
        let problem = format!("expected a text file of at most {FILE_BYTES_MAX} bytes");
        let cause = ConfigError { file: path.display().to_string(), field: "", problem };
        return Err(Unreadable { cause, absent: false, denied: false });
    }
    std::fs::read_to_string(path).map_err(|cause| unreadable(path, &cause))
}

fn unreadable(path: &Path, cause: &std::io::Error) -> Unreadable {
    let problem = format!("cannot be read: {cause}");
    Unreadable {
        cause: ConfigError { file: path.display().to_string(), field: "", problem },
        absent: matches!(cause.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
        denied: cause.kind() == ErrorKind::PermissionDenied,
    }
}

/// One file: its syntax, its names and the types of its values, each complaint with its line.
fn layer(name: &str, text: &str, system: bool, origins: &mut BTreeMap<String, String>) -> Result<Table, ConfigError> {
    let wrong = |span: Option<std::ops::Range<usize>>, problem: String| ConfigError {
        file: span.map_or_else(|| name.to_owned(), |span| format!("{name}:{}", line_of(text, span.start))),
        field: "",
        problem,
    };
    let tree = DeTable::parse(text).map_err(|cause| wrong(cause.span(), cause.message().trim().to_owned()))?;
    if !system {
        let foreign = tree.get_ref().iter().find(|(key, _)| SYSTEM_ONLY.contains(&key.get_ref().as_ref()));
        if let Some((key, _)) = foreign {
            let problem = format!(
                "`{}` is only for the system's manager (`numaestro daemon --system`): this one has the programs of one user",
                key.get_ref()
            );
            return Err(wrong(Some(key.span()), problem));
        }
    }
    // The types are checked in the file's own text, because only there a mistake has a place.
    toml::from_str::<Config>(text).map_err(|cause| wrong(cause.span(), with_near_miss(cause.message())))?;
    note_places(name, text, "", tree.get_ref(), origins);
    toml::from_str(text).map_err(|cause: toml::de::Error| wrong(cause.span(), cause.message().to_owned()))
}

fn line_of(text: &str, at: usize) -> usize {
    1 + text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count()
}

/// Takes down where each value stands; a later place replaces an earlier one.
fn note_places(name: &str, text: &str, above: &str, table: &DeTable<'_>, origins: &mut BTreeMap<String, String>) {
    for (key, value) in table {
        let dotted = if above.is_empty() { key.get_ref().to_string() } else { format!("{above}.{}", key.get_ref()) };
        let place = |spanned: &Spanned<DeValue<'_>>| format!("{name}:{}", line_of(text, spanned.span().start));
        match value.get_ref() {
            DeValue::Table(inner) => note_places(name, text, &dotted, inner, origins),
            DeValue::Array(rules) if above.is_empty() && dotted == "rules" => {
                let before = origins.keys().filter(|known| known.starts_with("rules.")).count();
                for (number, rule) in (before + 1..).zip(rules) {
                    origins.insert(format!("rules.{number}"), place(rule));
                }
            }
            _ => drop(origins.insert(dotted, format!("{name}:{}", line_of(text, key.span().start)))),
        }
    }
}

fn note_option(name: &str, value: &Value, origins: &mut BTreeMap<String, String>) {
    match value {
        Value::Table(inner) => {
            inner.iter().for_each(|(key, value)| note_option(&format!("{name}.{key}"), value, origins));
        }
        _ => drop(origins.insert(name.to_owned(), "option".to_owned())),
    }
}

/// Lays `over` on `under`. `top`: only there `rules` is the list that is appended.
fn merge(under: &mut Table, over: Table, top: bool) {
    for (key, value) in over {
        match (under.get_mut(&key), value) {
            (Some(Value::Table(below)), Value::Table(above)) => merge(below, above, false),
            (Some(Value::Array(below)), Value::Array(mut above)) if top && key == "rules" => below.append(&mut above),
            (_, value) => drop(under.insert(key, value)),
        }
    }
}

/// A complaint about a value says in which file and line the value was given.
fn placed(cause: ConfigError, origins: &BTreeMap<String, String>) -> ConfigError {
    let below = format!("{}.", cause.field);
    let mut found = origins.get(cause.field);
    if found.is_none() {
        found = origins.range(below.clone()..).next().filter(|(name, _)| name.starts_with(&below)).map(|(_, at)| at);
    }
    let file = found.cloned().unwrap_or_default();
    ConfigError { file: if cause.file.is_empty() { file } else { cause.file }, ..cause }
}

/// "unknown field `polcy`, expected one of `dir`, `policy`": adds which of them was probably meant.
fn with_near_miss(message: &str) -> String {
    let message = message.trim();
    let mut quoted = message.split('`').skip(1).step_by(2);
    let (true, Some(found)) = (message.starts_with("unknown "), quoted.next()) else { return message.to_owned() };
    match nearest(found, quoted) {
        Some(known) => format!("{}; did you mean `{known}`?", message.split(',').next().unwrap_or(message)),
        None => message.to_owned(),
    }
}

#[cfg(test)]
mod tests;
