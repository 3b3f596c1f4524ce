//! Decides whether pages should follow their application: the time that remote accesses cost,
//! against the time that a move costs. Integers only.
//!
//! The rule is this project's: the papers leave pages where they are (Koita et al. §2.3) or the
//! question open (Brecht 1997 §5.3).
//!
//! **Terms**
//! * *stay*: how long the application will likely be where it is now: as long as it has been, but
//!   no longer than [`STAYS`] times as long as it has been *there*. A program that has run for t
//!   runs for about t more (Harchol-Balter and Downey 1997).
//! * *excess* of a page: how much longer an access to it takes than to a local one, by the
//!   machine's distances: (d − 10) / 10.
//! * *busy*: the part of their time in which the application's threads wait for memory,
//!   thousandths.
//!
//! **Algorithm**
//! ```text
//! moving ← bytes that move / rate                      # until then little is gained
//! loss   ← (stay − moving) × threads × busy × Σ bytes × excess / all bytes
//! cost   ← bytes that move × COPY
//! worth  ⇔ loss > MARGIN × cost, and bytes that move ≥ LEAST
//! ```

/// An application may stay this many times as long as it has been where it is.
pub const STAYS: u64 = 4;
/// The part of their time in which threads are taken to wait for memory if it was not measured,
/// thousandths.
pub const BUSY_PERMILLE: u64 = 250;
/// Picoseconds of processor time to move a byte: of the copying thread, and of the application's
/// threads that meanwhile find the page gone. On machines of today a page of 4 KiB takes 2 to 4 µs,
/// with the interrupts that the other processors' address translations need.
pub const COPY_PS: u64 = 1000;
/// Gain of a move over its cost, at least.
pub const MARGIN: u64 = 2;
/// Least bytes that are moved: fewer may be pages that several share, or that are about to go.
pub const LEAST_BYTES: u64 = 256 * 1024;

/// Distance of a node to itself.
const LOCAL: u64 = 10;

/// One application: its pages, and the gain if they moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Situation {
    /// Bytes of all its pages.
    pub bytes: u64,
    /// Bytes that would move.
    pub moves: u64,
    /// Sum over those of bytes × (distance now − distance then), distances as
    /// [`numaestro_topology::Machine::node_distance`] has them (10 is local).
    pub excess: u64,
    /// Number of its processors.
    pub threads: u64,
    /// Nanoseconds since it arrived.
    pub age_ns: u64,
    /// Nanoseconds since the nodes of its processors or the nodes meant for its pages changed.
    pub there_ns: u64,
    /// Part of their time in which its threads wait for memory, thousandths; `None`: not known.
    pub busy_permille: Option<u64>,
    /// Bytes that may be moved in a second; 0: none.
    pub rate: u64,
}

/// Says whether the pages should move now. More excess, more threads and a longer stay never make
/// it worse; a smaller rate never makes it better.
pub fn is_worth(situation: &Situation) -> bool {
    let Situation { bytes, moves, rate, .. } = *situation;
    if moves < LEAST_BYTES || rate == 0 || bytes == 0 {
        return false;
    }
    loss_ns(situation) > u128::from(MARGIN) * cost_ns(moves)
}

/// Processor time lost in the rest of the stay if nothing moves, nanoseconds. Time during the move
/// does not count: it is lost anyway.
fn loss_ns(situation: &Situation) -> u128 {
    let stay = situation.age_ns.min(situation.there_ns.saturating_mul(STAYS));
    let moving = u128::from(situation.moves) * 1_000_000_000 / u128::from(situation.rate.max(1));
    let gains = u128::from(stay).saturating_sub(moving);
    let busy = u128::from(situation.busy_permille.unwrap_or(BUSY_PERMILLE).min(1000));
    // Of 64-bit terms the product of the first three has 64 + 32 + 10 bits, so the fourth is
    // reduced before it is multiplied.
    let excess_permille = u128::from(situation.excess) * 1000 / (u128::from(situation.bytes) * u128::from(LOCAL));
    let threads = u128::from(situation.threads.min(u64::from(u32::MAX)));
    (gains * threads * busy).saturating_mul(excess_permille.min(1 << 20)) / 1_000_000
}

