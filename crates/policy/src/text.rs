//! Policies as text: `dss`, or `share=dss placement=worst-fit(level=node) admission=fifo`.
//!
//! A text is words separated by blanks: at most one preset, and parts as `part=answer` or `part=answer(parameter=value,...)`. A part
//! replaces what the preset says; parts that nothing names are the default. Registering an answer is one line in [`ANSWERS`].

use crate::catalogue as info;
use crate::part::{Admission, Info, Pages, Part, Placement, Share, Turns};
use crate::policy::Rejected;
use crate::random::Tie;
use crate::{admission, pages, placement, share, turns};

/// An answer, ready to use.
#[derive(Debug)]
pub(crate) enum Built {
    Share(Box<dyn Share>),
    Placement(Box<dyn Placement>),
    Turns(Box<dyn Turns>),
    Pages(Box<dyn Pages>),
    Admission(Box<dyn Admission>),
}

type Build = fn(&mut Parameters, u64) -> Result<Built, Rejected>;

/// An answer that can be named.
pub(crate) struct Answer {
    pub part: Part,
    pub info: Info,
    pub build: Build,
}

const fn answer(part: Part, info: Info, build: Build) -> Answer {
    Answer { part, info, build }
}

/// All answers; the first of each part is its default.
pub(crate) const ANSWERS: &[Answer] = &[
    answer(Part::Share, info::EQUI, |parameters, _| {
        let by = parameters.choice("by", &share::By::ALL)?;
        Ok(Built::Share(Box::new(share::Equi::new(by.unwrap_or_default()))))
    }),
    answer(Part::Share, info::EQUIP, |parameters, _| {
        let leftover = parameters
            .choice("leftover", &[("idle", share::Leftover::Idle), ("worklist", share::Leftover::Worklist)])?;
        Ok(Built::Share(Box::new(share::Equip::new(leftover.unwrap_or_default()))))
    }),
    answer(Part::Share, info::CLUSTER, |parameters, _| {
        let unit = parameters.number("unit")?.unwrap_or(share::Cluster::UNIT);
        Ok(Built::Share(Box::new(share::Cluster::new(unit))))
    }),
    answer(Part::Share, info::DSS, |_, _| Ok(Built::Share(Box::new(share::Dss::default())))),
    answer(Part::Share, info::BATCH, |_, _| Ok(Built::Share(Box::new(share::Batch)))),
    answer(Part::Share, info::DEMAND, |parameters, _| {
        let idle = parameters.choice("idle", &share::Idle::ALL)?;
        Ok(Built::Share(Box::new(share::Demand::new(idle.unwrap_or_default()))))
    }),
    answer(Part::Share, info::LINUX24, |_, _| Ok(Built::Share(Box::new(share::Linux24)))),
    answer(Part::Share, info::SGI_MP, |parameters, seed| {
        let active = parameters.choice("sees", &[("requests", false), ("active", true)])?.unwrap_or(false);
        Ok(Built::Share(Box::new(share::SgiMp::new(active, seed))))
    }),
    answer(Part::Share, info::DYNAMIC, |_, _| Ok(Built::Share(Box::<share::Dynamic>::default()))),
    answer(Part::Share, info::PDPA, |parameters, _| Ok(Built::Share(Box::new(share::Pdpa::read(parameters)?)))),
    answer(Part::Placement, info::AFFINITY, |parameters, seed| {
        let tie = parameters.tie()?.unwrap_or(Tie::Lowest);
        Ok(Built::Placement(Box::new(placement::Affinity::new(tie, seed))))
    }),
    answer(Part::Placement, info::FIRST_FIT, pooled::<placement::FirstFitRule>),
    answer(Part::Placement, info::BEST_FIT, pooled::<placement::BestFitRule>),
    answer(Part::Placement, info::WORST_FIT, pooled::<placement::WorstFitRule>),
    answer(Part::Placement, info::WORST_FIT_JOBS, pooled::<placement::WorstFitJobsRule>),
    answer(Part::Placement, info::EMPTY_POOL, pooled::<placement::EmptyPoolRule>),
    answer(Part::Placement, info::LOCALIZED, |parameters, seed| {
        let tie = parameters.tie()?.unwrap_or(Tie::Random);
        Ok(Built::Placement(Box::new(placement::Localized::new(tie, seed))))
    }),
    answer(Part::Placement, info::FIXED, |parameters, _| {
        let missing = || Rejected::new("fixed needs places, such as placement=fixed(at=----/----/----/1234)");
        let at = parameters.value("at").ok_or_else(missing)?;
        Ok(Built::Placement(Box::new(placement::Fixed::new(&at)?)))
    }),
    answer(Part::Placement, info::LOWEST, |_, _| Ok(Built::Placement(Box::<placement::Lowest>::default()))),
    answer(Part::Placement, info::BASE_PRIORITY, |parameters, seed| {
        let tie = parameters.tie()?.unwrap_or(Tie::Random);
        Ok(Built::Placement(Box::new(placement::BasePriority::new(tie, seed))))
    }),
    answer(Part::Placement, info::HOME, |parameters, seed| {
        let tie = parameters.tie()?.unwrap_or(Tie::Random);
        Ok(Built::Placement(Box::new(placement::Home::new(tie, seed))))
    }),
    answer(Part::Placement, info::LIMITED, |parameters, seed| {
        let tie = parameters.tie()?.unwrap_or(Tie::Random);
        Ok(Built::Placement(Box::new(placement::Limited::new(tie, seed))))
    }),
    answer(Part::Placement, info::REPARTITION, |parameters, seed| {
        Ok(Built::Placement(Box::new(placement::Repartition::read(parameters, seed)?)))
    }),
    answer(Part::Turns, info::ALWAYS, |_, _| Ok(Built::Turns(Box::new(turns::Always)))),
    answer(Part::Turns, info::TICK, |parameters, _| {
        let quantum = parameters.duration("quantum")?.unwrap_or(turns::Tick::QUANTUM_NS);
        Ok(Built::Turns(Box::new(turns::Tick::new(quantum))))
    }),
    answer(Part::Turns, info::ROUND_ROBIN, |parameters, _| {
        Ok(Built::Turns(Box::new(turns::RoundRobin::read(parameters)?)))
    }),
    answer(Part::Turns, info::SW_DSS, |parameters, _| Ok(Built::Turns(Box::new(turns::SwDss::read(parameters)?)))),
    answer(Part::Turns, info::SSW_DSS, |parameters, _| Ok(Built::Turns(Box::new(turns::SswDss::read(parameters)?)))),
    answer(Part::Turns, info::VTQ_DSS, |parameters, _| Ok(Built::Turns(Box::new(turns::VtqDss::read(parameters)?)))),
    answer(Part::Turns, info::RR, |parameters, _| Ok(Built::Turns(Box::new(turns::Rr::read(parameters)?)))),
    answer(Part::Turns, info::B2ARR, |parameters, _| Ok(Built::Turns(Box::new(turns::B2arr::read(parameters)?)))),
    answer(Part::Turns, info::B2ADSS, |parameters, _| Ok(Built::Turns(Box::new(turns::B2adss::read(parameters)?)))),
    answer(Part::Turns, info::LQG, |parameters, _| Ok(Built::Turns(Box::new(turns::Lqg::read(parameters)?)))),
    answer(Part::Turns, info::QWG, |parameters, _| Ok(Built::Turns(Box::new(turns::Qwg::read(parameters)?)))),
    answer(Part::Turns, info::FITNESS, |parameters, seed| {
        Ok(Built::Turns(Box::new(turns::Fitness::read(parameters, seed)?)))
    }),
    answer(Part::Turns, info::CHUNKS, |parameters, seed| {
        Ok(Built::Turns(Box::new(turns::Chunks::read(parameters, seed)?)))
    }),
    answer(Part::Pages, info::FIRST_TOUCH, |_, _| Ok(Built::Pages(Box::new(pages::FirstTouch)))),
    answer(Part::Pages, info::PAGES_HOME, |_, _| Ok(Built::Pages(Box::new(pages::Home)))),
    answer(Part::Pages, info::INTERLEAVE, |_, _| Ok(Built::Pages(Box::new(pages::Interleave)))),
    answer(Part::Admission, info::ADMIT_SHARE, |_, _| Ok(Built::Admission(Box::new(admission::Share)))),
    answer(Part::Admission, info::FIFO, |_, _| Ok(Built::Admission(Box::new(admission::Fifo)))),
    answer(Part::Admission, info::FCFS, |_, _| Ok(Built::Admission(Box::new(admission::Fcfs)))),
    answer(Part::Admission, info::EASY, |_, _| Ok(Built::Admission(Box::<admission::Easy>::default()))),
    answer(Part::Admission, info::MULTIPROGRAMMING, |parameters, _| {
        Ok(Built::Admission(Box::new(admission::Multiprogramming::read(parameters)?)))
    }),
];

