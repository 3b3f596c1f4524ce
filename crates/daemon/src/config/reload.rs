//! Keeps the settings that cannot change while the manager lives when the configuration is read
//! again.

use super::Config;

impl Config {
    /// Gives `after` with the settings of this configuration that cannot change while the manager
    /// lives, and the names of the settings that differ.
    pub(crate) fn reread(&self, mut after: Self) -> (Self, Vec<&'static str>) {
        let mut names = Vec::new();
        macro_rules! keep {
            ($($field:ident)*) => {$(
                if self.$field != after.$field {
                    names.push(stringify!($field));
                    after.$field = self.$field.clone();
                }
            )*};
        }
        keep!(dir cpus reserved grace_ms journal journal_observations seed unmanaged inject_rates cgroups log);
        (Self { system: self.system, ..after }, names)
    }
}
