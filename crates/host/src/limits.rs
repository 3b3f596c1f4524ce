//! How many descriptors the manager may hold. It must not know for what.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::error::{self, HostError};

/// Raises the limit of open descriptors as far as it goes without asking anybody; returns it.
pub fn raise_descriptors() -> u64 {
    let present = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: present.maximum, maximum: present.maximum };
    let limit = if setrlimit(Resource::Nofile, raised).is_ok() { present.maximum } else { present.current };
    limit.unwrap_or(u64::MAX)
}

/// How many descriptors may be open now.
pub fn descriptors() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Lowers the limit of open descriptors to `most`; for tests of what happens without any.
pub fn lower_descriptors(most: u64) -> Result<(), HostError> {
    let present = getrlimit(Resource::Nofile);
    let lowered = Rlimit { current: Some(most), maximum: present.maximum };
    setrlimit(Resource::Nofile, lowered).map_err(error::call("lower the limit of descriptors"))
}
