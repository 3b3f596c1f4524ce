//! Who pays for what a peer asks.

/// A user, or all users without an account together. The numbers of users mean something else
/// inside a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Payer {
    /// `None`: without an account.
    pub(crate) uid: Option<u32>,
    pub(crate) contained: bool,
}
