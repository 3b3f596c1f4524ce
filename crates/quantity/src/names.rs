//! Finds the name that a person probably meant.
//!
//! Letters are compared without their case. Two letters may be wrong, missing, too many or swapped
//! with their neighbour, but never more than half of the word: then it could mean anything.

/// Letters of a word that may be wrong.
const WRONG_LETTERS: usize = 2;

/// The known name nearest to this word; `None` if none is near.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let wrong = |name: &str| strsim::osa_distance(&word, &name.to_lowercase());
    let (wrong, name) = known.into_iter().map(|name| (wrong(name), name)).min()?;
    (wrong <= WRONG_LETTERS.min(word.chars().count() / 2)).then_some(name)
}

/// The end of a complaint about a word: "; did you mean `dss`?", or nothing.
pub fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, known).map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

/// The same with all that would have been right: "; did you mean `dss`? There are equi, dss".
pub fn did_you_mean_of<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let all = known.join(", ");
    match nearest(word, known) {
        Some(name) => format!("; did you mean `{name}`? There are {all}"),
        None => format!("; there are {all}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 5] = ["equi", "equip", "HS-Con", "worst-fit", "dss"];

    #[test]
    fn letters_wrong_missing_too_many_and_swapped() {
        for (word, meant) in
            [("equ", "equi"), ("wort-fit", "worst-fit"), ("worsst-fit", "worst-fit"), ("wrost-fit", "worst-fit")]
        {
            assert_eq!(nearest(word, KNOWN), Some(meant), "{word}");
        }
        assert_eq!(nearest("hs_con", KNOWN), Some("HS-Con"));
        assert_eq!(did_you_mean("dsss", KNOWN), "; did you mean `dss`?");
        assert_eq!(did_you_mean_of("dsss", ["equi", "dss"]), "; did you mean `dss`? There are equi, dss");
    }

    #[test]
    fn nothing_is_meant_by_what_is_too_far() {
        for word in ["", "d", "xyz", "fit", "first-fit-all"] {
            assert_eq!(nearest(word, KNOWN), None, "{word}");
        }
        assert_eq!(did_you_mean("dss", []), "");
        assert_eq!(did_you_mean_of("xyz", ["equi", "dss"]), "; there are equi, dss");
    }
}
