//! The contents of `top`, and their changes by keys. It uses no terminal, no manager, and no clock:
//! times are arguments.

use super::listing::Listing;
use super::prompt::{Answer, Prompt, Question};
use super::wish::Wish;
use crate::rates::{NS_PER_PERCENT, Rates};
use crate::status::clean;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use numaestro_abi::control::{AppStatus, Policies, PolicyInfo, Status};
use std::time::Instant;

/// A window over the view, or a line in it.
#[derive(Debug)]
pub enum Popup {
    /// The keys.
    Help,
    /// The policies to choose from, and the place of the cursor.
    Policies(Vec<PolicyInfo>, usize),
    /// A value is being typed.
    Prompt(Prompt),
    /// An explanation, and the line with which it begins to be shown.
    Explanation(String, usize),
}

/// One row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// Place of the application in the status.
    pub place: usize,
    /// The application.
    pub app: &'a AppStatus,
    /// Parallel regions per second, once known.
    pub regions: Option<f64>,
    /// Processor time in percent of one processor, once known.
    pub cpu: Option<f64>,
}

/// Everything that is shown.
#[derive(Debug)]
pub struct Model {
    /// The latest snapshot.
    status: Option<Status>,
    /// One line that replaces the keys in the footer.
    message: Option<String>,
    listing: Listing,
    popup: Option<Popup>,
    /// Colours may be used.
    colours: bool,
    regions: Rates,
    /// Processor time, nanoseconds.
    times: Rates,
}

impl Model {
    /// Before the first snapshot.
    pub fn new(colours: bool) -> Self {
        Self {
            status: None,
            message: None,
            listing: Listing::default(),
            popup: None,
            colours,
            regions: Rates::default(),
            times: Rates::default(),
        }
    }

    /// The latest snapshot.
    pub fn status(&self) -> Option<&Status> {
        self.status.as_ref()
    }

    /// The line that replaces the keys in the footer.
    pub fn message(&self) -> Option<&str> {
        self.message.as_deref()
    }

    /// Order and filter of the rows.
    pub fn listing(&self) -> &Listing {
        &self.listing
    }

    /// The window over the view.
    pub fn popup(&self) -> Option<&Popup> {
        self.popup.as_ref()
    }

    /// Colours may be used.
    pub fn colours(&self) -> bool {
        self.colours
    }

    /// The rows, in their order, and the chosen one among them.
    pub fn rows(&self) -> (Vec<Entry<'_>>, usize) {
        let Some(status) = &self.status else { return (Vec::new(), 0) };
        let places = self.places(status);
        let row = self.listing.row(status, &places);
        let entry = |place: usize| {
            let app = &status.apps[place];
            let cpu = self.times.per_second(app.app).map(|ns| ns / NS_PER_PERCENT);
            Entry { place, app, regions: self.regions.per_second(app.app), cpu }
        };
        (places.into_iter().map(entry).collect(), row)
    }

    fn places(&self, status: &Status) -> Vec<usize> {
        self.listing.places(status, |app| self.times.per_second(app))
    }

    /// A new snapshot, read at `now`.
    pub fn update(&mut self, status: Status, now: Instant) {
        self.regions.read(status.apps.iter().map(|app| (app.app, app.regions)), now);
        if self.status.is_none() {
            self.message = None;
        }
        self.status = Some(status);
    }

    /// The processor time that each application has used, nanoseconds, read at `now`.
    pub fn measure(&mut self, times: impl Iterator<Item = (u64, u64)>, now: Instant) {
        self.times.read(times, now);
    }

    /// There is no manager (any more).
    pub fn lose(&mut self, why: String) {
        self.status = None;
        (self.regions, self.times) = (Rates::default(), Rates::default());
        self.message = Some(why);
    }

    /// Says something in the footer, until the next key.
    pub fn say(&mut self, text: String) {
        self.message = Some(text);
    }

    /// Opens the choice of policies, the cursor on the present one.
    pub fn choose_policy(&mut self, policies: Policies) {
        let mut list = policies.available;
        list.sort_by_key(|p| p.part != "preset");
        let place = list.iter().position(|p| word(p) == policies.current || p.name == policies.current).unwrap_or(0);
        self.popup = Some(Popup::Policies(list, place));
    }

    /// Opens an explanation.
    pub fn show_explanation(&mut self, text: String) {
        self.popup = Some(Popup::Explanation(text, 0));
    }