/// Any placement over pools.
fn pooled<R: placement::Rule + 'static>(parameters: &mut Parameters, seed: u64) -> Result<Built, Rejected> {
    let config = placement::PoolConfig::read(parameters, R::SELECTIVE)?;
    Ok(Built::Placement(Box::new(placement::Pooled::<R>::new(config, seed))))
}

/// Units of time, those first that end in another one.
const DURATIONS: [(&str, u64); 3] = [("ms", 1_000_000), ("us", 1_000), ("s", 1_000_000_000)];
/// Shorter than a tick of the operating system makes no sense.
const SHORTEST_NS: u64 = 1_000_000;
const LONGEST_NS: u64 = 1_000_000_000_000;

/// As [`Parameters::duration`] reads it.
pub(crate) fn write_duration(ns: u64) -> String {
    match DURATIONS.into_iter().filter(|(_, unit)| ns.is_multiple_of(*unit)).max_by_key(|&(_, unit)| unit) {
        Some((name, unit)) => format!("{}{name}", ns / unit),
        None => format!("{}us", ns / 1_000),
    }
}

/// The parts between commas that are not inside parentheses: parameters may be answers with parameters of their own.
fn split_outside(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_u32;
    text.split(move |letter| {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == ',' && depth == 0
    })
}

/// What stands between the parentheses of an answer.
#[derive(Debug)]
pub(crate) struct Parameters {
    answer: String,
    pairs: Vec<(String, String)>,
    /// Names that were asked for, to list them where another one is found.
    known: Vec<&'static str>,
}

