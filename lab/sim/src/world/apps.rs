//! The present applications, by place and by their number for the engine. Places are used again.

use super::app::App;
use numaestro_engine::AppId;
use std::collections::BTreeMap;

/// See the file's header.
#[derive(Debug, Default)]
pub struct Apps {
    entries: Vec<App>,
    free: Vec<u32>,
    by_id: BTreeMap<AppId, u32>,
    /// Number of applications that have arrived.
    newest: u64,
    /// Number of present applications whose phases the shell looks for.
    looked_for: usize,
}

impl Apps {
    /// Place and number of the next application that arrives.
    pub fn next(&mut self) -> (u32, AppId) {
        self.newest += 1;
        (self.free.pop().unwrap_or(self.entries.len() as u32), AppId(self.newest))
    }

    /// An application arrives.
    pub fn enter(&mut self, app: App) {
        let slot = app.slot;
        self.by_id.insert(app.notices.id(), slot);
        self.looked_for += usize::from(app.notices.phases().are_looked_for());
        match self.entries.get_mut(slot as usize) {
            Some(place) => *place = app,
            None => self.entries.push(app),
        }
    }

    /// An application is gone. Its place keeps its remains until another one comes.
    pub fn leave(&mut self, slot: u32) {
        let notices = &self.entries[slot as usize].notices;
        self.by_id.remove(&notices.id());
        self.looked_for -= usize::from(notices.phases().are_looked_for());
        self.free.push(slot);
    }

    /// The application at a place.
    pub fn at(&mut self, slot: u32) -> &mut App {
        &mut self.entries[slot as usize]
    }

    /// The application with this number, if it is there.
    pub fn get(&mut self, id: AppId) -> Option<&mut App> {
        self.by_id.get(&id).map(|&slot| &mut self.entries[slot as usize])
    }

    /// The name of its program, if it is there.
    pub fn program(&self, id: AppId) -> Option<&str> {
        self.by_id.get(&id).map(|&slot| &*self.entries[slot as usize].record.program)
    }

    /// Whether the application that came to this place last is still there.
    pub fn is_there(&self, slot: u32) -> bool {
        self.by_id.get(&self.entries[slot as usize].notices.id()) == Some(&slot)
    }

    /// Whether there are applications whose phases the shell looks for.
    pub fn have_looked_for(&self) -> bool {
        self.looked_for > 0
    }

    /// All present applications, in order of arrival.
    pub fn iter(&self) -> impl Iterator<Item = &App> + Clone {
        self.by_id.values().map(|&slot| &self.entries[slot as usize])
    }

    /// The applications by place, to be changed, including the ones that are gone.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut App> {
        self.entries.iter_mut()
    }
}
