//! Lists of policies on a command line.

/// The policies of a list: commas inside parentheses belong to a policy.
pub fn apart(list: &str) -> Vec<String> {
    let (mut found, mut depth) = (vec![String::new()], 0_u32);
    for letter in list.chars() {
        match letter {
            ',' if depth == 0 => {
                found.push(String::new());
                continue;
            }
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        found.last_mut().expect("never empty").push(letter);
    }
    found.into_iter().map(|policy| policy.trim().to_owned()).filter(|policy| !policy.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_in_parentheses_belong_to_a_policy() {
        assert_eq!(apart("equi,dss"), ["equi", "dss"]);
        assert_eq!(
            apart("placement=worst-fit(equal=4,tie=lowest) share=dss, batch"),
            ["placement=worst-fit(equal=4,tie=lowest) share=dss", "batch"]
        );
        assert!(apart(" , ").is_empty());
    }
}