impl Parameters {
    fn read(answer: &str, text: &str) -> Result<Self, Rejected> {
        let pair = |part: &str| {
            let pair = part.split_once('=').map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned()));
            pair.ok_or_else(|| Rejected::new(format!("{answer}: `{part}` should be parameter=value")))
        };
        let pairs = split_outside(text).filter(|part| !part.trim().is_empty()).map(pair).collect::<Result<_, _>>()?;
        Ok(Self { answer: answer.to_owned(), pairs, known: Vec::new() })
    }

    pub(crate) fn value(&mut self, name: &'static str) -> Option<String> {
        self.known.push(name);
        let at = self.pairs.iter().position(|(key, _)| key == name)?;
        Some(self.pairs.remove(at).1)
    }

    pub(crate) fn choice<T: Copy>(&mut self, name: &'static str, values: &[(&str, T)]) -> Result<Option<T>, Rejected> {
        let Some(value) = self.value(name) else { return Ok(None) };
        let found = values.iter().find(|(word, _)| *word == value).map(|&(_, meaning)| meaning);
        let words: Vec<_> = values.iter().map(|&(word, _)| word).collect();
        let wrong =
            || Rejected::new(format!("{}: `{name}={value}` is unknown; there are {}", self.answer, words.join(", ")));
        found.map(Some).ok_or_else(wrong)
    }

    pub(crate) fn number(&mut self, name: &'static str) -> Result<Option<u32>, Rejected> {
        let Some(value) = self.value(name) else { return Ok(None) };
        match value.parse() {
            Ok(number) if (1..=65_536).contains(&number) => Ok(Some(number)),
            _ => Err(Rejected::new(format!("{}: `{name}={value}` should be a number from 1 to 65536", self.answer))),
        }
    }

    /// How much something counts: 0 (not at all) to 1000.
    pub(crate) fn weight(&mut self, name: &'static str) -> Result<Option<u32>, Rejected> {
        let Some(value) = self.value(name) else { return Ok(None) };
        match value.parse() {
            Ok(number) if number <= 1000 => Ok(Some(number)),
            _ => Err(Rejected::new(format!("{}: `{name}={value}` should be a weight from 0 to 1000", self.answer))),
        }
    }

    /// A time in nanoseconds: `100ms`, `2s`, `500us`.
    pub(crate) fn duration(&mut self, name: &'static str) -> Result<Option<u64>, Rejected> {
        let Some(value) = self.value(name) else { return Ok(None) };
        let unit = |(end, ns): (&str, u64)| Some(value.strip_suffix(end)?.parse::<u64>().ok()?.saturating_mul(ns));
        match DURATIONS.into_iter().find_map(unit) {
            Some(ns) if (SHORTEST_NS..=LONGEST_NS).contains(&ns) => Ok(Some(ns)),
            _ => Err(Rejected::new(format!(
                "{}: `{name}={value}` should be a time from 1ms to 1000s, such as 100ms",
                self.answer
            ))),
        }
    }

    /// A part of a whole, in percent: `50%`.
    pub(crate) fn percent(&mut self, name: &'static str) -> Result<Option<u32>, Rejected> {
        let Some(value) = self.value(name) else { return Ok(None) };
        match value.strip_suffix('%').and_then(|number| number.parse().ok()) {
            Some(percent) if percent <= 100 => Ok(Some(percent)),
            _ => Err(Rejected::new(format!("{}: `{name}={value}` should be from 0% to 100%", self.answer))),
        }
    }

    /// A number with up to three decimals, in thousandths: `1.5` is 1500.
    pub(crate) fn milli(&mut self, name: &'static str) -> Result<Option<u32>, Rejected> {
        let Some(value) = self.value(name) else { return Ok(None) };
        let wrong = || {
            Rejected::new(format!(
                "{}: `{name}={value}` should be a number from 0.001 to 1000, such as 0.7 or 1.5",
                self.answer
            ))
        };
        read_milli(&value).filter(|milli| (1..=1_000_000).contains(milli)).map(Some).ok_or_else(wrong)
    }

    pub(crate) fn tie(&mut self) -> Result<Option<Tie>, Rejected> {
        self.choice("tie", &[("random", Tie::Random), ("lowest", Tie::Lowest)])
    }

    /// Refuses what nobody asked for.
    fn finish(self) -> Result<(), Rejected> {
        let Some((name, _)) = self.pairs.first() else { return Ok(()) };
        Err(Rejected::new(match self.known.as_slice() {
            [] => format!("{} has no parameters, `{name}` was given", self.answer),
            known => {
                format!("{}: parameter `{name}` is unknown or given twice; there are {}", self.answer, known.join(", "))
            }
        }))
    }
}

