//! The place where this process is, and the program that it becomes begins: processors, and where
//! new pages go.

use crate::environment::{CPUS_ALL, CPUS_NOW, Environment, POOL};
use crate::manager;
use numaestro_host::affinity;
use numaestro_host::image::{Image, Kind};
use numaestro_host::numa::{self, MemoryPolicy};
use numaestro_topology::CpuSet;
use std::ffi::OsStr;
use std::path::Path;

/// The processors that this process may use before anything is changed, a Linux list.
pub fn processors() -> String {
    affinity::get(0).map(|set| set.to_string()).unwrap_or_default()
}

/// This process's new pages, and the program's, go where the manager says. A policy that the user
/// has set is kept, and so is one of an outer `run` if this one says nothing.
pub fn place_memory(memory: Option<&str>) {
    let Some(wanted) = memory.and_then(|text| text.parse::<MemoryPolicy>().ok()) else { return };
    match numa::own_policy() {
        Ok(Some(present)) if present == wanted => {}
        Ok(Some(_)) => match numa::set_own_policy(&wanted) {
            Ok(()) => tracing::info!("memory policy {wanted}"),
            Err(error) => tracing::info!("its pages go where they would without numaestro: {error}"),
        },
        Ok(None) => tracing::info!("a memory policy has been set already, and is kept"),
        Err(error) => tracing::info!("its pages go where they would without numaestro: {error}"),
    }
}

/// A program whose questions nobody of ours answers begins on its allowed set, so that it sizes
/// itself as it would without us. It takes along what its share is, for programs that it starts.
pub fn begin_on_allowed(environment: &mut Environment, dir: &Path, image: Image) -> Option<String> {
    environment.remove(CPUS_NOW);
    // Nobody widens later what has other rights.
    let sized_now = image.kind != Kind::Rights && environment.get(POOL).is_some_and(|pool| pool == "now");
    if image.takes_preload().is_ok() || sized_now {
        return None;
    }
    let (share, allowed) = (processors(), environment.get(CPUS_ALL)?.into_string().ok()?);
    if share == allowed {
        return None;
    }
    manager::announce_beginning(dir);
    affinity::set(0, &allowed.parse::<CpuSet>().ok()?).ok()?;
    environment.set(CPUS_NOW, OsStr::new(&share));
    Some(format!("{CPUS_NOW}={share}: it begins on the processors {allowed}"))
}

/// Undoes the move of this process by a manager that fell silent afterwards.
pub fn restore(all: &str) {
    if processors() == all {
        return;
    }
    let restored = all.parse::<CpuSet>().is_ok_and(|set| affinity::set(0, &set).is_ok());
    if !restored {
        tracing::warn!("the processors {all} could not be taken back");
    }
}
