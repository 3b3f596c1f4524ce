//! The grammar of a policy text: `dss`, or `share=dss placement=worst-fit(level=node)
//! admission=fifo`.
//!
//! A text is words separated by blanks: at most one preset, and parts as `part=answer` or
//! `part=answer(parameter=value,...)`. A part replaces that of the preset; parts that nothing names
//! are the default.

use crate::parameters::write_answer;
use crate::part::{Info, Part};
use crate::rejected::Rejected;
use numaestro_quantity::names::did_you_mean_of;

/// One word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word<'a> {
    /// A preset's name.
    Preset(&'a str),
    /// An answer for one part, parameters included.
    Answer(Part, &'a str),
}

/// The words of a text, in their order.
pub fn words(text: &str) -> impl Iterator<Item = Result<Word<'_>, Rejected>> {
    text.split_whitespace().map(|word| {
        // `worst-fit(level=node)` by itself is no part with a value.
        let Some((name, answer)) = word.split_once('=').filter(|(name, _)| !name.contains('(')) else {
            return Ok(Word::Preset(word));
        };
        let part = Part::ALL.into_iter().find(|part| part.name().eq_ignore_ascii_case(name));
        let meant = || did_you_mean_of(name, Part::ALL.map(Part::name));
        let unknown = || Rejected::new(format!("there is no part `{name}`{}", meant()));
        part.map(|part| Word::Answer(part, answer)).ok_or_else(unknown)
    })
}

/// `share=dss` or `placement=worst-fit(level=node)`.
pub fn write(part: Part, info: Info, parameters: &str) -> String {
    format!("{}={}", part.name(), write_answer(info, parameters))
}
