//! The rules by which `run` and `shell` offer a jobserver to a build, and the environment that says
//! so. The manager supplies the tokens; here it is decided who is told.
//!
//! **A build computes what it would compute without us.** A Makefile may be wrong under -j, so make
//! becomes parallel only if its user asks. Programs that are parallel by themselves are offered the
//! jobserver, in a form that no make below them takes for an order:
//!
//! | program | told by | why |
//! |---|---|---|
//! | cargo | `CARGO_MAKEFLAGS` | make does not read it |
//! | ninja | `MAKEFLAGS=-- --jobserver-auth=fifo:…` | ninja finds the word; for make, a word with `=` after `--` is the value of a variable |
//! | make, and what nobody knows, on request | `MAKEFLAGS=-jN --jobserver-auth=…` | |
//!
//! make before 4.4 knows descriptors only and ends when it reads `fifo:`; ninja knows `fifo:` only.
//! The pipe has no name, so `fifo:` names it as a descriptor of the program: `/proc/PID/fd/N`.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use numaestro_abi::control::{BuildTool, Jobserver};
use numaestro_host::jobserver::Offered;
use numaestro_topology::CpuSet;

use crate::cli::JobserverArg;
use crate::environment::Environment;
use crate::target;

/// The words that we added to `MAKEFLAGS`, for a `run` inside.
const OURS: &str = "NUMAESTRO_JOBSERVER";
const MAKE: &str = "MAKEFLAGS";
const CARGO: &str = "CARGO_MAKEFLAGS";

/// The form in which `MAKEFLAGS` names the pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `-jN --jobserver-auth=R,W`.
    Descriptors,
    /// `-jN --jobserver-auth=fifo:PATH`.
    Fifo,
    /// `-- --jobserver-auth=fifo:PATH`: not for make.
    Hidden,
}

/// Who is told of the pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Audience {
    /// Programs that read `MAKEFLAGS`.
    pub make: Option<Form>,
    /// Cargo.
    pub cargo: bool,
}

/// What happens to a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Offer {
    /// It is no build, or is to be left alone without a word.
    None,
    /// It is a build, and left alone; the reason is one clause.
    Left(String),
    /// It is offered a jobserver.
    Made(Audience),
}

/// What is to be known of the program for a decision.
#[derive(Debug)]
pub struct Build<'a> {
    /// Its name without directory.
    pub name: &'a str,
    /// Its arguments, without its name.
    pub arguments: &'a [OsString],
    /// `MAKEFLAGS`, without words of ours.
    pub makeflags: &'a str,
    /// `CARGO_MAKEFLAGS`, likewise.
    pub cargo_makeflags: &'a str,
    /// `CARGO_BUILD_JOBS` is set.
    pub cargo_jobs: bool,
    /// The program is a ninja that knows jobservers.
    pub ninja_knows: bool,
    /// The make that a build would find knows `fifo:` (4.4 or later).
    pub make_knows_fifo: bool,
}

/// Decides by the program, its arguments and the user's word.
pub fn decide(wish: Option<JobserverArg>, build: &Build<'_>) -> Offer {
    let tool = BuildTool::of_name(build.name);
    let asked = wish == Some(JobserverArg::On);
    let lto = tool == Some(BuildTool::Gcc) && build.arguments.iter().any(|word| word == "-flto=jobserver");
    if wish == Some(JobserverArg::Off) || (!asked && !lto && matches!(tool, None | Some(BuildTool::Gcc))) {
        return Offer::None;
    }
    let outer = [build.makeflags, build.cargo_makeflags].iter().any(|flags| flags.contains("--jobserver-"));
    if outer {
        return Offer::Left("it was started below a build that has a jobserver".to_owned());
    }
    if let Some(word) = own_number(tool, build) {
        return Offer::Left(format!("its number of jobs was given by {word}"));
    }
    let make = if build.make_knows_fifo { Form::Fifo } else { Form::Descriptors };
    match tool {
        Some(BuildTool::Make) if !asked => Offer::Left(
            "make without -j runs one job after the other; `run --jobserver -- make` runs as many as it has processors"
                .to_owned(),
        ),
        Some(BuildTool::Ninja) if !build.ninja_knows => {
            Offer::Left("this ninja does not know jobservers; version 1.13 does".to_owned())
        }
        // A make below may become parallel only if the user has asked for it.
        Some(BuildTool::Ninja) if asked && make == Form::Fifo => {
            Offer::Made(Audience { make: Some(make), cargo: true })
        }
        Some(BuildTool::Ninja) => Offer::Made(Audience { make: Some(Form::Hidden), cargo: false }),
        Some(BuildTool::Cargo) => Offer::Made(Audience { make: asked.then_some(make), cargo: true }),
        Some(BuildTool::Make | BuildTool::Gcc) | None => Offer::Made(Audience { make: Some(make), cargo: asked }),
    }
}

