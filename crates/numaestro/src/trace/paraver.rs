//! Writes the three text files of Paraver: records (.prv), the meaning of their numbers (.pcf),
//! names of rows (.row).
//!
//! An application is a Paraver application of one task, and each processor it has at once is a
//! thread of it; load that is not managed is the last application; a processor is a CPU of its
//! node. So Paraver shows the run by processor and by application. **Source**: Pillet, Labarta,
//! Cortés, Girona, "PARAVER: A Tool to Visualize and Analyse Parallel Code", 1995; the format's
//! description of the Barcelona Supercomputing Center.

use super::timeline::{How, Kind, Timeline};
use numaestro_engine::Nanos;
use std::io::{Result, Write};

/// Added to the number of a kind of mark: numbers of our own, far from those of other tools.
const EVENT_BASE: u32 = 77_000_000;
/// The event type that carries the number of an application's processors.
const COUNT: u32 = EVENT_BASE;

/// States of applications and of their threads, by their numbers in the file.
const STATES: [(&str, (u8, u8, u8)); 10] = [
    ("idle", (200, 200, 200)),
    ("running", (0, 90, 181)),
    ("leaving", (230, 159, 0)),
    ("guest", (86, 180, 233)),
    ("waiting", (240, 228, 66)),
    ("stopped", (213, 94, 0)),
    ("sequential", (0, 158, 115)),
    ("blocked", (204, 121, 167)),
    ("wrapper", (150, 150, 150)),
    ("unmanaged", (90, 90, 90)),
];

fn state(name: &str) -> usize {
    STATES.iter().position(|(known, _)| *known == name).unwrap_or(0)
}

fn of(how: How) -> usize {
    state(how.name())
}

/// One record and its sort key: time, then states before events.
type Record = (Nanos, u8, String);

/// Writes the .prv file.
pub fn records(timeline: &Timeline, out: &mut dyn Write) -> Result<()> {
    writeln!(out, "{}", header(timeline))?;
    let mut records: Vec<Record> = Vec::new();
    let number: Vec<u64> = timeline.apps.keys().copied().collect();
    let appl = |app: Option<u64>| match app {
        Some(app) => number.binary_search(&app).map_or(0, |at| at + 1),
        None => number.len() + 1,
    };
    for (pu, spans) in timeline.pus.iter().enumerate() {
        for span in spans {
            let (cpu, thread) = (pu + 1, span.lane + 1);
            let record = format!("1:{cpu}:{}:1:{thread}:{}:{}:{}", appl(span.app), span.from, span.to, of(span.how));
            records.push((span.from, 1, record));
        }
    }
    for (app, row) in timeline.rows() {
        let appl = appl(app);
        for phase in &row.phases {
            // While it has processors, its threads' states show its activity.
            if app.is_some() && phase.count == 0 && phase.state != "running" {
                let state = state(phase.state);
                records.push((phase.from, 1, format!("1:0:{appl}:1:1:{}:{}:{state}", phase.from, phase.to)));
            }
            records.push((phase.from, 2, format!("2:0:{appl}:1:1:{}:{COUNT}:{}", phase.from, phase.count)));
        }
        if let Some(last) = row.phases.last() {
            records.push((last.to, 2, format!("2:0:{appl}:1:1:{}:{COUNT}:0", last.to)));
        }
    }
    for mark in &timeline.marks {
        let appl = mark.app.map_or(1, |app| appl(Some(app))).max(1);
        let kind = EVENT_BASE + mark.kind as u32;
        records.push((mark.at, 2, format!("2:0:{appl}:1:1:{}:{kind}:{}", mark.at, mark.value)));
    }
    records.sort_by_key(|record| (record.0, record.1));
    for (_, _, record) in &records {
        writeln!(out, "{record}")?;
    }
    Ok(())
}

/// `#Paraver (date):length_ns:nodes(cpus,…):applications:tasks(threads:node),…`. The date is of the
/// journal, so that the same file gives the same bytes.
fn header(timeline: &Timeline) -> String {
    let nodes: Vec<String> = timeline.machine.numa_nodes().iter().map(|node| node.pus.len().to_string()).collect();
    let apps: Vec<String> = timeline.rows().map(|(_, row)| format!("1({}:1)", row.lanes.max(1))).collect();
    let (node_count, app_count) = (nodes.len(), apps.len().max(1));
    let apps = if apps.is_empty() { "1(1:1)".to_owned() } else { apps.join(":") };
    let end = timeline.end.max(1);
    let date = date(timeline.began);
    format!("#Paraver ({date}):{end}_ns:{node_count}({}):{app_count}:{apps}", nodes.join(","))
}

/// Day and minute in universal time of seconds since 1970, as Paraver writes them.
fn date(seconds: u64) -> String {
    // Years begin in March here, so that the day which is not in every year is the last one. Eras
    // are of 400 years, which all have equally many days.
    let days = seconds / 86_400 + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month) = (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    let year = era * 400 + year + u64::from(month <= 2);
    let minute = seconds / 60 % 1440;
    format!("{day:02}/{month:02}/{year} at {:02}:{:02}", minute / 60, minute % 60)
}

