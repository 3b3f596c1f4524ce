//! Which applications are shown, in which order, and which one is chosen. The choice is of an
//! application, not of a row, so it stays when rows move.

use numaestro_abi::control::{AppStatus, Status};
use std::cmp::Reverse;

/// What the rows are sorted by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Order {
    /// Arrival, as `status` does.
    #[default]
    Arrival,
    /// Most processor time first.
    Cpu,
    /// Most processors first.
    Has,
    /// By name.
    Name,
    /// By user, then by name.
    User,
}

impl Order {
    const ALL: [Self; 5] = [Self::Arrival, Self::Cpu, Self::Has, Self::Name, Self::User];

    /// The head of the column that it goes by.
    pub fn word(self) -> &'static str {
        match self {
            Self::Arrival => "APP",
            Self::Cpu => "CPU%",
            Self::Has => "HAS",
            Self::Name => "NAME",
            Self::User => "USER",
        }
    }
}

/// See the file's header.
#[derive(Debug, Default)]
pub struct Listing {
    order: Order,
    /// Only applications with this in their name or user; empty: all.
    filter: String,
    /// Number of the chosen application.
    chosen: Option<u64>,
}

impl Listing {
    /// What the rows are sorted by.
    pub fn order(&self) -> Order {
        self.order
    }

    /// The filter; empty: none.
    pub fn filter(&self) -> &str {
        &self.filter
    }

    /// Sorts by the next thing to sort by.
    pub fn sort_next(&mut self, status: &Status) {
        let usable = |order: &Order| *order != Order::User || has_users(status);
        let at = Order::ALL.iter().position(|order| *order == self.order).unwrap_or(0);
        let next = Order::ALL.into_iter().cycle().skip(at + 1).take(Order::ALL.len()).find(usable);
        self.order = next.unwrap_or_default();
    }

    /// Shows only applications with this in their name or user.
    pub fn set_filter(&mut self, text: &str) {
        text.trim().clone_into(&mut self.filter);
    }

    /// Places in the status of the applications that are shown, in their order. `cpu`: processor
    /// time of an application, as far as it is known.
    pub fn places(&self, status: &Status, cpu: impl Fn(u64) -> Option<f64>) -> Vec<usize> {
        let shown = |app: &AppStatus| contains(&app.name, &self.filter) || contains(user(app), &self.filter);
        let mut places: Vec<usize> = (0..status.apps.len()).filter(|place| shown(&status.apps[*place])).collect();
        let app = |place: &usize| &status.apps[*place];
        match self.order {
            Order::Arrival => {}
            Order::Cpu => {
                let time = |place: &usize| cpu(app(place).app).unwrap_or(0.0);
                places.sort_by(|one, other| time(other).total_cmp(&time(one)));
            }
            Order::Has => places.sort_by_key(|place| Reverse(app(place).count)),
            Order::Name => places.sort_by_key(|place| &app(place).name),
            Order::User => places.sort_by_key(|place| (user(app(place)), &app(place).name)),
        }
        places
    }

    /// The chosen row among the applications that are shown: the first, before a choice and when
    /// the chosen one is not shown any more.
    pub fn row(&self, status: &Status, places: &[usize]) -> usize {
        let is_chosen = |place: &usize| Some(status.apps[*place].app) == self.chosen;
        places.iter().position(is_chosen).unwrap_or(0)
    }

    /// Chooses another row; past the ends, the first or the last.
    pub fn choose(&mut self, status: &Status, places: &[usize], row: usize) {
        let last = places.len().saturating_sub(1);
        self.chosen = places.get(row.min(last)).map(|place| status.apps[*place].app);
    }
}

/// Says whether applications have different users.
pub fn has_users(status: &Status) -> bool {
    status.apps.iter().any(|app| app.user.is_some())
}

fn user(app: &AppStatus) -> &str {
    app.user.as_deref().unwrap_or_default()
}

fn contains(text: &str, part: &str) -> bool {
    text.to_lowercase().contains(&part.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::occupancy::tests::example;

    fn status() -> Status {
        let mut status = example();
        let mut third = status.apps[0].clone();
        (third.app, third.name, third.count) = (12, "Bt".into(), 3);
        status.apps.push(third);
        for (app, user) in status.apps.iter_mut().zip(["bob", "alice", "bob"]) {
            app.user = Some(user.into());
        }
        status
    }

    #[test]
    fn rows_are_sorted_and_the_choice_stays_with_its_application() {
        let (status, mut listing) = (status(), Listing::default());
        let cpu = |app| (app == 9).then_some(1.5);
        let places = |listing: &Listing| listing.places(&status, cpu);
        listing.choose(&status, &places(&listing), 1);
        let mut seen = Vec::new();
        for _ in 0..6 {
            let rows = places(&listing);
            assert_eq!(status.apps[rows[listing.row(&status, &rows)]].app, 9);
            seen.push((listing.order().word(), rows));
            listing.sort_next(&status);
        }
        let expected = [
            ("APP", vec![0, 1, 2]),
            ("CPU%", vec![1, 0, 2]),
            ("HAS", vec![2, 0, 1]),
            ("NAME", vec![2, 0, 1]),
            ("USER", vec![1, 2, 0]),
            ("APP", vec![0, 1, 2]),
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn without_users_nothing_is_sorted_by_them() {
        let (status, mut listing) = (example(), Listing::default());
        for _ in 0..4 {
            listing.sort_next(&status);
            assert_ne!(listing.order(), Order::User);
        }
        assert_eq!(listing.order(), Order::Arrival);
    }

    #[test]
    fn a_filter_is_about_name_and_user() {
        let (status, mut listing) = (status(), Listing::default());
        let mut shown = |text: &str| {
            listing.set_filter(text);
            listing.places(&status, |_| None)
        };
        assert_eq!(shown(" LUL "), [0]);
        assert_eq!(shown("bob"), [0, 2]);
        assert!(shown("nobody").is_empty());
        assert_eq!(shown(""), [0, 1, 2]);
        let rows = listing.places(&status, |_| None);
        assert_eq!(listing.row(&status, &rows), 0, "nothing is chosen yet");
        listing.choose(&status, &rows, 99);
        assert_eq!(listing.row(&status, &rows), 2);
        listing.choose(&status, &[], 0);
        assert_eq!(listing.row(&status, &[]), 0);
    }
}
