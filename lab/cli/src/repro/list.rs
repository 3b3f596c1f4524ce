//! `numaestro repro list`.

use super::args::ListArgs;
use super::choose::choose;
use super::document;
use super::table::wrap;
use crate::say;
use std::fmt::Write;

/// Shows the claims.
pub fn list(args: &ListArgs) -> anyhow::Result<u8> {
    let chosen = choose(&[], args.paper.as_deref())?;
    if let Some(file) = &args.json {
        document::write(file, &document::claims(&chosen))?;
        if document::is_stdout(file) {
            return Ok(say::OK);
        }
    }
    let mut text = String::new();
    let mut before = "";
    for (paper, claim) in chosen {
        if before != paper.key {
            let gap = if before.is_empty() { "" } else { "\n" };
            let _ = writeln!(text, "{gap}{}  {}", paper.key, paper.citation);
            before = paper.key;
        }
        let _ = writeln!(text, "  {:<14} {}  {}", claim.id, claim.kind.sign(), wrap(claim.reported, 20, 96));
    }
    say::print(&text)?;
    Ok(say::OK)
}
