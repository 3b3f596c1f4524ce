//! The registry: every answer and every preset by its name.
//!
//! Each part lists its answers (`ANSWERS`), the default first; the presets have a file of their
//! own. This file turns names into answers.

use crate::answer::Answer;
use crate::parameters::{Parameters, split_answer};
use crate::part::{Info, Part, Share};
use crate::presets::{ALIASES, PRESETS, Preset};
use crate::rejected::Rejected;
use crate::text::{self, Word};
use crate::{admission, pages, placement, share, turns};
use numaestro_quantity::names::did_you_mean_of;

/// One line of `policy list`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// `preset`, or the name of a part.
    pub part: &'static str,
    /// Name, summary and source, for people.
    pub info: Info,
}

/// All presets, then all answers part by part, the default of each part first.
pub fn catalogue() -> Vec<Entry> {
    let presets = PRESETS.iter().map(|preset| Entry { part: "preset", info: info_of(preset) });
    presets.chain(answers().map(|(part, info)| Entry { part: part.name(), info })).collect()
}

/// Every answer, part by part.
fn answers() -> impl Iterator<Item = (Part, Info)> {
    fn of<P: ?Sized>(part: Part, answers: &[Answer<P>]) -> impl Iterator<Item = (Part, Info)> {
        answers.iter().map(move |answer| (part, answer.info))
    }
    of(Part::Share, share::ANSWERS)
        .chain(of(Part::Placement, placement::ANSWERS))
        .chain(of(Part::Turns, turns::ANSWERS))
        .chain(of(Part::Pages, pages::ANSWERS))
        .chain(of(Part::Admission, admission::ANSWERS))
}

fn info_of(preset: &Preset) -> Info {
    let name = preset.name;
    match preset.about {
        Some((summary, source)) => Info { name, summary, source },
        None => answers().map(|(_, info)| info).find(|info| info.name == name).expect("an answer of this name"),
    }
}

/// The answers that a text names, parameters included, in the order of [`Part::ALL`]; `None` for
/// the default.
pub fn choose(text: &str) -> Result<[Option<&str>; Part::ALL.len()], Rejected> {
    let (mut chosen, mut preset) = ([None; Part::ALL.len()], None);
    for word in text::words(text) {
        match word? {
            Word::Preset(name) => {
                if preset.replace(find_preset(name)?).is_some() {
                    return Err(Rejected::new(format!(
                        "`{name}` is a second preset; combine parts instead, as in `share=dss admission=fifo`"
                    )));
                }
            }
            Word::Answer(part, answer) => {
                if chosen[part as usize].replace(answer).is_some() {
                    return Err(Rejected::new(format!("`{}` is given twice", part.name())));
                }
            }
        }
    }
    for word in text::words(preset.map_or("", |preset| preset.parts)) {
        if let Word::Answer(part, answer) = word? {
            chosen[part as usize].get_or_insert(answer);
        }
    }
    Ok(chosen)
}

fn find_preset(word: &str) -> Result<&'static Preset, Rejected> {
    let name = ALIASES.iter().find(|(alias, _)| alias.eq_ignore_ascii_case(word)).map_or(word, |&(_, name)| name);
    if let Some(preset) = PRESETS.iter().find(|preset| preset.name.eq_ignore_ascii_case(name)) {
        return Ok(preset);
    }
    if let Some((part, _)) = answers().find(|(_, info)| info.name.eq_ignore_ascii_case(name)) {
        return Err(Rejected::new(format!("`{name}` is an answer for one part: write `{}={name}`", part.name())));
    }
    Err(Rejected::new(format!(
        "there is no policy `{name}`{}, or parts such as `share=dss placement=worst-fit`",
        did_you_mean_of(name, PRESETS.iter().map(|preset| preset.name))
    )))
}

/// Makes the answer that `text` names, or the default of the part. `seed` is for its random
/// choices.
pub fn make<P: ?Sized>(part: Part, answers: &[Answer<P>], text: Option<&str>, seed: u64) -> Result<Box<P>, Rejected> {
    let default = answers.first().map_or("", |answer| answer.info.name);
    let (name, parameters) = split_answer(text.unwrap_or(default))?;
    let Some(answer) = answers.iter().find(|answer| answer.info.name.eq_ignore_ascii_case(name)) else {
        let meant = did_you_mean_of(name, answers.iter().map(|answer| answer.info.name));
        return Err(Rejected::new(format!("there is no {} `{name}`{meant}", part.name())));
    };
    let mut parameters = Parameters::read(answer.info.name, parameters, seed, share)?;
    let made = (answer.build)(&mut parameters)?;
    parameters.finish()?;
    Ok(made)
}

/// A share inside another answer, as in `chunks(share=equip(leftover=worklist))`.
fn share(text: &str, seed: u64) -> Result<Box<dyn Share>, Rejected> {
    make(Part::Share, share::ANSWERS, Some(text), seed)
}
