//! A manager without the command around it: `manager daemon --dir DIR`, with `DIR/config.toml` if that is there. The tests start it.

use std::path::PathBuf;

use anyhow::{Context, Result};
use numaestro_daemon::{Config, main_loop};

fn main() -> Result<()> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_ansi(false).init();
    let dir = std::env::args().skip_while(|argument| argument != "--dir").nth(1);
    let dir = PathBuf::from(dir.context("usage: manager daemon --dir DIR")?);
    let file = dir.join("config.toml");
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    let mut config = Config::from_toml(&file.display().to_string(), &text)?;
    config.dir = dir;
    main_loop(config)
}
