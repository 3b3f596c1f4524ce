//! The applications that are there, by place and by their number for the engine. Places are used
//! again.

use super::app::App;
use numaestro_engine::AppId;
use std::collections::BTreeMap;

/// See the file's header.
#[derive(Debug, Default)]
pub struct Apps {
    entries: Vec<App>,
    free: Vec<u32>,
    by_id: BTreeMap<AppId, u32>,
    /// How many have arrived.
    newest: u64,
}

impl Apps {
    /// Place and number of the next one that arrives.
    pub fn next(&mut self) -> (u32, AppId) {
        self.newest += 1;
        (self.free.pop().unwrap_or(self.entries.len() as u32), AppId(self.newest))
    }

    /// It arrives.
    pub fn enter(&mut self, app: App) {
        let slot = app.slot;
        self.by_id.insert(app.notices.id(), slot);
        match self.entries.get_mut(slot as usize) {
            Some(place) => *place = app,
            None => self.entries.push(app),
        }
    }

    /// It is gone. Its place keeps what is left of it until somebody else comes.
    pub fn leave(&mut self, slot: u32) {
        self.by_id.remove(&self.entries[slot as usize].notices.id());
        self.free.push(slot);
    }

    /// The one at a place.
    pub fn at(&mut self, slot: u32) -> &mut App {
        &mut self.entries[slot as usize]
    }

    /// The one with this number, if it is there.
    pub fn get(&mut self, id: AppId) -> Option<&mut App> {
        self.by_id.get(&id).map(|&slot| &mut self.entries[slot as usize])
    }

    /// The name of its program, likewise.
    pub fn program(&self, id: AppId) -> Option<&str> {
        self.by_id.get(&id).map(|&slot| &*self.entries[slot as usize].record.program)
    }

    /// Whether the one that came to this place last is still there.
    pub fn is_there(&self, slot: u32) -> bool {
        self.by_id.get(&self.entries[slot as usize].notices.id()) == Some(&slot)
    }

    /// All that are there, in order of arrival.
    pub fn iter(&self) -> impl Iterator<Item = &App> {
        self.by_id.values().map(|&slot| &self.entries[slot as usize])
    }

    /// The same by place, to be changed, with those that are gone.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut App> {
        self.entries.iter_mut()
    }
}
