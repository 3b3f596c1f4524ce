//! The project holds nothing of the machine or of the network it was written on, so that it builds
//! anywhere.

use crate::finding::Finding;
use crate::sources::Source;

/// Home directories on somebody's machine.
const MACHINE_PATHS: [&str; 2] = ["/home/", "/root/"];
/// Parts of the names of hosts that packages are fetched from. The machine's own settings say which
/// host is right.
const REGISTRY_WORDS: [&str; 8] = ["pypi", "index", "registry", "mirror", "proxy", "npm", "maven", "crates"];

/// Looks at every line of every file but lock files, which the package managers write.
pub fn check(source: &Source) -> Vec<Finding> {
    if source.extension() == "lock" || source.path == "xtask/src/tidy/places.rs" {
        return Vec::new();
    }
    let lines = source.text.lines().enumerate();
    lines.filter_map(|(index, line)| complaint(line).map(|what| Finding::new(&source.path, index + 1, what))).collect()
}

fn complaint(line: &str) -> Option<String> {
    if let Some(path) = MACHINE_PATHS.iter().find(|path| names_path(line, path)) {
        return Some(format!("`{path}…` exists on one machine only"));
    }
    let host = registry_host(line)?;
    Some(format!("`{host}` is a package host: leave the choice to the machine's settings"))
}

/// `path` as the beginning of an absolute path, not in the middle of another one.
fn names_path(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '}' | '/' | '*' | '~' | ')'))
    })
}

/// The host of an address in `line`, if it looks like one that packages come from.
fn registry_host(line: &str) -> Option<&str> {
    line.match_indices("://").find_map(|(start, mark)| {
        let rest = &line[start + mark.len()..];
        let end = rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '.' | '-'))).unwrap_or(rest.len());
        let host = &rest[..end];
        let is_registry = host.split(['.', '-']).any(|label| REGISTRY_WORDS.contains(&label));
        is_registry.then_some(host)
    })
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::source;

    fn found(line: &str) -> bool {
        !check(&source("docs/a.md", line)).is_empty()
    }

    #[test]
    fn paths_of_one_machine_are_found() {
        assert!(found("see /home/somebody/x"));
        assert!(found("cd \"/root/.cargo\""));
        assert!(!found("the directory share/home/x"));
        assert!(!found("/proc/self/root/etc"));
        assert!(!found("sysfs lies under /sys/devices"));
    }

    #[test]
    fn package_hosts_are_found() {
        assert!(found("pip install -i https://pypi.example.org/simple"));
        assert!(found("registry = \"http://my-mirror.example:8080\""));
        assert!(!found("https://www.open-mpi.org/projects/hwloc/"));
    }

    #[test]
    fn lock_files_are_the_package_managers() {
        assert!(check(&source("Cargo.lock", "source = \"registry+https://index.example\"")).is_empty());
    }
}
