//! Nothing that a program can see may change because of numaestro: real OpenMP programs under an
//! allocation that changes all the time.
//!
//! Each program checks itself and prints one line (`client/tests`). Here it must print the line
//! that it prints without numaestro, and see the same team sizes. Only where its user or the
//! program itself allows any size may they follow the allocation.

mod support;

use numaestro_skip::part;
use support::ended::{self, Ended};
use support::manager::{Manager, alone};
use support::programs::builds;
use support::shaker::Shaker;
use support::{number, processors, turn};

/// The team sizes that a program may see.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Size {
    /// Every region has the size that it has without numaestro.
    Held,
    /// The size follows the allocation: at least two different ones are seen while the allocation
    /// changes.
    Follows,
    /// Either is right.
    Free,
}

/// A program, what comes after its seconds, its environment, and options of `numaestro run`.
struct Case<'a> {
    program: &'a str,
    arguments: &'a [&'a str],
    environment: &'a [(&'a str, &'a str)],
    options: &'a [&'a str],
    size: Size,
}

/// The default class: every team is whole.
const PLAIN: Case = Case { program: "", arguments: &[], environment: &[], options: &[], size: Size::Held };
/// The user says that any size is right.
const MALLEABLE: Case = Case { options: &["--class", "malleable"], size: Size::Free, ..PLAIN };

impl Case<'_> {
    fn words(&self, path: &str, seconds: &str) -> Vec<String> {
        [path, seconds].iter().chain(self.arguments).map(ToString::to_string).collect()
    }

    fn alone(&self, path: &str, threads: &str) -> Ended {
        let mut command = alone(self.words(path, "0.05"));
        if !threads.is_empty() {
            command.env("OMP_NUM_THREADS", threads);
        }
        ended::run(command.envs(self.environment.iter().copied()))
    }

    fn managed(&self, manager: &Manager, path: &str, threads: &str) -> Ended {
        let seconds = format!("{}", number("NUMAESTRO_TEST_MILLISECONDS", 200) as f64 / 1000.0);
        let mut command = manager.command(["run"]);
        command.args(self.options).arg("--").args(self.words(path, &seconds));
        if !threads.is_empty() {
            command.env("OMP_NUM_THREADS", threads);
        }
        ended::run(command.envs(self.environment.iter().copied()))
    }

    /// With every compiler, with as many threads as processors and with four.
    #[track_caller]
    fn check(&self) {
        // It changes often enough only while the program and its neighbours run.
        let _turn = (self.size == Size::Follows).then(turn);
        let manager = Manager::started();
        let pid = manager.pid();
        let mut failures = Vec::new();
        for (compiler, path) in builds(self.program) {
            for threads in ["", "4"] {
                let what =
                    format!("{} by {compiler}, OMP_NUM_THREADS={threads:?}", self.words(self.program, "").join(" "));
                let bare = self.alone(&path, threads);
                assert!(bare.status.success(), "{what} is wrong without numaestro: {}{}", bare.stdout, bare.stderr);
                let shaker = Shaker::start(&manager);
                let mut steered = self.managed(&manager, &path, threads);
                // On a busy machine one run may live through one allocation only.
                for _ in 0..4 {
                    if self.size == Size::Follows && steered.status.success() && steered.sizes().len() < 2 {
                        steered = self.managed(&manager, &path, threads);
                    }
                }
                eprintln!(
                    "{what}: alone {:?}, managed {:?}, {} visits",
                    bare.sizes(),
                    steered.sizes(),
                    shaker.visits()
                );
                failures.extend(self.wrong(&bare, &steered).map(|why| format!("{what}: {why}")));
            }
        }
        assert!(failures.is_empty(), "{}", failures.join("\n"));
        assert_eq!(manager.pid(), pid, "the manager was lost on the way");
        manager.expect_all_free();
    }

    fn wrong(&self, bare: &Ended, steered: &Ended) -> Option<String> {
        if !steered.status.success() || steered.stdout != bare.stdout {
            let said = format!("{}{}", steered.stdout, steered.stderr);
            return Some(format!("{} and \"{}\" instead of \"{}\"", steered.status, said.trim(), bare.stdout.trim()));
        }
        let sizes = |ended: &Ended| ended.sizes().iter().map(|(size, _)| *size).collect::<Vec<u32>>();
        let (before, now) = (sizes(bare), sizes(steered));
        match self.size {
            Size::Held if before != now => Some(format!("teams of {now:?} threads instead of {before:?}")),
            Size::Follows if now.len() < 2 && processors() > 1 => {
                Some(format!("always {now:?} threads: it does not follow"))
            }
            Size::Follows if processors() == 1 => {
                part("whether the size follows: one processor only");
                None
            }
            _ => None,
        }
    }
}

