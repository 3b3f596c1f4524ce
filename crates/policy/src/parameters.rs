//! The parameters of an answer as text, read and written: `level=node,tie=lowest` of
//! `worst-fit(level=node,tie=lowest)`.
//!
//! An answer takes the parameters that it knows, one by one. Parameters that are left over are
//! refused, and the refusal lists the known ones.

use crate::part::{Info, Share};
use crate::random::Tie;
use crate::rejected::Rejected;
use numaestro_quantity::DURATION;
use numaestro_quantity::names::did_you_mean_of;

/// Shortest time, nanoseconds: less than a tick of the operating system makes no sense.
const SHORTEST_NS: u64 = 1_000_000;
const LONGEST_NS: u64 = 1_000_000_000_000;

/// Makes the share part that a text names: `equip(leftover=worklist)`. The seed is for its random
/// choices.
pub type MakeShare = fn(&str, u64) -> Result<Box<dyn Share>, Rejected>;

/// The parameters of one answer, each of which it takes by name.
#[derive(Debug)]
pub struct Parameters {
    /// The answer's name, for refusals.
    answer: String,
    /// Parameters that it has not taken yet: name and value.
    pairs: Vec<(String, String)>,
    /// Names that it knows, for the refusal of another one.
    known: Vec<&'static str>,
    seed: u64,
    make_share: MakeShare,
}

impl Parameters {
    /// The parameters of this answer; `text` is `level=node,tie=lowest`.
    ///
    /// # Errors
    /// If it is no list of parameters.
    pub fn read(answer: &str, text: &str, seed: u64, make_share: MakeShare) -> Result<Self, Rejected> {
        let pair = |part: &str| {
            let pair = part.split_once('=').map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned()));
            pair.ok_or_else(|| Rejected::new(format!("{answer}: `{part}` should be parameter=value")))
        };
        let pairs = split_outside(text).filter(|part| !part.trim().is_empty()).map(pair);
        let pairs = pairs.collect::<Result<_, _>>()?;
        Ok(Self { answer: answer.to_owned(), pairs, known: Vec::new(), seed, make_share })
    }

    /// The seed of its random choices.
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// The share part that the value of a parameter names.
    ///
    /// # Errors
    /// If there is none of that name, or its own parameters are wrong.
    pub fn share(&self, text: &str) -> Result<Box<dyn Share>, Rejected> {
        (self.make_share)(text, self.seed)
    }

    /// The value of a parameter, as it was written.
    pub fn value(&mut self, name: &'static str) -> Option<String> {
        self.known.push(name);
        let at = self.pairs.iter().position(|(key, _)| key == name)?;
        Some(self.pairs.remove(at).1)
    }

    /// One of these words.
    pub fn choice<T: Copy>(&mut self, name: &'static str, values: &[(&str, T)]) -> Result<Option<T>, Rejected> {
        let Some(value) = self.value(name) else { return Ok(None) };
        let found = values.iter().find(|(word, _)| *word == value).map(|&(_, meaning)| meaning);
        let wrong = || {
            let meant = did_you_mean_of(&value, values.iter().map(|&(word, _)| word));
            Rejected::new(format!("{}: `{name}={value}` is unknown{meant}", self.answer))
        };
        found.map(Some).ok_or_else(wrong)
    }

    /// A number from 1 to 65536.
    pub fn number(&mut self, name: &'static str) -> Result<Option<u32>, Rejected> {
        let Some(value) = self.value(name) else { return Ok(None) };
        match value.parse() {
            Ok(number) if (1..=65_536).contains(&number) => Ok(Some(number)),
            _ => Err(Rejected::new(format!("{}: `{name}={value}` should be a number from 1 to 65536", self.answer))),
        }
    }

    /// A weight: 0 (does not count) to 1000.
    pub fn weight(&mut self, name: &'static str) -> Result<Option<u32>, Rejected> {
        let Some(value) = self.value(name) else { return Ok(None) };
        match value.parse() {
            Ok(number) if number <= 1000 => Ok(Some(number)),
            _ => Err(Rejected::new(format!("{}: `{name}={value}` should be a weight from 0 to 1000", self.answer))),
        }
    }

    /// A time in nanoseconds, from 1 ms to 1000 s: `100ms`, `1.5s`.
    pub fn duration(&mut self, name: &'static str) -> Result<Option<u64>, Rejected> {
        let Some(value) = self.value(name) else { return Ok(None) };
        let wrong = |expected| Rejected::new(format!("{}: `{name}={value}` should be {expected}", self.answer));
        DURATION.read_within(&value, SHORTEST_NS..=LONGEST_NS).map(Some).map_err(wrong)
    }

    /// A part of a whole, in percent: `50%`.
    pub fn percent(&mut self, name: &'static str) -> Result<Option<u32>, Rejected> {
        let Some(value) = self.value(name) else { return Ok(None) };
        match value.strip_suffix('%').and_then(|number| number.parse().ok()) {
            Some(percent) if percent <= 100 => Ok(Some(percent)),
            _ => Err(Rejected::new(format!("{}: `{name}={value}` should be from 0% to 100%", self.answer))),
        }
    }

    /// A number with up to three decimals, in thousandths: `1.5` is 1500.
    pub fn milli(&mut self, name: &'static str) -> Result<Option<u32>, Rejected> {
        let Some(value) = self.value(name) else { return Ok(None) };
        let wrong = || {
            Rejected::new(format!(
                "{}: `{name}={value}` should be a number from 0.001 to 1000, such as 0.7 or 1.5",
                self.answer
            ))
        };
        read_milli(&value).filter(|milli| (1..=1_000_000).contains(milli)).map(Some).ok_or_else(wrong)
    }

    /// `tie=random` or `tie=lowest`.
    pub fn tie(&mut self) -> Result<Option<Tie>, Rejected> {
        self.choice("tie", &[("random", Tie::Random), ("lowest", Tie::Lowest)])
    }

    /// Refuses parameters that the answer has not taken.
    ///
    /// # Errors
    /// The first of them.
    pub fn finish(self) -> Result<(), Rejected> {
        let Some((name, _)) = self.pairs.first() else { return Ok(()) };
        Err(Rejected::new(match self.known.as_slice() {
            [] => format!("{} has no parameters, `{name}` was given", self.answer),
            known if known.contains(&name.as_str()) => format!("{}: parameter `{name}` is given twice", self.answer),
            known => {
                let meant = did_you_mean_of(name, known.iter().copied());
                format!("{}: parameter `{name}` is unknown{meant}", self.answer)
            }
        }))
    }
}

