//! `numaestro run --dry-run`: says what would be done with a program, and how it would be steered.
//!
//! It starts nothing, and asks only for the state of a manager that is there. What it says of teams
//! and libraries follows from the class and from the environment, as in the shim (`client/shim`).

use crate::cli::{LibraryRule, RunArgs};
use crate::environment::Environment;
use crate::jobserver::{self, Offer};
use crate::manager::{self, Manager};
use crate::place;
use crate::run::{self, Plan, planned, told};
use crate::say;
use numaestro_abi::control::Class;
use numaestro_host::exec;
use numaestro_host::image::Kind;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The subcommand.
pub fn say(dir: Option<PathBuf>, args: &RunArgs) -> anyhow::Result<u8> {
    let (path, plan) = planned(args)?;
    let (path, plan) = (path.as_path(), &plan);
    let mut environment = Environment::new(exec::environment());
    let dir = manager::directory(dir);
    let attach = dir.as_ref().map(|dir| dir.join("attach")).unwrap_or_default();
    let changes = environment.prepare(&attach, &place::processors(), &[], &told(plan, plan.options.max));
    let mut text = format!("program      {}\n", path.display());
    writeln!(text, "wishes       {}", wishes(plan))?;
    let image = run::look(path, plan);
    match image.takes_preload() {
        Ok(()) => {
            let when = if image.runtime { "from its start" } else { "once it opens a runtime or asks for processors" };
            writeln!(text, "steered by   the shim (LD_PRELOAD), {when}")?;
            writeln!(text, "teams        {}", teams(plan.options.class, &environment))?;
            for library in libraries(plan.options.class, &environment) {
                writeln!(text, "libraries    {library}")?;
            }
        }
        Err(why) if image.kind == Kind::Rights => {
            writeln!(text, "steered by   nobody: {why}. It would run without the manager")?;
            return say::print(&text).map(|()| say::OK);
        }
        Err(why) => {
            writeln!(text, "steered by   affinity only: {why}")?;
            writeln!(text, "threads      as many as it makes; the kernel keeps them on the program's processors")?;
        }
    }
    match jobserver::offer(plan.jobserver, path, &plan.command, &Environment::new(exec::environment())) {
        Offer::None => {}
        Offer::Left(why) => writeln!(text, "jobserver    none: {why}")?,
        Offer::Made(_) => writeln!(text, "jobserver    offered: it runs as many jobs as it has processors")?,
    }
    match dir {
        Ok(dir) => {
            writeln!(text, "manager      {}", manager_in(&dir))?;
            for change in changes {
                writeln!(text, "environment  {change}")?;
            }
        }
        Err(error) => writeln!(text, "manager      cannot be had, the program would run unmanaged: {error:#}")?,
    }
    say::print(&text)?;
    Ok(say::OK)
}

fn wishes(plan: &Plan) -> String {
    let wish = &plan.options;
    let or = |value: Option<u32>, other: &str| value.map_or_else(|| other.to_owned(), |v| v.to_string());
    let class = plan.class.unwrap_or("auto");
    let fold = plan.fold.map(|fold| format!(", fold {}", fold.word())).unwrap_or_default();
    let pool = plan.pool.map(|pool| format!(", pool {}", pool.word())).unwrap_or_default();
    let weight = f64::from(wish.weight_milli.unwrap_or(1000)) / 1000.0;
    let time = wish.estimate_ns.map(|ns| format!(", time {:?}", Duration::from_nanos(ns))).unwrap_or_default();
    format!("min {}, max {}, weight {weight}, class {class}{fold}{pool}{time}", or(wish.min, "1"), or(wish.max, "all"))
}

fn manager_in(dir: &Path) -> String {
    match Manager::reach(dir).ok().and_then(|mut manager| manager.status().ok()) {
        Some(s) => {
            let applications = say::counted(s.apps.len(), "application");
            format!("pid {}, policy {}, {applications} on processors {}", s.pid, s.policy, s.cpus)
        }
        None => format!("none yet; would be started in {}", dir.display()),
    }
}

/// What OpenMP's own variable says of the size of teams.
fn dynamic(environment: &Environment) -> Option<bool> {
    let value = environment.get("OMP_DYNAMIC")?;
    match value.to_string_lossy().trim().to_ascii_lowercase().as_str() {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

/// What becomes of the size of OpenMP teams.
fn teams(class: Class, environment: &Environment) -> String {
    let kernel = environment.get("NUMAESTRO_FOLD").is_some_and(|word| word == "kernel");
    let who = if kernel { "by the kernel" } else { "in user space where that is right, else by the kernel" };
    let keep = format!("keep their size, and are folded onto fewer processors {who}");
    let follow = format!("follow the processors where the program names no size; others are folded {who}");
    match (class, dynamic(environment)) {
        (Class::Fold, Some(true)) => format!("have the size that the runtime chooses (OMP_DYNAMIC=true), folded {who}"),
        (Class::Fold, _) => format!("{keep} (the class forbids another size)"),
        (_, Some(true)) => format!("{follow} (OMP_DYNAMIC=true allows it)"),
        (Class::Malleable, Some(false)) => format!("{keep} (OMP_DYNAMIC=false forbids another size)"),
        (Class::Malleable, None) => format!("{follow} (the class allows it)"),
        (Class::Auto | Class::Whole | Class::Setter, _) => format!("{keep} (nobody has allowed another size)"),
    }
}

/// What becomes of libraries with a number of threads of their own, and of those that the user has
/// named.
fn libraries(class: Class, environment: &Environment) -> Vec<String> {
    let usual = match class {
        Class::Fold => "all keep their numbers of threads: the class lets no setter be called",
        _ => "OpenBLAS, BLIS, MKL and oneTBB are told their number of threads through their own setters",
    };
    let rules = environment.get("NUMAESTRO_LIBRARIES").unwrap_or_default().into_string().unwrap_or_default();
    let rules = rules.split(',').filter_map(|rule| rule.parse::<LibraryRule>().ok());
    std::iter::once(usual.to_owned()).chain(rules.map(|rule| rule.sentence())).collect()
}
