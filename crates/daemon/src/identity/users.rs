//! Finds the user, the group and the engine's party of an application.
//!
//! A user that is named in `[users]` is a party. Another one whose groups (the primary one first)
//! include one that is named in `[groups]` belongs to that group's party, together with all others
//! in it. Every other user is a party of their own, with the entitlement of `[default]`. Numbers
//! that no account has are one party together: user namespaces give out thousands of them, and
//! nobody gets more by using many. In a manager of one user nobody has a name or a party.
//!
//! A job of a batch system is a party of its own, entitled to what it was allocated: that counts
//! instead of the entitlement of its user. So is a pod, or a container.

mod contained;

use std::collections::BTreeMap;

use numaestro_engine::Event;
use numaestro_host::accounts::{Accounts, User};
use numaestro_host::procfs;
use numaestro_policy::Party;
use tracing::{info, warn};

use crate::config::{Config, Entitlement, Evidence};
use crate::identity::containers::Containers;
use crate::identity::jobs::{self, Job, JobId};
use numaestro_quantity::label::label;

/// Users that are remembered, at most: strangers can be many.
const KNOWN_MAX: usize = 1 << 16;

/// The members of a party.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    /// The members of a group, together.
    Group(String),
    /// One user.
    User(u32),
    /// All without an account.
    Strangers,
    /// A job of a user, by its number.
    Job(u32, u32),
    /// A pod or a container, or several under one name.
    Container(String),
    /// A job or container that has ended: the next one has its number.
    Vacant,
}

/// The facts of one user.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Known {
    /// The name to show.
    pub(crate) name: String,
    /// Index of the party.
    pub(crate) party: u32,
    /// The party's entitlement.
    pub(crate) entitled: Entitlement,
    /// The user that limits count for; `None`: all strangers together.
    pub(crate) counted_as: Option<u32>,
}

/// See the file's header.
#[derive(Debug, Default)]
pub(crate) struct Users {
    accounts: Accounts,
    /// In the order of the engine's parties. It only grows, so that numbers keep their meaning. The
    /// number of a job or container that has ended is given again.
    keys: Vec<Key>,
    /// Entitlements of jobs.
    jobs: BTreeMap<(u32, u32), Entitlement>,
    /// The evidence that a process belongs to a job.
    evidence: Evidence,
    containers: Containers,
    known: BTreeMap<u32, Known>,
    /// Users that are named in the configuration.
    named: BTreeMap<u32, Entitlement>,
    /// Names of groups that are.
    groups: BTreeMap<u32, String>,
    /// Entitlements of groups by name, and of users who are not named.
    entitlements: BTreeMap<String, Entitlement>,
    default: Entitlement,
    /// The administrators' group.
    admins: Option<u32>,
    /// The user of a manager of one user; `None`: this is the system's manager.
    only: Option<u32>,
    /// There are parties that the engine does not know of.
    changed: bool,
}

impl Users {
    /// Takes the configuration's names over. Parties that there were keep their numbers.
    pub(crate) fn configure(&mut self, config: &Config) {
        self.accounts = config.accounts();
        self.only = (!config.system).then(numaestro_host::own_uid);
        if !config.system {
            return;
        }
        self.changed = true;
        self.known.clear();
        self.named.clear();
        self.groups.clear();
        self.evidence = config.jobs.evidence;
        self.containers.configure(config);
        self.admins = config.service.admin_group.as_ref().and_then(|name| self.accounts.group_named(name));
        for (place, problem) in config.unknown_names() {
            warn!("{place}: {problem}");
        }
        (self.entitlements, self.default) = (config.groups.clone(), config.default.clone());
        for (name, entitled) in &config.groups {
            if let Some(gid) = self.accounts.group_named(name) {
                self.groups.insert(gid, name.clone());
                self.enter(Key::Group(name.clone()));
                info!(group = name, ?entitled, "has a part of the machine");
            }
        }
        for (name, entitled) in &config.users {
            if let Some(user) = self.accounts.user_named(name) {
                self.named.insert(user.uid, entitled.clone());
                self.enter(Key::User(user.uid));
                info!(user = name, ?entitled, "has a part of the machine");
            }
        }
    }

