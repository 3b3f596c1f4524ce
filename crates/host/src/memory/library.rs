//! A program's report of its libraries.

use std::sync::atomic::Ordering;

use numaestro_abi::page::CPUSET_WORDS;
use numaestro_abi::page::library::{self, LibraryRow};

use super::SharedPage;

/// An object of the application that owns parallel regions or a pool of threads, as the application
/// says; clamped, and not to be believed beyond itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Library {
    /// Its name, which may hold any characters.
    pub name: String,
    /// How it is steered: one of the numbers in [`library`].
    pub how: u64,
    /// The reason: one of [`why`](numaestro_abi::page::why) for [`library::KERNEL`], else of
    /// [`library::because`].
    pub why: u64,
    /// The bit of its runtime; 0: not known.
    pub runtime: u32,
    /// Threads of its latest team, or the number that was set.
    pub threads: u32,
}

impl Library {
    /// `None`: the row is not used, or says something that this manager does not know.
    fn of(row: &LibraryRow) -> Option<Self> {
        let state = row.state.load(Ordering::Acquire);
        let how = Some(library::how(state)).filter(|how| (library::WHOLE..=library::ABSENT).contains(how))?;
        let bytes: Vec<u8> = row.name.iter().flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes()).collect();
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        Some(Self {
            name: String::from_utf8_lossy(&bytes[..end]).into_owned(),
            how,
            why: library::why(state),
            runtime: library::runtime(state),
            threads: library::threads(state).min(CPUSET_WORDS as u32 * 64),
        })
    }
}

impl SharedPage {
    /// The application's report of its libraries, and whether some found no room in it.
    pub fn libraries(&self) -> (Vec<Library>, bool) {
        let table = &self.page().libraries;
        (table.rows.iter().filter_map(Library::of).collect(), table.full.load(Ordering::Relaxed) != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_what_a_program_says_of_them() {
        let page = SharedPage::create(1, 1, 1).unwrap();
        assert_eq!(page.libraries(), (vec![], false));
        let rows = &page.page().libraries.rows;
        let name = u64::from_le_bytes(*b"libtbb\0x");
        rows[2].name[0].store(name, Ordering::Relaxed);
        rows[2].state.store(3 << 32 | 5 << 16 | library::SET, Ordering::Relaxed);
        let known = Library { name: "libtbb".into(), how: library::SET, why: 0, runtime: 32, threads: 3 };
        assert_eq!(page.libraries().0, [known]);
        for row in rows {
            row.name.iter().for_each(|word| word.store(u64::MAX, Ordering::Relaxed));
            row.state.store(u64::MAX, Ordering::Relaxed);
        }
        assert_eq!(page.libraries().0, [], "no such way is known");
        rows[0].state.store(u64::MAX << 8 | library::KERNEL, Ordering::Relaxed);
        let seen = page.libraries().0.remove(0);
        assert_eq!((seen.why, seen.runtime, seen.threads), (255, 0, 8192));
        assert_eq!(seen.name.chars().count(), 24, "{}", seen.name);
    }
}
