//! `numaestro trace`: draws a journal, of the manager or of a simulation alike, as a picture of the
//! applications on processors and of the decisions.
//!
//! `timeline` repeats the journal and writes down intervals and marks; `paraver` and `perfetto`
//! write files for viewers, `show` draws in the terminal. All of them take journals of either
//! origin.

mod args;
mod paraver;
mod perfetto;
mod show;
mod timeline;

use crate::say;
use anyhow::Context;
pub use args::TraceCommand;
use args::{ExportArgs, Format};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use timeline::Timeline;

/// The subcommand.
pub fn trace(what: &TraceCommand) -> anyhow::Result<u8> {
    match what {
        TraceCommand::Export(args) => export(args),
        TraceCommand::Show(args) => show::show(args),
    }
}

fn export(args: &ExportArgs) -> anyhow::Result<u8> {
    let timeline = Timeline::read(&args.journal)?;
    let stem = args.output.clone().unwrap_or_else(|| args.journal.with_extension(""));
    let written = match args.format {
        Format::Perfetto => vec![write(stem.with_extension("json"), |out| perfetto::write(&timeline, out))?],
        Format::Paraver => vec![
            write(stem.with_extension("prv"), |out| paraver::records(&timeline, out))?,
            write(stem.with_extension("pcf"), |out| paraver::labels(&timeline, out))?,
            write(stem.with_extension("row"), |out| paraver::rows(&timeline, out))?,
        ],
    };
    let names: Vec<String> = written.iter().map(|path| path.display().to_string()).collect();
    let open = match args.format {
        Format::Perfetto => "open it in https://ui.perfetto.dev",
        Format::Paraver => "open the .prv file in Paraver",
    };
    say::print(&format!(
        "{}: {}, {}, {}; {open}\n",
        names.join(", "),
        say::counted(timeline.steps as usize, "event"),
        say::counted(timeline.apps.len(), "application"),
        say::counted(timeline.pus.len(), "processor")
    ))?;
    Ok(say::OK)
}

/// Writes a file, or nothing of it.
fn write(path: PathBuf, contents: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> anyhow::Result<PathBuf> {
    let place = || format!("cannot write {}", path.display());
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let file = tempfile::NamedTempFile::new_in(directory).with_context(place)?;
    let mut out = BufWriter::new(file);
    contents(&mut out).with_context(place)?;
    let file = out.into_inner().map_err(std::io::IntoInnerError::into_error).with_context(place)?;
    readable(file.as_file()).with_context(place)?;
    file.persist(&path).map_err(|error| error.error).with_context(place)?;
    Ok(path)
}

/// A temporary file is its owner's only; a file that stays is as readable as any other.
fn readable(file: &File) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(std::fs::Permissions::from_mode(0o644))
}
