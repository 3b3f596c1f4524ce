//! What libgomp's programs say in the language of `DejaGnu`: `{ dg-do run { target c } }`.

use super::recipe::{Language, Run, Said};

/// What the program says; nothing if it is not to be run here.
pub fn read(text: &str, language: Language) -> Option<Said> {
    let mut said = Said::default();
    let mut run = Run::default();
    let mut own_options = language == Language::Fortran;
    for directive in text.lines().filter_map(directive) {
        let Some(Word::Plain(name)) = directive.first() else { continue };
        let words = &directive[1..];
        match name.as_str() {
            "dg-do" if !runs(words, language) => return None,
            "dg-skip-if" if words.get(1).is_some_and(|word| word.holds(language)) => return None,
            "dg-require-effective-target" if words.first().is_some_and(|word| !word.holds(language)) => return None,
            // It is meant to end badly, which is no measure for anything.
            "dg-shouldfail" => return None,
            "dg-options" | "dg-additional-options" if applies(words.get(1), language) => {
                own_options |= name == "dg-options";
                let options = words.first().map_or("", Word::text).split_whitespace();
                said.options.extend(options.filter(|option| wanted(option)).map(str::to_owned));
            }
            "dg-additional-sources" => {
                said.sources.extend(words.iter().flat_map(|word| word.text().split_whitespace()).map(str::to_owned));
            }
            "dg-set-target-env-var" => {
                if let [name, value, ..] = words {
                    run.environment.push((name.text().to_owned(), value.text().to_owned()));
                }
            }
            _ => {}
        }
    }
    // What the suite's driver gives to programs without options of their own; for Fortran it tries
    // several, of which this is one.
    if !own_options || language == Language::Fortran {
        said.options.insert(0, "-O2".to_owned());
    }
    said.runs.push(run);
    Some(said)
}

/// Options about other devices' compilers, and those that write files for the suite's own looks.
fn wanted(option: &str) -> bool {
    !option.starts_with("-foffload") && !option.starts_with("-fdump")
}

fn runs(words: &[Word], language: Language) -> bool {
    words.first().is_some_and(|word| word.text() == "run") && applies(words.get(1), language)
}

/// Whether `{ target … }` holds; without one it does.
fn applies(word: Option<&Word>, language: Language) -> bool {
    match word {
        Some(Word::Group(words)) if words.first().is_some_and(|first| first.text() == "target") => {
            all_hold(&words[1..], language)
        }
        _ => true,
    }
}

/// A word of a directive.
#[derive(Debug, PartialEq, Eq)]
enum Word {
    Plain(String),
    Group(Vec<Word>),
}

impl Word {
    fn text(&self) -> &str {
        match self {
            Self::Plain(text) => text,
            Self::Group(words) => words.first().map_or("", Self::text),
        }
    }

    fn holds(&self, language: Language) -> bool {
        match self {
            Self::Plain(name) => has(name, language),
            Self::Group(words) => all_hold(words, language),
        }
    }
}

/// A condition: `A`, `! A`, `A && B`, `A || B`, `A B` (either).
fn all_hold(words: &[Word], language: Language) -> bool {
    let words = match words.first() {
        Some(Word::Plain(word)) if word == "target" => &words[1..],
        _ => words,
    };
    let operator = |text: &str| words.iter().position(|word| matches!(word, Word::Plain(plain) if plain == text));
    if let Some(at) = operator("&&") {
        return all_hold(&words[..at], language) && all_hold(&words[at + 1..], language);
    }
    if let Some(at) = operator("||") {
        return all_hold(&words[..at], language) || all_hold(&words[at + 1..], language);
    }
    match words {
        [Word::Plain(not), rest @ ..] if not == "!" => !all_hold(rest, language),
        _ => words.iter().any(|word| word.holds(language)),
    }
}

/// What the suite asks about a machine and its compiler: no device besides the host, and a usual
/// 64-bit Linux.
fn has(what: &str, language: Language) -> bool {
    match what {
        "c" => language == Language::C,
        "c++" => language == Language::Cxx,
        _ if what.starts_with("offload") || what.starts_with("skip-") => false,
        "ia32" | "run_expensive_tests" | "aarch64_tiny" => false,
        "lp64" => true,
        // Names of machines.
        _ if what.contains('-') || what.contains('*') => {
            let linux = what.contains("linux") || what == "*-*-*" || what.ends_with("-*-*");
            linux && (what.starts_with(std::env::consts::ARCH) || what.starts_with('*'))
        }
        _ => true,
    }
}

/// The words of the directive of a line.
fn directive(line: &str) -> Option<Vec<Word>> {
    let start = line.match_indices('{').find(|(at, _)| line[at + 1..].trim_start().starts_with("dg-"))?.0;
    let mut rest = &line[start + 1..];
    group(&mut rest)
}

/// Words up to the brace that closes the group, which is taken too.
fn group(rest: &mut &str) -> Option<Vec<Word>> {
    let mut words = Vec::new();
    loop {
        *rest = rest.trim_start();
        let first = rest.chars().next()?;
        match first {
            '}' => {
                *rest = &rest[1..];
                return Some(words);
            }
            '{' => {
                *rest = &rest[1..];
                words.push(Word::Group(group(rest)?));
            }
            '"' => {
                let end = rest[1..].find('"')? + 1;
                words.push(Word::Plain(rest[1..end].to_owned()));
                *rest = &rest[end + 1..];
            }
            '!' => {
                words.push(Word::Plain("!".to_owned()));
                *rest = &rest[1..];
            }
            _ => {
                let end = rest.find(|c: char| c.is_whitespace() || "{}\"".contains(c)).unwrap_or(rest.len());
                words.push(Word::Plain(rest[..end].to_owned()));
                *rest = &rest[end..];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_sources_and_environment_are_taken() {
        let text = "! { dg-do run }\n\
                    /* { dg-options \"-O0 -foffload=x\" { target c } } */\n\
                    // { dg-additional-options \"-mavx\" { target { ! c } } }\n\
                    ! { dg-additional-sources my-usleep.c }\n\
                    /* { dg-set-target-env-var OMP_CANCELLATION \"true\" } */\n";
        let said = read(text, Language::C).expect("it is run");
        assert_eq!(said.options, ["-O0"]);
        assert_eq!(said.sources, ["my-usleep.c"]);
        assert_eq!(said.runs[0].environment, [("OMP_CANCELLATION".to_owned(), "true".to_owned())]);
    }

    #[test]
    fn what_needs_a_device_or_another_machine_is_left_out() {
        for text in [
            "/* { dg-do compile } */",
            "/* { dg-do run { target { offload_target_nvptx } } } */",
            "/* { dg-require-effective-target offload_device } */",
            "/* { dg-do run { target { lp64 && { ! lp64 } } } } */",
            "/* { dg-skip-if \"\" { *-*-* } } */",
        ] {
            assert_eq!(read(text, Language::C), None, "{text}");
        }
    }

    #[test]
    fn without_a_word_it_is_run_with_the_drivers_options() {
        let said = read("int main() { return 0; }", Language::C).expect("it is run");
        assert_eq!((said.options.len(), said.runs.len()), (1, 1));
        assert!(read("/* { dg-do run { target *-*-linux* *-*-gnu* } } */", Language::C).is_some());
        assert!(read("/* { dg-do run { target { vect_simd_clones && lto } } } */", Language::C).is_some());
    }
}
