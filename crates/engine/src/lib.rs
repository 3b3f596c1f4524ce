//! The engine makes every scheduling decision, as a pure state machine.
//!
//! [`Engine::step`] takes an [`Event`] with the time of the shell's clock and appends [`Action`]s
//! for the shell to carry out. It reads no clock and no file, starts no thread, and draws random
//! numbers from its seed only: the same events give the same actions, byte for byte.
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
//! Reading order: `engine` (the stages that follow an event), `site` (the machine, its applications
//! and the settings), then the stages of a decision: `arrivals` and `life` (events of
//! applications), `group` and `admission` (the applications that take part and that may start),
//! `turns`, `worklist` and `threads` (the applications that run now), `division` and `parties` (the
//! number of processors for each), `placement` (the processors themselves), `handover` and `guests`
//! (the ledger takes the decision over), `targets` (the actions for applications), `invariants`
//! (G1–G8). All of them use the `ledger`.

mod account;
mod admission;
mod advice;
mod arrivals;
mod bounded;
mod changes;
mod clock;
mod division;
mod engine;
mod event;
pub mod explain;
mod filling;
mod group;
mod guests;
mod handover;
mod hysteresis;
mod invariants;
pub mod journal;
mod ledger;
mod life;
mod limits;
mod participants;
mod parties;
mod party;
mod placement;
mod presence;
mod queue;
mod regime;
mod rehearsal;
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
