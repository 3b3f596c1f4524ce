//! The users of programs in containers: there the container or the pod is the party, whoever the
//! user is. Most users of containers have no account here.

use super::{Key, Known, Users};
use crate::identity::containers::Container;
use crate::identity::jobs::JobId;

impl Users {
    /// The container or pod that a process belongs to, where these are parties.
    pub(crate) fn container_of(&self, pid: u32) -> Option<Container> {
        self.containers.of(pid)
    }

    /// The facts of a user in a container. A container that has not been there before becomes a
    /// party, in the place of one that has ended if there is one: `is_used` says whether a party
    /// has programs.
    pub(crate) fn find_in_container(
        &mut self,
        uid: u32,
        container: &Container,
        is_used: impl Fn(u32, Option<JobId>) -> bool,
    ) -> Known {
        // Who the user is still says whose connections and programs are counted.
        let counted_as = self.find(uid).counted_as;
        self.vacate(is_used);
        self.changed |= self.containers.note(container);
        let key = Key::Container(container.party.clone());
        let entitled = self.entitled(&key);
        Known { name: container.party.clone(), party: self.enter_vacant(key), entitled, counted_as }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::users;
    use crate::config::Entitlement;
    use crate::identity::containers::Container;

    #[test]
    fn a_pod_is_a_party_whoever_its_user_is_until_it_has_ended() {
        let (mut users, _config, _dir) = users("[users.alice]\nmax = 1\n[parties.\"lab/solvers\"]\nweight = 4\n");
        let pod = |id: &str, max| Container {
            party: format!("pod {id}"),
            entitled: Some(Entitlement { weight: 0.5, max: Some(max), reserved: 0 }),
        };
        let alice = users.find(1001).party;
        let first = users.find_in_container(1001, &pod("1", 3), |_, _| true);
        assert_eq!((first.name.as_str(), first.entitled.max, first.counted_as), ("pod 1", Some(3), Some(1001)));
        assert!(users.take_change().is_some() && users.take_change().is_none());
        let stranger = users.find_in_container(70_000, &pod("1", 3), |_, _| true);
        assert_eq!((stranger.party, stranger.counted_as), (first.party, None), "one pod, whatever its users");
        assert!(users.take_change().is_some() && users.take_change().is_none(), "the first stranger");
        let resized = users.find_in_container(1001, &pod("1", 2), |_, _| true);
        assert_eq!((resized.party, resized.entitled.max), (first.party, Some(2)));
        assert_eq!(users.parties()[first.party as usize].most, 2);
        assert!(users.take_change().is_some() && users.take_change().is_none(), "the engine is told");

        let solvers = Container { party: "lab/solvers".to_owned(), entitled: None };
        let named = users.find_in_container(0, &solvers, |_, _| true);
        assert!((named.entitled.weight - 4.0).abs() < f64::EPSILON && named.party != first.party);
        let unknown = Container { party: "lab/others".to_owned(), entitled: None };
        assert_eq!(users.find_in_container(0, &unknown, |_, _| true).entitled, Entitlement::default());

        // Pod 1 has ended; another one takes its place.
        let next = users.find_in_container(0, &pod("2", 7), |party, _| party == named.party);
        assert_eq!(next.party, first.party);
        assert_eq!(users.parties()[next.party as usize].most, 7);
        assert_eq!(users.parties()[alice as usize].most, 1, "the user's other programs keep their entitlement");
        let part = numaestro_policy::Party::of_job(2, 2, None, None);
        let job = users.find_in_job((1001, 7), Some(part), |party, _| party == next.party).party;
        assert!(job != next.party && job != alice, "a job has the place of a container that has ended, or its own");
    }
}