/// The word by which the user has chosen a number of jobs.
fn own_number(tool: Option<BuildTool>, build: &Build<'_>) -> Option<String> {
    // Letters of options whose value follows.
    let with_value = match tool? {
        BuildTool::Make => "CEfIoWl",
        BuildTool::Ninja => "Cfkldtw",
        BuildTool::Cargo => "CpFZ",
        BuildTool::Gcc => return None,
    };
    let options = build.arguments.iter().map(|word| word.to_string_lossy()).take_while(|word| word != "--");
    let first = options.into_iter().find(|word| says_jobs(word, with_value)).map(std::borrow::Cow::into_owned);
    first.or_else(|| match tool? {
        BuildTool::Cargo => build.cargo_jobs.then(|| "CARGO_BUILD_JOBS".to_owned()),
        BuildTool::Make => {
            // The first word may be letters of options without their dash.
            let words = build.makeflags.split(' ').take_while(|word| *word != "--");
            words.filter(|word| !word.contains('=') || word.starts_with("--")).enumerate().find_map(|(place, word)| {
                let letters = if place == 0 && !word.starts_with('-') { format!("-{word}") } else { word.to_owned() };
                says_jobs(&letters, with_value).then(|| format!("{MAKE}={}", build.makeflags))
            })
        }
        BuildTool::Ninja | BuildTool::Gcc => None,
    })
}

/// `-j8`, `-j`, `-kj8`, `--jobs=8`, `--jobs`.
fn says_jobs(word: &str, with_value: &str) -> bool {
    if let Some(long) = word.strip_prefix("--") {
        return long == "jobs" || long.starts_with("jobs=");
    }
    let letters = word.strip_prefix('-').unwrap_or_default();
    letters.chars().take_while(|letter| !with_value.contains(*letter)).any(|letter| letter == 'j')
}

/// What a build finds on this machine, and the decision about it. Takes words of an outer `run` out
/// of the environment.
pub fn offer(wish: Option<JobserverArg>, path: &Path, command: &[OsString], environment: &Environment) -> Offer {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let wish = wish.or_else(|| was_asked_for(environment).then_some(JobserverArg::On));
    let mut environment = environment.clone();
    forget(&mut environment);
    let text = |name: &str| environment.get(name).unwrap_or_default().to_string_lossy().into_owned();
    let tool = BuildTool::of_name(&name);
    let make = if tool == Some(BuildTool::Make) {
        Some(path.to_owned())
    } else {
        target::find(OsStr::new("make"), environment.get("PATH")).ok()
    };
    decide(
        wish,
        &Build {
            name: &name,
            arguments: command.get(1..).unwrap_or_default(),
            makeflags: &text(MAKE),
            cargo_makeflags: &text(CARGO),
            cargo_jobs: environment.get("CARGO_BUILD_JOBS").is_some(),
            ninja_knows: tool == Some(BuildTool::Ninja) && contains(path, b"--jobserver-auth="),
            make_knows_fifo: make.is_some_and(|make| contains(&make, b"jobserver-style")),
        },
    )
}

/// A program has this text in it: what it knows can be seen without starting it.
fn contains(program: &Path, text: &[u8]) -> bool {
    std::fs::read(program).is_ok_and(|bytes| bytes.windows(text.len()).any(|window| window == text))
}

/// The pipe of an offer, until the program has it.
#[derive(Debug)]
pub struct Pipe {
    ends: Offered,
    audience: Audience,
}

impl Offer {
    /// Makes the pipe that is offered. Without one the program starts as it would without us.
    pub fn pipe(&self) -> Option<Pipe> {
        let Self::Made(audience) = self else { return None };
        let made = Offered::new().inspect_err(|error| tracing::warn!("no jobserver: {error}"));
        Some(Pipe { ends: made.ok()?, audience: *audience })
    }
}