#[test]
fn a_partition_made_inside_the_region() {
    Case { program: "inside", ..PLAIN }.check();
}

#[test]
fn chunks_computed_outside_the_region() {
    Case { program: "outside", ..PLAIN }.check();
}

#[test]
fn chunks_computed_outside_before_every_region() {
    Case { program: "outside", arguments: &["again"], ..PLAIN }.check();
}

#[test]
fn chunks_computed_outside_and_asked_elsewhere_again() {
    Case { program: "outside", arguments: &["places"], ..PLAIN }.check();
}

#[test]
fn chunks_computed_outside_through_a_function_that_is_asked_again() {
    Case { program: "outside", arguments: &["wrapper"], ..PLAIN }.check();
}

#[test]
fn a_size_learned_in_an_earlier_region() {
    Case { program: "learned", ..PLAIN }.check();
}

#[test]
fn a_program_that_takes_back_that_any_size_is_right() {
    let environment = &[("OMP_DYNAMIC", "true")];
    Case { program: "learned", arguments: &["fixed"], environment, size: Size::Free, ..PLAIN }.check();
}

#[test]
fn bounds_written_in_one_region_and_used_in_another() {
    Case { program: "learned", arguments: &["bounds"], ..PLAIN }.check();
}

#[test]
fn a_region_that_relies_on_the_size_only_later() {
    Case { program: "learned", arguments: &["late"], ..PLAIN }.check();
}

#[test]
fn each_answer_kept_in_an_object_of_its_own() {
    Case { program: "kept", arguments: &["each"], ..PLAIN }.check();
}

#[test]
fn answers_asked_through_a_function_with_a_large_frame() {
    Case { program: "kept", arguments: &["frame"], ..PLAIN }.check();
}

#[test]
fn a_partition_of_an_earlier_region_where_the_size_is_asked_too() {
    Case { program: "kept", arguments: &["earlier"], ..PLAIN }.check();
}

#[test]
fn thread_local_data_of_another_library() {
    for place in ["linked", "opened", "key"] {
        Case { program: "elsewhere", arguments: &[place], ..PLAIN }.check();
    }
}

#[test]
fn a_runtime_that_is_called_by_functions_of_its_own() {
    for how in ["limits", "members", "deep", "entry"] {
        Case { program: "past", arguments: &[how], ..PLAIN }.check();
    }
    Case { program: "past", arguments: &["most"], ..MALLEABLE }.check();
}

#[test]
fn a_tool_between_the_program_and_its_runtime() {
    Case { program: "traced", ..PLAIN }.check();
}

#[test]
fn arrays_with_a_slot_per_thread() {
    Case { program: "sized", ..PLAIN }.check();
}

#[test]
fn arrays_with_a_slot_per_processor() {
    for question in ["procs", "online"] {
        Case { program: "sized", arguments: &[question], ..PLAIN }.check();
    }
}

#[test]
fn explicit_sizes_with_threads_that_wait_for_each_other() {
    Case { program: "explicit", ..PLAIN }.check();
}

#[test]
fn explicit_sizes_also_with_class_malleable() {
    Case { program: "explicit", size: Size::Held, ..MALLEABLE }.check();
}

#[test]
fn a_number_of_threads_that_the_program_set() {
    Case { program: "setnum", ..PLAIN }.check();
}

#[test]
fn parallel_sections_that_wait_for_each_other() {
    Case { program: "sections", ..PLAIN }.check();
}

#[test]
fn sections_also_with_class_malleable() {
    for arguments in [&[][..], &["inner"]] {
        Case { program: "sections", arguments, ..MALLEABLE }.check();
    }
}

#[test]
fn sections_inside_a_region() {
    Case { program: "sections", arguments: &["inner"], ..PLAIN }.check();
}

#[test]
fn nested_regions() {
    Case { program: "nested", ..PLAIN }.check();
    Case { program: "nested", environment: &[("OMP_NUM_THREADS", "1,3")], ..PLAIN }.check();
}

#[test]
fn threadprivate_data() {
    Case { program: "private", ..PLAIN }.check();
}

#[test]
fn reductions() {
    Case { program: "reduce", ..PLAIN }.check();
}

