//! Limits of a party that do not depend on the applications present. Parties are numbered as in the
//! settings.

use numaestro_policy::Party;

/// The number of a known party: an unknown number means the first party.
pub(crate) fn known_party(parties: &[Party], party: u32) -> u32 {
    if (party as usize) < parties.len() { party } else { 0 }
}

/// The most processors that an application of this party can ever have.
pub(crate) fn most_of(parties: &[Party], party: u32) -> u32 {
    parties.get(party as usize).map_or(u32::MAX, |party| party.most.max(1))
}

/// Says whether any of `available` processors is left for this party beside those kept for others,
/// present or not.
pub(crate) fn may_have_some(parties: &[Party], party: u32, available: u32) -> bool {
    let mut left = available;
    for (at, other) in parties.iter().enumerate() {
        let kept = other.reserved.min(other.most).min(left);
        if at == party as usize && kept > 0 {
            return true;
        }
        left -= kept;
    }
    left > 0
}