/// A share inside another answer, as in `chunks(share=equip(leftover=worklist))`.
pub(crate) fn share(text: &str, seed: u64) -> Result<Box<dyn Share>, Rejected> {
    match build(Part::Share, Some(text), seed)? {
        Built::Share(share) => Ok(share),
        _ => unreachable!("a share was asked for"),
    }
}

/// One answer for each part, in the order of [`Part::ALL`].
pub(crate) fn read(text: &str, seed: u64) -> Result<Vec<Built>, Rejected> {
    let mut chosen: [Option<String>; Part::ALL.len()] = Default::default();
    let mut preset = None;
    for word in text.split_whitespace() {
        let Some((part, answer)) = word.split_once('=').filter(|(part, _)| !part.contains('(')) else {
            if preset.replace(find_preset(word)?).is_some() {
                return Err(Rejected::new(format!(
                    "`{word}` is a second preset; combine parts instead, as in `share=dss admission=fifo`"
                )));
            }
            continue;
        };
        let Some(at) = Part::ALL.iter().position(|known| known.name() == part) else {
            let names: Vec<_> = Part::ALL.iter().map(|part| part.name()).collect();
            return Err(Rejected::new(format!("there is no part `{part}`; there are {}", names.join(", "))));
        };
        if chosen[at].replace(answer.to_owned()).is_some() {
            return Err(Rejected::new(format!("`{part}` is given twice")));
        }
    }
    for (part, answer) in
        preset.iter().flat_map(|parts: &&str| parts.split_whitespace()).filter_map(|word| word.split_once('='))
    {
        if let Some(at) = Part::ALL.iter().position(|known| known.name() == part) {
            chosen[at].get_or_insert_with(|| answer.to_owned());
        }
    }
    Part::ALL.iter().zip(chosen).map(|(&part, answer)| build(part, answer.as_deref(), seed)).collect()
}

