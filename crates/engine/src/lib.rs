//! The engine: everything that is decided, as a pure state machine.
//!
//! [`Engine::step`] takes an [`Event`] with the time of the shell's clock and appends [`Action`]s
//! for the shell to carry out. It knows no clock, no file, no thread and no randomness but its
//! seed: the same events give the same actions, byte for byte.
//!
//! ```
//! use numaestro_engine::{Action, AppId, Class, Engine, Event, Settings, Wish};
//!
//! let machine = numaestro_topology::synthetic::parse("core:4 pu:1").unwrap();
//! let mut engine = Engine::new(machine, Settings::default(), 1).unwrap();
//! let wish = Wish { max: 4, ..Wish::new(4) };
//! let mut actions = Vec::new();
//! engine.step(1000, &Event::Arrive { app: AppId(1), wish }, &mut actions);
//! assert!(matches!(&actions[..], [Action::Start { .. }, Action::Target { count: 4, .. }]));
//! engine.recycle(&mut actions);
//! ```
//!
//! Reading order: `engine` (what an event leads to), `site` (what it is decided about), then the
//! stages of a decision: `arrivals` and `life` (what happens to applications), `group` and
//! `admission` (who takes part, who may start), `turns`, `worklist` and `threads` (who runs now),
//! `division` and `parties` (how many), `placement` (which ones), `handover` and `guests` (it is
//! carried out), `targets` (what applications are told), `invariants` (G1–G7). Below them all is
//! the `ledger`.

mod account;
mod admission;
mod advice;
mod arrivals;
mod changes;
mod clock;
mod division;
mod engine;
mod event;
mod filling;
mod group;
mod guests;
mod handover;
mod hysteresis;
mod invariants;
pub mod journal;
mod ledger;
mod life;
mod participants;
mod parties;
mod party;
mod placement;
mod presence;
mod queue;
mod regime;
mod settings;
mod site;
mod snapshot;
mod targets;
mod threads;
mod turns;
mod unmanaged;
mod vacating;
mod worklist;

pub use advice::Advice;
pub use engine::Engine;
pub use event::{Action, Class, Event, Nanos, PageHome, Wish};
pub use numaestro_policy::{AppId, Bus, Needs, PuState, Rejected, Search};
pub use settings::Settings;
pub use snapshot::{AppSnapshot, AppState, PuSnapshot, Snapshot};
