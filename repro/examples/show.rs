use numaestro_repro::*;
fn main() {
    let want: Vec<String> = std::env::args().skip(1).collect();
    let lab = Lab::new(Statistics::Full);
    for (_, claim) in claims().filter(|(_, c)| want.is_empty() || want.iter().any(|w| c.id.contains(w.as_str()))) {
        let start = std::time::Instant::now();
        let finding = claim.judge(&lab);
        println!("{} {:?} ({:.2} s)", claim.id, finding.status, start.elapsed().as_secs_f64());
        for v in &finding.ours { println!("     {} {} {}", v.name, v.estimate, v.unit); }
        for d in &finding.evidence { println!("   {} {} | paper {} | ours {}", if d.holds {"ok "} else {"MISS"}, d.what, d.paper, d.ours); }
    }
}
