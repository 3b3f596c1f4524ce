//! Puts one answer of each part together: reads and writes policy texts, and refuses combinations
//! that make no sense.

use crate::catalogue::{choose, make};
use crate::part::{Admission, Needs, Pages, Part, Placement, Share, Turns};
use crate::presets::PRESETS;
use crate::rejected::Rejected;
use crate::text;
use numaestro_topology::{Machine, PuSet};
use std::fmt;
use std::sync::LazyLock;

/// Every preset in full, and its name: writing a [`Policy`] compares with them. Reading all presets
/// anew takes longer than a decision.
static PRESETS_IN_FULL: LazyLock<Vec<(String, &'static str)>> = LazyLock::new(|| {
    let in_full = |name: &str| Policy::parse(name, 0).ok().map(|policy| policy.in_full());
    PRESETS.iter().filter_map(|preset| Some((in_full(preset.name)?, preset.name))).collect()
});

/// One answer of each part.
#[derive(Debug, Clone)]
pub struct Policy {
    /// Decides how many processors each application gets.
    pub share: Box<dyn Share>,
    /// Decides which processors each application gets.
    pub placement: Box<dyn Placement>,
    /// Decides when applications run.
    pub turns: Box<dyn Turns>,
    /// Decides where pages go.
    pub pages: Box<dyn Pages>,
    /// Decides when applications start.
    pub admission: Box<dyn Admission>,
}

impl Policy {
    /// Reads a policy text: a preset, parts as `share=dss`, or both; the empty text is the default.
    /// `seed` is for its random choices.
    ///
    /// # Errors
    /// An unknown word, or a combination that makes no sense.
    pub fn parse(text: &str, seed: u64) -> Result<Self, Rejected> {
        let [share, placement, turns, pages, admission] = choose(text)?;
        let policy = Self {
            share: make(Part::Share, crate::share::ANSWERS, share, seed)?,
            placement: make(Part::Placement, crate::placement::ANSWERS, placement, seed)?,
            turns: make(Part::Turns, crate::turns::ANSWERS, turns, seed)?,
            pages: make(Part::Pages, crate::pages::ANSWERS, pages, seed)?,
            admission: make(Part::Admission, crate::admission::ANSWERS, admission, seed)?,
        };
        policy.makes_sense()?;
        Ok(policy)
    }

    fn makes_sense(&self) -> Result<(), Rejected> {
        if self.share.grants_whole_requests() && !self.admission.queues() {
            let share = self.share.info().name;
            return Err(Rejected::new(format!(
                "share={share} gives all of the request or nothing, so applications must be able to wait: add admission=fifo, or use the preset `batch`"
            )));
        }
        if self.admission.keeps_reservations() && !self.share.grants_whole_requests() {
            let admission = self.admission.info().name;
            return Err(Rejected::new(format!(
                "admission={admission} counts on running applications keeping what they have: add share=batch, or use the preset `{admission}`"
            )));
        }
        if self.admission.needs_searches() && !self.share.searches() {
            let admission = self.admission.info().name;
            return Err(Rejected::new(format!(
                "admission={admission} goes by how well applications use what they have, which share={} does not find out: add share=pdpa, or use the preset `pdpa`",
                self.share.info().name
            )));
        }
        if self.turns.stops() && !self.share.space_shares() {
            return Err(Rejected::new(format!(
                "{} stops those that have no processors, and share={} gives processors to nobody: use turns=always",
                text::write(Part::Turns, self.turns.info(), &self.turns.parameters()),
                self.share.info().name
            )));
        }
        if !self.placement.gives_homes() {
            let needs = [
                (self.share.needs_homes(), Part::Share, self.share.info(), self.share.parameters()),
                (self.pages.needs_homes(), Part::Pages, self.pages.info(), String::new()),
            ];
            if let Some((_, part, info, parameters)) = needs.into_iter().find(|(needs, ..)| *needs) {
                return Err(Rejected::new(format!(
                    "{} needs applications to have homes, and placement={} gives none: use placement=home, base-priority, limited or repartition",
                    text::write(part, info, &parameters),
                    self.placement.info().name
                )));
            }
        }
        Ok(())
    }

