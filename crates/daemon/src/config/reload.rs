//! Settings that cannot change while the manager lives. A configuration that is read again keeps
//! them as they are.

use super::Config;

impl Config {
    /// This configuration read again: with the settings that cannot change while the manager lives
    /// as they are, and the names of those that differ.
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
        keep!(dir cpus reserved grace_ms journal seed unmanaged inject_rates cgroups log);
        (Self { system: self.system, ..after }, names)
    }
}