fn find_preset(word: &str) -> Result<&'static str, Rejected> {
    let word = info::ALIASES.iter().find(|(alias, _)| *alias == word).map_or(word, |&(_, name)| name);
    if let Some(preset) = info::PRESETS.iter().find(|preset| preset.info.name == word) {
        return Ok(preset.parts);
    }
    if let Some(answer) = ANSWERS.iter().find(|answer| answer.info.name == word) {
        return Err(Rejected::new(format!(
            "`{word}` is an answer for one part: write `{}={word}`",
            answer.part.name()
        )));
    }
    let names: Vec<_> = info::PRESETS.iter().map(|preset| preset.info.name).collect();
    Err(Rejected::new(format!(
        "there is no policy `{word}`; there are {}, or parts such as `share=dss placement=worst-fit`",
        names.join(", ")
    )))
}

fn build(part: Part, text: Option<&str>, seed: u64) -> Result<Built, Rejected> {
    let mut of_part = ANSWERS.iter().filter(|answer| answer.part == part);
    let default = of_part.clone().next().map_or("", |answer| answer.info.name);
    let text = text.unwrap_or(default);
    let (name, parameters) = match text.split_once('(') {
        None => (text, ""),
        Some((name, rest)) => match rest.strip_suffix(')') {
            Some(parameters) => (name, parameters),
            None => {
                return Err(Rejected::new(format!(
                    "`{text}` lacks its closing parenthesis (a policy's words have no blanks inside)"
                )));
            }
        },
    };
    let Some(answer) = of_part.find(|answer| answer.info.name == name) else {
        let names: Vec<_> =
            ANSWERS.iter().filter(|answer| answer.part == part).map(|answer| answer.info.name).collect();
        return Err(Rejected::new(format!("there is no {} `{name}`; there are {}", part.name(), names.join(", "))));
    };
    let mut parameters = Parameters::read(name, parameters)?;
    let built = (answer.build)(&mut parameters, seed)?;
    parameters.finish()?;
    Ok(built)
}

/// Digits with at most three decimals, in thousandths.
fn read_milli(text: &str) -> Option<u32> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(decimals) || decimals.len() > 3 {
        return None;
    }
    let decimals: u32 = format!("{decimals:0<3}").parse().ok()?;
    whole.parse::<u32>().ok()?.checked_mul(1000)?.checked_add(decimals)
}

/// Thousandths as [`Parameters::milli`] reads them: 1500 is `1.5`.
pub(crate) fn write_milli(milli: u32) -> String {
    let text = format!("{}.{:03}", milli / 1000, milli % 1000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// `share=dss` or `placement=worst-fit(level=node)`.
pub(crate) fn write(part: Part, info: Info, parameters: &str) -> String {
    format!("{}={}", part.name(), write_answer(info, parameters))
}

/// `dss` or `worst-fit(level=node)`.
pub(crate) fn write_answer(info: Info, parameters: &str) -> String {
    let name = info.name;
    if parameters.is_empty() { name.to_owned() } else { format!("{name}({parameters})") }
}
