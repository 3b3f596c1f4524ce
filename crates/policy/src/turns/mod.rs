//! When applications run. One answer a file.

mod always;

pub use always::Always;
