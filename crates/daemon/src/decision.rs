//! The engine with what surrounds it: the duties of its shell, the choice of a policy, the wishes
//! that hold, and the memory of what was decided, for questions and for recordings.

pub mod choice;
pub mod engine;
pub mod histogram;
pub mod history;
pub mod obligations;
pub mod recording;
pub mod wishes;
pub mod witness;
