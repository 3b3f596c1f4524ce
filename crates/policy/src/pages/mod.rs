//! Where an application's pages go. One answer a file.

mod first_touch;

pub use first_touch::FirstTouch;
