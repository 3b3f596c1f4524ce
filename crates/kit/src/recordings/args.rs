//! The options that name a part of a recording.

use clap::Args;

/// A part of a recording.
#[derive(Debug, Clone, Default, Args)]
pub struct PartArgs {
    /// Begin here: 14:05 (the latest such time), 14:05:30, `2026-07-09 14:05`, `10 min ago`, +90s
    /// after the first event.
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// End here.
    #[arg(long, value_name = "TIME")]
    pub until: Option<String>,
}