/// What the manager is told of an offer and its pipe.
pub fn wish(offer: &Offer, pipe: Option<&Pipe>) -> Option<Jobserver> {
    match (offer, pipe) {
        (Offer::Left(why), _) => Some(Jobserver::Left { why: why.clone() }),
        (_, Some(pipe)) => Some(Jobserver::Pipe { read: pipe.ends.numbers()[0] }),
        _ => None,
    }
}

/// An outer `run` or `shell` was asked for jobservers, and so is this one.
fn was_asked_for(environment: &Environment) -> bool {
    environment.get(OURS).is_some_and(|words| words.as_bytes().starts_with(b"-j") && environment.get(MAKE).is_some())
}

/// Takes the words of an outer `run` out: its jobserver is another application's.
pub fn forget(environment: &mut Environment) {
    let Some(ours) = environment.get(OURS) else { return };
    let ours = ours.to_string_lossy().into_owned();
    environment.remove(OURS);
    for name in [MAKE, CARGO] {
        let Some(value) = environment.get(name) else { continue };
        let value = value.to_string_lossy().into_owned();
        let kept = ours.split('\n').filter(|words| !words.is_empty()).fold(value.clone(), |value, words| {
            let rest = value.replacen(words, "", 1);
            rest.trim().to_owned()
        });
        if kept.is_empty() {
            environment.remove(name);
        } else if kept != value {
            environment.set(name, OsStr::new(&kept));
        }
    }
}

impl Pipe {
    /// Tells the program of the pipe, which it inherits. `all`: the processors that the user gave,
    /// a Linux list. Gives a sentence for each change.
    pub fn announce(&self, environment: &mut Environment, all: &str) -> Vec<String> {
        // make wants to read a number, and goes by the tokens.
        let jobs = all.parse::<CpuSet>().map_or(1, |set| set.len().max(1));
        if let Err(error) = self.ends.keep() {
            tracing::warn!("no jobserver: {error}");
            return Vec::new();
        }
        announce(self.audience, self.ends.numbers(), std::process::id(), jobs, environment)
    }
}

fn announce(
    audience: Audience,
    [read, write]: [u32; 2],
    pid: u32,
    jobs: usize,
    environment: &mut Environment,
) -> Vec<String> {
    let mut added = Vec::new();
    if let Some(form) = audience.make {
        let words = match form {
            Form::Descriptors => format!("-j{jobs} --jobserver-auth={read},{write}"),
            Form::Fifo => format!("-j{jobs} --jobserver-auth=fifo:/proc/{pid}/fd/{read}"),
            Form::Hidden => format!("-- --jobserver-auth=fifo:/proc/{pid}/fd/{read}"),
        };
        let before = environment.get(MAKE).unwrap_or_default();
        let before = before.to_string_lossy();
        let words = if has_variables(&before) { words.trim_start_matches("-- ") } else { &words };
        environment.set(MAKE, OsStr::new(&joined(before.trim(), words, form)));
        added.push((MAKE, words.to_owned()));
    }
    if audience.cargo {
        let words = format!("-j --jobserver-fds={read},{write} --jobserver-auth={read},{write}");
        environment.set(CARGO, OsStr::new(&words));
        added.push((CARGO, words));
    }
    let ours: Vec<&str> = added.iter().map(|(_, words)| words.as_str()).collect();
    environment.set(OURS, OsStr::new(&ours.join("\n")));
    added.iter().map(|(name, words)| format!("{name} has {words}")).collect()
}

/// Variables stand in these flags.
fn has_variables(flags: &str) -> bool {
    flags.starts_with("--") && flags[2..].chars().next().is_none_or(char::is_whitespace) || flags.contains(" -- ")
}

/// The user's flags and ours. Variables stand behind `--`: our options stand before it, and words
/// that are to be none of make's options behind it.
fn joined(before: &str, words: &str, form: Form) -> String {
    if before.is_empty() {
        return words.to_owned();
    }
    if form == Form::Hidden || !has_variables(before) {
        return format!("{before} {words}");
    }
    match before.strip_prefix("--") {
        Some(variables) => format!("{words} --{variables}"),
        None => before.replacen(" -- ", &format!(" {words} -- "), 1),
    }
}

#[cfg(test)]
mod tests;
