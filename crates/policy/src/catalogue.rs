//! All answers and presets there are, for people. Knows nothing of what they do.

mod bandwidth;

use crate::part::Info;
pub(crate) use bandwidth::{B2ADSS, B2ARR, CHUNKS, FITNESS, LQG, QWG, RR};

pub(crate) const EQUI: Info = Info {
    name: "equi",
    summary: "Everybody the same, weighted, and what one cannot use the others get",
    source: "EQUI, Koita et al. §3.2; water-filling with weights and bounds",
};
pub(crate) const EQUIP: Info = Info {
    name: "equip",
    summary: "Divide by the number of applications and leave unused what that leaves over",
    source: "Martorell et al. 2000, §4.1",
};
pub(crate) const CLUSTER: Info = Info {
    name: "cluster",
    summary: "Units of four processors, round after round in order of arrival",
    source: "Martorell et al. 2000, §4.2",
};
pub(crate) const DSS: Info = Info {
    name: "dss",
    summary: "In proportion to what each application asks for",
    source: "Martorell et al. 2000, §4.3",
};
pub(crate) const BATCH: Info = Info {
    name: "batch",
    summary: "All of the request or nothing, first come first served, until the end",
    source: "named in Martorell et al. 2000, §4",
};
pub(crate) const DEMAND: Info = Info {
    name: "demand",
    summary: "One for each thread that could run, as long as there are free ones; idle ones go back",
    source: "Koita et al. §2.2; Brecht 1997, §2",
};
pub(crate) const DYNAMIC: Info = Info {
    name: "dynamic",
    summary: "On demand, from who has most: free ones, then idle ones, then by preemption",
    source: "McCann, Vaswani, Zahorjan 1993; DYN of Koita et al. §3.2",
};
pub(crate) const PDPA: Info = Info {
    name: "pdpa",
    summary: "As many as each application uses well, by the speedup it measures",
    source: "Performance-Driven Processor Allocation, Martorell et al. 2000, §4.4",
};
pub(crate) const AFFINITY: Info = Info {
    name: "affinity",
    summary: "Back to the application it ran before, else to the nearest",
    source: "Martorell et al. 2000, §3.4; Brecht 1993, §4",
};
pub(crate) const FIRST_FIT: Info =
    Info { name: "first-fit", summary: "The first pool with a free processor", source: "Brecht 1997, §6" };
pub(crate) const BEST_FIT: Info =
    Info { name: "best-fit", summary: "The pool with the fewest free processors", source: "Brecht 1997, §6" };
pub(crate) const WORST_FIT: Info =
    Info { name: "worst-fit", summary: "The pool with the most free processors", source: "Brecht 1997, §6.2" };
pub(crate) const WORST_FIT_JOBS: Info =
    Info { name: "worst-fit-jobs", summary: "The pool with the fewest applications", source: "Brecht 1997, §8" };
pub(crate) const EMPTY_POOL: Info =
    Info { name: "empty-pool", summary: "A pool that nobody is in, or wait", source: "Brecht 1997, §6.2" };
pub(crate) const LOCALIZED: Info = Info {
    name: "localized",
    summary: "As near as possible to the application's first processor, level by level",
    source: "Brecht 1993, §4",
};
pub(crate) const FIXED: Info =
    Info { name: "fixed", summary: "Exactly where the policy's text says", source: "Brecht 1993, §7" };
pub(crate) const LINUX24: Info = Info {
    name: "linux24",
    summary: "As without a manager: everybody everywhere with all its threads (also called `native`)",
    source: "Antonopoulos et al. 2004, §5",
};
pub(crate) const SGI_MP: Info = Info {
    name: "sgi-mp",
    summary: "Everybody everywhere; each program guesses the load once a second and adapts its threads",
    source: "Martorell et al. 2000, §3.1",
};
pub(crate) const BASE_PRIORITY: Info = Info {
    name: "base-priority",
    summary: "Where it has been before, else where most of it is, else where most is free",
    source: "Koita et al. §2.2",
};
pub(crate) const HOME: Info = Info {
    name: "home",
    summary: "A node to itself, and beyond it only nodes that are nobody's home",
    source: "Koita et al. §2.1, §2.2.2",
};
pub(crate) const REPARTITION: Info = Info {
    name: "repartition",
    summary: "All programs together as local as can be: few processors move, and only where it pays",
    source: "left open in Brecht 1997, §2, §5.3, §6",
};
pub(crate) const LIMITED: Info = Info {
    name: "limited",
    summary: "Inside one node for life; nodes are shared",
    source: "Ohishi, Saisho, Fukuda 1997; LIM of Koita et al. §3.2",
};
pub(crate) const ALWAYS: Info =
    Info { name: "always", summary: "Everybody runs all the time, side by side", source: "Martorell et al. 2000, §1" };
