//! Where an application's pages go. One answer a file.

mod first_touch;
mod home;

pub use first_touch::FirstTouch;
pub use home::Home;