/// `worst-fit(level=node)` is `worst-fit` and `level=node`; an answer alone has no parameters.
///
/// # Errors
/// If the closing parenthesis is missing.
pub fn split_answer(text: &str) -> Result<(&str, &str), Rejected> {
    let Some((name, rest)) = text.split_once('(') else { return Ok((text, "")) };
    let unclosed =
        || Rejected::new(format!("`{text}` lacks its closing parenthesis (a policy's words have no blanks inside)"));
    Ok((name, rest.strip_suffix(')').ok_or_else(unclosed)?))
}

/// The parts between commas that are not inside parentheses: parameters may be answers with
/// parameters of their own.
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
pub fn write_milli(milli: u32) -> String {
    let text = format!("{}.{:03}", milli / 1000, milli % 1000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Joins the parameters that are not the default, as [`Parameters::read`] takes them apart.
pub fn join(parameters: impl IntoIterator<Item = Option<String>>) -> String {
    parameters.into_iter().flatten().collect::<Vec<_>>().join(",")
}

/// `dss` or `worst-fit(level=node)`.
pub fn write_answer(info: Info, parameters: &str) -> String {
    let name = info.name;
    if parameters.is_empty() { name.to_owned() } else { format!("{name}({parameters})") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use numaestro_quantity::spellings::DURATIONS;

    #[test]
    fn a_duration_is_written_as_everywhere() {
        let read = |text: &str| {
            let mut parameters =
                Parameters::read("rr", &format!("quantum={text}"), 0, |name, _| Err(Rejected::new(name)))?;
            parameters.duration("quantum")
        };
        for (text, ns) in DURATIONS {
            assert_eq!(read(text), Ok(Some(ns)), "{text}");
            assert_eq!(read(&DURATION.write(ns)), Ok(Some(ns)), "{text}");
        }
        for wrong in ["100", "0.5ms", "1001s", "1d"] {
            let expected = "should be a time such as 100ms or 1.5h (ns, us, ms, s, m, min, h, d), from 1ms to 1000s";
            assert!(read(wrong).unwrap_err().to_string().contains(expected), "{wrong}");
        }
    }
}
