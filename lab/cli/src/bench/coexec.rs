//! `numaestro bench coexec`: goes from the command line to the tables. It measures nothing itself.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use numaestro_kit::commands;
use numaestro_quantity::names::did_you_mean_of;

use super::args::{CoexecArgs, PlaceArgs};
use super::bounds;
use super::calibrate::calibrate;
use super::campaign::{self, Managers, MixResult, Plan, Progress};
use super::launch;
use super::machine;
use super::measure::Bench;
use super::mix::{self, Mix, Program};
use super::places::Places;
use super::report::{self, Record, Settings};
use super::setup::Setup;

/// Runs the campaign the arguments ask for; exit code 1 if a program failed or a checked bound does
/// not hold.
pub fn coexec(args: &CoexecArgs) -> Result<ExitCode> {
    let (mixes, setups) = (chosen_mixes(args)?, chosen_setups(args)?);
    if args.list {
        list(&mixes, &setups);
        return Ok(ExitCode::SUCCESS);
    }
    let places = find_places(&args.places)?;
    let settings = settings(args);
    let processors = launch::processors()?;
    let (mixes, skipped) = runnable(mixes, &places);
    for (mix, reason) in &skipped {
        eprintln!("skipped {mix}: {reason}");
    }
    if mixes.is_empty() {
        bail!("none of the mixes can be run here; `numaestro bench coexec --list` shows all");
    }
    eprintln!("calibrating the programs of {} mixes", mixes.len());
    let (commands, _) = places.sort(&programs(&mixes));
    let reps_per_s = calibrate(&commands, processors[0])?;
    let limit = Duration::from_secs_f64(settings.time_limit_s);
    let bench = Bench { processors, commands, reps_per_s, target_s: settings.length_s, limit };
    let results = measure_all(&bench, &mixes, &setups, &places, settings, args)?;
    conclude(args, settings, &results, &skipped, bench.processors.len())
}

fn measure_all(
    bench: &Bench,
    mixes: &[Mix],
    setups: &[Setup],
    places: &Places,
    settings: Settings,
    args: &CoexecArgs,
) -> Result<Vec<MixResult>> {
    let plan = Plan { runs: settings.runs, foreign: settings.foreign, tries: args.tries };
    let mut managers = Managers::new(args.journal.clone());
    if let Some(dir) = &args.journal {
        fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    }
    let mut progress = Progress::new(mixes.len());
    let mut results = Vec::new();
    for mix in mixes {
        progress.begin(mix);
        let result = campaign::measure(bench, mix, setups, plan, places, &mut managers)
            .with_context(|| format!("the mix {} cannot be measured", mix.name))?;
        println!("{}", report::mix_table(&result));
        results.push(result);
    }
    Ok(results)
}