fn cost_ns(bytes: u64) -> u128 {
    u128::from(bytes) * u128::from(COPY_PS) / 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;
    const SECOND: u64 = 1_000_000_000;

    /// `mib` MiB on a node at distance 20 from four threads, for so long.
    fn remote(mib: u64, age_ns: u64) -> Situation {
        let bytes = mib * MIB;
        Situation {
            bytes,
            moves: bytes,
            excess: bytes * 10,
            threads: 4,
            age_ns,
            there_ns: age_ns,
            busy_permille: None,
            rate: 512 * MIB,
        }
    }

    /// Draws that are the same every time (xorshift64).
    fn draws() -> impl Iterator<Item = Situation> {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = move |most: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            // Every size of number is as likely.
            (state >> (state % 64)) % most.saturating_add(1).max(1)
        };
        (0..20_000).map(move |_| {
            let bytes = next(u64::MAX / 4096);
            let moves = next(bytes);
            Situation {
                bytes,
                moves,
                excess: moves.saturating_mul(next(244)),
                threads: next(8192),
                age_ns: next(u64::MAX),
                there_ns: next(u64::MAX),
                busy_permille: Some(next(1000)).filter(|permille| permille % 3 > 0),
                rate: next(1 << 40),
            }
        })
    }

    #[test]
    fn small_and_long_lived_ones_move_large_and_short_lived_ones_do_not() {
        assert!(is_worth(&remote(64, SECOND)));
        assert!(!is_worth(&remote(64, SECOND / 10)));
        assert!(!is_worth(&remote(4096, SECOND)));
        assert!(is_worth(&remote(4096, 60 * SECOND)));
    }

    #[test]
    fn nothing_moves_for_nothing() {
        let far = remote(64, 60 * SECOND);
        assert!(!is_worth(&Situation { excess: 0, ..far }), "they are as near where they are");
        assert!(!is_worth(&Situation { rate: 0, ..far }));
        assert!(!is_worth(&Situation { moves: LEAST_BYTES - 1, ..far }));
        assert!(!is_worth(&Situation { there_ns: 0, ..far }), "it has only just come");
        assert!(!is_worth(&Situation { threads: 0, ..far }));
        assert!(!is_worth(&Situation::default()));
    }

    #[test]
    fn more_to_gain_never_makes_it_worse() {
        let mut worth = 0;
        for now in draws() {
            if !is_worth(&now) {
                continue;
            }
            worth += 1;
            let twice = |value: u64| value.saturating_mul(2);
            for better in [
                Situation { excess: twice(now.excess), ..now },
                Situation { threads: twice(now.threads), ..now },
                Situation { age_ns: twice(now.age_ns), ..now },
                Situation { there_ns: twice(now.there_ns), ..now },
                Situation { rate: twice(now.rate), ..now },
                Situation { busy_permille: Some(1000), ..now },
            ] {
                assert!(is_worth(&better), "{now:?} but not {better:?}");
            }
        }
        assert!(worth > 1000, "{worth} of the draws are worth it");
    }

    #[test]
    fn extremes_do_not_overflow() {
        let most = u64::MAX;
        let all = Situation {
            bytes: most,
            moves: most,
            excess: most,
            threads: most,
            age_ns: most,
            there_ns: most,
            busy_permille: Some(most),
            rate: most,
        };
        let _ = is_worth(&all);
        assert!(!is_worth(&Situation { rate: 1, ..all }), "the move takes longer than anything lasts");
        assert!(is_worth(&Situation { bytes: LEAST_BYTES, moves: LEAST_BYTES, ..all }));
    }
}
