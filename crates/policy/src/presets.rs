//! Presets: names for combinations of answers, as the papers give them.

/// A name, and the answers that it stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preset {
    /// Its name in policy texts.
    pub name: &'static str,
    /// Its answers as a policy text; parts that are not named are the default.
    pub parts: &'static str,
    /// A sentence, and paper and section; `None`: those of the answer of the same name.
    pub about: Option<(&'static str, &'static str)>,
}

impl Preset {
    const fn new(name: &'static str, parts: &'static str, summary: &'static str, source: &'static str) -> Self {
        Self { name, parts, about: Some((summary, source)) }
    }

    /// The preset of an answer, with the other answers that it needs.
    const fn of_answer(name: &'static str, parts: &'static str) -> Self {
        Self { name, parts, about: None }
    }
}

/// All presets; the first is the default.
#[rustfmt::skip] // A table.
pub const PRESETS: &[Preset] = &[
    Preset::of_answer("equi", "share=equi"),
    Preset::of_answer("equip", "share=equip"),
    Preset::of_answer("cluster", "share=cluster"),
    Preset::of_answer("dss", "share=dss"),
    Preset::of_answer("batch", "share=batch admission=fifo"),
    Preset::new("fifo", "share=equi admission=fifo",
        "As equi, but applications wait for processors of their own", "Brecht 1997, §6; Koita et al."),
    Preset::of_answer("fcfs", "share=batch placement=lowest admission=fcfs"),
    Preset::of_answer("easy", "share=batch placement=lowest admission=easy"),
    Preset::of_answer("worst-fit", "share=demand placement=worst-fit admission=fifo"),
    Preset::of_answer("first-fit", "share=demand placement=first-fit admission=fifo"),
    Preset::of_answer("best-fit", "share=demand placement=best-fit admission=fifo"),
    Preset::of_answer("worst-fit-jobs", "share=demand placement=worst-fit-jobs admission=fifo"),
    Preset::of_answer("empty-pool", "share=demand placement=empty-pool admission=fifo"),
    Preset::of_answer("localized", "share=demand placement=localized admission=fifo"),
    Preset::new("nopool", "share=demand placement=worst-fit(level=machine) admission=fifo",
        "Processors on demand, any that is free", "Brecht 1997, §5.1"),
    Preset::new("FR-Dist", "share=demand placement=base-priority admission=fifo",
        "On demand, idle processors are released", "Koita et al. §2.2.1 (a), §2.3 (a)"),
    Preset::new("FR-Con", "share=demand placement=base-priority pages=home admission=fifo",
        "On demand, idle processors are released; pages at home", "Koita et al. §2.2.1 (a), §2.3 (b)"),
    Preset::new("FR-lazy-Dist", "share=demand(idle=lazy) placement=base-priority admission=fifo",
        "On demand, idle processors stay until somebody wants them", "Koita et al. §2.2.1 (a), read literally"),
    Preset::new("FH-Dist", "share=demand(idle=keep) placement=base-priority admission=fifo",
        "On demand, idle processors are held until the end", "Koita et al. §2.2.1 (b), §2.3 (a)"),
    Preset::new("FH-Con", "share=demand(idle=keep) placement=base-priority pages=home admission=fifo",
        "On demand, idle processors are held until the end; pages at home", "Koita et al. §2.2.1 (b), §2.3 (b)"),
    Preset::new("FP-Dist", "share=demand(idle=home) placement=base-priority admission=fifo",
        "On demand, idle processors are held in the first processor's node", "Koita et al. §2.2.1 (c), §2.3 (a)"),
    Preset::new("FP-Con", "share=demand(idle=home) placement=base-priority pages=home admission=fifo",
        "On demand, idle processors are held in the first processor's node; pages at home", "Koita et al. §2.2.1 (c), §2.3 (b)"),
    Preset::new("HB-Dist", "share=demand(idle=home) placement=home admission=fifo",
        "On demand from a node of its own, whose idle processors stay", "Koita et al. §2.2.2 (d), §2.3 (a)"),
    Preset::new("HB-Con", "share=demand(idle=home) placement=home pages=home admission=fifo",
        "On demand from a node of its own, whose idle processors stay; pages at home", "Koita et al. §2.2.2 (d), §2.3 (b)"),
    Preset::new("HS-Dist", "share=demand(idle=slide) placement=home admission=fifo",
        "On demand from a node of its own, and what runs elsewhere slides home", "Koita et al. §2.2.2 (e), §2.3 (a)"),
    Preset::new("HS-Con", "share=demand(idle=slide) placement=home pages=home admission=fifo",
        "On demand from a node of its own, and what runs elsewhere slides home; pages at home", "Koita et al. §2.2.2 (e), §2.3 (b)"),
    Preset::new("EQUI-Dist", "share=equi(by=max) placement=base-priority admission=fifo",
        "Everybody the same, kept while requests change", "EQUI of Koita et al. §3.2"),
    Preset::new("DYN-Dist", "share=dynamic placement=base-priority admission=fifo",
        "On demand, from who has most, by preemption if need be", "DYN of Koita et al. §3.2"),
    Preset::new("LIM-Dist", "share=demand placement=limited admission=fifo",
        "On demand, inside one node for life", "LIM of Koita et al. §3.2"),
    Preset::new("equi-pools", "share=equi placement=repartition",
        "Everybody the same, each as local as can be; processors move where that pays", "repartitioning with pools, left open in Brecht 1997, §2, §6"),
    Preset::of_answer("pdpa", "share=pdpa admission=multiprogramming"),
    Preset::of_answer("round-robin", "share=dss turns=round-robin"),
    Preset::of_answer("sw-dss", "share=dss turns=sw-dss"),
    Preset::of_answer("ssw-dss", "share=dss turns=ssw-dss"),
    Preset::of_answer("vtq-dss", "share=dss turns=vtq-dss"),
    Preset::of_answer("rr", "share=dss turns=rr"),
    Preset::of_answer("b2arr", "share=dss turns=b2arr"),
    Preset::of_answer("b2adss", "share=dss turns=b2adss"),
    Preset::of_answer("lqg", "share=dss turns=lqg"),
    Preset::of_answer("qwg", "share=dss turns=qwg"),
    Preset::of_answer("linux24", "share=linux24"),
    Preset::of_answer("sgi-mp", "share=sgi-mp"),
    Preset::new("nanos-equip", "share=equip turns=tick",
        "As equip, decided anew each quantum", "Martorell et al. 2000, §3.4, §4.1"),
    Preset::new("nanos-cluster", "share=cluster turns=tick",
        "As cluster, decided anew each quantum", "Martorell et al. 2000, §3.4, §4.2"),
    Preset::new("nanos-dss", "share=dss turns=tick",
        "As dss, decided anew each quantum", "Martorell et al. 2000, §3.4, §4.3"),
];

/// Other names of presets.
pub const ALIASES: &[(&str, &str)] = &[("native", "linux24")];