    fn enter(&mut self, key: Key) -> u32 {
        let at = self.keys.iter().position(|known| *known == key).unwrap_or_else(|| {
            self.changed = true;
            self.keys.push(key);
            self.keys.len() - 1
        });
        at as u32
    }

    /// Looks a user up, the first time in the accounts. One that has not been there before becomes
    /// a party.
    pub(crate) fn find(&mut self, uid: u32) -> Known {
        if self.only.is_some() {
            let entitled = Entitlement::default();
            return Known { name: String::new(), party: 0, entitled, counted_as: Some(uid) };
        }
        if let Some(known) = self.known.get(&uid) {
            return known.clone();
        }
        let user = self.accounts.user(uid);
        let key = self.key_of(uid, user.as_ref());
        let known = Known {
            name: user.as_ref().map_or_else(|| uid.to_string(), |user| label(&user.name)),
            entitled: self.entitled(&key),
            counted_as: (key != Key::Strangers).then_some(uid),
            party: self.enter(key),
        };
        // They may not fill the memory.
        if self.known.len() < KNOWN_MAX {
            self.known.insert(uid, known.clone());
        }
        known
    }

    fn key_of(&self, uid: u32, user: Option<&User>) -> Key {
        if self.named.contains_key(&uid) {
            return Key::User(uid);
        }
        let Some(user) = user else { return Key::Strangers };
        let mut groups = self.accounts.groups_of(user).into_iter();
        let named = if self.groups.is_empty() { None } else { groups.find_map(|gid| self.groups.get(&gid)) };
        named.map_or(Key::User(uid), |name| Key::Group(name.clone()))
    }

    fn entitled(&self, key: &Key) -> Entitlement {
        match key {
            Key::User(uid) => self.named.get(uid).unwrap_or(&self.default).clone(),
            // A group that the configuration does not name any more keeps its number and has the
            // default entitlement.
            Key::Group(name) => self.entitlements.get(name).unwrap_or(&self.default).clone(),
            Key::Job(uid, id) => self.jobs.get(&(*uid, *id)).unwrap_or(&self.default).clone(),
            Key::Container(party) => self.containers.entitled(party).unwrap_or(&self.default).clone(),
            Key::Strangers | Key::Vacant => self.default.clone(),
        }
    }

    /// The job that a process belongs to, where jobs are parties.
    pub(crate) fn job_of(&self, pid: u32) -> Option<Job> {
        if self.only.is_some() { None } else { jobs::job_of(pid, self.evidence) }
    }

    /// The facts of a user in a job. A job that has not been there before becomes a party, in the
    /// place of one that has ended if there is one: `is_used` says whether a job has programs, or
    /// is registered. `part`: what the job may have; where nobody knows it, a job is no party: its
    /// user would have more with each.
    pub(crate) fn find_in_job(
        &mut self,
        id: JobId,
        part: Option<Party>,
        is_used: impl Fn(u32, Option<JobId>) -> bool,
    ) -> Known {
        let (uid, number) = id;
        let known = self.find(uid);
        if known.counted_as.is_none() {
            return known;
        }
        // Everything else that the user of a manager of one user runs is its first party.
        if let (Some(only), true) = (self.only, self.keys.is_empty()) {
            self.enter(Key::User(only));
        }
        self.vacate(is_used);
        let before = self.jobs.get(&id).cloned();
        let allocated = part.map(entitlement);
        // Not each process of a job shows all that is known of it.
        let Some(entitled) = allocated.or(before.clone()) else { return known };
        self.changed |= before.as_ref() != Some(&entitled);
        self.jobs.insert(id, entitled.clone());
        let key = Key::Job(uid, number);
        let name =
            if known.name.is_empty() { format!("job {number}") } else { format!("job {number} of {}", known.name) };
        Known { name, party: self.enter_vacant(key), entitled, ..known }
    }