pub(crate) const TICK: Info = Info {
    name: "tick",
    summary: "Everybody runs, and counts hold for a quantum; what is released before goes to who wants more",
    source: "Martorell et al. 2000, §3.4",
};
pub(crate) const ROUND_ROBIN: Info = Info {
    name: "round-robin",
    summary: "In turn, each with all it asks for, as many as fit into a quantum",
    source: "named in Martorell et al. 2000, §4",
};
pub(crate) const SW_DSS: Info = Info {
    name: "sw-dss",
    summary: "A window of applications that fit together, then the next window",
    source: "SW-DSS, Martorell et al. 2000, §4.3",
};
pub(crate) const SSW_DSS: Info = Info {
    name: "ssw-dss",
    summary: "A window of applications that moves on by one application every quantum",
    source: "SSW-DSS, Martorell et al. 2000, §4.3",
};
pub(crate) const VTQ_DSS: Info = Info {
    name: "vtq-dss",
    summary: "Gangs in which everybody runs as long as makes processor time equal",
    source: "VTQ-DSS, Martorell et al. 2000, §4.3",
};
pub(crate) const FIRST_TOUCH: Info = Info {
    name: "first-touch",
    summary: "A page goes to the node of the processor that touches it first",
    source: "Dist, Koita et al. §2.3",
};
pub(crate) const PAGES_HOME: Info =
    Info { name: "home", summary: "All pages of an application go to its home", source: "Con, Koita et al. §2.3" };
pub(crate) const INTERLEAVE: Info = Info {
    name: "interleave",
    summary: "Pages go in turn to the nodes of the application's own processors",
    source: "asked for in Brecht 1993, §6",
};
pub(crate) const ADMIT_SHARE: Info = Info {
    name: "share",
    summary: "Everybody starts; with more applications than processors several run on one",
    source: "numaestro",
};
pub(crate) const FIFO: Info = Info {
    name: "fifo",
    summary: "An application starts when it can have processors of its own; the queue is visible",
    source: "Brecht 1997, §6; Koita et al.",
};
pub(crate) const FCFS: Info = Info {
    name: "fcfs",
    summary: "Strictly in order of arrival, when all of the request is free",
    source: "Mu'alem and Feitelson 2001, §2",
};
pub(crate) const EASY: Info = Info {
    name: "easy",
    summary: "In order of arrival; who delays nobody at the head, by the users' estimates, may overtake",
    source: "Lifka 1995, §3; Mu'alem and Feitelson 2001, §2",
};
pub(crate) const MULTIPROGRAMMING: Info = Info {
    name: "multiprogramming",
    summary: "As many at once as use the machine well: more when those that run cannot use the rest",
    source: "Martorell et al. 2000, §4.4 and §6.4",
};
pub(crate) const LOWEST: Info = Info {
    name: "lowest",
    summary: "The free processors with the lowest numbers, wherever they are",
    source: "the usual allocation of job logs' simulators",
};

/// What a preset's name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Preset {
    pub info: Info,
    /// In the words of a policy text; parts that are not named are the default.
    pub parts: &'static str,
}

