//! The windows with which Paraver shows a run: who is on which processor and how, how many
//! processors each application has, and on how many of others it is a guest.
//!
//! A window says at which level its rows stand and which function makes the value of a row from its
//! threads. All functions are written out, because Paraver has no defaults for a part of them.

use super::layout::Layout;
use super::{COUNT, STATES, of};
use crate::trace::timeline::{How, Timeline};
use std::io::{Result, Write};

/// What makes one window another than the others.
struct Window {
    name: &'static str,
    level: &'static str,
    /// The value of a thread.
    thread: &'static str,
    /// The value with that colour or height, at most.
    most: usize,
    /// Every value has a colour of its own, or more is darker.
    codes: bool,
    /// The only events that count; else all of them do, as Paraver refuses a filter that lets
    /// nothing pass.
    events: Option<u32>,
    /// The only state that counts, for `In State`.
    state: Option<usize>,
}

/// Writes the .cfg file.
pub fn windows(timeline: &Timeline, out: &mut dyn Write) -> Result<()> {
    let (applications, pus) = (Layout::new(timeline).applications.len(), timeline.pus.len());
    let windows = [
        Window {
            name: "Applications on processors",
            level: "cpu",
            thread: "Application ID",
            most: applications,
            codes: true,
            events: None,
            state: None,
        },
        Window {
            name: "States on processors",
            level: "cpu",
            thread: "State As Is",
            most: STATES.len() - 1,
            codes: true,
            events: None,
            state: None,
        },
        Window {
            name: "Processors of each application",
            level: "appl",
            thread: "Last Evt Val",
            most: pus,
            codes: false,
            events: Some(COUNT),
            state: None,
        },
        Window {
            name: "Processors of others, by guest",
            level: "appl",
            thread: "In State",
            most: pus,
            codes: false,
            events: None,
            state: Some(of(How::Guest)),
        },
    ];
    writeln!(out, "#ParaverCFG\nConfigFile.Version: 3.4\nConfigFile.NumWindows: {}", windows.len())?;
    writeln!(out, "ConfigFile.BeginDescription\nA run of numaestro\nConfigFile.EndDescription\n")?;
    for (number, window) in (1..).zip(&windows) {
        write_window(number, window, out)?;
    }
    Ok(())
}

fn write_window(number: usize, window: &Window, out: &mut dyn Write) -> Result<()> {
    let Window { name, level, thread, most, codes, events, state } = window;
    let chosen = if events.is_some() { "=" } else { "All" };
    let rule = "#".repeat(80);
    let colours = if *codes { "window_in_code_mode" } else { "window_in_gradient_mode" };
    let top = 30 + (number - 1) * 220;
    writeln!(out, "{rule}\n< NEW DISPLAYING WINDOW {name} >\n{rule}")?;
    writeln!(out, "window_name {name}\nwindow_type single\nwindow_id {number}")?;
    writeln!(out, "window_position_x 30\nwindow_position_y {top}\nwindow_width 900\nwindow_height 180")?;
    writeln!(out, "window_comm_lines_enabled false\nwindow_flags_enabled false\nwindow_color_mode {colours}")?;
    writeln!(out, "window_units Nanoseconds\nwindow_maximum_y {most}\nwindow_minimum_y 0")?;
    writeln!(out, "window_compute_y_max false\nwindow_level {level}\nwindow_scale_relative 1.0")?;
    // Without a `window_object`, the window has all rows of its level.
    writeln!(out, "window_end_time_relative 1.0\nwindow_begin_time_relative 0.0\nwindow_open true")?;
    // A column of the screen may hold many values: one of them, so that no idle time is drawn in.
    writeln!(out, "window_drawmode draw_randnotzero\nwindow_drawmode_rows draw_randnotzero")?;
    writeln!(out, "window_pixel_size 1\nwindow_labels_to_draw 1")?;
    writeln!(
        out,
        "window_selected_functions {{ 14, {{ {{cpu, Active Thd}}, {{appl, Adding}}, {{task, Adding}}, \
         {{thread, {thread}}}, {{node, Adding}}, {{system, Adding}}, {{workload, Adding}}, {{from_obj, All}}, \
         {{to_obj, All}}, {{tag_msg, All}}, {{size_msg, All}}, {{bw_msg, All}}, {{evt_type, {chosen}}}, {{evt_value, All}} }} }}"
    )?;
    writeln!(
        out,
        "window_compose_functions {{ 9, {{ {{compose_cpu, As Is}}, {{compose_appl, As Is}}, {{compose_task, As Is}}, \
         {{compose_thread, As Is}}, {{compose_node, As Is}}, {{compose_system, As Is}}, {{compose_workload, As Is}}, \
         {{topcompose1, As Is}}, {{topcompose2, As Is}} }} }}"
    )?;
    if let Some(state) = state {
        writeln!(out, "window_semantic_module thread {thread} {{ 1, {{ 1 {state} }} }}")?;
    }
    if let Some(kind) = events {
        writeln!(out, "window_filter_module evt_type 1 {kind}")?;
    }
    writeln!(out)
}
