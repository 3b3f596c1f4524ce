//! The file of mixes: programs, and which of them arrive when. A mistake has its line and field.
//!
//! ```toml
//! policies = ["equi", "batch"]                  # under which every mix runs
//! gap = "50 ms"                                 # (50 ms) between programs of a mix that arrive together
//!
//! [[program]]
//! name = "sor"                                  # one of a kind
//! kernel = "sor"                                # a load program, with `runtime`, or:
//! runtime = "gcc"                               # (gcc) or "clang", "python", "rust"
//! work = "1.5 s"                                # of a load program: its time on one processor; makes its repetitions
//! command = ["./app", "--size", "500"]          # any other program, as it is
//! arguments = ["--size", "96"]                  # (none) of a load program
//! class = "malleable"                           # (as it is found out) as for `numaestro run`
//!
//! [[mix]]
//! name = "one-word"
//! programs = ["sor", "cg"]                      # at the start, one gap after the other
//! arrivals = [{ at = "0.4 s", program = "sor" }] # (none) later ones
//! policies = ["equi", "pdpa"]                   # (those above)
//! quick = true                                  # (false) also with --quick
//! ```

use crate::bench::mix::Runtime;
use crate::class::ClassArg;
use numaestro_engine::{Engine, Settings};
use numaestro_sim::read::fields::{Field, Fields};
use numaestro_sim::read::tree::Node;
use numaestro_sim::read::{Mistake, Text};
use numaestro_sim::{Nanos, machine};
use std::collections::BTreeSet;

/// Time between programs of a mix that arrive together, nanoseconds.
const GAP_NS: Nanos = 50_000_000;
/// A machine that can feed every policy, so that only unknown policies are refused here.
const ANY: &str = "xeon-4";
/// Most programs of a mix.
const PROGRAMS_MOST: usize = 64;

/// How a program is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A load program with so much work, nanoseconds on one processor.
    Load { kernel: String, runtime: Runtime, arguments: Vec<String>, work_ns: Nanos },
    /// A command.
    Command(Vec<String>),
}

/// A program of the mixes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MixProgram {
    /// Its name.
    pub name: String,
    /// How it is started.
    pub origin: Origin,
    /// Its class, if one is given.
    pub class: Option<ClassArg>,
}

/// A mix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mix {
    /// Its name.
    pub name: String,
    /// Times of arrival, nanoseconds, and programs, as places in [`Mixes::programs`]; in order.
    pub arrivals: Vec<(Nanos, usize)>,
    /// The policies that are compared.
    pub policies: Vec<String>,
    /// It is among the few of the quick form.
    pub quick: bool,
}

impl Mix {
    /// Its programs, in order of their places, each once.
    pub fn programs(&self) -> BTreeSet<usize> {
        self.arrivals.iter().map(|(_, program)| *program).collect()
    }
}

/// All of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mixes {
    /// The programs.
    pub programs: Vec<MixProgram>,
    /// The mixes.
    pub mixes: Vec<Mix>,
}

impl Mixes {
    /// Reads a file.
    ///
    /// # Errors
    /// The first mistake.
    pub fn read(text: Text<'_>) -> Result<Self, Mistake> {
        let tree = Node::toml(text)?;
        let mut fields = Field::root(text, &tree).fields()?;
        let policies = match fields.get("policies") {
            Some(list) => policies(&list)?,
            None => Vec::new(),
        };
        let gap = fields.read("gap", |field| field.nanos())?.unwrap_or(GAP_NS);
        let mut programs: Vec<MixProgram> = Vec::new();
        for item in fields.need("program", "[[program]] tables: what can be in a mix")?.items()? {
            let program = program(&item)?;
            if programs.iter().any(|other| other.name == program.name) {
                return Err(item.mistake(format!("there is already a program `{}`", program.name)));
            }
            programs.push(program);
        }
        let mut mixes: Vec<Mix> = Vec::new();
        for item in fields.need("mix", "[[mix]] tables")?.items()? {
            let mix = mix(&item, &programs, &policies, gap)?;
            if mixes.iter().any(|other| other.name == mix.name) {
                return Err(item.mistake(format!("there is already a mix `{}`", mix.name)));
            }
            mixes.push(mix);
        }
        fields.finish()?;
        Ok(Self { programs, mixes })
    }
}