    /// A key was pressed.
    pub fn key(&mut self, key: KeyEvent) -> Option<Wish> {
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return match key.code {
                KeyCode::Char('c') => Some(Wish::Quit),
                KeyCode::Char('z') => Some(Wish::Suspend),
                _ => None,
            };
        }
        if self.status.is_some() {
            self.message = None;
        }
        match self.popup.take() {
            Some(Popup::Policies(list, place)) => self.key_in_policies(key.code, list, place),
            Some(Popup::Prompt(prompt)) => self.key_in_prompt(key.code, prompt),
            Some(Popup::Explanation(text, line)) => self.key_in_explanation(key.code, text, line),
            Some(Popup::Help) => None,
            None => self.key_in_view(key.code),
        }
    }

    fn key_in_view(&mut self, code: KeyCode) -> Option<Wish> {
        match code {
            KeyCode::Char('q') | KeyCode::Esc => return Some(Wish::Quit),
            KeyCode::Char('p') => return Some(Wish::ListPolicies),
            KeyCode::Char('?' | 'h') => self.popup = Some(Popup::Help),
            KeyCode::Down | KeyCode::Char('j') => self.go(|row| row + 1),
            KeyCode::Up | KeyCode::Char('k') => self.go(|row| row.saturating_sub(1)),
            KeyCode::Home => self.go(|_| 0),
            KeyCode::End => self.go(|_| usize::MAX),
            KeyCode::Char('s') => {
                if let Some(status) = &self.status {
                    self.listing.sort_next(status);
                }
            }
            KeyCode::Char('/') => {
                let words = match self.listing.filter() {
                    "" => "show only names and users with: ".to_owned(),
                    former => format!("show only names and users with (Esc keeps `{former}`): "),
                };
                self.ask(Question::Filter, words);
            }
            KeyCode::Char(key @ ('l' | 'w' | 'r')) => self.ask_about_chosen(key),
            KeyCode::Char('e') => {
                let (rows, row) = self.rows();
                return rows.get(row).map(|entry| Wish::Explain(entry.app.app));
            }
            _ => {}
        }
        None
    }

    fn go(&mut self, to: impl Fn(usize) -> usize) {
        let Some(status) = &self.status else { return };
        let places = self.listing.places(status, |app| self.times.per_second(app));
        let row = to(self.listing.row(status, &places));
        self.listing.choose(status, &places, row);
    }

    fn ask(&mut self, question: Question, words: String) {
        self.popup = Some(Popup::Prompt(Prompt::new(question, words)));
    }

    fn ask_about_chosen(&mut self, key: char) {
        let (rows, row) = self.rows();
        let Some(app) = rows.get(row).map(|entry| entry.app) else { return };
        let (number, name) = (app.app, clean(&app.name));
        let (question, words) = match key {
            'l' => (Question::Limit(number), format!("most processors of {name} (a number, or none): ")),
            'w' => (Question::Weight(number), format!("weight of {name} (1 is usual): ")),
            _ => (Question::Release(number), format!("stop managing {name} (process {})? y or n: ", app.pid)),
        };
        self.ask(question, words);
    }

    fn key_in_prompt(&mut self, code: KeyCode, mut prompt: Prompt) -> Option<Wish> {
        match prompt.key(code) {
            Answer::Open => self.popup = Some(Popup::Prompt(prompt)),
            Answer::Left => {}
            Answer::Wrong(why) => self.say(why),
            Answer::Filter(text) => self.listing.set_filter(&text),
            Answer::Wishes(app, wishes) => return Some(Wish::Change(app, wishes)),
            Answer::Release(app) => return Some(Wish::Release(app)),
        }
        None
    }

    /// It scrolls; every other key closes it.
    fn key_in_explanation(&mut self, code: KeyCode, text: String, line: usize) -> Option<Wish> {
        let last = text.lines().count().saturating_sub(1);
        let line = match code {
            KeyCode::Down | KeyCode::Char('j') => (line + 1).min(last),
            KeyCode::Up | KeyCode::Char('k') => line.saturating_sub(1),
            _ => return None,
        };
        self.popup = Some(Popup::Explanation(text, line));
        None
    }

    fn key_in_policies(&mut self, code: KeyCode, list: Vec<PolicyInfo>, place: usize) -> Option<Wish> {
        let place = match code {
            KeyCode::Enter => return list.get(place).map(|p| Wish::SetPolicy(word(p))),
            KeyCode::Esc | KeyCode::Char('q' | 'p') => return None,
            KeyCode::Down | KeyCode::Char('j') => (place + 1).min(list.len().saturating_sub(1)),
            KeyCode::Up | KeyCode::Char('k') => place.saturating_sub(1),
            _ => place,
        };
        self.popup = Some(Popup::Policies(list, place));
        None
    }
}

