//! Finds the claims that a user means.

use super::UNKNOWN;
use crate::say::Failure;
use numaestro_repro::{Claim, PAPERS, Paper, claims};

/// A claim with its paper.
pub type Chosen = (&'static Paper, &'static Claim);

/// The claims with these names, of this paper where one is given, in the papers' order.
pub fn choose(names: &[String], paper: Option<&str>) -> anyhow::Result<Vec<Chosen>> {
    let paper = paper.map(find).transpose()?;
    let of_paper: Vec<Chosen> = claims().filter(|(of, _)| paper.is_none_or(|paper| paper.key == of.key)).collect();
    for name in names {
        if !of_paper.iter().any(|(_, claim)| claim.id.eq_ignore_ascii_case(name)) {
            return Err(unknown(name, &of_paper));
        }
    }
    let meant = |claim: &Claim| names.is_empty() || names.iter().any(|name| claim.id.eq_ignore_ascii_case(name));
    Ok(of_paper.into_iter().filter(|(_, claim)| meant(claim)).collect())
}

fn find(name: &str) -> anyhow::Result<&'static Paper> {
    let is = |paper: &&&Paper| paper.key.eq_ignore_ascii_case(name) || paper.short.eq_ignore_ascii_case(name);
    PAPERS.iter().find(is).copied().ok_or_else(|| {
        let known: Vec<String> = PAPERS.iter().map(|paper| format!("{} ({})", paper.key, paper.short)).collect();
        Failure::error(UNKNOWN, format!("there is no paper `{name}`; there are {}", known.join(", ")), "")
    })
}

fn unknown(name: &str, known: &[Chosen]) -> anyhow::Error {
    let wanted = name.to_lowercase();
    let near: Vec<&str> = known
        .iter()
        .map(|(_, claim)| claim.id)
        .filter(|id| id.to_lowercase().contains(&wanted) || wanted.contains(&id.to_lowercase()))
        .take(6)
        .collect();
    let hint = if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(", ")) };
    Failure::error(UNKNOWN, format!("there is no claim `{name}`{hint}"), "`numaestro repro list` names them all")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_name_by_paper_and_all() {
        let all = choose(&[], None).unwrap();
        assert_eq!(all.len(), claims().count());
        let one = choose(&["b93-tab1.3".to_owned()], None).unwrap();
        assert_eq!(one[0].1.id, "B93-Tab1.3");
        let pools = choose(&[], Some("B97")).unwrap();
        assert!(!pools.is_empty() && pools.iter().all(|(paper, _)| paper.short == "B97"));
    }

    #[test]
    fn an_unknown_one_names_those_that_are_like_it() {
        let error = choose(&["Fig1.4".to_owned()], None).unwrap_err();
        assert!(error.to_string().contains("B93-Fig1.4"), "{error}");
        assert_eq!(error.downcast_ref::<Failure>().map(|failure| failure.code), Some(UNKNOWN));
        assert!(choose(&[], Some("B98")).unwrap_err().to_string().contains("B97"));
    }
}