fn conclude(
    args: &CoexecArgs,
    settings: Settings,
    results: &[MixResult],
    skipped: &[(String, String)],
    processors: usize,
) -> Result<ExitCode> {
    let machine = machine::describe(processors);
    let (rivals, outcomes) = (report::rivals(results), bounds::judge(results));
    print!("{}", report::summary(&rivals, &outcomes));
    if let Some(path) = &args.markdown {
        write(path, &report::markdown(results, &rivals, &machine, settings))?;
    }
    if let Some(path) = &args.json {
        let note = args.note.as_str();
        let record = Record { note, machine: &machine, settings, mixes: results, skipped, rivals, bounds: &outcomes };
        write(path, &serde_json::to_string_pretty(&record)?)?;
    }
    let errors: Vec<String> = results
        .iter()
        .flat_map(|result| {
            result
                .cells
                .iter()
                .filter_map(|cell| Some(format!("{} {}: {}", result.mix, cell.setup.name(), cell.error()?)))
        })
        .collect();
    for error in &errors {
        eprintln!("error: {error}");
    }
    let broken = args.check && outcomes.iter().any(|outcome| outcome.holds == Some(false));
    Ok(if errors.is_empty() && !broken { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Finds the programs as the arguments say.
pub fn find_places(args: &PlaceArgs) -> Result<Places> {
    let numaestro = match &args.numaestro {
        Some(path) => path.canonicalize().with_context(|| format!("there is no {}", path.display()))?,
        None => commands::find(commands::PRODUCT)?,
    };
    Ok(Places::find(args.kernels.as_deref(), args.python.as_deref(), numaestro))
}

fn settings(args: &CoexecArgs) -> Settings {
    let (runs, length_s, time_limit_s) = if args.quick { (3, 0.3, 8.0) } else { (7, 0.8, 20.0) };
    Settings {
        length_s: args.length.unwrap_or(length_s),
        time_limit_s: args.time_limit.unwrap_or(time_limit_s),
        foreign: args.foreign / 100.0,
        runs: args.runs.map_or(runs, |runs| runs as usize),
    }
}

fn chosen_mixes(args: &CoexecArgs) -> Result<Vec<Mix>> {
    let all = mix::all();
    if args.mix.is_empty() {
        return Ok(all);
    }
    for pattern in &args.mix {
        if !all.iter().any(|mix| mix::matches(pattern, &mix.name)) {
            bail!("no mix is named {pattern}; `numaestro bench coexec --list` shows all, and `*` stands for any text");
        }
    }
    Ok(all.into_iter().filter(|mix| args.mix.iter().any(|pattern| mix::matches(pattern, &mix.name))).collect())
}

fn chosen_setups(args: &CoexecArgs) -> Result<Vec<Setup>> {
    let named = |name: &String| {
        Setup::ALL
            .into_iter()
            .find(|setup| setup.name() == name)
            .with_context(|| format!("no set-up is named {name}{}", did_you_mean_of(name, Setup::ALL.map(Setup::name))))
    };
    if args.setup.is_empty() { Ok(Setup::ALL.to_vec()) } else { args.setup.iter().map(named).collect() }
}

fn programs(mixes: &[Mix]) -> Vec<Program> {
    let set: BTreeSet<Program> =
        mixes.iter().flat_map(|mix| mix.members.iter().map(|member| member.program.clone())).collect();
    set.into_iter().collect()
}

/// Splits the mixes into those with all their programs here, and the others with the reason.
fn runnable(mixes: Vec<Mix>, places: &Places) -> (Vec<Mix>, Vec<(String, String)>) {
    let (_, missing): (_, BTreeMap<Program, String>) = places.sort(&programs(&mixes));
    let mut skipped = Vec::new();
    let mut kept = Vec::new();
    for mix in mixes {
        match mix.members.iter().find_map(|member| missing.get(&member.program)) {
            Some(reason) => skipped.push((mix.name, reason.clone())),
            None => kept.push(mix),
        }
    }
    (kept, skipped)
}

fn list(mixes: &[Mix], setups: &[Setup]) {
    println!("Set-ups:");
    for setup in setups {
        println!("  {:15} {}", setup.name(), setup.summary());
    }
    println!("\nMixes:");
    for mix in mixes {
        let members: Vec<&str> = mix.members.iter().map(|member| member.program.name.as_str()).collect();
        let hog = if mix.hog { " beside an unmanaged sequential program" } else { "" };
        println!("  {:28} {}{hog}", mix.name, members.join(" + "));
    }
}

fn write(path: &PathBuf, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// A kernel that costs processor time in proportion to `--reps`, written for the shell.
    const KERNEL: &str = "#!/bin/sh\nreps=400; while [ $# -gt 0 ]; do [ $1 = --reps ] && reps=$2; shift; done\ni=0; while [ $i -lt $((reps * 100)) ]; \
                          do i=$((i + 1)); done\necho \"{\\\"reps\\\":$reps,\\\"wall_s\\\":0.02,\\\"verification\\\":\\\"$VERDICT\\\"}\"\n";

    fn bench(verdict: &str) -> Result<(tempfile::TempDir, Bench, Places, Mix)> {
        let dir = tempfile::tempdir()?;
        let kernel = dir.path().join("gcc/sor");
        fs::create_dir(dir.path().join("gcc"))?;
        fs::write(&kernel, KERNEL.replace("$VERDICT", verdict))?;
        fs::set_permissions(&kernel, fs::Permissions::from_mode(0o755))?;
        let places = Places::find(Some(dir.path()), None, PathBuf::from("/nonexistent/numaestro"));
        let mix = mix::all().into_iter().find(|mix| mix.name == "pair/gcc/sor").context("no such mix")?;
        let (commands, _) = places.sort(&programs(std::slice::from_ref(&mix)));
        let reps_per_s = commands.keys().map(|program| (program.clone(), 20_000.0)).collect();
        let bench = Bench {
            processors: launch::processors()?,
            commands,
            reps_per_s,
            target_s: 0.02,
            limit: Duration::from_mins(1),
        };
        Ok((dir, bench, places, mix))
    }

    #[test]
    fn a_tiny_mix_is_measured_for_real_under_two_set_ups() -> Result<()> {
        let (_dir, bench, places, mix) = bench("ok")?;
        let plan = Plan { runs: 3, foreign: 0.06, tries: 1 };
        let setups = [Setup::Ideal, Setup::Plain];
        let result = campaign::measure(&bench, &mix, &setups, plan, &places, &mut Managers::default())?;
        assert_eq!(result.cells.iter().map(|cell| cell.setup).collect::<Vec<_>>(), setups);
        for cell in &result.cells {
            assert_eq!((cell.kept().count(), cell.error()), (3, None));
            assert!(cell.kept().all(|run| run.turnaround_s.len() == 2 && run.makespan_s >= run.mean_turnaround_s()));
            assert!(cell.kept().all(|run| run.cpu_s.iter().all(|&seconds| seconds > 0.0)));
        }
        assert!(result.makespan_ratio(Setup::Plain, Setup::Ideal).is_some_and(|ratio| ratio > 0.0));
        let table = report::mix_table(&result);
        assert!(table.contains("ideal*") && table.contains("plain"), "{table}");
        Ok(())
    }

    #[test]
    fn a_wrong_result_is_reported_as_an_error() -> Result<()> {
        let (_dir, bench, places, mix) = bench("FAILED")?;
        let plan = Plan { runs: 3, foreign: 0.06, tries: 1 };
        let result = campaign::measure(&bench, &mix, &[Setup::Plain], plan, &places, &mut Managers::default())?;
        assert_eq!(result.cells[0].runs.len(), 1, "nothing is learned from running it again");
        assert!(result.cells[0].error().is_some_and(|error| error.contains("did not say")));
        assert!(report::mix_table(&result).contains("ERROR"));
        Ok(())
    }
}