    /// The needs of all parts together.
    pub fn needs(&self) -> Needs {
        self.share.needs().and(self.placement.needs()).and(self.turns.needs()).and(self.pages.needs())
    }

    /// Refuses the policy for a host that lacks something it needs.
    ///
    /// # Errors
    /// The need that the host lacks.
    pub fn check(&self, host: Needs) -> Result<(), Rejected> {
        match self.needs().lacking(host) {
            None => Ok(()),
            Some(lacking) => {
                Err(Rejected::new(format!("policy `{self}` needs {lacking}, which this host does not have")))
            }
        }
    }

    /// Refuses the policy for a machine on which it cannot be followed. `usable` are the PUs that
    /// may be given to applications.
    ///
    /// # Errors
    /// The reason why not.
    pub fn fits(&self, machine: &Machine, usable: &PuSet) -> Result<(), Rejected> {
        let fits = self.placement.fits(machine, usable);
        fits.map_err(|rejected| Rejected::new(format!("policy `{self}` cannot be used here: {}", rejected.reason)))
    }

    /// Every part in full: `share=dss placement=affinity turns=always pages=first-touch
    /// admission=share`.
    pub fn in_full(&self) -> String {
        let parts = [
            text::write(Part::Share, self.share.info(), &self.share.parameters()),
            text::write(Part::Placement, self.placement.info(), &self.placement.parameters()),
            text::write(Part::Turns, self.turns.info(), &self.turns.parameters()),
            text::write(Part::Pages, self.pages.info(), ""),
            text::write(Part::Admission, self.admission.info(), &self.admission.parameters()),
        ];
        parts.join(" ")
    }
}

