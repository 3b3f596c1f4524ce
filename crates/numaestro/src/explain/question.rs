//! Reads what is asked: a program, a processor, or a time.

use crate::moment::Moment;
use time::OffsetDateTime;

/// What an explanation is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// All programs.
    All,
    /// A processor, by the number of the operating system.
    Cpu(u32),
    /// A program, as the user named it.
    App(String),
}

/// A question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    pub subject: Subject,
    /// `None`: now.
    pub at: Option<Moment>,
}

impl Question {
    /// Reads the words of the command line. `now`: the present time where the user is.
    pub fn read(words: &[String], at: Option<&str>, now: OffsetDateTime) -> anyhow::Result<Self> {
        let text = words.join(" ");
        let at = at.map(|at| Moment::read(at, now)).transpose()?;
        let subject = match text.as_str() {
            "" => Subject::All,
            text => match (cpu(text), Moment::read(text, now)) {
                (Some(cpu), _) => Subject::Cpu(cpu),
                (None, _) if words[0].eq_ignore_ascii_case("cpu") && words.len() == 2 => {
                    anyhow::bail!("`{}` is no number of a processor: say `cpu 3`", words[1])
                }
                (None, Ok(moment)) => {
                    anyhow::ensure!(at.is_none(), "`{text}` is a time, and --at names another one");
                    return Ok(Self { subject: Subject::All, at: Some(moment) });
                }
                (None, Err(error)) if words.len() > 1 || is_like_a_clock(text) => return Err(error),
                (None, Err(_)) => Subject::App(text.to_owned()),
            },
        };
        Ok(Self { subject, at })
    }
}

/// `cpu 3`, `cpu3` or `cpu:3`.
fn cpu(text: &str) -> Option<u32> {
    let rest = text.strip_prefix("cpu").or_else(|| text.strip_prefix("CPU"))?;
    rest.trim_start_matches([' ', ':']).parse().ok()
}

/// `25:00`, which is meant as a time and is none.
fn is_like_a_clock(text: &str) -> bool {
    text.contains(':') && text.chars().all(|letter| letter == ':' || letter.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> OffsetDateTime {
        time::macros::datetime!(2026-07-09 14:13:20 +2)
    }

    fn asked(text: &str) -> Question {
        Question::read(&[text.to_owned()], None, now()).unwrap()
    }

    #[test]
    fn programs_processors_and_times() {
        assert_eq!(Question::read(&[], None, now()).unwrap(), Question { subject: Subject::All, at: None });
        assert_eq!(asked("lulesh"), Question { subject: Subject::App("lulesh".into()), at: None });
        assert_eq!(asked("4711").subject, Subject::App("4711".into()));
        for text in ["cpu 3", "cpu3", "cpu:3", "CPU 3"] {
            assert_eq!(asked(text).subject, Subject::Cpu(3), "{text}");
        }
        assert_eq!(asked("cpubench").subject, Subject::App("cpubench".into()));
        assert_eq!(asked("10 min ago").subject, Subject::All);
        assert_eq!(asked("+90s").at, Some(Moment::After(90_000_000_000)));
    }

    #[test]
    fn nonsense_is_refused() {
        let read = |words: &[&str], at| {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            Question::read(&words, at, now())
        };
        assert!(read(&["cg"], Some("yesterday")).is_err());
        assert!(read(&["two", "words"], None).is_err());
        assert!(read(&["14:05"], Some("14:06")).is_err());
        let words = |words: &[&str]| format!("{:#}", read(words, None).unwrap_err());
        assert!(words(&["25:00"]).contains("`25:00` is no time"));
        assert_eq!(words(&["cpu", "x"]), "`x` is no number of a processor: say `cpu 3`");
        assert!(matches!(read(&["a:b"], None).unwrap().subject, Subject::App(_)), "a program may have this name");
        let both = read(&["cg"], Some("14:05")).unwrap();
        assert!(matches!(both, Question { subject: Subject::App(_), at: Some(Moment::Wall(_)) }));
    }
}
