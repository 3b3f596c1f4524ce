//! `numaestro repro run`: judges claims at the centre of the admissible set, then under
//! perturbations, with other seeds and at other admissible points.

use super::args::RunArgs;
use super::bar::bar;
use super::choose::{Chosen, choose};
use super::judged::Judged;
use super::kept::Kept;
use super::studies::{papers, studies};
use super::{document, page, table};
use crate::say;
use numaestro_repro::study::{Answers, Extent};
use numaestro_repro::{Claim, Finding, Lab, Paper, Stage, Statistics, Study};

/// Claims with their findings at the centre.
type Findings = Vec<(&'static Claim, Finding)>;

/// Checks the claims that are meant and shows the findings.
pub fn run(args: &RunArgs) -> anyhow::Result<u8> {
    let chosen = choose(&args.claims, args.paper.as_deref())?;
    let extent = args.extent();
    let (studies, origin) = studies(&papers(&chosen), args.inputs.as_deref(), extent)?;
    let mut kept = args.out.as_deref().map(|place| Kept::open(place, &origin)).transpose()?;
    let (findings, labs) = at_the_centre(&studies, &chosen);
    if let Some(kept) = &kept {
        kept.runs(&labs)?;
    }
    drop(labs);
    let answers = stages(&studies, &findings, kept.as_mut())?;
    for (study, answers) in studies.iter().zip(&answers) {
        warn_of_points(study, answers);
    }
    let judged = conclude(&studies, findings, &answers);
    show(args, &judged, &studies, extent)
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

/// One claim after the other; each uses all cores for its runs, and reuses the runs of earlier ones
/// of its paper.
fn at_the_centre(studies: &[Study], chosen: &[Chosen]) -> (Vec<Findings>, Vec<(&'static Paper, Lab)>) {
    let bar = bar(chosen.len(), "claims");
    let (mut findings, mut labs) = (Vec::new(), Vec::new());
    for study in studies {
        let lab = study.centre();
        let mut found = Vec::new();
        for (_, claim) in chosen.iter().filter(|(paper, _)| paper.key == study.paper().key) {
            bar.set_message(claim.id);
            found.push((*claim, claim.judge(&lab)));
            bar.inc(1);
        }
        findings.push(found);
        labs.push((study.paper(), lab));
    }
    bar.finish_and_clear();
    (findings, labs)
}

/// The answers of every stage of each study: kept ones, and those of stages that are run now.
fn stages(
    studies: &[Study],
    findings: &[Findings],
    mut kept: Option<&mut Kept>,
) -> anyhow::Result<Vec<Vec<(Stage, Answers)>>> {
    let planned: Vec<Vec<Stage>> =
        studies.iter().zip(findings).map(|(study, findings)| study.stages(findings)).collect();
    let bar = bar(planned.iter().map(Vec::len).sum(), "stages");
    let mut all = Vec::new();
    for ((study, findings), stages) in studies.iter().zip(findings).zip(planned) {
        let mut of_paper = Vec::new();
        for stage in stages {
            bar.set_message(format!("{} {}", study.paper().short, stage.name()));
            let claims: Vec<&str> = study.judged(stage, findings).iter().map(|claim| claim.id).collect();
            let known = kept.as_ref().and_then(|kept| kept.answers(study.paper(), stage, &claims));
            let answers = if let Some(answers) = known {
                answers
            } else {
                let answers = study.run(stage, findings);
                if let Some(kept) = &mut kept {
                    kept.keep(study.paper(), stage, &answers)?;
                }
                answers
            };
            of_paper.push((stage, answers));
            bar.inc(1);
        }
        all.push(of_paper);
    }
    bar.finish_and_clear();
    Ok(all)
}

/// Warns where the centre does not agree with the rows that identify it, and where there are fewer
/// admissible points than the file of inputs asks for.
fn warn_of_points(study: &Study, answers: &[(Stage, Answers)]) {
    let paper = study.paper().short;
    let disagree = study.fits(None).map_or(0, |fits| fits.iter().filter(|fit| fit.misfit > 1.0).count());
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
fn conclude(studies: &[Study], findings: Vec<Findings>, answers: &[Vec<(Stage, Answers)>]) -> Vec<Judged> {
    let mut judged = Vec::new();
    for ((study, findings), answers) in studies.iter().zip(findings).zip(answers) {
        for (claim, mut finding) in findings {
            let trials = study.trials(claim, answers);
            finding.status = study.status(claim, &finding, &trials);
            judged.push(Judged { chosen: (study.paper(), claim), finding, trials });
        }
    }
    judged
}

fn show(args: &RunArgs, judged: &[Judged], studies: &[Study], extent: Extent) -> anyhow::Result<u8> {
    if let Some(file) = &args.html {
        document::write_text(file, &page::page(judged, studies, extent))?;
    }
    if let Some(file) = &args.json {
        document::write(file, &document::findings(judged, extent))?;
        if document::is_stdout(file) {
            return Ok(say::OK);
        }
    }
    say::print(&table::table(judged, args.evidence, say::colours(&std::io::stdout())))?;
    Ok(say::OK)
}
