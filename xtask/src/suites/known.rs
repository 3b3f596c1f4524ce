//! The list of known differences, `testdata/suites/known.tsv`: what of a managed run may differ
//! from a run alone, with its cause.

use std::path::Path;

use anyhow::{Context, Result, bail};

use super::recipe::Case;

/// Where the list is.
pub const PATH: &str = "testdata/suites/known.tsv";

/// An entry.
#[derive(Debug, Clone)]
pub struct Known {
    program: String,
    compiler: String,
    threads: String,
    /// Why it differs, and why nobody minds.
    pub cause: String,
}

impl Known {
    /// Whether the entry speaks of this case.
    pub fn covers(&self, case: &Case<'_>) -> bool {
        let matches = |pattern: &str, text: &str| pattern == "*" || pattern.split(',').any(|one| one == text);
        let file = case.recipe.name.trim_end_matches(":c++");
        [case.program().as_str(), &case.recipe.name, file].contains(&self.program.as_str())
            && matches(&self.compiler, &case.compiler.to_string())
            && matches(&self.threads, &case.threads())
    }
}

/// Reads the list of the repository.
pub fn read(root: &Path) -> Result<Vec<Known>> {
    let path = root.join(PATH);
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    parse(&text)
}

fn parse(text: &str) -> Result<Vec<Known>> {
    let mut all = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let fields: Vec<&str> = line.split('\t').collect();
        let [program, compiler, threads, cause] = fields[..] else {
            bail!("{PATH}:{}: program, compiler, threads and cause, divided by tabs", index + 1);
        };
        let [program, compiler, threads, cause] = [program, compiler, threads, cause].map(str::to_owned);
        all.push(Known { program, compiler, threads, cause });
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suites::recipe::{Compiler, Language, Recipe, Run, Said};

    #[test]
    fn an_entry_covers_what_it_names() {
        let known = parse("# why\nlibomp/a.c\tgcc\t2,unset\torder\nlibomp/b.c\t*\t*\torder\n").expect("two entries");
        let said = Said { runs: vec![Run::default()], ..Said::default() };
        let name = "libomp/a.c".to_owned();
        let recipe = Recipe { name, language: Language::C, source: "a.c".into(), include: Vec::new(), said };
        let case = |compiler, threads| Case { recipe: &recipe, compiler, run: 0, threads };
        assert!(known[0].covers(&case(Compiler::Gcc, None)) && known[0].covers(&case(Compiler::Gcc, Some(2))));
        assert!(!known[0].covers(&case(Compiler::Gcc, Some(4))) && !known[0].covers(&case(Compiler::Clang, None)));
        assert!(!known[1].covers(&case(Compiler::Gcc, None)));
        assert!(parse("libomp/a.c gcc").is_err());
    }
}
