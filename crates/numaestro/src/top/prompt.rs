//! The line in which a person types a value: a limit, a weight, a filter, or the answer to a
//! question.

use crate::cli::{milli, parse_most, parse_weight};
use crossterm::event::KeyCode;
use numaestro_abi::control::NewWishes;

/// Longest text that can be typed.
const TEXT_MAX: usize = 40;

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// The most processors of an application.
    Limit(u64),
    /// The weight of an application.
    Weight(u64),
    /// Whether an application is to be let go.
    Release(u64),
    /// Which applications are to be shown.
    Filter,
}

/// What a key has led to.
#[derive(Debug, PartialEq)]
pub enum Answer {
    /// More keys may come.
    Open,
    /// The person has left.
    Left,
    /// The text says something else than was asked for: one sentence.
    Wrong(String),
    /// Other wishes for an application.
    Wishes(u64, NewWishes),
    /// An application is to be let go.
    Release(u64),
    /// A new filter.
    Filter(String),
}

/// See the file's header.
#[derive(Debug)]
pub struct Prompt {
    question: Question,
    /// The words before the text.
    words: String,
    text: String,
}

impl Prompt {
    /// Asks.
    pub fn new(question: Question, words: String) -> Self {
        Self { question, words, text: String::new() }
    }

    /// The line as it is shown.
    pub fn line(&self) -> String {
        format!("{}{}_", self.words, self.text)
    }

    /// A key was pressed.
    pub fn key(&mut self, code: KeyCode) -> Answer {
        match (self.question, code) {
            (Question::Release(app), KeyCode::Char('y' | 'Y')) => Answer::Release(app),
            (_, KeyCode::Esc) | (Question::Release(_), _) => Answer::Left,
            (_, KeyCode::Enter) => self.answer(),
            (_, KeyCode::Backspace) => {
                self.text.pop();
                Answer::Open
            }
            (_, KeyCode::Char(letter)) if self.text.chars().count() < TEXT_MAX && !letter.is_control() => {
                self.text.push(letter);
                Answer::Open
            }
            _ => Answer::Open,
        }
    }

    fn answer(&self) -> Answer {
        let text = self.text.trim();
        let wishes = |app, wishes: Result<NewWishes, String>| match wishes {
            Ok(wishes) => Answer::Wishes(app, wishes),
            Err(expected) => Answer::Wrong(format!("`{text}` is not {expected}")),
        };
        match self.question {
            Question::Filter => Answer::Filter(text.to_owned()),
            Question::Limit(_) | Question::Weight(_) if text.is_empty() => Answer::Left,
            Question::Limit(app) => {
                wishes(app, parse_most(text).map(|max| NewWishes { max: Some(max), ..NewWishes::default() }))
            }
            Question::Weight(app) => {
                let weight = parse_weight(text).map(milli);
                wishes(app, weight.map(|weight| NewWishes { weight_milli: Some(weight), ..NewWishes::default() }))
            }
            Question::Release(_) => Answer::Left,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use numaestro_abi::control::Most;

    fn typed(question: Question, text: &str) -> Answer {
        let mut prompt = Prompt::new(question, "? ".into());
        for letter in text.chars() {
            assert_eq!(prompt.key(KeyCode::Char(letter)), Answer::Open);
        }
        assert_eq!(prompt.line(), format!("? {text}_"));
        prompt.key(KeyCode::Enter)
    }

    #[test]
    fn texts_become_answers() {
        let none = NewWishes::default();
        assert_eq!(
            typed(Question::Limit(7), "4"),
            Answer::Wishes(7, NewWishes { max: Some(Most::Processors(4)), ..none })
        );
        assert_eq!(typed(Question::Limit(7), "none"), Answer::Wishes(7, NewWishes { max: Some(Most::All), ..none }));
        assert_eq!(
            typed(Question::Weight(7), "1.5"),
            Answer::Wishes(7, NewWishes { weight_milli: Some(1500), ..none })
        );
        assert_eq!(typed(Question::Limit(7), ""), Answer::Left);
        assert_eq!(typed(Question::Filter, " lul"), Answer::Filter("lul".into()));
        assert_eq!(typed(Question::Filter, ""), Answer::Filter(String::new()));
        for (question, text) in [(Question::Limit(7), "0"), (Question::Limit(7), "many"), (Question::Weight(7), "-1")] {
            let Answer::Wrong(said) = typed(question, text) else { panic!("{text} is accepted") };
            assert!(said.contains(text), "{said}");
        }
    }

    #[test]
    fn only_yes_lets_an_application_go() {
        let press = |code| Prompt::new(Question::Release(7), String::new()).key(code);
        assert_eq!(press(KeyCode::Char('y')), Answer::Release(7));
        for code in [KeyCode::Enter, KeyCode::Char('n'), KeyCode::Esc, KeyCode::Char('r')] {
            assert_eq!(press(code), Answer::Left, "{code:?}");
        }
    }

    #[test]
    fn a_text_can_be_taken_back_and_left() {
        let mut prompt = Prompt::new(Question::Limit(7), String::new());
        for digit in ['1', '2'] {
            prompt.key(KeyCode::Char(digit));
        }
        prompt.key(KeyCode::Backspace);
        assert_eq!(prompt.line(), "1_");
        assert_eq!(prompt.key(KeyCode::Up), Answer::Open);
        assert_eq!(prompt.key(KeyCode::Esc), Answer::Left);
        for _ in 0..1000 {
            prompt.key(KeyCode::Char('9'));
        }
        assert!(prompt.line().len() <= TEXT_MAX + 1);
    }
}
