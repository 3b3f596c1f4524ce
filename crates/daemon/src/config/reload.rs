//! Settings that cannot change while the manager lives. A configuration that is read again keeps
//! them as they are.

use super::Config;

/// Settings that hold until the manager ends, by name.
fn fixed(before: &Config, after: &Config) -> Vec<&'static str> {
    let differs = [
        ("dir", before.dir != after.dir),
        ("cpus", before.cpus != after.cpus),
        ("reserved", before.reserved != after.reserved),
        ("grace_ms", before.grace_ms != after.grace_ms),
        ("journal", before.journal != after.journal),
        ("seed", before.seed != after.seed),
        ("unmanaged", before.unmanaged != after.unmanaged),
        ("inject_rates", before.inject_rates != after.inject_rates),
        ("cgroups", before.cgroups != after.cgroups),
        ("log", before.log != after.log),
    ];
    differs.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
}

impl Config {
    /// This configuration read again: with the settings that cannot change while the manager lives
    /// as they are, and the names of those that differ.
    pub(crate) fn reread(&self, after: Self) -> (Self, Vec<&'static str>) {
        let names = fixed(self, &after);
        (merged(self, after), names)
    }
}

fn merged(before: &Config, after: Config) -> Config {
    Config {
        dir: before.dir.clone(),
        cpus: before.cpus.clone(),
        reserved: before.reserved.clone(),
        grace_ms: before.grace_ms,
        journal: before.journal.clone(),
        seed: before.seed,
        unmanaged: before.unmanaged,
        inject_rates: before.inject_rates.clone(),
        cgroups: before.cgroups,
        log: before.log.clone(),
        system: before.system,
        ..after
    }
}
