//! Finds the programs of the fetched suites.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::recipe::{Language, Recipe, Said};
use super::{dejagnu, lit};

/// Directories of libgomp's suite, and what their C programs are compiled as. Those of `OpenACC`
/// and Graphite are not about OpenMP's regions.
const LIBGOMP: [(&str, &[Language]); 4] = [
    ("libgomp.c", &[Language::C]),
    ("libgomp.c++", &[Language::Cxx]),
    ("libgomp.c-c++-common", &[Language::C, Language::Cxx]),
    ("libgomp.fortran", &[Language::Fortran]),
];

/// All programs below the directory of the fetched suites, in order of name.
pub fn all(directory: &Path) -> Result<Vec<Recipe>> {
    let mut found = Vec::new();
    for (part, languages) in LIBGOMP {
        let root = directory.join("libgomp").join(part);
        for source in files(&root)? {
            for &language in languages {
                let Some(written) = written_in(&source) else { continue };
                if written != language && !(written == Language::C && language == Language::Cxx && languages.len() > 1)
                {
                    continue;
                }
                let twice = if languages.len() > 1 && language == Language::Cxx { ":c++" } else { "" };
                let include = vec![root.clone(), directory.join("libgomp/libgomp.c")];
                add(&mut found, directory, &source, twice, language, include, dejagnu::read)?;
            }
        }
    }
    let root = directory.join("libomp");
    for source in files(&root)? {
        if let Some(language) = written_in(&source) {
            let include = vec![root.clone(), root.join("ompt")];
            add(&mut found, directory, &source, "", language, include, lit::read)?;
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

fn add(
    found: &mut Vec<Recipe>,
    directory: &Path,
    source: &Path,
    suffix: &str,
    language: Language,
    include: Vec<PathBuf>,
    read: fn(&str, Language) -> Option<Said>,
) -> Result<()> {
    let text = std::fs::read(source).with_context(|| format!("cannot read {}", source.display()))?;
    let Some(said) = read(&String::from_utf8_lossy(&text), language) else { return Ok(()) };
    let name = source.strip_prefix(directory).unwrap_or(source).display();
    let name = format!("{name}{suffix}");
    found.push(Recipe { name, language, source: source.to_owned(), include, said });
    Ok(())
}

fn written_in(source: &Path) -> Option<Language> {
    match source.extension()?.to_str()? {
        "c" => Some(Language::C),
        "C" | "cpp" => Some(Language::Cxx),
        "f" | "F" | "f90" | "F90" | "f95" | "f03" | "f08" => Some(Language::Fortran),
        _ => None,
    }
}

fn files(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let entries = std::fs::read_dir(directory).with_context(|| format!("cannot list {}", directory.display()))?;
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            found.extend(files(&entry.path())?);
        } else {
            found.push(entry.path());
        }
    }
    Ok(found)
}