/// A policy as `policy set` takes it.
fn word(policy: &PolicyInfo) -> String {
    if policy.part == "preset" { policy.name.clone() } else { format!("{}={}", policy.part, policy.name) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::occupancy::tests::example;
    use numaestro_abi::control::{Most, NewWishes};
    use std::time::Duration;

    fn press(model: &mut Model, code: KeyCode) -> Option<Wish> {
        model.key(KeyEvent::new(code, KeyModifiers::NONE))
    }

    fn type_line(model: &mut Model, text: &str) -> Option<Wish> {
        text.chars().for_each(|letter| _ = press(model, KeyCode::Char(letter)));
        press(model, KeyCode::Enter)
    }

    fn chosen(model: &Model) -> u64 {
        let (rows, row) = model.rows();
        rows[row].app.app
    }

    #[test]
    fn rows_have_their_rates() {
        let begin = Instant::now();
        let mut model = Model::new(false);
        let mut status = example();
        model.update(status.clone(), begin);
        model.measure([(7, 0), (9, 0)].into_iter(), begin);
        status.apps[0].regions += 3000;
        model.update(status, begin + Duration::from_secs(2));
        model.measure([(7, 3_000_000_000), (9, 0)].into_iter(), begin + Duration::from_secs(2));
        let (rows, _) = model.rows();
        assert_eq!((rows[0].regions, rows[0].cpu), (Some(1500.0), Some(150.0)));
        assert_eq!((rows[1].regions, rows[1].cpu), (Some(0.0), Some(0.0)));
    }

    #[test]
    fn keys_do_what_the_help_says() {
        let mut model = Model::new(false);
        for key in ['j', 's', 'l', 'w', 'r', 'e'] {
            assert_eq!(press(&mut model, KeyCode::Char(key)), None, "nothing to choose from is no trouble");
            assert!(model.popup().is_none());
        }
        model.update(example(), Instant::now());
        press(&mut model, KeyCode::Down);
        press(&mut model, KeyCode::Down);
        assert_eq!(chosen(&model), 9);
        press(&mut model, KeyCode::Char('?'));
        assert!(matches!(model.popup(), Some(Popup::Help)));
        assert_eq!(press(&mut model, KeyCode::Char('q')), None, "closes the help only");
        assert_eq!(press(&mut model, KeyCode::Char('e')), Some(Wish::Explain(9)));
        model.show_explanation("why\nbecause".into());
        for (key, line) in [('j', 1), ('j', 1), ('k', 0), ('k', 0)] {
            assert_eq!(press(&mut model, KeyCode::Char(key)), None);
            assert!(matches!(model.popup(), Some(Popup::Explanation(_, at)) if *at == line));
        }
        assert_eq!(press(&mut model, KeyCode::Char('q')), None, "closes the explanation only");
        assert_eq!(press(&mut model, KeyCode::Char('p')), Some(Wish::ListPolicies));
        let info = |part: &str, name: &str| PolicyInfo {
            part: part.into(),
            name: name.into(),
            summary: String::new(),
            source: String::new(),
        };
        model.choose_policy(Policies {
            current: "b".into(),
            next: String::new(),
            available: vec![info("share", "x"), info("preset", "a"), info("preset", "b")],
        });
        press(&mut model, KeyCode::Down);
        assert_eq!(press(&mut model, KeyCode::Enter), Some(Wish::SetPolicy("share=x".into())));
        assert_eq!(press(&mut model, KeyCode::Char('q')), Some(Wish::Quit));
    }

    #[test]
    fn the_chosen_application_is_changed_and_released() {
        let mut model = Model::new(false);
        model.update(example(), Instant::now());
        press(&mut model, KeyCode::Down);
        press(&mut model, KeyCode::Char('l'));
        // Rows may move while a value is typed: the question is about the same application.
        press(&mut model, KeyCode::Up);
        let limit = NewWishes { max: Some(Most::Processors(2)), ..NewWishes::default() };
        assert_eq!(type_line(&mut model, "2"), Some(Wish::Change(9, limit)));
        press(&mut model, KeyCode::Char('w'));
        let weight = NewWishes { weight_milli: Some(2000), ..NewWishes::default() };
        assert_eq!(type_line(&mut model, "2"), Some(Wish::Change(9, weight)));
        press(&mut model, KeyCode::Char('w'));
        assert_eq!(type_line(&mut model, "x"), None);
        assert!(model.message().is_some_and(|said| said.contains("`x` is not")), "{:?}", model.message());
        press(&mut model, KeyCode::Char('r'));
        assert_eq!(press(&mut model, KeyCode::Enter), None, "only y lets it go");
        press(&mut model, KeyCode::Char('r'));
        assert_eq!(press(&mut model, KeyCode::Char('y')), Some(Wish::Release(9)));
    }

    #[test]
    fn a_filter_hides_rows_and_keeps_the_letters() {
        let mut model = Model::new(false);
        model.update(example(), Instant::now());
        press(&mut model, KeyCode::Char('/'));
        assert_eq!(type_line(&mut model, "python"), None);
        let (rows, row) = model.rows();
        assert_eq!((rows.len(), rows[row].place), (1, 1));
        press(&mut model, KeyCode::Char('/'));
        assert_eq!(press(&mut model, KeyCode::Esc), None, "leaves the line only");
        assert_eq!(model.listing().filter(), "python");
        press(&mut model, KeyCode::Char('/'));
        assert_eq!(type_line(&mut model, "lul"), None, "the line begins empty");
        assert_eq!(model.listing().filter(), "lul");
        press(&mut model, KeyCode::Char('/'));
        assert_eq!(type_line(&mut model, ""), None);
        assert_eq!(model.listing().filter(), "", "an empty line shows all again");
    }
}
