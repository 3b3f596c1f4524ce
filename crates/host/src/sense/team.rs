//! Gives threads the numbers of virtual processors. Linux names threads by ids that come and go;
//! rates need numbers that stay. A thread gets the lowest free number when it first does work, so a
//! helper that only sleeps gets none.

/// A thread counts once it has run this long between two looks.
const WORKS_NS: u64 = 1_000_000;

/// One thread and its processor time since the former look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadUse {
    /// Its id.
    pub tid: u32,
    /// Processor time since the latest look, nanoseconds.
    pub used_ns: u64,
}

#[derive(Debug, Clone, Copy)]
struct Member {
    tid: u32,
    cpu_ns: u64,
    /// Its number once it has one.
    vp: Option<usize>,
}

/// The threads of one application.
#[derive(Debug, Default)]
pub struct Team {
    /// By id.
    members: Vec<Member>,
    threads: Vec<Option<ThreadUse>>,
}

impl Team {
    /// Takes in the threads there are now with their processor times in nanoseconds; there are
    /// never more than `most` numbers.
    ///
    /// Gives the processor time of each since the former look, by virtual processor. At the first
    /// look nothing has been used yet, but a thread that has done any work before gets a number.
    pub fn look(&mut self, now: impl IntoIterator<Item = (u32, u64)>, most: usize) -> &[Option<ThreadUse>] {
        let mut fresh: Vec<(u32, u64)> = now.into_iter().collect();
        fresh.sort_unstable();
        self.threads.iter_mut().for_each(|thread| *thread = None);
        let mut members = Vec::with_capacity(fresh.len());
        for (tid, cpu_ns) in fresh {
            let before = self.members.binary_search_by_key(&tid, |member| member.tid).ok().map(|at| self.members[at]);
            // If the time of an id has gone back, the id belongs to another thread now.
            let before = before.filter(|before| before.cpu_ns <= cpu_ns);
            let used_ns = before.map_or(0, |before| cpu_ns - before.cpu_ns);
            let vp = before.and_then(|before| before.vp);
            if let Some(place) = vp.and_then(|vp| self.threads.get_mut(vp)) {
                *place = Some(ThreadUse { tid, used_ns });
            }
            members.push((Member { tid, cpu_ns, vp }, used_ns));
        }
        for (member, used_ns) in &mut members {
            let worked = if *used_ns > 0 { *used_ns } else { member.cpu_ns };
            if member.vp.is_none() && worked >= WORKS_NS {
                member.vp = self.free(most);
                if let Some(vp) = member.vp {
                    self.threads[vp] = Some(ThreadUse { tid: member.tid, used_ns: *used_ns });
                }
            }
        }
        self.members = members.into_iter().map(|(member, _)| member).collect();
        while self.threads.last().is_some_and(Option::is_none) {
            self.threads.pop();
        }
        &self.threads
    }

    /// What the latest look gave.
    pub fn threads(&self) -> &[Option<ThreadUse>] {
        &self.threads
    }

    /// The lowest number without a thread.
    fn free(&mut self, most: usize) -> Option<usize> {
        let free = self.threads.iter().position(Option::is_none);
        match free {
            Some(vp) if vp < most => Some(vp),
            None if self.threads.len() < most => {
                self.threads.push(None);
                Some(self.threads.len() - 1)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn tids(team: &[Option<ThreadUse>]) -> Vec<u32> {
        team.iter().map(|thread| thread.map_or(0, |thread| thread.tid)).collect()
    }

    #[test]
    fn numbers_stay_with_threads_that_work() {
        let mut team = Team::default();
        assert_eq!(tids(team.look([(12, 5 * MS), (10, 9 * MS), (11, 3)], 8)), [10, 12], "11 has done nothing");
        let second = team.look([(10, 19 * MS), (11, 4), (12, 5 * MS), (13, 50 * MS)], 8);
        assert_eq!(tids(second), [10, 12, 13]);
        let used: Vec<u64> = second.iter().flatten().map(|thread| thread.used_ns).collect();
        assert_eq!(used, [10 * MS, 0, 0], "what a new one has used is known from its second look on");
        // 12 ends; the next one to work takes its number, the others keep theirs.
        assert_eq!(tids(team.look([(10, 19 * MS), (11, 4), (13, 51 * MS)], 8)), [10, 0, 13]);
        assert_eq!(tids(team.look([(10, 19 * MS), (11, 2 * MS), (13, 51 * MS)], 8)), [10, 11, 13]);
    }

    #[test]
    fn an_id_that_is_used_again_is_somebody_new() {
        let mut team = Team::default();
        team.look([(7, 100 * MS)], 4);
        let now = team.look([(7, 2 * MS)], 4);
        assert_eq!(now, [Some(ThreadUse { tid: 7, used_ns: 0 })]);
    }

    #[test]
    fn there_are_never_more_than_asked_for() {
        let mut team = Team::default();
        assert_eq!(team.look((1..100).map(|tid| (tid, 5 * MS)), 3).len(), 3);
        assert!(team.look([], 3).is_empty());
    }
}
