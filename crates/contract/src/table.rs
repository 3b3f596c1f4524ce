//! One entry for each application, in order of their numbers. Numbers rise with arrivals and few
//! applications are there at a time, so a sorted list is faster than a tree: a newcomer goes to its
//! end, and nothing is allocated for it.

use numaestro_engine::AppId;

/// See the file's header.
#[derive(Debug, Clone)]
pub struct AppTable<T> {
    entries: Vec<(AppId, T)>,
}

impl<T> Default for AppTable<T> {
    fn default() -> Self {
        Self { entries: Vec::new() }
    }
}

impl<T> AppTable<T> {
    /// The place of an application, or the one where it belongs.
    fn place(&self, app: AppId) -> Result<usize, usize> {
        match self.entries.last() {
            Some((newest, _)) if *newest >= app => self.entries.binary_search_by_key(&app, |(id, _)| *id),
            _ => Err(self.entries.len()),
        }
    }

    /// The entry of an application.
    pub fn get(&self, app: AppId) -> Option<&T> {
        self.place(app).ok().map(|at| &self.entries[at].1)
    }

    /// The entry of an application, to be changed.
    pub fn get_mut(&mut self, app: AppId) -> Option<&mut T> {
        self.place(app).ok().map(|at| &mut self.entries[at].1)
    }

    /// The entry of an application; a new one if there is none.
    pub fn enter(&mut self, app: AppId) -> &mut T
    where
        T: Default,
    {
        let at = self.place(app).unwrap_or_else(|at| {
            self.entries.insert(at, (app, T::default()));
            at
        });
        &mut self.entries[at].1
    }

    /// An application is gone.
    pub fn remove(&mut self, app: AppId) {
        if let Ok(at) = self.place(app) {
            self.entries.remove(at);
        }
    }

    /// All entries, in order of their numbers.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (AppId, &mut T)> {
        self.entries.iter_mut().map(|(app, entry)| (*app, entry))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn it_is_a_map_by_number() {
        let (mut table, mut map) = (AppTable::<u64>::default(), BTreeMap::<AppId, u64>::new());
        for step in 0_u64..200 {
            let app = AppId(step * 37 % 23);
            assert_eq!(table.get(app), map.get(&app));
            if step % 3 == 0 {
                table.remove(app);
                map.remove(&app);
            } else {
                *table.enter(app) += step;
                *map.entry(app).or_default() += step;
            }
            assert_eq!(table.get_mut(app), map.get_mut(&app));
            let (listed, expected) = (table.iter_mut(), map.iter_mut().map(|(app, entry)| (*app, entry)));
            assert!(listed.eq(expected), "in order of their numbers");
        }
    }
}
