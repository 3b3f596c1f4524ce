//! `numaestro dashboard`: what it serves, to whom, and what it refuses.

mod live;
mod recording;
mod refused;
mod server;
#[path = "../user/mod.rs"]
mod user;
mod users;