fn texts(field: &Field<'_>) -> Result<Vec<String>, Mistake> {
    field.items()?.iter().map(|item| item.text().map(str::to_owned)).collect()
}

/// Policies that the engine knows.
fn policies(field: &Field<'_>) -> Result<Vec<String>, Mistake> {
    let list = field.items()?;
    let model = machine::named(ANY, 0).ok_or_else(|| field.mistake("there is no machine to try policies on"))?;
    for item in &list {
        let host = model.host();
        let settings = Settings { policy: item.text()?.to_owned(), host, buses: model.buses(), ..Settings::default() };
        if let Err(reason) = Engine::new(model.topology.clone(), settings, 0) {
            return Err(item.mistake(format!("{reason}; `numaestro policy list` names all")));
        }
    }
    texts(field)
}

const RUNTIMES: [(&str, Runtime); 4] =
    [("gcc", Runtime::Gcc), ("clang", Runtime::Clang), ("python", Runtime::Python), ("rust", Runtime::Rust)];
const CLASSES: [(&str, ClassArg); 4] = [
    ("auto", ClassArg::Auto),
    ("malleable", ClassArg::Malleable),
    ("setter", ClassArg::Setter),
    ("fold", ClassArg::Fold),
];

fn word(field: &Field<'_>) -> Result<String, Mistake> {
    let text = field.text()?;
    let is_word = !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    if is_word { Ok(text.to_owned()) } else { Err(field.wrong("one word of letters, digits, - _ and .")) }
}

fn program(item: &Field<'_>) -> Result<MixProgram, Mistake> {
    let mut fields = item.fields()?;
    let name = word(&fields.need("name", "a word to call it by")?)?;
    let class = fields.read("class", |field| field.one_of(&CLASSES))?;
    let origin = match (fields.get("kernel"), fields.get("command")) {
        (Some(kernel), None) => load(&kernel, &mut fields)?,
        (None, Some(command)) => Origin::Command(words(&command)?),
        _ => return Err(item.mistake("expected exactly one of `kernel` and `command`")),
    };
    fields.finish()?;
    Ok(MixProgram { name, origin, class })
}

fn words(command: &Field<'_>) -> Result<Vec<String>, Mistake> {
    let words = texts(command)?;
    if words.is_empty() { Err(command.wrong("a program and its arguments")) } else { Ok(words) }
}

fn load(kernel: &Field<'_>, fields: &mut Fields<'_>) -> Result<Origin, Mistake> {
    let work = fields.need("work", "its time on one processor, such as \"1.5 s\"")?;
    let work_ns = match work.nanos()? {
        0 => return Err(work.wrong("a time above 0")),
        work_ns => work_ns,
    };
    Ok(Origin::Load {
        kernel: word(kernel)?,
        runtime: fields.read("runtime", |field| field.one_of(&RUNTIMES))?.unwrap_or(Runtime::Gcc),
        arguments: fields.read("arguments", |field| texts(&field))?.unwrap_or_default(),
        work_ns,
    })
}

