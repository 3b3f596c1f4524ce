//! Figure 1 and table 1: the machine and the names of the policies.

use super::TEN;
use crate::{Estimate, Finding, Judge, Lab, Trouble};
use numaestro_policy::Policy;
use numaestro_sim::machine::{self, Op};
use numaestro_topology::{NumaNodeId, PuId};

/// K-Fig1.
pub fn model(_: &Lab) -> Result<Finding, Trouble> {
    let model = machine::named("k64", 0).ok_or_else(|| Trouble::new("k64", "there is no such machine"))?;
    let mut judge = Judge::new();
    let (pus, nodes) = (model.topology.pu_count(), model.topology.numa_nodes());
    judge.value("processors", "", Estimate::exact(pus as f64)).value(
        "clusters",
        "",
        Estimate::exact(nodes.len() as f64),
    );
    judge.demand("64 processors", "64", pus, pus == 64);
    let of_four = nodes.iter().filter(|node| node.pus.len() == 4).count();
    judge.demand("16 clusters of four, a memory module each", "16", of_four, of_four == 16 && nodes.len() == 16);
    let hit = model.access.hit_ps as f64;
    let mut costs: Vec<(bool, f64)> = Vec::new();
    for pu in (0..pus as u32).map(PuId) {
        for node in (0..nodes.len() as u32).map(NumaNodeId) {
            let cost = (model.node_of(pu) == node, model.cost_ps(pu, node, Op::Line) as f64 / hit);
            if !costs.contains(&cost) {
                costs.push(cost);
            }
        }
    }
    costs.sort_by(|a, b| a.1.total_cmp(&b.1));
    let as_printed = costs == [(true, 1.3), (false, 4.8)];
    let ratios: Vec<String> = costs.iter().map(|(_, cost)| cost.to_string()).collect();
    judge.demand(
        "cost of own and of other modules, in accesses to the cache",
        "1.3, 4.8",
        ratios.join(", "),
        as_printed,
    );
    Ok(judge.verdict(""))
}

/// K-Tab1.
#[allow(clippy::unnecessary_wraps)] // Claims have one signature.
pub fn ten_policies(_: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    let mut known = 0;
    for name in TEN {
        let (scheme, pages) = name.split_once('-').unwrap_or((name, ""));
        let parts = match scheme {
            "FR" => "share=demand placement=base-priority",
            "FH" => "share=demand(idle=keep) placement=base-priority",
            "FP" => "share=demand(idle=home) placement=base-priority",
            "HB" => "share=demand(idle=home) placement=home",
            _ => "share=demand(idle=slide) placement=home",
        };
        let pages = if pages == "Con" { "home" } else { "first-touch" };
        let expected = format!("{parts} turns=always pages={pages} admission=fifo");
        let found = Policy::parse(name, 0).map(|policy| (policy.to_string(), policy.in_full()));
        let right = found.as_ref().is_ok_and(|(text, full)| text == name && *full == expected);
        known += u32::from(right);
        judge.demand(format!("{name} is {expected}"), name, found.map_or_else(|no| no.reason, |(_, full)| full), right);
    }
    judge.value("policies of table 1", "", Estimate::exact(f64::from(known)));
    Ok(judge.verdict(""))
}
