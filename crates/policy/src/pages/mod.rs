//! Where an application's pages go. One answer a file; [`worth`] is whether those follow that are elsewhere.

mod first_touch;
mod home;
mod interleave;
mod machinery;

pub use first_touch::FirstTouch;
pub use home::Home;
pub use interleave::Interleave;
pub use machinery::worth;