#[test]
fn tasks() {
    Case { program: "tasks", ..PLAIN }.check();
    for threads in ["2", "3", "8"] {
        Case { program: "deferred", environment: &[("OMP_NUM_THREADS", threads)], ..PLAIN }.check();
    }
}

#[test]
fn members_that_need_their_own_kernel_threads() {
    Case { program: "stranded", ..PLAIN }.check();
}

#[test]
fn synchronising_constructs() {
    Case { program: "constructs", ..PLAIN }.check();
}

#[test]
fn schedules() {
    Case { program: "schedules", ..PLAIN }.check();
}

#[test]
fn schedules_from_the_environment() {
    Case { program: "schedules", environment: &[("OMP_SCHEDULE", "guided,2")], ..PLAIN }.check();
}

#[test]
fn cancellation() {
    Case { program: "cancel", environment: &[("OMP_CANCELLATION", "true")], ..PLAIN }.check();
}

#[test]
fn threads_bound_to_places() {
    for bind in [("OMP_PROC_BIND", "close"), ("OMP_PROC_BIND", "spread")] {
        let environment = [bind, ("OMP_PLACES", "threads")];
        Case { program: "inside", environment: &environment, ..PLAIN }.check();
    }
    Case { program: "persist", environment: &[("OMP_PROC_BIND", "true")], ..PLAIN }.check();
    for places in ["threads", "cores", "{0},{1}"] {
        Case { program: "places", environment: &[("OMP_PLACES", places)], ..PLAIN }.check();
    }
    for bind in ["close", "spread", "true", "master"] {
        Case { program: "places", environment: &[("OMP_PROC_BIND", bind)], ..PLAIN }.check();
    }
    for (name, value) in [("GOMP_CPU_AFFINITY", "0 1"), ("KMP_AFFINITY", "compact"), ("KMP_AFFINITY", "scatter")] {
        Case { program: "places", environment: &[(name, value)], ..PLAIN }.check();
    }
    Case { program: "reduce", environment: &[("GOMP_CPU_AFFINITY", "0"), ("KMP_AFFINITY", "compact")], ..PLAIN }
        .check();
}

#[test]
fn waiting_policies_of_the_user() {
    for policy in ["active", "passive"] {
        Case { program: "constructs", environment: &[("OMP_WAIT_POLICY", policy)], ..PLAIN }.check();
    }
}

#[test]
fn one_region_for_the_whole_run() {
    Case { program: "persist", ..PLAIN }.check();
}

#[test]
fn several_threads_that_open_regions() {
    Case { program: "roots", ..PLAIN }.check();
}

#[test]
fn threads_that_open_regions_and_are_cancelled() {
    Case { program: "roots", arguments: &["cancel"], ..PLAIN }.check();
}

#[test]
fn everything_with_class_fold() {
    for name in ["inside", "outside", "private", "persist", "explicit", "sections"] {
        Case { program: name, options: &["--class", "fold"], ..PLAIN }.check();
    }
}

#[test]
fn class_malleable_follows() {
    for name in ["inside", "reduce", "tasks"] {
        Case { program: name, size: Size::Follows, ..MALLEABLE }.check();
    }
}

#[test]
fn omp_dynamic_forbids_it_under_class_malleable() {
    for name in ["inside", "outside", "kept", "elsewhere"] {
        Case { program: name, environment: &[("OMP_DYNAMIC", "false")], size: Size::Held, ..MALLEABLE }.check();
    }
}

#[test]
fn omp_set_dynamic_forbids_it_under_class_malleable() {
    for name in ["private", "setnum"] {
        Case { program: name, size: Size::Held, ..MALLEABLE }.check();
    }
    Case { program: "learned", arguments: &["fixed"], ..MALLEABLE }.check();
}

/// Both runtimes make teams smaller by themselves then, by the machine's load: only the result is
/// compared.
#[test]
fn omp_dynamic_in_the_environment() {
    for name in ["inside", "reduce", "tasks", "constructs", "schedules"] {
        Case { program: name, environment: &[("OMP_DYNAMIC", "true")], size: Size::Free, ..PLAIN }.check();
    }
}

/// Programs that are right under `OMP_DYNAMIC=true` are right with `--class malleable`.
#[test]
fn class_malleable_where_the_program_allows_it() {
    for name in ["inside", "reduce", "tasks", "constructs", "schedules", "sized", "nested"] {
        Case { program: name, ..MALLEABLE }.check();
    }
}

#[test]
fn plain_threads() {
    Case { program: "threads", ..PLAIN }.check();
}
