//! Draws `top`: a pure function of the model, for any size of terminal.

use super::columns;
use super::model::{Entry, Model, Popup};
use crate::folding;
use crate::occupancy::{self, Cell, LEGEND};
use crate::say::counted;
use crate::status::{age, clean};
use numaestro_abi::control::{AppStatus, PolicyInfo, Status};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, List, ListItem, ListState, Paragraph, Row, Table, TableState, Wrap};

const KEYS: &str = "q quit  l limit  w weight  r release  e why  s sort  / filter  p policy  ? help";
const HELP: &str = "\
up, down  choose an application; the lines below say why it has so many
l         the most processors that it may have: a number, or none
w         its weight: its share relative to the others
r         stop managing it: it runs on with all processors, without limits
e         explain: what led to what it has, and what would change it
s         sort by arrival, processor time, processors, name, user
/         show only names and users that contain a text; an empty text: all
p         choose the policy, live
q, Ctrl-C quit    Ctrl-Z suspend

HAS   processors now        ASKS  processors it could use
MAX   the limit you set     CPU%  processor time, 100 is one processor
TEAM  threads of its latest parallel region; REG/S regions a second
folded: more threads than processors; shared: with other applications
FOLD  switches a second in user space, or `kernel` if the kernel does that
HELD BY: why its teams keep their size although they may follow";
/// Told apart by people with the usual colour deficiencies, on dark and on light.
const OWNERS: [Color; 6] = [Color::Cyan, Color::Yellow, Color::Magenta, Color::Green, Color::Blue, Color::LightRed];

/// Draws everything.
pub fn draw(frame: &mut Frame, model: &Model) {
    let area = frame.area();
    let rows = model.status().map_or(0, |s| strip(s, model.colours(), area.width).len());
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
        Constraint::Length(lines(said(model), area.width)),
    ];
    let [head, strip_area, table, detail, foot] = Layout::vertical(parts).areas(area);
    frame.render_widget(Paragraph::new(heading(model)).style(Style::new().add_modifier(Modifier::BOLD)), head);
    if let Some(status) = model.status() {
        frame.render_widget(Paragraph::new(strip(status, model.colours(), area.width)), strip_area);
        let (rows, chosen) = model.rows();
        applications(frame, table, model, status, &rows, chosen);
        if let Some(row) = rows.get(chosen) {
            frame.render_widget(Paragraph::new(explanation(row.app)).wrap(Wrap { trim: true }), detail);
        }
    }
    frame.render_widget(footer(model), foot);
    popup(frame, model);
}

/// What is being typed, else what there is to say, else the keys.
fn footer(model: &Model) -> Paragraph<'_> {
    if let Some(Popup::Prompt(prompt)) = model.popup() {
        return Paragraph::new(prompt.line()).style(Style::new().add_modifier(Modifier::BOLD));
    }
    Paragraph::new(said(model)).wrap(Wrap { trim: true }).style(Style::new().add_modifier(Modifier::DIM))
}

/// The message, or the keys if there is none.
fn said(model: &Model) -> &str {
    model.message().unwrap_or(KEYS)
}

/// Lines of a text that is broken between words: a fifth of a line may stay empty.
fn lines(text: &str, width: u16) -> u16 {
    let (length, width) = (text.chars().count(), usize::from(width));
    if length <= width || text == KEYS {
        return 1;
    }
    u16::try_from(length.div_ceil((width * 4 / 5).max(1))).unwrap_or(u16::MAX).min(4)
}

