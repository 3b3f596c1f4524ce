//! Which wishes a person may change while an application runs, and what holds afterwards.
//!
//! A person's limit goes before everything that the program asks for, earlier or later: the
//! program's own wishes count within it.

use numaestro_abi::control::{Class, Most, NewWishes, Options, RefusalKind};

use crate::identity::rights::Refusal;

/// Largest weight, thousandths.
const WEIGHT_MILLI_MAX: u32 = 1_000_000;

/// A user's limits, with the usual ones where the user says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    pub(crate) min: u32,
    pub(crate) max: u32,
    pub(crate) weight_milli: u32,
}

impl Limits {
    pub(crate) fn of(options: &Options) -> Self {
        Self {
            min: options.min.unwrap_or(1).max(1),
            max: options.max.unwrap_or(u32::MAX).max(1),
            weight_milli: options.weight_milli.unwrap_or(1000).max(1),
        }
    }
}

/// The way in which the manager reaches a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// By a page that the program reads: its class can change.
    Page,
    /// It holds no processors; the programs inside it are meant.
    Wrapper,
    /// From outside, by affinity: there is one class only.
    Affinity,
}

/// An application whose wishes change.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) name: &'a str,
    pub(crate) options: &'a Options,
    pub(crate) reach: Reach,
    /// Processors that there are to give out.
    pub(crate) processors: u32,
}

impl Subject<'_> {
    /// Its wishes from now on.
    pub(crate) fn changed(&self, new: &NewWishes) -> Result<Options, Refusal> {
        let mut options = self.options.clone();
        options.min = new.min.or(options.min);
        match new.max {
            Some(Most::All) => options.max = None,
            Some(Most::Processors(max)) => options.max = Some(max),
            None => {}
        }
        options.weight_milli = new.weight_milli.or(options.weight_milli);
        options.class = new.class.unwrap_or(options.class);
        self.check_numbers(new, &options)?;
        self.check_class(new.class)?;
        Ok(options)
    }

    fn check_numbers(&self, new: &NewWishes, after: &Options) -> Result<(), Refusal> {
        let there = self.processors;
        if let Some(Most::Processors(max)) = new.max
            && !(1..=there).contains(&max)
        {
            let hint = format!("give --max 1 to {there}, or --max none for no limit");
            return Err(usage(format!("--max {max} is not possible: {} to give out", processors(there)), hint));
        }
        if let Some(min) = new.min
            && !(1..=there).contains(&min)
        {
            let hint = format!("give --min 1 to {there}; 1 is usual");
            return Err(usage(format!("--min {min} is not possible: {} to give out", processors(there)), hint));
        }
        if let (Some(min), Some(max)) = (after.min, after.max)
            && min > max
        {
            let what = match (new.min, new.max) {
                (Some(_), None) => format!("--min {min} is more than the limit of {max} that {} has", self.name),
                (None, Some(_)) => format!("--max {max} is less than the minimum of {min} that {} has", self.name),
                _ => format!("--min {min} is more than --max {max}"),
            };
            return Err(usage(what, "give both --min and --max; --max none is no limit, --min 1 no minimum"));
        }
        if new.weight_milli.is_some_and(|weight| !(1..=WEIGHT_MILLI_MAX).contains(&weight)) {
            return Err(usage("the weight is not possible", "give a weight from 0.001 to 1000; 1 is usual"));
        }
        Ok(())
    }

    fn check_class(&self, class: Option<Class>) -> Result<(), Refusal> {
        let can = "a running OpenMP program can change between auto, malleable and fold";
        match (class, self.reach) {
            (None | Some(Class::Auto | Class::Fold), _) | (Some(Class::Malleable), Reach::Page | Reach::Wrapper) => {
                Ok(())
            }
            (Some(Class::Setter | Class::Whole), _) => {
                let what = "this class cannot be set while a program runs: it follows from the program's libraries";
                Err(usage(what, format!("--class auto uses the setters of all libraries that have one; {can}")))
            }
            (Some(Class::Malleable), Reach::Affinity) => {
                let what =
                    format!("{} cannot become malleable now: the shim is not in it, so its class is fold", self.name);
                let hint = "the shim is in programs that `numaestro run` starts, from their first parallel region on; ";
                Err(usage(what, format!("{hint}{can}")))
            }
        }
    }
}

fn usage(what: impl Into<String>, hint: impl Into<String>) -> Refusal {
    Refusal::new(what, hint).of_kind(RefusalKind::Usage)
}

fn processors(there: u32) -> String {
    if there == 1 { "there is 1 processor".to_owned() } else { format!("there are {there} processors") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(reach: Reach, options: &Options, new: NewWishes) -> Result<Options, Refusal> {
        Subject { name: "lulesh", options, reach, processors: 4 }.changed(&new)
    }

    fn refused(options: &Options, new: NewWishes) -> String {
        let refusal = changed(Reach::Page, options, new).unwrap_err();
        assert_eq!(refusal.kind, RefusalKind::Usage);
        assert!(!refusal.hint.is_empty());
        refusal.reason
    }

    fn none() -> NewWishes {
        NewWishes::default()
    }

    #[test]
    fn what_is_not_named_stays() {
        let before =
            Options { min: Some(2), max: Some(3), weight_milli: Some(500), btr: Some(7), ..Options::default() };
        let new = NewWishes { max: Some(Most::Processors(4)), class: Some(Class::Malleable), ..none() };
        let after = changed(Reach::Page, &before, new).unwrap();
        assert_eq!(after, Options { max: Some(4), class: Class::Malleable, ..before.clone() });
        let after = changed(Reach::Page, &before, NewWishes { max: Some(Most::All), ..none() }).unwrap();
        assert_eq!(after, Options { max: None, ..before });
    }

    #[test]
    fn impossible_numbers_are_refused_and_say_what_is_possible() {
        let (min, max) = (
            |min| NewWishes { min: Some(min), ..none() },
            |max| NewWishes { max: Some(Most::Processors(max)), ..none() },
        );
        let before = Options { min: Some(2), max: Some(3), ..Options::default() };
        assert_eq!(refused(&before, max(5)), "--max 5 is not possible: there are 4 processors to give out");
        assert!(refused(&before, max(0)).starts_with("--max 0"));
        assert!(refused(&before, min(0)).starts_with("--min 0"));
        assert!(refused(&Options::default(), min(5)).starts_with("--min 5"));
        assert_eq!(refused(&before, min(4)), "--min 4 is more than the limit of 3 that lulesh has");
        assert_eq!(refused(&before, max(1)), "--max 1 is less than the minimum of 2 that lulesh has");
        assert_eq!(refused(&before, NewWishes { min: Some(4), ..max(3) }), "--min 4 is more than --max 3");
        for weight in [0, 1_000_001] {
            assert!(refused(&before, NewWishes { weight_milli: Some(weight), ..none() }).contains("weight"));
        }
    }

    #[test]
    fn a_class_changes_only_where_the_program_reads_it() {
        let class = |class| NewWishes { class: Some(class), ..none() };
        let options = Options::default();
        for (reach, wanted, works) in [
            (Reach::Page, Class::Malleable, true),
            (Reach::Page, Class::Fold, true),
            (Reach::Page, Class::Setter, false),
            (Reach::Page, Class::Whole, false),
            (Reach::Wrapper, Class::Malleable, true),
            (Reach::Affinity, Class::Malleable, false),
            (Reach::Affinity, Class::Fold, true),
            (Reach::Affinity, Class::Auto, true),
        ] {
            assert_eq!(changed(reach, &options, class(wanted)).is_ok(), works, "{reach:?} {wanted:?}");
        }
    }
}
