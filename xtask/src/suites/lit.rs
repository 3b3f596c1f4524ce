//! What libomp's programs say in the language of lit:
//! `// RUN: %libomp-compile && env A=B %libomp-run`.

use super::recipe::{Language, Run, Said};

/// What the program says; nothing if it is not run, or is made of more than one program.
pub fn read(text: &str, language: Language) -> Option<Said> {
    let mut said = Said::default();
    for command in commands(text) {
        for step in command.split("&&") {
            // What follows looks at the output; here it is compared with that of another run.
            let step = step.split('|').next().unwrap_or_default();
            let words = words(step);
            let at = |name: &str| words.iter().position(|word| word == name);
            // A tool or a library of its own has to be made first.
            if words.iter().any(|word| word.contains("%T") || word.contains("-DTOOL") || word.starts_with("%preload")) {
                return None;
            }
            let whole = words.iter().position(|word| word.starts_with("%libomp-") && word.contains("compile"));
            if let Some(compile) = whole {
                let options = words[compile + 1..].iter().filter(|word| word.starts_with('-'));
                let options: Vec<String> = options.filter(|word| !word.contains('%')).cloned().collect();
                if words[compile].contains("c99") {
                    said.options.push("-std=c99".to_owned());
                }
                said.options.extend(options);
                if words[compile].ends_with("-and-run") {
                    said.runs.push(Run { environment: environment(&words[..compile]), arguments: Vec::new() });
                }
            } else if let Some(run) = at("%libomp-run").or_else(|| at("%t")) {
                let arguments = words[run + 1..].iter().take_while(|word| !word.contains('>')).cloned().collect();
                said.runs.push(Run { environment: environment(&words[..run]), arguments });
            }
        }
    }
    said.runs.dedup();
    if said.runs.is_empty() {
        return None;
    }
    if language == Language::Cxx {
        said.options.insert(0, "-std=c++14".to_owned());
    }
    Some(said)
}

/// The commands, lines that end in a backslash joined.
fn commands(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut begun = String::new();
    for line in text.lines() {
        let Some((_, line)) = line.split_once("RUN:") else { continue };
        match line.trim_end().strip_suffix('\\') {
            Some(part) => begun.push_str(part),
            None => all.push(std::mem::take(&mut begun) + line),
        }
    }
    all
}

fn environment(words: &[String]) -> Vec<(String, String)> {
    let pairs = words.iter().filter_map(|word| word.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// As a shell divides them.
fn words(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in text.chars() {
        match quote {
            Some(end) if c == end => quote = None,
            None if c == '\'' || c == '"' => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            None if c.is_whitespace() => all.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    all.extend(word);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_run_is_taken_with_its_environment_and_arguments() {
        let text = "// RUN: %libomp-compile -D_GNU_SOURCE && env OMP_SCHEDULE='guided,3' %libomp-run 3 12 | FileCheck %s\n\
                    // RUN: env OMP_NUM_THREADS=4 \\\n\
                    // RUN:    %libomp-run 5\n";
        let said = read(text, Language::C).expect("it is run");
        assert_eq!(said.options, ["-D_GNU_SOURCE"]);
        assert_eq!(said.runs[0].environment, [("OMP_SCHEDULE".to_owned(), "guided,3".to_owned())]);
        assert_eq!(said.runs[0].arguments, ["3", "12"]);
        assert_eq!(said.runs[1].environment, [("OMP_NUM_THREADS".to_owned(), "4".to_owned())]);
        assert_eq!(said.runs[1].arguments, ["5"]);
    }

    #[test]
    fn compiled_and_run_in_one_word() {
        let said = read("// RUN: %libomp-cxx-compile-and-run\n", Language::Cxx).expect("it is run");
        assert_eq!((said.options, said.runs), (vec!["-std=c++14".to_owned()], vec![Run::default()]));
    }

    #[test]
    fn what_is_made_of_several_programs_is_left_out() {
        assert_eq!(read("// RUN: %clang %flags -DTOOL -shared %s -o %T/tool.so\n", Language::C), None);
        assert_eq!(read("int main() {}\n", Language::C), None);
    }
}
