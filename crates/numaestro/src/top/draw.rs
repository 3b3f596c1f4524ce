//! Draws `top`: a pure function of the model, for any size of terminal.

use super::model::{Model, Popup};
use crate::folding;
use crate::occupancy::{self, Cell, LEGEND};
use crate::status::{age, class_word, clean, state_words};
use numaestro_abi::control::{AppStatus, Status};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, List, ListItem, ListState, Paragraph, Row, Table, TableState, Wrap};

const KEYS: &str = "q quit   p policy   up/down choose   ? help";
const HELP: &str = "\
up, down    choose an application; below the table stands why it has what it has
p           choose the policy, live
q, Ctrl-C   quit
Ctrl-Z      suspend

HAS   processors now        ASKS  processors it could use
TEAM  threads of its latest parallel region
folded: more threads than processors; shared: with other applications
FOLD  switches a second in user space, or `kernel` if the kernel does that
HELD BY: why its teams keep their size although they may follow";
/// Told apart by people with the usual colour deficiencies, on dark and on light.
const OWNERS: [Color; 6] = [Color::Cyan, Color::Yellow, Color::Magenta, Color::Green, Color::Blue, Color::LightRed];

/// A column of the table: its head, its width, the least total width that shows it, and its
/// contents.
struct Column {
    head: &'static str,
    width: u16,
    from: u16,
    text: fn(&Model, usize, &AppStatus) -> String,
}

const COLUMNS: [Column; 13] = [
    Column { head: "", width: 1, from: 0, text: |_, place, _| occupancy::sign(place).to_string() },
    Column { head: "APP", width: 5, from: 70, text: |_, _, app| app.app.to_string() },
    Column { head: "PID", width: 7, from: 100, text: |_, _, app| app.pid.to_string() },
    Column { head: "NAME", width: 12, from: 0, text: |_, _, app| clean(&app.name) },
    Column { head: "CLASS", width: 9, from: 60, text: |_, _, app| class_word(app.class).to_owned() },
    Column { head: "STATE", width: 14, from: 50, text: |_, _, app| state_words(app) },
    Column { head: "HAS", width: 4, from: 0, text: |_, _, app| app.count.to_string() },
    Column { head: "ASKS", width: 4, from: 110, text: |_, _, app| app.request.to_string() },
    Column { head: "TEAM", width: 4, from: 40, text: |_, _, app| app.team.to_string() },
    Column { head: "CPUS", width: 9, from: 30, text: |_, _, app| app.cpus.clone() },
    Column { head: "REG/S", width: 7, from: 70, text: |model, _, app| rate(model.regions_per_second(app.app)) },
    Column { head: "FOLD", width: 6, from: 90, text: |_, _, app| folding::short(app) },
    Column { head: "HELD BY", width: 20, from: 120, text: |_, _, app| app.held_by.clone() },
];

/// Draws everything.
pub fn draw(frame: &mut Frame, model: &Model) {
    let area = frame.area();
    let rows = model.status.as_ref().map_or(0, |s| strip(s, model.colours, area.width).len());
    let strip_height = u16::try_from(rows).unwrap_or(u16::MAX).min(area.height / 3);
    let detail_height = match area.height {
        0..12 => 0,
        12..20 => 2,
        _ => 3,
    };
    let parts = [
        Constraint::Length(1),
        Constraint::Length(strip_height),
        Constraint::Min(0),
        Constraint::Length(detail_height),
        Constraint::Length(1),
    ];
    let [head, strip_area, table, detail, foot] = Layout::vertical(parts).areas(area);
    frame.render_widget(Paragraph::new(heading(model)).style(Style::new().add_modifier(Modifier::BOLD)), head);
    if let Some(status) = &model.status {
        frame.render_widget(Paragraph::new(strip(status, model.colours, area.width)), strip_area);
        applications(frame, table, model, status);
        if let Some(app) = status.apps.get(model.selected) {
            frame.render_widget(Paragraph::new(explanation(app)).wrap(Wrap { trim: true }), detail);
        }
    }
    let footer = model.message.as_deref().unwrap_or(KEYS);
    frame.render_widget(Paragraph::new(footer).style(Style::new().add_modifier(Modifier::DIM)), foot);
    popup(frame, model);
}

