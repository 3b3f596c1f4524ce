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

pub use args::TraceCommand;

use crate::output::write;
use crate::say;
use args::{ExportArgs, Format};
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
        Format::Perfetto => vec![write(stem.with_extension("pftrace"), |out| perfetto::write(&timeline, out))?],
        Format::Paraver => vec![
            write(stem.with_extension("prv"), |out| paraver::records(&timeline, out))?,
            write(stem.with_extension("pcf"), |out| paraver::labels(&timeline, out))?,
            write(stem.with_extension("row"), |out| paraver::rows(&timeline, out))?,
            write(stem.with_extension("cfg"), |out| paraver::windows(&timeline, out))?,
        ],
    };
    let names: Vec<String> = written.iter().map(|path| path.display().to_string()).collect();
    let open = match args.format {
        Format::Perfetto => "open it in https://ui.perfetto.dev",
        Format::Paraver => "open the .prv file in Paraver, then the .cfg file",
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
