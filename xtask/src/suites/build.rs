//! Builds a program of a suite.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use super::recipe::{Compiler, Recipe};

/// The command that builds it.
fn command(recipe: &Recipe, compiler: Compiler, scratch: &Path, program: &Path) -> Option<Command> {
    let directory = recipe.source.parent()?;
    let mut command = Command::new(compiler.command(recipe.language)?);
    command.args(["-fopenmp", "-w"]).args(&recipe.said.options);
    for include in recipe.include.iter().map(PathBuf::as_path).chain([directory]) {
        command.arg("-I").arg(include);
    }
    command.arg(&recipe.source).args(recipe.said.sources.iter().map(|source| directory.join(source)));
    // Modules of Fortran are written into the present directory.
    command.arg("-o").arg(program).args(["-lm", "-latomic"]).current_dir(scratch);
    Some(command)
}

/// Builds it. Where that is not possible there is no program: it uses what this compiler or its
/// runtime does not have, or it is a part of another program.
pub fn program(recipe: &Recipe, compiler: Compiler, scratch: &Path) -> Result<Option<PathBuf>> {
    let program = scratch.join("program");
    let _ = std::fs::remove_file(&program);
    let Some(mut command) = command(recipe, compiler, scratch, &program) else { return Ok(None) };
    let nothing = || Stdio::null();
    let status = command.stdin(nothing()).stdout(nothing()).stderr(nothing()).status();
    let status = status.with_context(|| format!("{command:?}"))?;
    Ok((status.success() && program.exists()).then_some(program))
}

/// How to build it by hand.
pub fn by_hand(recipe: &Recipe, compiler: Compiler) -> String {
    let command = command(recipe, compiler, Path::new("."), Path::new("program"));
    command.map_or_else(String::new, |command| {
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
    })
}