fn heading(model: &Model) -> String {
    let Some(s) = &model.status else {
        let what = if model.message.is_some() { "no manager" } else { "asking the manager" };
        return format!("numaestro: {what}");
    };
    let waiting = if s.queue.is_empty() { String::new() } else { format!(", {} waiting", s.queue.len()) };
    let unmanaged = if s.unmanaged == 0 { String::new() } else { format!(", {} PU(s) taken by others", s.unmanaged) };
    format!(
        "numaestro  {}  {} application(s){waiting}{unmanaged}  processors {}  up {}",
        s.policy,
        s.apps.len(),
        s.cpus,
        age(s.uptime_s)
    )
}

/// One or more lines per NUMA node.
fn strip(status: &Status, colours: bool, width: u16) -> Vec<Line<'static>> {
    let room = usize::from(width).saturating_sub(9).max(1);
    let mut lines = Vec::new();
    for row in occupancy::rows(status) {
        for (i, cells) in row.cells.chunks(room).enumerate() {
            let label = if i == 0 { format!("node {:<3} ", row.node) } else { " ".repeat(9) };
            let mut spans = vec![Span::raw(label)];
            spans.extend(cells.iter().map(|cell| Span::styled(cell.sign.to_string(), cell_style(*cell, colours))));
            lines.push(Line::from(spans));
        }
    }
    lines.push(Line::styled(
        LEGEND.replace("* leaving", "underlined: leaving"),
        Style::new().add_modifier(Modifier::DIM),
    ));
    lines
}

fn cell_style(cell: Cell, colours: bool) -> Style {
    let style = if cell.moving { Style::new().add_modifier(Modifier::UNDERLINED) } else { Style::new() };
    match cell.owner {
        Some(place) if colours => style.fg(Color::Black).bg(owner_colour(place)),
        _ => style,
    }
}

fn owner_colour(place: usize) -> Color {
    OWNERS[place % OWNERS.len()]
}

fn applications(frame: &mut Frame, area: Rect, model: &Model, status: &Status) {
    if status.apps.is_empty() {
        frame.render_widget(
            Paragraph::new("no applications; start one with `numaestro run -- PROGRAM`").wrap(Wrap { trim: true }),
            area,
        );
        return;
    }
    let shown: Vec<&Column> = COLUMNS.iter().filter(|c| c.from <= area.width).collect();
    let rows = status.apps.iter().enumerate().map(|(place, app)| {
        let style = if model.colours { Style::new().fg(owner_colour(place)) } else { Style::new() };
        let mut fields: Vec<Span> = shown.iter().map(|c| Span::raw((c.text)(model, place, app))).collect();
        fields[0] = fields[0].clone().style(style.add_modifier(Modifier::BOLD));
        fields.push(Span::raw(app.why.clone()));
        Row::new(fields)
    });
    let heads = shown.iter().map(|c| c.head).chain(["WHY"]);
    let widths = shown.iter().map(|c| Constraint::Length(c.width)).chain([Constraint::Min(0)]);
    let table = Table::new(rows, widths)
        .header(Row::new(heads).style(Style::new().add_modifier(Modifier::UNDERLINED)))
        .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED));
    frame.render_stateful_widget(table, area, &mut TableState::new().with_selected(model.selected));
}

fn explanation(app: &AppStatus) -> String {
    let held = if app.held_by.is_empty() { String::new() } else { format!(" Size held by {}.", app.held_by) };
    let folded = folding::sentence(app).map(|text| format!(" Its team is {text}")).unwrap_or_default();
    let runtimes = if app.runtimes.is_empty() { String::new() } else { format!(" [{}]", app.runtimes.join(", ")) };
    format!(
        "{} ({}): {}{}{folded}{held}{runtimes}",
        clean(&app.name),
        app.pid,
        app.why,
        if app.why.ends_with('.') { "" } else { "." }
    )
}

/// Regions per second, once known.
fn rate(per_second: Option<f64>) -> String {
    per_second.map_or_else(|| "-".to_owned(), folding::rate)
}