    /// Enters a party that ends, in the place of one that has ended if there is one.
    fn enter_vacant(&mut self, key: Key) -> u32 {
        let vacant = self.keys.iter().position(|known| *known == Key::Vacant);
        if let (Some(vacant), false) = (vacant, self.keys.contains(&key)) {
            self.keys[vacant] = key.clone();
            self.changed = true;
        }
        self.enter(key)
    }

    /// Jobs and containers that are not used have ended, or come again as new ones.
    pub(crate) fn vacate(&mut self, is_used: impl Fn(u32, Option<JobId>) -> bool) {
        for (party, key) in (0..).zip(&mut self.keys) {
            match key {
                Key::Job(uid, id) if is_used(party, Some((*uid, *id))) => continue,
                Key::Container(_) if is_used(party, None) => continue,
                Key::Job(uid, id) => drop(self.jobs.remove(&(*uid, *id))),
                Key::Container(name) => self.containers.forget(name),
                Key::Group(_) | Key::User(_) | Key::Strangers | Key::Vacant => continue,
            }
            *key = Key::Vacant;
            self.changed = true;
        }
    }

    /// The jobs that are parties, with their numbers.
    pub(crate) fn job_parties(&self) -> impl Iterator<Item = (u32, JobId)> {
        (0..).zip(&self.keys).filter_map(|(party, key)| match *key {
            Key::Job(uid, id) => Some((party, (uid, id))),
            _ => None,
        })
    }

    /// A job keeps processors from others, also while it runs nothing.
    pub(crate) fn jobs_reserve(&self) -> bool {
        self.jobs.values().any(|entitled| entitled.reserved > 0)
    }

    /// As the engine wants them.
    fn parties(&self) -> Vec<Party> {
        self.keys.iter().map(|key| party(&self.entitled(key))).collect()
    }

    /// The parties, if the engine does not know them yet.
    pub(crate) fn take_change(&mut self) -> Option<Event> {
        std::mem::take(&mut self.changed).then(|| Event::Parties { parties: self.parties() })
    }

    /// Processors that are reserved for parties, all together.
    pub(crate) fn reserved(&self) -> u32 {
        self.parties().iter().map(|party| party.reserved).sum()
    }

    /// The user that a process belongs to; one that has ended is the manager's own.
    pub(crate) fn owner_of(&self, pid: u32) -> u32 {
        let own = || procfs::identity(pid).map_or_else(|_| numaestro_host::own_uid(), |uids| uids.real);
        self.only.unwrap_or_else(own)
    }

    /// The user of this name, or of this number.
    pub(crate) fn uid_of(&self, name: &str) -> Option<u32> {
        let user = self.accounts.user_named(name);
        user.map(|user| user.uid).or_else(|| name.parse().ok())
    }

    /// The name of a user, for metrics and for people.
    pub(crate) fn name_of(&self, uid: u32) -> Option<String> {
        let known = || self.known.get(&uid).map_or_else(|| uid.to_string(), |known| known.name.clone());
        self.only.is_none().then(known)
    }

    /// The only user whose programs are managed, if it is only one.
    pub(crate) fn only(&self) -> Option<u32> {
        self.only
    }

    /// The administrators' group.
    pub(crate) fn admins(&self) -> Option<u32> {
        self.admins
    }
}

#[allow(clippy::cast_sign_loss)] // A weight has been checked to be more than 0.
fn party(entitled: &Entitlement) -> Party {
    let weight_milli = ((entitled.weight * 1000.0).round() as u32).max(1);
    Party { weight_milli, most: entitled.max.unwrap_or(u32::MAX).max(1), reserved: entitled.reserved }
}

