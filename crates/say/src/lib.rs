//! What every command says in the same way: messages on stderr, text on stdout, colours, exit
//! codes, the log.

use numaestro_host::HostError;
use std::io::{ErrorKind, IsTerminal, Write};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Done.
pub const OK: u8 = 0;
/// It did not work.
pub const FAILED: u8 = 1;
/// A file is wrong: a scenario, a machine, a program, a journal.
pub const WRONG_FILE: u8 = 2;
/// Wrong usage (`EX_USAGE`).
pub const USAGE: u8 = 64;
/// No manager (`EX_UNAVAILABLE`).
pub const UNAVAILABLE: u8 = 69;
/// A defect of numaestro (`EX_SOFTWARE`).
pub const SOFTWARE: u8 = 70;
/// The manager refused; later it may work (`EX_TEMPFAIL`).
pub const REFUSED: u8 = 75;
/// Not permitted (`EX_NOPERM`).
pub const NOT_PERMITTED: u8 = 77;
/// `daemon`: a configuration file is wrong (`EX_CONFIG`).
pub const CONFIG: u8 = 78;
/// `run`: numaestro refused to start the program, as in `env`, `timeout`, `nohup`.
pub const RUN_REFUSED: u8 = 125;
/// `run`: found, but cannot be executed, as in a shell.
pub const NOT_EXECUTABLE: u8 = 126;
/// `run`: not found, as in a shell.
pub const NOT_FOUND: u8 = 127;

/// A failure with an exit code of its own and the next step for the user.
#[derive(Debug)]
pub struct Failure {
    /// Exit code.
    pub code: u8,
    /// The error, one sentence.
    pub what: String,
    /// The next step; may be empty.
    pub next: String,
}

impl Failure {
    /// As an [`anyhow::Error`] that [`failed`] knows how to print.
    pub fn error(code: u8, what: impl Into<String>, next: impl Into<String>) -> anyhow::Error {
        Self { code, what: what.into(), next: next.into() }.into()
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Failure {}

/// Prints an error with its next step; gives the exit code. A reader that has gone away (`| head`)
/// is not an error.
pub fn failed(error: &anyhow::Error) -> u8 {
    if kinds(error).any(|kind| kind == ErrorKind::BrokenPipe) {
        return OK;
    }
    message("error", Tone::Bad, &format!("{error:#}"));
    if let Some(failure) = error.downcast_ref::<Failure>() {
        if !failure.next.is_empty() {
            message("next", Tone::Good, &failure.next);
        }
        return failure.code;
    }
    // A file that is missing, or a port that is taken, is no riddle: the error names it.
    let is_plain = kinds(error)
        .any(|kind| matches!(kind, ErrorKind::NotFound | ErrorKind::AddrInUse | ErrorKind::AddrNotAvailable));
    if !is_plain {
        let next = "run `numaestro doctor` to see what is missing, or repeat with -vv to see every step";
        message("next", Tone::Good, next);
    }
    FAILED
}

/// The kinds of the system's answers among the causes of an error.
fn kinds(error: &anyhow::Error) -> impl Iterator<Item = ErrorKind> {
    error.chain().filter_map(|cause| match cause.downcast_ref::<HostError>() {
        Some(refused) => refused.kind(),
        None => cause.downcast_ref::<std::io::Error>().map(std::io::Error::kind),
    })
}

/// An error with its next step, for a place that has one line.
pub fn in_one_line(error: &anyhow::Error) -> String {
    match error.downcast_ref::<Failure>() {
        Some(failure) if !failure.next.is_empty() => format!("{error:#} ({})", failure.next),
        _ => format!("{error:#}"),
    }
}

/// One warning line on stderr.
pub fn warn(text: &str) {
    message("warning", Tone::Warn, text);
}

/// One plain line on stderr.
pub fn note(text: &str) {
    let _ = writeln!(std::io::stderr(), "numaestro: {text}");
}

fn message(word: &str, tone: Tone, text: &str) {
    let word = paint(word, tone, colours(&std::io::stderr()));
    let _ = writeln!(std::io::stderr(), "numaestro: {word}: {text}");
}

/// `1 thread`, `2 threads`.
pub fn counted(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// A sentence with a capital at its begin.
pub fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// Bytes for people.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..0x10_0000 => format!("{} KiB", bytes >> 10),
        0x10_0000..0x4000_0000 => format!("{} MiB", bytes >> 20),
        _ => format!("{}.{} GiB", bytes >> 30, ((bytes >> 20) & 1023) * 10 / 1024),
    }
}

/// Writes all of `text` to stdout.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

/// The meaning of a colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// As it should be.
    Good,
    /// Worth a look.
    Warn,
    /// Wrong or missing.
    Bad,
    /// Less important.
    Dim,
    /// A heading.
    Strong,
}

