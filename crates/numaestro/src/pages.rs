//! Makes shell completions and manual pages from the types in `cli`.

use crate::cli::Cli;
use crate::say;
use anyhow::Context;
use clap::CommandFactory;
use std::path::Path;

/// Prints the completions.
pub fn completions(shell: clap_complete::Shell) -> anyhow::Result<u8> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "numaestro", &mut text);
    say::print(&String::from_utf8_lossy(&text))?;
    Ok(say::OK)
}

/// Writes one page per subcommand into `directory`, or prints the main page.
pub fn manual(directory: Option<&Path>) -> anyhow::Result<u8> {
    if let Some(directory) = directory {
        let place = || directory.display().to_string();
        std::fs::create_dir_all(directory).with_context(place)?;
        clap_mangen::generate_to(Cli::command(), directory).with_context(place)?;
    } else {
        let mut text = Vec::new();
        clap_mangen::Man::new(Cli::command()).render(&mut text)?;
        say::print(&String::from_utf8_lossy(&text))?;
    }
    Ok(say::OK)
}
