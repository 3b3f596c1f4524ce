//! `numaestro repro run`: judges claims at the centre of the admissible set, then under
//! perturbations, with other seeds and at other admissible points.

use super::args::RunArgs;
use super::bar::bar;
use super::choose::{Chosen, choose};
use super::judged::{Judged, measured_summary};
use super::kept::Kept;
use super::queue::side_by_side;
use super::studies::{WRONG_INPUTS, papers, studies};
use super::{document, page, table};
use crate::say::{self, Failure};
use anyhow::Context;
use numaestro_repro::measured::Measurements;
use numaestro_repro::study::{Answers, Extent};
use numaestro_repro::{Centre, Lab, Paper, Stage, Statistics, Study};
use numaestro_sim::read::Text;
use std::collections::BTreeMap;
use std::path::Path;

/// Labs at the centre, with their papers.
type Labs = Vec<(&'static Paper, Lab)>;

/// A stage of a study.
#[derive(Debug, Clone, Copy)]
struct Part {
    /// The place of the study.
    study: usize,
    stage: Stage,
}

/// Checks the claims that are meant and shows the findings.
pub fn run(args: &RunArgs) -> anyhow::Result<u8> {
    let chosen = choose(&args.claims, args.paper.as_deref())?;
    let extent = args.extent();
    let (studies, origin) = studies(&papers(&chosen), args.inputs.as_deref(), extent)?;
    let measurements = args.measured.as_deref().map(measurements).transpose()?;
    let mut kept = args.out.as_deref().map(|place| Kept::open(place, &origin)).transpose()?;
    let (centres, labs) = at_the_centre(&studies, &chosen)?;
    if let Some(kept) = &kept {
        kept.runs(&labs)?;
    }
    drop(labs);
    let answers = stages(&studies, &centres, kept.as_mut())?;
    for ((study, centre), answers) in studies.iter().zip(&centres).zip(&answers) {
        warn_of_points(study, centre, answers);
    }
    let mut judged = conclude(&studies, centres, &answers);
    if let Some(measurements) = &measurements {
        for one in &mut judged {
            one.measured = measurements.verdict(one.chosen.1.id);
        }
    }
    show(args, &judged, &studies, extent, measurements.as_ref())
}

/// Reads a file that `numaestro bench claims` has written.
fn measurements(file: &Path) -> anyhow::Result<Measurements> {
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    Measurements::read(Text { name: &file.display().to_string(), text: &text }).map_err(|mistake| {
        Failure::error(WRONG_INPUTS, mistake.to_string(), "`numaestro bench claims --json FILE` writes such a file")
    })
}

impl RunArgs {
    /// How much is run.
    fn extent(&self) -> Extent {
        let of = |number: Option<u32>, full| number.unwrap_or(if self.quick { 0 } else { full });
        Extent {
            candidates: of(self.draws, 100),
            seed_sets: of(self.seed_sets, 5),
            statistics: if self.quick { Statistics::Quick } else { Statistics::Full },
        }
    }
}

/// The papers side by side, the claims of each one after the other, so that they reuse the runs of
/// earlier ones.
fn at_the_centre(studies: &[Study], chosen: &[Chosen]) -> anyhow::Result<(Vec<Centre>, Labs)> {
    let bar = bar(chosen.len(), "claims");
    let judge = |study: &Study| {
        let lab = study.lab_at_the_centre();
        let mut findings = Vec::new();
        for (_, claim) in chosen.iter().filter(|(paper, _)| paper.key == study.paper().key) {
            bar.set_message(claim.id);
            findings.push((*claim, claim.judge(&lab)));
            bar.inc(1);
        }
        (study.centre(&lab, findings), (study.paper(), lab))
    };
    let mut found: BTreeMap<usize, _> = BTreeMap::new();
    side_by_side(studies, judge, |place, centre| {
        found.insert(place, centre);
        Ok(())
    })?;
    bar.finish_and_clear();
    Ok(found.into_values().unzip())
}

/// The answers of every stage of each study: kept ones, and those of stages that are run now.
fn stages(
    studies: &[Study],
    centres: &[Centre],
    mut kept: Option<&mut Kept>,
) -> anyhow::Result<Vec<Vec<(Stage, Answers)>>> {
    let mut planned: Vec<Part> = Vec::new();
    for (place, (study, centre)) in studies.iter().zip(centres).enumerate() {
        planned.extend(study.stages(centre).into_iter().map(|stage| Part { study: place, stage }));
    }
    let bar = bar(planned.len(), "stages");
    let known = |part: &Part| {
        let (study, centre) = (&studies[part.study], &centres[part.study]);
        let claims: Vec<&str> = study.judged(part.stage, centre).iter().map(|claim| claim.id).collect();
        kept.as_ref().and_then(|kept| kept.answers(study.paper(), part.stage, &claims))
    };
    let mut answers: Vec<Option<Answers>> = planned.iter().map(known).collect();
    let missing: Vec<usize> = (0..planned.len()).filter(|&place| answers[place].is_none()).collect();
    bar.set_position((planned.len() - missing.len()) as u64);
    bar.reset_eta();
    let answer = |&place: &usize| {
        let Part { study, stage } = planned[place];
        studies[study].run(stage, &centres[study])
    };
    side_by_side(&missing, answer, |number, found| {
        let Part { study, stage } = planned[missing[number]];
        let paper = studies[study].paper();
        if let Some(kept) = &mut kept {
            kept.keep(paper, stage, &found)?;
        }
        answers[missing[number]] = Some(found);
        bar.set_message(format!("{} {}", paper.short, stage.name()));
        bar.inc(1);
        Ok(())
    })?;
    bar.finish_and_clear();
    let mut by_study: Vec<Vec<(Stage, Answers)>> = studies.iter().map(|_| Vec::new()).collect();
    for (part, found) in planned.iter().zip(answers) {
        by_study[part.study].extend(found.map(|found| (part.stage, found)));
    }
    Ok(by_study)
}

/// Warns where the centre does not agree with the rows that identify it, and where there are fewer
/// admissible points than the file of inputs asks for.
fn warn_of_points(study: &Study, centre: &Centre, answers: &[(Stage, Answers)]) {
    let paper = study.paper().short;
    let disagree = centre.fits().iter().filter(|fit| fit.misfit > 1.0).count();
    if disagree > 0 {
        say::warn(&format!(
            "{paper}: {disagree} rows do not agree with the constants at the centre (`numaestro repro calibrate`)"
        ));
    }
    let draws = || answers.iter().filter(|(stage, _)| matches!(stage, Stage::Draw(_)));
    let (tried, found) = (draws().count(), draws().filter(|(_, answers)| answers.admissible).count());
    let wanted = study.inputs().thresholds().draws;
    if tried > 0 && found < wanted as usize {
        say::warn(&format!(
            "{paper}: {found} of {tried} candidates are admissible; the file of inputs asks for {wanted} points (--draws)"
        ));
    }
}

/// The findings with the statuses that follow from all answers.
fn conclude(studies: &[Study], centres: Vec<Centre>, answers: &[Vec<(Stage, Answers)>]) -> Vec<Judged> {
    let mut judged = Vec::new();
    for ((study, centre), answers) in studies.iter().zip(centres).zip(answers) {
        for (claim, mut finding) in centre.into_findings() {
            let trials = study.trials(claim, answers);
            finding.status = study.status(claim, &finding, &trials);
            judged.push(Judged { chosen: (study.paper(), claim), finding, trials, measured: None });
        }
    }
    judged
}

fn show(
    args: &RunArgs,
    judged: &[Judged],
    studies: &[Study],
    extent: Extent,
    measurements: Option<&Measurements>,
) -> anyhow::Result<u8> {
    let measured = measurements.map(|measurements| measured_summary(judged, measurements)).unwrap_or_default();
    if let Some(file) = &args.html {
        document::write_text(file, &page::page(judged, studies, extent, &measured))?;
    }
    if let Some(file) = &args.json {
        document::write(file, &document::findings(judged, extent, measurements))?;
        if document::is_stdout(file) {
            return Ok(say::OK);
        }
    }
    say::print(&table::table(judged, args.evidence, &measured, say::colours(&std::io::stdout())))?;
    Ok(say::OK)
}
