//! Makes shell completions and manual pages from the types of a command line.

use crate::commands::PRODUCT;
use crate::say;
use anyhow::Context;
use clap::Command;
use std::path::Path;

/// Prints the completions.
pub fn completions(mut command: Command, shell: clap_complete::Shell) -> anyhow::Result<u8> {
    let mut text = Vec::new();
    let name = command.get_name().to_owned();
    clap_complete::generate(shell, &mut command, name, &mut text);
    say::print(&String::from_utf8_lossy(&text))?;
    Ok(say::OK)
}

/// Writes the main page and one for each subcommand into `directory`, or prints the main page.
/// `is_ours` leaves out the subcommands whose pages the other command has.
pub fn manual(command: Command, is_ours: fn(&str) -> bool, directory: Option<&Path>) -> anyhow::Result<u8> {
    let main = clap_mangen::Man::new(command.clone());
    let Some(directory) = directory else {
        let mut text = Vec::new();
        main.render(&mut text)?;
        say::print(&String::from_utf8_lossy(&text))?;
        return Ok(say::OK);
    };
    let place = || directory.display().to_string();
    std::fs::create_dir_all(directory).with_context(place)?;
    main.generate_to(directory).with_context(place)?;
    // The laboratory's words are typed behind the product's name too, and looked for there.
    let mut typed = command.name(PRODUCT).bin_name(PRODUCT).disable_help_subcommand(true);
    typed.build();
    for part in typed.get_subcommands().filter(|part| is_ours(part.get_name())) {
        clap_mangen::generate_to(part.clone(), directory).with_context(place)?;
    }
    Ok(say::OK)
}