impl fmt::Display for Policy {
    /// The shortest text that reads as this policy: a preset's name, or the parts in full.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let full = self.in_full();
        match PRESETS_IN_FULL.iter().find(|(preset, _)| *preset == full) {
            Some((_, name)) => f.write_str(name),
            None => f.write_str(&full),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Policy {
        Policy::parse(text, 0).unwrap_or_else(|rejected| panic!("{text}: {rejected}"))
    }

    fn reason(text: &str) -> String {
        Policy::parse(text, 0).expect_err(text).reason
    }

    #[test]
    fn the_default_and_presets() {
        assert_eq!(parse("").to_string(), "equi");
        assert_eq!(
            parse("dss").in_full(),
            "share=dss placement=affinity turns=always pages=first-touch admission=share"
        );
        assert_eq!(
            parse("batch").in_full(),
            "share=batch placement=affinity turns=always pages=first-touch admission=fifo"
        );
        for entry in crate::catalogue().iter().filter(|entry| entry.part == "preset") {
            assert_eq!(parse(entry.info.name).to_string(), entry.info.name);
        }
    }

    #[test]
    fn every_answer_can_be_named_and_reads_back() {
        for entry in crate::catalogue().iter().filter(|entry| entry.part != "preset" && entry.info.name != "batch") {
            let places = if entry.info.name == "fixed" { "(at=1-2-;--1-)" } else { "" };
            let share = match entry.info.name {
                "fcfs" | "easy" => " share=batch",
                "multiprogramming" => " share=pdpa",
                _ => "",
            };
            // Pages can go home only where there are homes.
            let homes = if (entry.part, entry.info.name) == ("pages", "home") { " placement=home" } else { "" };
            let policy = parse(&format!("{}={}{places}{share}{homes}", entry.part, entry.info.name));
            assert!(policy.in_full().contains(&format!("{}={}", entry.part, entry.info.name)));
            assert_eq!(parse(&policy.to_string()).in_full(), policy.in_full());
        }
    }

    #[test]
    fn parameters_read_back() {
        for text in [
            "placement=worst-fit(level=node)",
            "placement=first-fit(equal=6,tie=lowest)",
            "share=cluster(unit=2)",
            "share=equi(by=max)",
            "share=pdpa(base=8,step=4,efficiency=0.65,high=0.8,tests=0,quantum=50ms,patience=2s)",
            "share=pdpa admission=multiprogramming(initial=2,max=9,base=2,finish=test)",
            "turns=sw-dss(k=1.5,quantum=50ms)",
            "turns=ssw-dss(k=2)",
            "turns=round-robin(quantum=200ms)",
            "turns=vtq-dss(k=0.5,quantum=200ms,min=20ms)",
            "share=demand(idle=keep)",
            "placement=home(tie=lowest)",
            "share=equip(leftover=worklist)",
            "placement=affinity(tie=random)",
            "placement=worst-fit(sizes=4+8)",
            "placement=worst-fit-jobs(levels=package/llc)",
            "placement=best-fit(levels=12/4,in-pool=affinity)",
            "placement=first-fit(tie=lowest,in-pool=random)",
            "placement=empty-pool(level=machine,overflow=deny)",
            "placement=localized(tie=lowest)",
            "placement=repartition(level=node,tie=random,memory=0,move=9)",
            "placement=fixed(at=----/---3/--42/---1)",
            "turns=rr(quantum=50ms)",
            "turns=b2arr(first=30%,of=bandwidth,quantum=2s)",
            "turns=b2adss(mult=3)",
            "turns=lqg(quantum=200ms)",
            "turns=qwg(window=3,quantum=1500us)",
            "turns=fitness(first=25%,base=equip(leftover=worklist))",
            "turns=chunks(mult=4,quantum=10ms,share=cluster(unit=2))",
        ] {
            let policy = parse(text);
            assert!(text.split(' ').all(|word| policy.in_full().contains(word)), "{text}: {}", policy.in_full());
            assert_eq!(parse(&policy.in_full()).in_full(), policy.in_full());
        }
    }

    #[test]
    fn a_part_replaces_what_the_preset_says() {
        assert!(parse("dss admission=fifo").in_full().starts_with("share=dss"));
        assert!(parse("admission=share batch share=equi").in_full().ends_with("admission=share"));
    }

    #[test]
    fn names_are_read_in_any_case() {
        for entry in crate::catalogue().iter().filter(|entry| entry.part == "preset") {
            let name = entry.info.name;
            assert_eq!(parse(&name.to_lowercase()).to_string(), name);
            assert_eq!(parse(&name.to_uppercase()).to_string(), name);
        }
        let mixed = parse("Share=DSS Placement=Worst-Fit(level=node)");
        assert_eq!(mixed.in_full(), parse("share=dss placement=worst-fit(level=node)").in_full());
    }

    #[test]
    fn refusals_say_what_was_probably_meant() {
        assert!(reason("hs-cno").contains("did you mean `HS-Con`?"), "{}", reason("hs-cno"));
        assert!(reason("share=ds").contains("did you mean `dss`?"), "{}", reason("share=ds"));
        assert!(reason("placment=affinity").contains("did you mean `placement`?"));
        assert!(reason("placement=worst-fit(levle=node)").contains("did you mean `level`?"));
        assert!(reason("placement=worst-fit(level=nod)").contains("did you mean `node`?"));
        assert!(!reason("nonsense").contains("did you mean"));
    }

    #[test]
    fn refusals_say_what_there_is() {
        assert!(reason("nonsense").contains("equi, equip, cluster, dss, batch, fifo"));
        assert!(reason("affinity").contains("placement=affinity"));
        assert!(reason("share=nonsense").contains("equi, equip, cluster, dss, batch"));
        assert!(reason("colour=red").contains("share, placement, turns, pages, admission"));
        assert!(reason("dss equi").contains("second preset"));
        assert!(reason("share=dss share=equi").contains("twice"));
        assert!(reason("share=batch").contains("admission=fifo"));
        assert!(reason("share=equi admission=multiprogramming").contains("share=pdpa"));
        assert!(reason("pdpa share=dss").contains("share=dss does not find out"));
        assert!(reason("share=pdpa(high=0.5)").contains("below efficiency=0.7"));
        assert!(reason("share=pdpa(tests=many)").contains("from 0 to 100"));
        assert!(reason("share=pdpa(efficiency=0.12345)").contains("such as 0.7"));
        assert!(reason("turns=vtq-dss(min=200ms)").contains("more than quantum=100ms"));
        assert!(reason("turns=sw-dss(k=0)").contains("such as 0.7 or 1.5"));
        assert!(reason("share=equi admission=easy").contains("share=batch"));
        assert!(reason("share=demand(idle=home)").contains("placement=affinity gives none"));
        assert!(reason("linux24 turns=tick").contains("turns=always"));
        assert!(reason("placement=worst-fit(level=moon)").contains("llc, node"));
        assert!(reason("placement=worst-fit(colour=red)").contains("level, equal, sizes, levels, tie, in-pool"));
        assert!(reason("placement=worst-fit(equal=0)").contains("from 1"));
        assert!(reason("placement=worst-fit(equal=2,level=llc)").contains("one of them"));
        assert!(reason("placement=worst-fit(level=llc").contains("parenthesis"));
        assert!(reason("share=dss(weight=2)").contains("no parameters"));
        assert!(reason("placement=worst-fit(sizes=4+0)").contains("sizes=4+8"));
        assert!(reason("placement=worst-fit(levels=llc/package)").contains("outermost first"));
        assert!(reason("placement=worst-fit(levels=4/12)").contains("outermost first"));
        assert!(reason("placement=worst-fit(overflow=deny)").contains("unknown"));
        assert!(reason("placement=fixed").contains("at=----"));
        assert!(reason("placement=repartition(move=1001)").contains("from 0 to 1000"));
        assert!(reason("turns=rr(quantum=fast)").contains("such as 100ms"));
        assert!(reason("turns=b2arr(first=120%)").contains("from 0% to 100%"));
        assert!(reason("turns=b2adss(mult=65)").contains("from 1 to 64"));
        assert!(reason("turns=qwg(window=33)").contains("from 1 to 32"));
        assert!(reason("turns=chunks(share=nonsense)").contains("there is no share `nonsense`"));
        assert!(reason("turns=chunks(share=equip(leftover=x))").contains("idle, worklist"));
        assert!(reason("turns=fitness(base=linux24)").contains("equip and cluster do not"));
        assert!(reason("placement=fixed(at=1-3-)").contains("numbered 1, 2, 3"));
    }

    #[test]
    fn native_is_another_name() {
        assert_eq!(parse("native").to_string(), "linux24");
    }

    #[test]
    fn a_machine_it_does_not_fit() {
        let machine = numaestro_topology::synthetic::parse("numa:4 core:4 pu:1").unwrap();
        let usable: PuSet = "4-15".parse().unwrap();
        let fits = |text: &str| parse(text).fits(&machine, &usable).map_err(|rejected| rejected.reason);
        assert_eq!(fits("worst-fit"), Ok(()));
        assert_eq!(fits("placement=worst-fit(sizes=8+4)"), Ok(()));
        assert!(fits("placement=worst-fit(sizes=8+5)").unwrap_err().contains("13 processors in all, but there are 12"));
        assert!(fits("placement=fixed(at=1234)").unwrap_err().contains("the machine has 16 processors"));
    }

    #[test]
    fn a_host_that_cannot_feed_it() {
        assert!(parse("dss").check(Needs::REQUESTS).is_ok());
        assert!(parse("dss").check(Needs::NONE).unwrap_err().reason.contains("requests"));
    }
}