/// Writes the .pcf file.
pub fn labels(timeline: &Timeline, out: &mut dyn Write) -> Result<()> {
    writeln!(out, "DEFAULT_OPTIONS\n\nLEVEL               CPU\nUNITS               NANOSEC\nLOOK_BACK           100")?;
    writeln!(out, "SPEED               1\nFLAG_ICONS          ENABLED\nNUM_OF_STATE_COLORS 1000")?;
    writeln!(out, "YMAX_SCALE          {}\n", timeline.pus.len())?;
    writeln!(out, "DEFAULT_SEMANTIC\n\nTHREAD_FUNC         State As Is\n\nSTATES")?;
    for (number, (name, _)) in STATES.iter().enumerate() {
        writeln!(out, "{number}    {name}")?;
    }
    writeln!(out, "\nSTATES_COLOR")?;
    for (number, (_, (red, green, blue))) in STATES.iter().enumerate() {
        writeln!(out, "{number}    {{{red},{green},{blue}}}")?;
    }
    writeln!(out, "\nEVENT_TYPE\n6    {COUNT}    Processors of the application\n")?;
    for kind in Kind::ALL {
        writeln!(out, "EVENT_TYPE\n6    {}    {}\n", EVENT_BASE + kind as u32, kind.name())?;
    }
    Ok(())
}

/// Writes the .row file.
pub fn rows(timeline: &Timeline, out: &mut dyn Write) -> Result<()> {
    writeln!(out, "LEVEL CPU SIZE {}", timeline.pus.len())?;
    for (index, pu) in timeline.machine.pus().iter().enumerate() {
        writeln!(out, "PU {index} (CPU {}, node {})", pu.os_index, pu.node.index())?;
    }
    writeln!(out, "\nLEVEL NODE SIZE {}", timeline.machine.numa_nodes().len())?;
    for node in timeline.machine.numa_nodes() {
        writeln!(out, "node {}", node.os_index)?;
    }
    writeln!(out, "\nLEVEL APPL SIZE {}", timeline.rows().count())?;
    for (app, _) in timeline.rows() {
        writeln!(out, "{}", timeline.name(app))?;
    }
    let threads: u32 = timeline.rows().map(|(_, row)| row.lanes.max(1)).sum();
    writeln!(out, "\nLEVEL THREAD SIZE {threads}")?;
    for (app, row) in timeline.rows() {
        for lane in 0..row.lanes.max(1) {
            writeln!(out, "{}, processor {lane}", timeline.name(app))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::timeline::tests::{crowded, example};
    use super::*;

    #[test]
    fn records_stand_in_order_and_name_rows_that_exist() {
        let timeline = example();
        let mut text = Vec::new();
        records(&timeline, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let mut lines = text.lines();
        let head = lines.next().unwrap();
        assert_eq!(head, "#Paraver (09/07/2026 at 14:13):4000000000_ns:2(2,2):2:1(4:1):1(2:1)");
        let mut latest = 0;
        let (mut states, mut busy) = (0, 0);
        for line in lines {
            let fields: Vec<u64> = line.split(':').map(|field| field.parse().unwrap()).collect();
            assert!(fields[5] >= latest, "{line} comes after {latest}");
            latest = fields[5];
            assert!(fields[1] <= 4 && (1..=2).contains(&fields[2]) && fields[4] >= 1, "{line}");
            assert!(fields[4] <= if fields[2] == 1 { 4 } else { 2 }, "{line}");
            if fields[0] == 1 && fields[1] > 0 {
                states += 1;
                busy += if fields[2] == 2 { fields[6] - fields[5] } else { 0 };
            }
        }
        assert_eq!(states, timeline.pus.iter().map(Vec::len).sum::<usize>());
        assert_eq!(busy, 3_000_000_000);
    }

    #[test]
    fn guests_and_unmanaged_load_are_in_it() {
        let timeline = crowded();
        let mut text = Vec::new();
        records(&timeline, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(text.lines().next().is_some_and(|head| head.contains("_ns:1(2):4:1(")), "{text}");
        // Records of a processor's state: the application and the state.
        let states = text.lines().skip(1).map(|line| line.split(':').collect::<Vec<_>>());
        let states: Vec<_> =
            states.filter(|f| f[0] == "1" && f[1] != "0").map(|f| [f[2], f[7]]).map(|f| f.map(str::to_owned)).collect();
        assert!(states.contains(&["3".to_owned(), of(How::Guest).to_string()]), "{text}");
        assert!(states.contains(&["4".to_owned(), of(How::Unmanaged).to_string()]), "{text}");
        let mut text = Vec::new();
        rows(&timeline, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(text.contains("LEVEL APPL SIZE 4\n") && text.contains("\nunmanaged load\n"), "{text}");
    }

    #[test]
    fn days_are_those_of_the_calendar() {
        for (seconds, expected) in [
            (0, "01/01/1970 at 00:00"),
            (951_782_399, "28/02/2000 at 23:59"),
            (951_782_400, "29/02/2000 at 00:00"),
            (978_307_199, "31/12/2000 at 23:59"),
            (4_107_542_400, "01/03/2100 at 00:00"),
        ] {
            assert_eq!(date(seconds), expected);
        }
    }

    #[test]
    fn there_is_a_name_for_every_row_and_a_meaning_for_every_number() {
        let timeline = example();
        let mut text = Vec::new();
        rows(&timeline, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        for (level, size) in [("CPU", 4), ("NODE", 2), ("APPL", 2), ("THREAD", 6)] {
            let head = format!("LEVEL {level} SIZE {size}");
            let names = text.lines().skip_while(|line| *line != head).skip(1).take_while(|line| !line.is_empty());
            assert_eq!(names.count(), size, "{head} in\n{text}");
        }
        let mut text = Vec::new();
        labels(&timeline, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(Kind::ALL.iter().all(|&kind| text.contains(&format!(
            "{}    {}",
            EVENT_BASE + kind as u32,
            kind.name()
        ))));
    }
}
