//! Parses the line of `/proc/PID/stat` (proc(5)).

/// `linux/sched.h`.
const PF_KTHREAD: u64 = 0x0020_0000;

/// The fields that are used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stat {
    /// Process (or thread) id.
    pub pid: u32,
    /// Its name, at most 15 bytes, any characters.
    pub name: String,
    /// `R` running, `S` sleeping, `D` in a device, `Z` ended, …
    pub state: char,
    /// Process id of the parent.
    pub parent: u32,
    /// The session: the process that began it.
    pub session: u32,
    /// It is a thread of the kernel.
    pub kernel: bool,
    /// User and system time in clock ticks.
    pub cpu_ticks: u64,
    /// The same of children that have been waited for.
    pub children_ticks: u64,
    /// Number of its threads.
    pub threads: u32,
    /// Clock ticks after boot.
    pub start_time: u64,
    /// OS index of the processor it ran on last.
    pub processor: u32,
}

/// Reads the line; the name may contain blanks and parentheses, so it ends at the last `)`.
pub fn parse_stat(line: &str) -> Option<Stat> {
    let open = line.find('(')?;
    let close = line.rfind(')')?;
    let pid = line[..open].trim().parse().ok()?;
    let name = line.get(open + 1..close)?.to_owned();
    // Field numbers of proc(5) minus 3: `state` is field 3.
    let fields: Vec<&str> = line[close + 1..].split_ascii_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<i64>().ok().map(|value| value.max(0).cast_unsigned());
    Some(Stat {
        pid,
        name,
        state: fields.first()?.chars().next()?,
        parent: number(1)? as u32,
        session: number(3)? as u32,
        kernel: number(6)? & PF_KTHREAD != 0,
        cpu_ticks: number(11)? + number(12)?,
        children_ticks: number(13)? + number(14)?,
        threads: number(17)? as u32,
        start_time: number(19)?,
        // Field 39; a line that ends before is of a very old kernel.
        processor: number(36).unwrap_or(0) as u32,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str =
        "42 (a) b (c) R 7 42 42 0 -1 4194304 95 1 0 0 10 5 3 2 20 0 4 0 9876 5000 100 18446744073709551615 1 1 0 0 0";

    #[test]
    fn names_may_hold_parentheses() {
        let stat = parse_stat(LINE).unwrap();
        assert_eq!(stat.name, "a) b (c");
        assert_eq!((stat.pid, stat.parent, stat.state), (42, 7, 'R'));
        assert_eq!((stat.session, stat.kernel), (42, false));
        assert!(parse_stat(&LINE.replace("4194304", "2129984")).unwrap().kernel);
        assert_eq!((stat.cpu_ticks, stat.children_ticks, stat.threads, stat.start_time), (15, 5, 4, 9876));
    }

    #[test]
    fn cut_lines_are_refused() {
        for end in 0..LINE.len() {
            // Never a panic; and nothing without its start time is taken.
            if parse_stat(&LINE[..end]).is_some() {
                assert!(end > LINE.find("9876").unwrap());
            }
        }
    }
}