/// `text` in the colour of `tone`, or as it is.
pub fn paint(text: &str, tone: Tone, colours: bool) -> String {
    let code = match tone {
        Tone::Good => 32,
        Tone::Warn => 33,
        Tone::Bad => 31,
        Tone::Dim => 2,
        Tone::Strong => 1,
    };
    if colours { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
}

/// Says whether to write colours to `stream`: a terminal that knows them, and `NO_COLOR` not set.
pub fn colours(stream: &impl IsTerminal) -> bool {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty())
        || std::env::var_os("TERM").is_some_and(|t| t == "dumb");
    !refused && stream.is_terminal()
}

/// Logs to stderr: warnings by default, more with `-v`, or exactly as `NUMAESTRO_LOG` says.
pub fn start_log(verbose: u8) {
    log_to_stderr(filter(verbose, ""));
}

/// Starts the manager's log: to the system's journal, with fields such as `APP=` and `PID=`, if
/// stderr goes there; else to stderr. `wanted` is the configuration's filter; `NUMAESTRO_LOG` and
/// `-v` go before it.
pub fn start_daemon_log(verbose: u8, wanted: &str) {
    let filter = filter(verbose, wanted);
    if numaestro_host::notify::error_output_is_the_journal()
        && let Ok(journal) = tracing_journald::layer()
    {
        // Without the prefix that would set our fields apart: people search for these fields.
        let journal = journal.with_field_prefix(None).with_syslog_identifier("numaestro".to_owned());
        let _ = tracing_subscriber::registry().with(filter).with(journal).try_init();
        return;
    }
    log_to_stderr(filter);
}

/// The environment chooses the messages to log, else the command line, else the configuration.
///
/// It is a level, or `target=level` with commas between.
fn filter(verbose: u8, wanted: &str) -> Targets {
    let usual = [LevelFilter::WARN, LevelFilter::INFO, LevelFilter::DEBUG, LevelFilter::TRACE];
    let environment = std::env::var("NUMAESTRO_LOG").unwrap_or_default();
    let configured = if verbose == 0 { wanted } else { "" };
    let chosen = [environment.as_str(), configured].into_iter().find_map(targets);
    chosen.unwrap_or_else(|| Targets::new().with_default(usual[usize::from(verbose.min(3))]))
}

/// The messages that a text chooses, and errors in any case; `None`: it chooses nothing.
fn targets(text: &str) -> Option<Targets> {
    let targets = Some(text).filter(|text| !text.trim().is_empty())?.parse::<Targets>().ok()?;
    let all = targets.default_level().unwrap_or(LevelFilter::ERROR);
    Some(targets.with_default(all))
}

fn log_to_stderr(filter: Targets) {
    let lines = fmt::layer().with_writer(std::io::stderr).with_ansi(colours(&std::io::stderr()));
    let _ = tracing_subscriber::registry().with(filter).with(lines.with_target(false).without_time()).try_init();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_is_a_level_or_targets_and_errors_are_always_there() {
        let all = |text: &str| targets(text).map(|targets| targets.default_level());
        assert_eq!(all("debug"), Some(Some(LevelFilter::DEBUG)));
        assert_eq!(all("numaestro_daemon=trace"), Some(Some(LevelFilter::ERROR)));
        assert_eq!(all("info,numaestro_daemon=trace"), Some(Some(LevelFilter::INFO)));
        assert!(
            targets("numaestro_daemon=trace").unwrap().would_enable("numaestro_daemon::shell", &tracing::Level::TRACE)
        );
        for nothing in ["", " ", "=x=y"] {
            assert_eq!(all(nothing), None, "{nothing:?}");
        }
    }
}