/// Presets; the first is the default.
pub(crate) const PRESETS: &[Preset] = &[
    Preset { info: Info { name: "equi", ..EQUI }, parts: "share=equi" },
    Preset { info: Info { name: "equip", ..EQUIP }, parts: "share=equip" },
    Preset { info: Info { name: "cluster", ..CLUSTER }, parts: "share=cluster" },
    Preset { info: Info { name: "dss", ..DSS }, parts: "share=dss" },
    Preset { info: Info { name: "batch", ..BATCH }, parts: "share=batch admission=fifo" },
    Preset {
        info: Info {
            name: "fifo",
            summary: "As equi, but applications wait for processors of their own",
            source: FIFO.source,
        },
        parts: "share=equi admission=fifo",
    },
    Preset { info: FCFS, parts: "share=batch placement=lowest admission=fcfs" },
    Preset { info: EASY, parts: "share=batch placement=lowest admission=easy" },
    pool_preset(WORST_FIT, "share=demand placement=worst-fit admission=fifo"),
    pool_preset(FIRST_FIT, "share=demand placement=first-fit admission=fifo"),
    pool_preset(BEST_FIT, "share=demand placement=best-fit admission=fifo"),
    pool_preset(WORST_FIT_JOBS, "share=demand placement=worst-fit-jobs admission=fifo"),
    pool_preset(EMPTY_POOL, "share=demand placement=empty-pool admission=fifo"),
    pool_preset(LOCALIZED, "share=demand placement=localized admission=fifo"),
    pool_preset(NO_POOL, "share=demand placement=worst-fit(level=machine) admission=fifo"),
    Preset {
        info: Info {
            name: "FR-Dist",
            summary: "On demand, idle processors are released",
            source: "Koita et al. §2.2.1 (a), §2.3 (a)",
        },
        parts: "share=demand placement=base-priority admission=fifo",
    },
    Preset {
        info: Info {
            name: "FR-Con",
            summary: "On demand, idle processors are released; pages at home",
            source: "Koita et al. §2.2.1 (a), §2.3 (b)",
        },
        parts: "share=demand placement=base-priority pages=home admission=fifo",
    },
    Preset {
        info: Info {
            name: "FR-lazy-Dist",
            summary: "On demand, idle processors stay until somebody wants them",
            source: "Koita et al. §2.2.1 (a), read literally",
        },
        parts: "share=demand(idle=lazy) placement=base-priority admission=fifo",
    },
    Preset {
        info: Info {
            name: "FH-Dist",
            summary: "On demand, idle processors are held until the end",
            source: "Koita et al. §2.2.1 (b), §2.3 (a)",
        },
        parts: "share=demand(idle=keep) placement=base-priority admission=fifo",
    },
    Preset {
        info: Info {
            name: "FH-Con",
            summary: "On demand, idle processors are held until the end; pages at home",
            source: "Koita et al. §2.2.1 (b), §2.3 (b)",
        },
        parts: "share=demand(idle=keep) placement=base-priority pages=home admission=fifo",
    },
    Preset {
        info: Info {
            name: "FP-Dist",
            summary: "On demand, idle processors are held in the first processor's node",
            source: "Koita et al. §2.2.1 (c), §2.3 (a)",
        },
        parts: "share=demand(idle=home) placement=base-priority admission=fifo",
    },
    Preset {
        info: Info {
            name: "FP-Con",
            summary: "On demand, idle processors are held in the first processor's node; pages at home",
            source: "Koita et al. §2.2.1 (c), §2.3 (b)",
        },
        parts: "share=demand(idle=home) placement=base-priority pages=home admission=fifo",
    },
    Preset {
        info: Info {
            name: "HB-Dist",
            summary: "On demand from a node of its own, whose idle processors stay",
            source: "Koita et al. §2.2.2 (d), §2.3 (a)",
        },
        parts: "share=demand(idle=home) placement=home admission=fifo",
    },
    Preset {
        info: Info {
            name: "HB-Con",
            summary: "On demand from a node of its own, whose idle processors stay; pages at home",
            source: "Koita et al. §2.2.2 (d), §2.3 (b)",
        },
        parts: "share=demand(idle=home) placement=home pages=home admission=fifo",
    },
    Preset {
        info: Info {
            name: "HS-Dist",
            summary: "On demand from a node of its own, and what runs elsewhere slides home",
            source: "Koita et al. §2.2.2 (e), §2.3 (a)",
        },
        parts: "share=demand(idle=slide) placement=home admission=fifo",
    },
    Preset {
        info: Info {
            name: "HS-Con",
            summary: "On demand from a node of its own, and what runs elsewhere slides home; pages at home",
            source: "Koita et al. §2.2.2 (e), §2.3 (b)",
        },
        parts: "share=demand(idle=slide) placement=home pages=home admission=fifo",
    },
    Preset {
        info: Info {
            name: "EQUI-Dist",
            summary: "Everybody the same, kept while requests change",
            source: "EQUI of Koita et al. §3.2",
        },
        parts: "share=equi(by=max) placement=base-priority admission=fifo",
    },
    Preset {
        info: Info {
            name: "DYN-Dist",
            summary: "On demand, from who has most, by preemption if need be",
            source: "DYN of Koita et al. §3.2",
        },
        parts: "share=dynamic placement=base-priority admission=fifo",
    },
    Preset {
        info: Info {
            name: "LIM-Dist",
            summary: "On demand, inside one node for life",
            source: "LIM of Koita et al. §3.2",
        },
        parts: "share=demand placement=limited admission=fifo",
    },
    Preset {
        info: Info {
            name: "equi-pools",
            summary: "Everybody the same, each as local as can be; processors move where that pays",
            source: "repartitioning with pools, left open in Brecht 1997, §2, §6",
        },
        parts: "share=equi placement=repartition",
    },
    Preset { info: PDPA, parts: "share=pdpa admission=multiprogramming" },
    Preset { info: ROUND_ROBIN, parts: "share=dss turns=round-robin" },
    Preset { info: SW_DSS, parts: "share=dss turns=sw-dss" },
    Preset { info: SSW_DSS, parts: "share=dss turns=ssw-dss" },
    Preset { info: VTQ_DSS, parts: "share=dss turns=vtq-dss" },
    Preset { info: RR, parts: "share=dss turns=rr" },
    Preset { info: B2ARR, parts: "share=dss turns=b2arr" },
    Preset { info: B2ADSS, parts: "share=dss turns=b2adss" },
    Preset { info: LQG, parts: "share=dss turns=lqg" },
    Preset { info: QWG, parts: "share=dss turns=qwg" },
    Preset { info: LINUX24, parts: "share=linux24" },
    Preset { info: SGI_MP, parts: "share=sgi-mp" },
    Preset {
        info: Info {
            name: "nanos-equip",
            summary: "As equip, decided anew each quantum",
            source: "Martorell et al. 2000, §3.4, §4.1",
        },
        parts: "share=equip turns=tick",
    },
    Preset {
        info: Info {
            name: "nanos-cluster",
            summary: "As cluster, decided anew each quantum",
            source: "Martorell et al. 2000, §3.4, §4.2",
        },
        parts: "share=cluster turns=tick",
    },
    Preset {
        info: Info {
            name: "nanos-dss",
            summary: "As dss, decided anew each quantum",
            source: "Martorell et al. 2000, §3.4, §4.3",
        },
        parts: "share=dss turns=tick",
    },
];

/// Processors on demand, one for each thread, and applications that wait for their first one (Brecht 1993 and 1997).
const fn pool_preset(info: Info, parts: &'static str) -> Preset {
    Preset { info, parts }
}

/// One pool of all: the preset that the others of the family are compared with.
const NO_POOL: Info =
    Info { name: "nopool", summary: "Processors on demand, any that is free", source: "Brecht 1997, §5.1" };

/// Other names of presets.
pub(crate) const ALIASES: &[(&str, &str)] = &[("native", "linux24")];

/// One line of `policy list`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// `preset`, or the name of a part.
    pub part: &'static str,
    /// For people.
    pub info: Info,
}

/// Everything there is: presets first, then part by part, the default of each part first.
pub fn catalogue() -> Vec<Entry> {
    let presets = PRESETS.iter().map(|preset| Entry { part: "preset", info: preset.info });
    let answers = crate::text::ANSWERS.iter().map(|answer| Entry { part: answer.part.name(), info: answer.info });
    presets.chain(answers).collect()
}
