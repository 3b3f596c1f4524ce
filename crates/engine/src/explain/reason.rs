//! Why an application has what it has.

use super::chronicle::Chronicle;
use super::rule::Rule;
use super::words::number;
use crate::snapshot::{AppSnapshot, AppState, counted, load_outside};

/// Programs that one sentence names, at most.
const NAMED_MOST: usize = 3;
const OTHER: &str = "other program";

/// Names in a sentence: the first three, and the number of all others in the words of `more`.
pub fn listed(names: impl IntoIterator<Item = String>, more: impl FnOnce(usize) -> String) -> String {
    let mut names = names.into_iter();
    let mut shown: Vec<String> = names.by_ref().take(NAMED_MOST).collect();
    let others = names.count();
    shown.extend((others > 0).then(|| more(others)));
    let last = shown.pop().unwrap_or_default();
    if shown.is_empty() { last } else { format!("{} and {last}", shown.join(", ")) }
}

impl Chronicle {
    /// Applications that do not wait for processors of their own.
    pub fn running(&self) -> usize {
        self.snapshot().apps.iter().filter(|app| app.state != AppState::Waiting).count()
    }

    /// Why an application has what it has, and no more: one sentence. It follows from the
    /// application's snapshot, the policy, and [`Self::running`]; [`Self::full_reason`] says more.
    pub fn reason(&self, app: &AppSnapshot) -> String {
        if !app.why.is_empty() {
            return app.why.clone();
        }
        let share = Rule::Share.named(self.policy()).name;
        let others = self.running().saturating_sub(usize::from(app.state != AppState::Waiting));
        match app.state {
            AppState::Waiting => format!("it waits for processors of its own: number {} in the queue", app.position),
            AppState::Wrapper => "its children run; it holds no processors itself".to_owned(),
            AppState::Stopped => format!("it waits for its turn, by {}", Rule::Turns.named(self.policy()).name),
            AppState::Blocked => "it waits for something outside: its processors are lent meanwhile".to_owned(),
            AppState::Sequential if app.lent => {
                "it is sequential: the processors that it does not use are lent".to_owned()
            }
            _ if app.shared => "others run on its processors too: it shares with them".to_owned(),
            _ if !app.allowed.is_empty() && app.count as usize >= app.allowed.len() => {
                format!("it may be on {} only", self.pus(&app.allowed))
            }
            _ if app.count >= app.max => format!("its limit is {}", app.max),
            _ if app.count >= app.request => format!("it could use {} and no more", number(app.request)),
            // Other users' programs are not known.
            _ if self.is_veiled() => format!("processors are shared out by {share}"),
            _ if others == 0 => "it is alone, and has all that can be given".to_owned(),
            _ => format!("it shares the machine with {} by {share}", counted(others, OTHER)),
        }
    }

    /// The same with all that depends on others: who runs beside it, the turns, the load outside.
    pub fn full_reason(&self, app: &AppSnapshot) -> String {
        if !app.holds() || app.state != AppState::Running {
            return self.reason(app);
        }
        let beside = self.beside(app);
        match (app.why.is_empty(), app.shared) {
            // The engine's own words have turns and load, but no names.
            (false, true) if !beside.is_empty() => format!("{}; it runs beside {beside}", app.why),
            (false, _) => app.why.clone(),
            (true, true) if !beside.is_empty() => {
                format!("it runs beside {beside} and shares with them{}", self.outside())
            }
            (true, true) => format!("{}{}", self.reason(app), self.outside()),
            (true, false) => match self.taking_turns() {
                Some(all) => {
                    let turns = Rule::Turns.named(self.policy()).name;
                    format!("it has its turn: {all} programs take turns, by {turns}{}", self.outside())
                }
                None if app.count >= app.max.min(app.request) => self.reason(app),
                None if self.running() == 1 && !self.is_veiled() && !self.outside().is_empty() => {
                    format!("it is alone{}", self.outside())
                }
                None => format!("{}{}", self.reason(app), self.outside()),
            },
        }
    }

    /// "lu (2) and ep (3) on processor 0": those that run on some of its processors too.
    fn beside(&self, app: &AppSnapshot) -> String {
        let is_beside = |other: &&AppSnapshot| other.app != app.app && other.holds() && other.pus.intersects(&app.pus);
        let others: Vec<&AppSnapshot> = self.snapshot().apps.iter().filter(is_beside).collect();
        if others.is_empty() {
            return String::new();
        }
        let names = listed(others.iter().map(|other| self.called(other.app)), |more| counted(more, OTHER));
        let common = others.iter().flat_map(|other| &other.pus).filter(|pu| app.pus.contains(*pu)).collect();
        format!("{names} on {}", self.pus(&common))
    }

    /// Programs that take turns, if some wait for theirs.
    fn taking_turns(&self) -> Option<usize> {
        let apps = || self.snapshot().apps.iter();
        let some_wait =
            self.policy().turns.stops() && !self.is_veiled() && apps().any(|app| app.state == AppState::Stopped);
        some_wait.then(|| apps().filter(|app| app.holds() || app.state == AppState::Stopped).count())
    }

    /// The load outside, for the end of a reason; empty where there is none.
    fn outside(&self) -> String {
        self.load_outside().map_or_else(String::new, |load| format!("; {load}"))
    }

    /// "load outside keeps 1 of 2 processors busy". `None`: there is none.
    pub fn load_outside(&self) -> Option<String> {
        load_outside(self.snapshot().unmanaged, self.snapshot().usable.len())
    }
}
