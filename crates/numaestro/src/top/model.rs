//! The contents of `top`, and their changes by keys. It uses no terminal, no manager, and no clock:
//! times are arguments.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use numaestro_abi::control::{Policies, PolicyInfo, Status};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Rates over less than this are mostly noise.
const RATE_INTERVAL_MIN: Duration = Duration::from_millis(500);

/// A wish of the user that the model cannot fulfil by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wish {
    /// End.
    Quit,
    /// Stop, as with `SIGTSTP`.
    Suspend,
    /// Ask for the policies there are.
    ListPolicies,
    /// Switch to this one.
    SetPolicy(String),
}

/// A window over the view.
#[derive(Debug)]
pub enum Popup {
    /// The keys.
    Help,
    /// The policies to choose from, and the place of the cursor.
    Policies(Vec<PolicyInfo>, usize),
}

/// Region counter of an application, when it was read, and the rate found then.
#[derive(Debug, Clone, Copy)]
struct Rate {
    regions: u64,
    read: Instant,
    per_second: Option<f64>,
}

/// Everything that is shown.
#[derive(Debug)]
pub struct Model {
    /// The latest snapshot.
    pub status: Option<Status>,
    /// One line that replaces the keys in the footer.
    pub message: Option<String>,
    /// Row of the cursor.
    pub selected: usize,
    /// The window over the view.
    pub popup: Option<Popup>,
    /// Colours may be used.
    pub colours: bool,
    rates: BTreeMap<u64, Rate>,
}

impl Model {
    /// Before the first snapshot.
    pub fn new(colours: bool) -> Self {
        Self { status: None, message: None, selected: 0, popup: None, colours, rates: BTreeMap::new() }
    }

    /// A new snapshot, read at `now`.
    pub fn update(&mut self, status: Status, now: Instant) {
        self.rates.retain(|app, _| status.apps.iter().any(|a| a.app == *app));
        for app in &status.apps {
            let first = Rate { regions: app.regions, read: now, per_second: None };
            let rate = self.rates.entry(app.app).or_insert(first);
            let passed = now.saturating_duration_since(rate.read);
            if passed >= RATE_INTERVAL_MIN {
                let regions = app.regions.saturating_sub(rate.regions) as f64;
                *rate = Rate { per_second: Some(regions / passed.as_secs_f64()), ..first };
            }
        }
        self.selected = self.selected.min(status.apps.len().saturating_sub(1));
        if self.status.is_none() {
            self.message = None;
        }
        self.status = Some(status);
    }

    /// There is no manager (any more).
    pub fn lose(&mut self, why: String) {
        self.status = None;
        self.rates.clear();
        self.message = Some(why);
    }

    /// Says something in the footer, until the next key.
    pub fn say(&mut self, text: String) {
        self.message = Some(text);
    }

    /// Parallel regions per second of an application, once known.
    pub fn regions_per_second(&self, app: u64) -> Option<f64> {
        self.rates.get(&app)?.per_second
    }

    /// Opens the choice of policies, the cursor on the present one.
    pub fn choose_policy(&mut self, policies: Policies) {
        let mut list = policies.available;
        list.sort_by_key(|p| p.part != "preset");
        let place = list.iter().position(|p| word(p) == policies.current || p.name == policies.current).unwrap_or(0);
        self.popup = Some(Popup::Policies(list, place));
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
            Some(Popup::Help) => None,
            None => self.key_in_view(key.code),
        }
    }

    fn key_in_view(&mut self, code: KeyCode) -> Option<Wish> {
        let last = self.status.as_ref().map_or(0, |s| s.apps.len().saturating_sub(1));
        match code {
            KeyCode::Char('q') | KeyCode::Esc => return Some(Wish::Quit),
            KeyCode::Char('p') => return Some(Wish::ListPolicies),
            KeyCode::Char('?' | 'h') => self.popup = Some(Popup::Help),
            KeyCode::Down | KeyCode::Char('j') => self.selected = (self.selected + 1).min(last),
            KeyCode::Up | KeyCode::Char('k') => self.selected = self.selected.saturating_sub(1),
            KeyCode::Home => self.selected = 0,
            KeyCode::End => self.selected = last,
            _ => {}
        }
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

    fn press(model: &mut Model, code: KeyCode) -> Option<Wish> {
        model.key(KeyEvent::new(code, KeyModifiers::NONE))
    }

    #[test]
    fn rates_come_from_two_snapshots() {
        let begin = Instant::now();
        let mut model = Model::new(false);
        let mut status = example();
        model.update(status.clone(), begin);
        assert_eq!(model.regions_per_second(7), None);
        status.apps[0].regions += 3000;
        model.update(status.clone(), begin + Duration::from_millis(1));
        assert_eq!(model.regions_per_second(7), None, "too soon");
        model.update(status.clone(), begin + Duration::from_secs(2));
        assert_eq!(model.regions_per_second(7), Some(1500.0));
        status.apps.clear();
        model.update(status, begin + Duration::from_secs(3));
        assert_eq!(model.regions_per_second(7), None);
    }

    #[test]
    fn keys_do_what_the_help_says() {
        let mut model = Model::new(false);
        assert_eq!(press(&mut model, KeyCode::Down), None, "nothing to choose from is no trouble");
        model.update(example(), Instant::now());
        press(&mut model, KeyCode::Down);
        press(&mut model, KeyCode::Down);
        assert_eq!(model.selected, 1);
        press(&mut model, KeyCode::Char('?'));
        assert!(matches!(model.popup, Some(Popup::Help)));
        assert_eq!(press(&mut model, KeyCode::Char('q')), None, "closes the help only");
        assert_eq!(press(&mut model, KeyCode::Char('p')), Some(Wish::ListPolicies));
        let info = |part: &str, name: &str| PolicyInfo {
            part: part.into(),
            name: name.into(),
            summary: String::new(),
            source: String::new(),
        };
        model.choose_policy(Policies {
            current: "b".into(),
            available: vec![info("share", "x"), info("preset", "a"), info("preset", "b")],
        });
        press(&mut model, KeyCode::Down);
        assert_eq!(press(&mut model, KeyCode::Enter), Some(Wish::SetPolicy("share=x".into())));
        assert_eq!(press(&mut model, KeyCode::Char('q')), Some(Wish::Quit));
    }
}