fn popup(frame: &mut Frame, model: &Model) {
    match &model.popup {
        None => {}
        Some(Popup::Help) => {
            let area = middle(frame.area(), 76, 13);
            frame.render_widget(Clear, area);
            frame.render_widget(
                Paragraph::new(HELP).wrap(Wrap { trim: false }).block(Block::bordered().title("numaestro top")),
                area,
            );
        }
        Some(Popup::Policies(list, place)) => {
            let area = middle(frame.area(), 76, u16::try_from(list.len()).unwrap_or(u16::MAX).saturating_add(2));
            let items = list.iter().map(|p| ListItem::new(format!("{:<10} {:<12} {}", p.part, p.name, p.summary)));
            let list = List::new(items)
                .block(Block::bordered().title("policy: Enter switches, Esc leaves"))
                .highlight_style(Style::new().add_modifier(Modifier::REVERSED));
            frame.render_widget(Clear, area);
            frame.render_stateful_widget(list, area, &mut ListState::default().with_selected(Some(*place)));
        }
    }
}

fn middle(area: Rect, width: u16, height: u16) -> Rect {
    let (width, height) = (width.min(area.width), height.min(area.height));
    Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 2, width, height }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::occupancy::tests::example;
    use numaestro_abi::control::{Policies, PolicyInfo};
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use std::time::Instant;

    fn screen(model: &Model, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("memory");
        terminal.draw(|frame| draw(frame, model)).expect("memory");
        let buffer = terminal.backend().buffer();
        let lines = buffer.content().chunks(usize::from(width).max(1));
        lines.map(|line| line.iter().map(ratatui::buffer::Cell::symbol).collect::<String>() + "\n").collect()
    }

    fn model() -> Model {
        let mut model = Model::new(true);
        model.update(example(), Instant::now());
        model
    }

    #[test]
    fn a_usual_terminal_shows_all_that_matters() {
        let text = screen(&model(), 80, 24);
        for part in [
            "equi",
            "node 0   AA",
            "node 1   Bx",
            "lulesh",
            "malleable",
            "REG/S",
            "an equal share of 4 processors.",
            "q quit",
        ] {
            assert!(text.contains(part), "{part} is missing in\n{text}");
        }
        let held = screen(&model(), 140, 30);
        assert!(held.contains("explicit sizes"), "{held}");
    }

    #[test]
    fn folding_has_a_column_and_a_sentence() {
        let mut status = example();
        status.apps[0].folding = Some(crate::folding::tests::folding("user"));
        status.apps[1].folding = Some(crate::folding::tests::folding("kernel"));
        let mut model = Model::new(false);
        model.update(status, Instant::now());
        let text = screen(&model, 140, 30);
        for part in ["FOLD", "412k", "kernel", "Its team is folded in user space: 8 threads on 2 kernel threads"] {
            assert!(text.contains(part), "{part} is missing in\n{text}");
        }
        model.selected = 1;
        let text = screen(&model, 140, 30);
        for part in ["folded by the kernel: 8 threads on 1 processor, because", "Next: run it without."] {
            assert!(text.contains(part), "{part} is missing in\n{text}");
        }
        model.popup = Some(Popup::Help);
        assert!(
            screen(&model, 80, 24).contains("why its teams keep their size although they may follow"),
            "the last line of the help"
        );
    }

    #[test]
    fn no_size_is_too_small() {
        let mut model = model();
        let info =
            PolicyInfo { part: "preset".into(), name: "equi".into(), summary: "x".into(), source: String::new() };
        for popup in 0..3 {
            match popup {
                1 => model.popup = Some(Popup::Help),
                2 => model.choose_policy(Policies { current: "equi".into(), available: vec![info.clone(); 40] }),
                _ => {}
            }
            for (width, height) in [(1, 1), (3, 2), (10, 4), (39, 7), (40, 12), (200, 3), (300, 80)] {
                screen(&model, width, height);
            }
        }
        let mut model = Model::new(false);
        assert!(screen(&model, 40, 5).contains("asking the manager"));
        model.lose("it has ended".into());
        assert!(screen(&model, 40, 5).contains("no manager"));
    }
}
