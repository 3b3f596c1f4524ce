//! `numaestro shell`: starts a shell, or a command, in which every program is managed.
//!
//! The shell is run like any program; programs started in it attach by themselves, and while they
//! do, the shell holds no processors.
//!
//! A batch system starts its tasks itself: its prolog is told the environment of such a shell.

use crate::cli::{ShellArgs, WishArgs};
use crate::environment::Environment;
use crate::run::{self, Plan};
use crate::{manager, place, say, shim, target};
use numaestro_host::exec;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::PathBuf;

const MARK: &str = "(numaestro) ";
/// bash sets `PS1` in its start-up files, after the environment; this runs later, and changes it
/// once.
const BASH_PROMPT: &str = r#"case $PS1 in "(numaestro) "*) ;; *) PS1="(numaestro) $PS1" ;; esac"#;

/// The subcommand.
pub fn shell(dir: Option<PathBuf>, args: &ShellArgs) -> anyhow::Result<u8> {
    if args.task_prolog {
        return task_prolog(dir, args);
    }
    let interactive = args.command.is_empty();
    let command = if interactive {
        vec![std::env::var_os("SHELL").unwrap_or_else(|| "/bin/sh".into())]
    } else {
        args.command.clone()
    };
    let path = target::find(&command[0], std::env::var_os("PATH"))?;
    // A shell that had to wait for its turn would be of no use.
    let mut plan = Plan::new(command, &path, &args.wish, args.fold.fold, Some(false))?;
    plan.pool = args.pool.pool.or(plan.pool);
    plan.jobserver = args.jobserver.jobserver;
    if interactive {
        if std::env::var_os("NUMAESTRO_SHELL").is_some() {
            say::note("this is already a numaestro shell; `exit` leaves the inner one");
        }
        if std::io::stderr().is_terminal() {
            say::note("programs started here get processors of their own; `exit` leaves, `numaestro top` shows them");
        }
        plan.extra = prompt();
    }
    plan.extra.push(("NUMAESTRO_SHELL", "1".into()));
    if let Some(dir) = &dir {
        // `numaestro status` in this shell is about this shell's manager, also where it was named
        // by an option.
        plan.extra.push(("NUMAESTRO_DIR", std::path::absolute(dir)?.into()));
    }
    run::start(dir, &path, &plan)
}

/// Says the changes of the environment with which every program of a task asks the manager by
/// itself. The manager is not asked: it may hang, and tasks must not.
fn task_prolog(dir: Option<PathBuf>, args: &ShellArgs) -> anyhow::Result<u8> {
    let before = Environment::new(exec::environment());
    if args.undo {
        let mut after = before.clone();
        after.undo(shim::is_one);
        return say_changes(&before, &after);
    }
    let WishArgs { name, min, max, weight, mem, btr, .. } = &args.wish;
    if name.is_some() || min.or(*max).is_some() || weight.is_some() || mem.is_some() || btr.is_some() {
        let what =
            "a task prolog sets variables, and no variable holds a limit, a weight, a name or an amount of memory";
        let next = "leave them out; `numaestro run` in the job's script takes them";
        return Err(say::Failure::error(say::USAGE, what, next));
    }
    let dir = manager::directory(dir)?;
    if !dir.join("control").exists() {
        say::warn(&format!("there is no manager in {}: the task runs without numaestro", dir.display()));
        return Ok(say::OK);
    }
    let shell = PathBuf::from("/bin/sh");
    let mut plan = Plan::new(vec![shell.clone().into()], &shell, &args.wish, args.fold.fold, Some(false))?;
    plan.pool = args.pool.pool.or(plan.pool);
    let mut after = before.clone();
    // Slurm hands on the environment of whoever submitted the job, on another machine perhaps.
    after.forget_machine();
    run::manage(&mut after, &dir, &place::processors(), None, &plan, None);
    say_changes(&before, &after)
}

/// Says the changes of an environment, as Slurm reads them.
fn say_changes(before: &Environment, after: &Environment) -> anyhow::Result<u8> {
    let mut lines = Vec::new();
    for name in before.names().into_iter().filter(|name| after.get(name).is_none()) {
        lines.push(format!("unset {name}\n"));
    }
    for name in after.names() {
        if let Some(value) = after.get(&name).filter(|value| before.get(&name).as_ref() != Some(value)) {
            lines.push(format!("export {name}={}\n", value.to_string_lossy()));
        }
    }
    say::print(&lines.concat())?;
    Ok(say::OK)
}

/// The variables that mark the prompt of an interactive shell.
fn prompt() -> Vec<(&'static str, OsString)> {
    let mut marks = Vec::new();
    let mut command = std::env::var_os("PROMPT_COMMAND").unwrap_or_default();
    if !command.to_string_lossy().contains(BASH_PROMPT) {
        if !command.is_empty() {
            command.push("; ");
        }
        command.push(BASH_PROMPT);
    }
    marks.push(("PROMPT_COMMAND", command));
    if let Some(old) = std::env::var_os("PS1").filter(|old| !old.to_string_lossy().starts_with(MARK)) {
        let mut new = OsString::from(MARK);
        new.push(old);
        marks.push(("PS1", new));
    }
    marks
}