fn entitlement(party: Party) -> Entitlement {
    let weight = f64::from(party.weight_milli) / 1000.0;
    Entitlement { weight, max: (party.most < u32::MAX).then_some(party.most), reserved: party.reserved }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn users(text: &str) -> (Users, Config, tempfile::TempDir) {
        let dir = tempfile::tempdir().unwrap();
        let accounts = dir.path().join("accounts");
        let lines = "alice:x:1001:1001::/:/bin/sh\nbob:x:1002:1002::/:/bin/sh\ncarol:x:1003:3000::/:/bin/sh\n\
                     lab:x:2000:alice,bob\nops:x:3000:bob\n";
        std::fs::write(&accounts, lines).unwrap();
        let text = format!("{text}\n[service]\naccounts = \"{}\"", accounts.display());
        let config = Config { system: true, ..Config::from_toml("f", &text).unwrap() };
        let mut users = Users::default();
        users.configure(&config);
        (users, config, dir)
    }

    #[test]
    fn named_users_then_groups_then_everybody_alone() {
        let (mut users, _config, _dir) = users(
            "[default]\nweight = 0.5\n[users.alice]\nweight = 2\n[groups.lab]\nmax = 4\n[groups.ops]\nreserved = 1",
        );
        let mut find = |uid| users.find(uid);
        let (alice, bob, carol, nobody) = (find(1001), find(1002), find(1003), find(70_000));
        assert_eq!((alice.name.as_str(), alice.entitled.weight), ("alice", 2.0));
        // bob is in lab and in ops, and in neither by his primary group.
        assert_eq!(bob.entitled.max, Some(4));
        assert_eq!(carol.entitled.reserved, 1);
        assert!((nobody.entitled.weight - 0.5).abs() < f64::EPSILON);
        assert_eq!(find(70_001).party, nobody.party, "strangers are one party");
        assert_eq!(nobody.counted_as, None);
        assert_eq!(users.known.len(), 5);
        assert_eq!(users.parties().len(), 4);
    }

    #[test]
    fn numbers_keep_their_meaning() {
        let (mut users, config, _dir) = users("[groups.lab]\nmax = 4");
        let bob = users.find(1002).party;
        let carol = users.find(1003).party;
        let without = Config { groups: BTreeMap::new(), ..config.clone() };
        users.configure(&without);
        assert_eq!(users.find(1003).party, carol);
        let alone = users.find(1002).party;
        assert!(alone != bob && alone != carol, "bob is on his own now");
        assert_eq!(users.parties()[bob as usize].most, u32::MAX);
    }

    #[test]
    fn a_job_is_a_party_with_what_it_was_allocated_until_it_has_ended() {
        let (mut users, _config, _dir) = users("[users.alice]\nmax = 1");
        let part = |cpus| Some(Party::of_job(cpus, cpus, None, None));
        let alice = users.find(1001).party;
        let unknown = users.find_in_job((1001, 7), None, |_, _| true);
        assert_eq!((unknown.party, unknown.entitled.max), (alice, Some(1)), "more jobs bring nothing more");
        let first = users.find_in_job((1001, 7), part(3), |_, _| true);
        assert_eq!((first.entitled.max, first.entitled.weight, first.name.as_str()), (Some(3), 3.0, "job 7 of alice"));
        let again = users.find_in_job((1001, 7), None, |_, _| true);
        assert_eq!(again.entitled.max, Some(3), "what is known of it stays");
        assert!(users.take_change().is_some() && users.take_change().is_none());
        let second = users.find_in_job((1001, 8), part(2), |_, _| true).party;
        let others = users.find_in_job((1002, 7), part(2), |_, _| true).party;
        assert!(![alice, first.party, second].contains(&others), "a number of one user's job says nothing to another");
        assert_eq!(users.parties()[alice as usize].most, 1, "the user's other programs keep their entitlement");
        // Jobs 7 and 8 of alice have ended; another one takes the place of the first.
        let third = users.find_in_job((1001, 9), part(1), |party, _| party == others).party;
        assert_eq!(third, first.party);
        let most: Vec<u32> = users.parties().iter().map(|party| party.most).collect();
        assert_eq!((most[third as usize], most[second as usize], most[others as usize]), (1, u32::MAX, 2));
        let stranger = users.find_in_job((70_000, 7), part(2), |_, _| true);
        assert_eq!(stranger.party, users.find(70_000).party, "a number without an account is one of the strangers");
    }
}