fn heading(model: &Model) -> String {
    let Some(s) = model.status() else {
        let what = if model.message().is_some() { "no manager" } else { "asking the manager" };
        return format!("numaestro: {what}");
    };
    let waiting = if s.queue.is_empty() { String::new() } else { format!(", {} waiting", s.queue.len()) };
    let unmanaged = match s.unmanaged {
        0 => String::new(),
        some => format!(", {} taken by others", counted(some as usize, "processor")),
    };
    let listing = model.listing();
    let filter = if listing.filter().is_empty() { String::new() } else { format!("  only `{}`", listing.filter()) };
    format!(
        "numaestro  {}  {}{waiting}{unmanaged}  by {}{filter}  processors {}  up {}",
        s.policy,
        counted(s.apps.len(), "application"),
        listing.order().word(),
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
    // As in `status`, within 80 columns.
    let legend =
        LEGEND.replace("* leaving or shared", "underlined: moving/shared").replace("unmanaged load", "unmanaged");
    lines.push(Line::styled(legend, Style::new().add_modifier(Modifier::DIM)));
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

fn applications(frame: &mut Frame, area: Rect, model: &Model, status: &Status, rows: &[Entry<'_>], chosen: usize) {
    if rows.is_empty() {
        let text = if status.apps.is_empty() {
            "no applications; start one with `numaestro run -- PROGRAM`".to_owned()
        } else {
            format!("no name and no user contains `{}`; / changes that", model.listing().filter())
        };
        frame.render_widget(Paragraph::new(text).wrap(Wrap { trim: true }), area);
        return;
    }
    let shown = columns::shown(status, area.width);
    let line = |row: &Entry<'_>| {
        let style = if model.colours() { Style::new().fg(owner_colour(row.place)) } else { Style::new() };
        let mut fields: Vec<Span> = shown.iter().map(|column| Span::raw(column.text(row))).collect();
        fields[0] = fields[0].clone().style(style.add_modifier(Modifier::BOLD));
        fields.push(Span::raw(row.app.why.clone()));
        Row::new(fields)
    };
    let heads = shown.iter().map(|column| column.head).chain(["WHY"]);
    let widths = shown.iter().map(|column| Constraint::Length(column.width)).chain([Constraint::Min(0)]);
    let table = Table::new(rows.iter().map(line), widths)
        .header(Row::new(heads).style(Style::new().add_modifier(Modifier::UNDERLINED)))
        .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED));
    frame.render_stateful_widget(table, area, &mut TableState::new().with_selected(chosen));
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

fn popup(frame: &mut Frame, model: &Model) {
    match model.popup() {
        None | Some(Popup::Prompt(_)) => {}
        Some(Popup::Help) => {
            let lines = u16::try_from(HELP.lines().count()).unwrap_or(u16::MAX);
            let area = middle(frame.area(), 78, lines.saturating_add(2));
            frame.render_widget(Clear, area);
            frame.render_widget(
                Paragraph::new(HELP).wrap(Wrap { trim: false }).block(Block::bordered().title("numaestro top")),
                area,
            );
        }
        Some(Popup::Policies(list, place)) => policies(frame, list, *place),
        Some(Popup::Explanation(text, line)) => reasons(frame, text, *line),
    }
}

fn reasons(frame: &mut Frame, text: &str, line: usize) {
    let whole = frame.area();
    let area = middle(whole, whole.width.saturating_sub(4), whole.height.saturating_sub(2));
    let from: Vec<&str> = text.lines().skip(line).collect();
    let block = Block::bordered().title("explain: up, down; any other key leaves");
    frame.render_widget(Clear, area);
    frame.render_widget(Paragraph::new(from.join("\n")).wrap(Wrap { trim: false }).block(block), area);
}

fn policies(frame: &mut Frame, list: &[PolicyInfo], place: usize) {
    let area = middle(frame.area(), 76, u16::try_from(list.len()).unwrap_or(u16::MAX).saturating_add(2));
    let width = |of: fn(&PolicyInfo) -> &str| list.iter().map(|p| of(p).chars().count()).max().unwrap_or(0);
    let (part, name) = (width(|p| &p.part), width(|p| &p.name));
    let items = list.iter().map(|p| ListItem::new(format!("{:<part$}  {:<name$}  {}", p.part, p.name, p.summary)));
    let list = List::new(items)
        .block(Block::bordered().title("policy: Enter switches, Esc leaves"))
        .highlight_style(Style::new().add_modifier(Modifier::REVERSED));
    frame.render_widget(Clear, area);
    frame.render_stateful_widget(list, area, &mut ListState::default().with_selected(Some(place)));
}

fn middle(area: Rect, width: u16, height: u16) -> Rect {
    let (width, height) = (width.min(area.width), height.min(area.height));
    Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 2, width, height }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::occupancy::tests::example;
    use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
    use numaestro_abi::control::Policies;
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

    fn press(model: &mut Model, code: KeyCode) {
        model.key(KeyEvent::new(code, KeyModifiers::NONE));
    }

    #[test]
    fn a_long_answer_is_shown_to_its_end() {
        let mut model = model();
        let answer = "--max 9 is not possible: there are 4 processors to give out; the smallest that you may say is 2, as --min says";
        model.say(answer.to_owned());
        let text = screen(&model, 80, 24);
        assert!(text.contains("--max 9 is not possible") && text.contains("as --min says"), "{text}");
        assert!(text.contains("lulesh"), "{text}");
    }

    #[test]
    fn a_usual_terminal_shows_all_that_matters() {
        let text = screen(&model(), 80, 24);
        for part in [
            "equi",
            "2 applications",
            "node 0   AA",
            "node 1   Bx",
            "lulesh",
            "malleable",
            "REG/S",
            "CPU%",
            "MAX",
            "an equal share of 4 processors.",
            "underlined: moving/shared",
            KEYS,
        ] {
            assert!(text.contains(part), "{part} is missing in\n{text}");
        }
        let held = screen(&model(), 200, 30);
        for part in ["explicit sizes", "WEIGHT", "ASKS", "PID", "AGE"] {
            assert!(held.contains(part), "{part} is missing in\n{held}");
        }
    }

    #[test]
    fn what_is_typed_stands_in_the_last_line() {
        let mut model = model();
        press(&mut model, KeyCode::Char('l'));
        press(&mut model, KeyCode::Char('4'));
        let text = screen(&model, 80, 24);
        let last = text.lines().last().unwrap_or_default();
        assert!(last.contains("most processors of lulesh (a number, or none): 4_"), "{text}");
    }

    #[test]
    fn a_filter_is_said_and_can_hide_everything() {
        let mut model = model();
        press(&mut model, KeyCode::Char('/'));
        press(&mut model, KeyCode::Char('z'));
        press(&mut model, KeyCode::Enter);
        let text = screen(&model, 100, 24);
        assert!(text.contains("only `z`") && text.contains("no name and no user contains `z`"), "{text}");
        assert!(!text.contains("lulesh"), "{text}");
        press(&mut model, KeyCode::Char('/'));
        let text = screen(&model, 80, 24);
        assert!(text.lines().last().is_some_and(|last| last.contains("(Esc keeps `z`): _")), "{text}");
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
        press(&mut model, KeyCode::Down);
        let text = screen(&model, 140, 30);
        for part in ["folded by the kernel: 8 threads on 1 processor, because", "Next: run it without."] {
            assert!(text.contains(part), "{part} is missing in\n{text}");
        }
        press(&mut model, KeyCode::Char('?'));
        let text = screen(&model, 80, 24);
        assert!(HELP.lines().all(|line| text.contains(line)), "the whole help\n{text}");
    }

    #[test]
    fn summaries_of_policies_stand_below_each_other() {
        let mut model = model();
        let info = |name: &str| PolicyInfo {
            part: "preset".into(),
            name: name.into(),
            summary: "summary".into(),
            source: String::new(),
        };
        let available = vec![info("equi"), info("worst-fit-jobs")];
        model.choose_policy(Policies { current: "equi".into(), next: String::new(), available });
        let text = screen(&model, 80, 24);
        let columns: Vec<_> = text.lines().filter_map(|line| line.find("summary")).collect();
        assert_eq!(columns.len(), 2, "{text}");
        assert_eq!(columns[0], columns[1], "{text}");
    }

    #[test]
    fn no_size_is_too_small() {
        let mut model = model();
        let info =
            PolicyInfo { part: "preset".into(), name: "equi".into(), summary: "x".into(), source: String::new() };
        for popup in 0..4 {
            match popup {
                1 => press(&mut model, KeyCode::Char('?')),
                2 => {
                    press(&mut model, KeyCode::Esc);
                    press(&mut model, KeyCode::Char('w'));
                }
                3 => model.choose_policy(Policies {
                    current: "equi".into(),
                    next: String::new(),
                    available: vec![info.clone(); 40],
                }),
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
