//! The libraries of a program in words: the runtime of each, how it is steered, and why.

use numaestro_abi::control::LibraryStatus;
use numaestro_abi::page::library::{self, because};
use numaestro_abi::page::{runtime, why};
use numaestro_host::memory::Library;

use crate::shell::folding;
use numaestro_quantity::label::label;

/// The names of the runtimes in a bit set.
pub(crate) fn runtime_names(runtimes: u32) -> Vec<String> {
    let names = [
        (runtime::GOMP, "libgomp"),
        (runtime::KMP, "libomp"),
        (runtime::OPENBLAS, "OpenBLAS"),
        (runtime::BLIS, "BLIS"),
        (runtime::MKL, "MKL"),
        (runtime::TBB, "oneTBB"),
        (runtime::API, "numaestro.h"),
    ];
    names.iter().filter(|(bit, _)| runtimes & bit != 0).map(|(_, name)| (*name).to_owned()).collect()
}

/// The bits of all runtimes that these libraries have.
pub(crate) fn runtimes(libraries: &[Library]) -> u32 {
    libraries.iter().fold(0, |bits, library| bits | library.runtime)
}

/// Whether some of them opens parallel regions, which are not told their size.
pub(crate) fn any_whole(libraries: &[Library]) -> bool {
    libraries.iter().any(|one| matches!(one.how, library::WHOLE | library::USER | library::KERNEL))
}

/// Whether some of them is told its number of threads.
pub(crate) fn any_told(libraries: &[Library]) -> bool {
    libraries.iter().any(|one| matches!(one.how, library::SET | library::ANSWERED | library::FOLLOWS))
}

/// The picture of a program's libraries; `full`: it has more than it can list.
pub(crate) fn shown(libraries: &[Library], full: bool) -> Vec<LibraryStatus> {
    let others = full.then(|| LibraryStatus {
        name: "others".to_owned(),
        runtime: String::new(),
        how: "unlisted".to_owned(),
        folded_by: "none".to_owned(),
        threads: 0,
        why: "the program has no room to say more".to_owned(),
    });
    libraries.iter().map(one).chain(others).collect()
}

fn one(it: &Library) -> LibraryStatus {
    let (how, folded_by) = match it.how {
        library::USER => ("whole", "user"),
        library::KERNEL => ("whole", "kernel"),
        library::FOLLOWS => ("follows", "none"),
        library::SET => ("set", "none"),
        library::ANSWERED => ("answered", "none"),
        library::LEFT => ("left", "none"),
        library::ABSENT => ("absent", "none"),
        _ => ("whole", "none"),
    };
    LibraryStatus {
        name: label(&it.name),
        runtime: runtime_names(it.runtime).concat(),
        how: how.to_owned(),
        folded_by: folded_by.to_owned(),
        threads: it.threads,
        why: reason(it).to_owned(),
    }
}

fn reason(it: &Library) -> &'static str {
    match (it.how, it.why) {
        (library::KERNEL, number) => folding::words(number.min(u64::from(why::OTHER)) as u32).0,
        (_, because::USER) => "its user said so",
        (_, because::PROGRAM) => "the program has set another number of threads by itself",
        (_, because::CLASS) => "its class is fold",
        (_, because::UNKNOWN) => "no function of it is known that sets its number of threads",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn library(how: u64, why: u64) -> Library {
        Library { name: "libx".into(), how, why, runtime: runtime::OPENBLAS, threads: 2 }
    }

    #[test]
    fn each_way_has_words_of_its_own() {
        let mut said = Vec::new();
        for how in library::WHOLE..=library::ABSENT {
            let seen = shown(&[library(how, because::NOTHING)], false).remove(0);
            assert_eq!((seen.name.as_str(), seen.runtime.as_str(), seen.threads), ("libx", "OpenBLAS", 2));
            let words = (seen.how, seen.folded_by);
            assert!(!said.contains(&words), "{words:?} stands for two ways");
            said.push(words);
        }
    }

    #[test]
    fn reasons_are_the_kernels_or_the_librarys() {
        let kernel = shown(&[library(library::KERNEL, u64::from(why::RSEQ))], false).remove(0);
        assert!(kernel.why.contains("restartable sequences"), "{}", kernel.why);
        let absurd = shown(&[library(library::KERNEL, 255)], false).remove(0);
        assert_eq!(absurd.why, "its threads are no OpenMP team");
        let left = shown(&[library(library::LEFT, because::PROGRAM)], false).remove(0);
        assert!(left.why.contains("by itself"), "{}", left.why);
        assert_eq!(shown(&[library(library::LEFT, 200)], false)[0].why, "");
    }

    #[test]
    fn a_name_turns_no_line_round() {
        let odd = Library { name: "lib\u{202e}\x1b[2J.so".to_owned(), ..library(library::SET, 0) };
        assert_eq!(shown(&[odd], false)[0].name, "lib??[2J.so");
    }

    #[test]
    fn a_table_that_is_full_is_said() {
        assert_eq!(shown(&[], false), []);
        assert_eq!(shown(&[], true)[0].how, "unlisted");
    }
}
