//! Writes the skeleton of a policy file: the sections every such file has, in the order every such file has them.

use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::policies::{DIRECTORY, PARTS};

/// What differs between the parts: the trait, its imports, its methods and the first tests.
struct Shape {
    imports: &'static str,
    methods: &'static str,
    tests: &'static str,
}

const SHARE: Shape = Shape {
    imports: "use crate::part::{Info, Share};\nuse crate::shares::Shares;\nuse crate::view::View;\n",
    methods: "
    fn conserves_work(&self) -> bool {
        todo!(\"does no processor stay free while an application could use it?\")
    }

    fn divide(&mut self, view: &View<'_>, shares: &mut Shares) {
        todo!(\"set the count of every application in view.order\")
    }
",
    tests: "    use crate::conformance::{Case, share_conformance};

    #[test]
    fn the_example_of_the_paper() {
        let case = Case::new(64).wants(&[32, 24, 8]);
        assert_eq!(case.divide(&mut TYPE), [0, 0, 0]);
    }

    #[test]
    fn conforms() {
        share_conformance(&mut TYPE);
    }
",
};

const PLACEMENT: Shape = Shape {
    imports: "use crate::part::{Info, Placement};\nuse crate::plan::Plan;\nuse crate::shares::Shares;\nuse crate::view::View;\n",
    methods: "
    fn place(&mut self, view: &View<'_>, shares: &Shares, plan: &mut Plan) {
        todo!(\"change plan until every application in view.order has shares.count processors\")
    }
",
    tests: "    use crate::conformance::placement_conformance;

    #[test]
    fn conforms() {
        placement_conformance(&|_seed| Box::new(TYPE));
    }
",
};

const TURNS: Shape = Shape {
    imports: "use crate::part::{Info, Turns};\nuse crate::view::{Slot, View};\n",
    methods: "
    fn now(&mut self, view: &View<'_>, running: &mut Vec<Slot>) -> Option<u64> {
        todo!(\"leave in running those that run now; say when to ask again\")
    }
",
    tests: ONE_PROCESSOR,
};

const PAGES: Shape = Shape {
    imports: "use crate::part::{Info, PageHome, Pages};\nuse crate::view::{Slot, View};\n",
    methods: "
    fn home(&self, view: &View<'_>, app: Slot) -> PageHome {
        todo!(\"where do new pages of this application go?\")
    }
",
    tests: ONE_PROCESSOR,
};

const ADMISSION: Shape = Shape {
    imports: "use crate::part::{Admission, Info, Offer};\nuse crate::view::{Slot, View};\n",
    methods: "
    fn queues(&self) -> bool {
        todo!(\"may an application have to wait behind another?\")
    }

    fn starts(&mut self, view: &View<'_>, app: Slot, offer: Offer) -> bool {
        todo!(\"does the first in the queue start now?\")
    }
",
    tests: ONE_PROCESSOR,
};

const ONE_PROCESSOR: &str = "    use crate::conformance::Case;

    #[test]
    fn one_processor_and_one_application() {
        let case = Case::new(1).wants(&[1]);
        case.with_view(|view| todo!(\"what does the paper say here? {view:?}\"));
    }
";

const SKELETON: &str = r"//! One sentence: the idea.
//!
//! **Source**: authors, venue, year, section or algorithm number.
//!
//! **Terms**: word of the paper = word of `docs/GLOSSARY.md`.
//!
//! **Algorithm**
//! ```text
//! at most fifteen lines
//! ```
//!
//! **Differs from the paper**: in what, and why.
//!
//! **Use when** … **Avoid when** …

IMPORTS
/// Config: each parameter with unit, range, default and where the default comes from.
/// State: the symbols of the paper, spelled as there.
#[derive(Debug, Default)]
pub struct TYPE;

impl TRAIT for TYPE {
    fn info(&self) -> Info {
        crate::catalogue::CONSTANT
    }
METHODS}

// Pure helpers follow here, each marked with its equation or with the lines of the algorithm. An order of candidates is one
// tuple that ends in an id: a total order.

#[cfg(test)]
mod tests {
    use super::*;
TESTS}
";

/// Writes `crates/policy/src/PART/NAME.rs` and says how it is registered.
pub fn write(root: &Path, name: &str, part: &str) -> Result<()> {
    let text = skeleton(name, part)?;
    let module = name.replace('-', "_");
    let path = format!("{DIRECTORY}/{part}/{module}.rs");
    if root.join(&path).exists() {
        bail!("{path} exists already");
    }
    std::fs::write(root.join(&path), text).with_context(|| format!("cannot write {path}"))?;
    println!("{path} is written. To register it:");
    println!("  {DIRECTORY}/{part}/mod.rs   mod {module}; pub use {module}::{};", type_name(name));
    println!("  {DIRECTORY}/catalogue.rs  the constant {}: what people are told", constant_name(name));
    println!("  {DIRECTORY}/text.rs       one line of ANSWERS: how it is made from its parameters");
    println!("Then: cargo test -p numaestro-policy && cargo xtask policies");
    Ok(())
}

fn skeleton(name: &str, part: &str) -> Result<String> {
    let is_name = name.starts_with(|c: char| c.is_ascii_lowercase())
        && !name.ends_with('-')
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    if !is_name {
        bail!("`{name}` is no name of a policy: lower-case words with hyphens, such as worst-fit");
    }
    let (shape, trait_name) = match part {
        "share" => (SHARE, "Share"),
        "placement" => (PLACEMENT, "Placement"),
        "turns" => (TURNS, "Turns"),
        "pages" => (PAGES, "Pages"),
        "admission" => (ADMISSION, "Admission"),
        _ => {
            let parts: Vec<&str> = PARTS.iter().map(|(part, _)| *part).collect();
            bail!("`{part}` is no part of a policy; the parts are {}", parts.join(", "));
        }
    };
    let text = SKELETON
        .replace("IMPORTS", shape.imports)
        .replace("METHODS", shape.methods)
        .replace("TESTS", shape.tests)
        .replace("TRAIT", trait_name)
        .replace("TYPE", &type_name(name))
        .replace("CONSTANT", &constant_name(name));
    Ok(text)
}

/// `worst-fit` → `WorstFit`.
fn type_name(name: &str) -> String {
    let words = name.split('-').map(|word| {
        let mut letters = word.chars();
        letters.next().map(|first| first.to_ascii_uppercase().to_string() + letters.as_str()).unwrap_or_default()
    });
    words.collect()
}

/// `worst-fit` → `WORST_FIT`.
fn constant_name(name: &str) -> String {
    name.replace('-', "_").to_ascii_uppercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_rust_names() {
        assert_eq!(type_name("worst-fit-jobs"), "WorstFitJobs");
        assert_eq!(constant_name("worst-fit-jobs"), "WORST_FIT_JOBS");
    }

    #[test]
    fn every_part_has_a_skeleton_in_the_same_order() {
        for (part, _) in PARTS {
            let text = skeleton("sample-rule", part).expect("a part");
            let sections = [
                "**Source**",
                "**Terms**",
                "**Algorithm**",
                "**Differs",
                "**Use when**",
                "Config",
                "impl",
                "mod tests",
            ];
            let places: Vec<usize> = sections.iter().map(|section| text.find(section).expect(section)).collect();
            assert!(places.is_sorted(), "{part}: {places:?}");
            for left in ["IMPORTS", "METHODS", "TESTS", "TRAIT", "TYPE", "CONSTANT"] {
                assert!(!text.contains(left), "{part}: {left} is still there");
            }
            assert_eq!(text.matches('{').count(), text.matches('}').count(), "{part}");
        }
    }

    #[test]
    fn a_wrong_part_or_name_is_refused() {
        assert!(skeleton("x", "shares").is_err());
        assert!(skeleton("WorstFit", "share").is_err());
        assert!(skeleton("../x", "share").is_err());
        assert!(skeleton("", "share").is_err());
    }
}