fn mix(item: &Field<'_>, programs: &[MixProgram], usual: &[String], gap: Nanos) -> Result<Mix, Mistake> {
    let mut fields = item.fields()?;
    let name = word(&fields.need("name", "a word to call it by")?)?;
    let place = |field: &Field<'_>| {
        let name = field.text()?;
        programs.iter().position(|program| program.name == name).ok_or_else(|| {
            let names: Vec<&str> = programs.iter().map(|program| program.name.as_str()).collect();
            field.mistake(format!("no program is called \"{name}\"; there is {}", names.join(", ")))
        })
    };
    let mut arrivals = Vec::new();
    if let Some(list) = fields.get("programs") {
        for (number, field) in (0..).zip(list.items()?) {
            arrivals.push((number * gap, place(&field)?));
        }
    }
    if let Some(list) = fields.get("arrivals") {
        for field in list.items()? {
            let mut inner = field.fields()?;
            let at = inner.need("at", "the time of its arrival")?.nanos()?;
            arrivals.push((at, place(&inner.need("program", "the name of a program")?)?));
            inner.finish()?;
        }
    }
    arrivals.sort_by_key(|(at, _)| *at);
    if arrivals.is_empty() || arrivals.len() > PROGRAMS_MOST {
        return Err(item.mistake(format!("expected 1 to {PROGRAMS_MOST} programs, found {}", arrivals.len())));
    }
    let policies = match fields.get("policies") {
        Some(list) => policies(&list)?,
        None => usual.to_vec(),
    };
    if policies.is_empty() {
        return Err(item.mistake("`policies` is missing, here and at the beginning of the file"));
    }
    let quick = fields.read("quick", |field| field.yes())?.unwrap_or(false);
    fields.finish()?;
    Ok(Mix { name, arrivals, policies, quick })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"policies = ["equi", "batch"]
[[program]]
name = "sor"
kernel = "sor"
work = "1.5 s"
class = "malleable"
[[program]]
name = "app"
command = ["./app", "-v"]
[[mix]]
name = "pair"
programs = ["sor", "app"]
arrivals = [{ at = "20 ms", program = "sor" }]
"#;

    fn read(text: &str) -> Result<Mixes, Mistake> {
        Mixes::read(Text::new("mixes.toml", text))
    }

    #[test]
    fn a_mix_has_its_programs_in_order_of_arrival() {
        let found = read(GOOD).expect("mixes");
        assert_eq!(found.mixes[0].arrivals, [(0, 0), (20_000_000, 0), (50_000_000, 1)]);
        assert_eq!(found.mixes[0].policies, ["equi", "batch"]);
        assert_eq!(found.programs[1].origin, Origin::Command(vec!["./app".to_owned(), "-v".to_owned()]));
    }

    #[test]
    fn mistakes_have_line_and_field_and_say_what_was_expected() {
        let cases = [
            ("programs = [\"sor\", \"app\"]", "programs = [\"soar\"]", 12, "no program is called \"soar\""),
            ("\"batch\"", "\"bash\"", 1, "policy list"),
            ("work = \"1.5 s\"", "work = \"0 s\"", 5, "a time above 0"),
            ("kernel = \"sor\"", "colour = \"red\"", 2, "exactly one of"),
            ("name = \"app\"", "name = \"sor\"", 7, "already a program"),
            ("class = \"malleable\"", "class = \"soft\"", 6, "malleable"),
        ];
        for (from, to, line, expected) in cases {
            assert!(GOOD.contains(from), "{from}");
            let mistake = read(&GOOD.replace(from, to)).expect_err(to);
            assert!(mistake.problem.contains(expected) && mistake.line == line, "{to}: {mistake}");
        }
    }

    #[test]
    fn the_default_mixes_are_enough() {
        let found = read(super::super::MIXES).expect("mixes");
        assert!(found.mixes.len() >= 24, "{}", found.mixes.len());
        assert!(found.mixes.iter().all(|mix| (2..=6).contains(&mix.arrivals.len())));
        assert!(found.mixes.iter().filter(|mix| mix.quick).count() >= 2);
        for number in 0..found.programs.len() {
            let used = found.mixes.iter().any(|mix| mix.arrivals.iter().any(|(_, program)| *program == number));
            assert!(used, "{} is in no mix", found.programs[number].name);
        }
    }
}
