//! The layout as the Rust compiler sees it.
//!
//! A field that is added to a structure and not listed here does not compile: the pattern in
//! `list!` has no `..`.

use std::mem::{offset_of, size_of};

use numaestro_abi::attach::{self, Advised, Hello, Kind, Notice, Query, Welcome, advice, code};
use numaestro_abi::page::library::Libraries;
use numaestro_abi::page::{
    self, AnalyzerLine, FoldLine, HeaderLine, HelperLine, ManagerLine, Page, RequestLine, RootLine, flag, fold,
    library, memory, runtime, vp, why,
};

use super::{Constant, Field};

macro_rules! list {
    ($fields:ident, $prefix:literal at $base:expr, $structure:ident { $($field:ident),+ $(,)? }) => {
        // Never called: it is here to fail when the structure has other fields than listed.
        let _all_fields = |whole: &$structure| {
            let $structure { $($field: _),+ } = whole;
        };
        $(
            $fields.push(Field {
                name: concat!($prefix, ".", stringify!($field)).to_owned(),
                offset: $base + offset_of!($structure, $field),
                size: size_of_field(|whole: &$structure| &whole.$field),
            });
        )+
    };
}

macro_rules! constants {
    ($($name:literal = $value:expr, $c_name:literal;)+) => {
        vec![$(Constant { name: $name.to_owned(), value: u64::from($value), c_name: $c_name }),+]
    };
}

fn size_of_field<T, F>(_: fn(&T) -> &F) -> usize {
    size_of::<F>()
}

/// Every field of the page, line by line, and of the messages.
pub fn fields() -> Vec<Field> {
    let mut all = Vec::new();
    list!(all, "page.header" at offset_of!(Page, header), HeaderLine {
        magic, version, version_lowest, page_bytes, manager_pid, app, features, app_pid, reserved,
    });
    list!(all, "page.manager" at offset_of!(Page, manager), ManagerLine {
        epoch, count, flags, sequence, cpuset_words, grace_us, decided_ns, memory, reserved, wanted_until_ns,
        reserved_after,
    });
    list!(all, "page.root" at offset_of!(Page, root), RootLine {
        regions, in_region, team, team_max, held, adopted_ns, held_by, follows, sleeps, reserved,
    });
    list!(all, "page.helper" at offset_of!(Page, helper), HelperLine {
        adopted_epoch, folded, runtimes, helper_tid, reserved,
    });
    list!(all, "page.request" at offset_of!(Page, request), RequestLine {
        requested, speedup_processors, speedup_milli, reserved,
    });
    list!(all, "page.analyzer" at offset_of!(Page, analyzer), AnalyzerLine {
        processors, speedup_milli, iteration_ns, samples, share_milli, stretch_milli, results, cost_ns, reserved,
    });
    list!(all, "page.fold" at offset_of!(Page, fold), FoldLine {
        mode, why, threads, carriers, switches, switches_per_second, unfolds, opened, dissolved, reserved,
    });
    list!(all, "page.libraries" at offset_of!(Page, libraries), Libraries { full, reserved, rows });
    let lines = all.len();
    list!(all, "page" at 0, Page {
        header, manager, root, helper, request, analyzer, fold, libraries, nodes, cpuset, vp,
    });
    // These eight are listed field by field above.
    all.drain(lines..lines + 8);
    list!(all, "hello" at 0, Hello {
        magic, kind, version, page_version, runtimes, threads_max, reattach, claim_count, reserved, claim_app, name,
        claim_cpuset, pad,
    });
    list!(all, "welcome" at 0, Welcome { magic, kind, version, code, reserved, app, text });
    list!(all, "notice" at 0, Notice { magic, kind, version, app, value, second });
    list!(all, "query" at 0, Query { magic, kind, version, processors, min, memory, reserved });
    list!(all, "advised" at 0, Advised {
        magic, kind, version, code, flags, count, threads, position, reserved, memory_free, pad, cpus, free, nodes,
        memory_nodes, text,
    });
    all
}

/// Every number that both sides must know.
#[allow(clippy::too_many_lines)] // One line for each constant.
pub fn constants() -> Vec<Constant> {
    constants! {
        "page.MAGIC" = page::MAGIC, "NM_PAGE_MAGIC";
        "page.VERSION" = page::VERSION, "NM_PAGE_VERSION";
        "page.VERSION_LOWEST" = page::VERSION_LOWEST, "";
        "page.BYTES" = page::PAGE_BYTES as u64, "NM_PAGE_BYTES";
        "page.CPUSET_WORDS" = page::CPUSET_WORDS as u64, "NM_CPUSET_WORDS";
        "flag.SHARED" = flag::SHARED, "NM_FLAG_SHARED";
        "flag.LENT" = flag::LENT, "NM_FLAG_LENT";
        "flag.RELEASED" = flag::RELEASED, "NM_FLAG_RELEASED";
        "flag.RESIZE_ALWAYS" = flag::RESIZE_ALWAYS, "NM_FLAG_RESIZE_ALWAYS";
        "flag.RESIZE_NEVER" = flag::RESIZE_NEVER, "NM_FLAG_RESIZE_NEVER";
        "flag.MEASURE" = flag::MEASURE, "NM_FLAG_MEASURE";
        "page.VPS" = page::VPS as u64, "NM_VPS";
        "vp.UNALLOCATED" = vp::UNALLOCATED, "NM_VP_UNALLOCATED";
        "vp.RUNNING" = vp::RUNNING, "NM_VP_RUNNING";
        "vp.STOLEN" = vp::STOLEN, "NM_VP_STOLEN";
        "vp.CLAIMED" = vp::CLAIMED, "NM_VP_CLAIMED";
        "vp.NO_PU" = vp::NO_PU, "NM_VP_NO_PU";
        "page.NODE_WORDS" = page::NODE_WORDS as u64, "NM_NODE_WORDS";
        "memory.UNSAID" = memory::UNSAID, "NM_MEMORY_UNSAID";
        "memory.FIRST_TOUCH" = memory::FIRST_TOUCH, "NM_MEMORY_FIRST_TOUCH";
        "memory.PREFERRED" = memory::PREFERRED, "NM_MEMORY_PREFERRED";
        "memory.INTERLEAVE" = memory::INTERLEAVE, "NM_MEMORY_INTERLEAVE";
        "runtime.GOMP" = runtime::GOMP, "NM_RUNTIME_GOMP";
        "runtime.KMP" = runtime::KMP, "NM_RUNTIME_KMP";
        "runtime.OPENBLAS" = runtime::OPENBLAS, "NM_RUNTIME_OPENBLAS";
        "runtime.BLIS" = runtime::BLIS, "NM_RUNTIME_BLIS";
        "runtime.MKL" = runtime::MKL, "NM_RUNTIME_MKL";
        "runtime.TBB" = runtime::TBB, "NM_RUNTIME_TBB";
        "runtime.API" = runtime::API, "NM_RUNTIME_API";
        "fold.NONE" = fold::NONE, "NM_FOLD_NONE";
        "fold.USER" = fold::USER, "NM_FOLD_USER";
        "fold.KERNEL" = fold::KERNEL, "NM_FOLD_KERNEL";
        "why.NONE" = why::NONE, "NM_WHY_NONE";
        "why.USER" = why::USER, "NM_WHY_USER";
        "why.MACHINE" = why::MACHINE, "NM_WHY_MACHINE";
        "why.RUNTIME" = why::RUNTIME, "NM_WHY_RUNTIME";
        "why.ROOTS" = why::ROOTS, "NM_WHY_ROOTS";
        "why.SIZE" = why::SIZE, "NM_WHY_SIZE";
        "why.HELPER" = why::HELPER, "NM_WHY_HELPER";
        "why.RSEQ" = why::RSEQ, "NM_WHY_RSEQ";
        "why.PI" = why::PI, "NM_WHY_PI";
        "why.SHADOW" = why::SHADOW, "NM_WHY_SHADOW";
        "why.SYNC" = why::SYNC, "NM_WHY_SYNC";
        "why.TASKS" = why::TASKS, "NM_WHY_TASKS";
        "why.NESTED" = why::NESTED, "NM_WHY_NESTED";
        "why.CANCEL" = why::CANCEL, "NM_WHY_CANCEL";
        "why.FAULT" = why::FAULT, "NM_WHY_FAULT";
        "why.OTHER" = why::OTHER, "NM_WHY_OTHER";
        "page.LIBRARIES" = library::LIBRARIES as u64, "NM_LIBRARIES";
        "library.WHOLE" = library::WHOLE, "NM_LIBRARY_WHOLE";
        "library.USER" = library::USER, "NM_LIBRARY_USER";
        "library.KERNEL" = library::KERNEL, "NM_LIBRARY_KERNEL";
        "library.FOLLOWS" = library::FOLLOWS, "NM_LIBRARY_FOLLOWS";
        "library.SET" = library::SET, "NM_LIBRARY_SET";
        "library.ANSWERED" = library::ANSWERED, "NM_LIBRARY_ANSWERED";
        "library.LEFT" = library::LEFT, "NM_LIBRARY_LEFT";
        "library.ABSENT" = library::ABSENT, "NM_LIBRARY_ABSENT";
        "because.NOTHING" = library::because::NOTHING, "NM_BECAUSE_NOTHING";
        "because.USER" = library::because::USER, "NM_BECAUSE_USER";
        "because.PROGRAM" = library::because::PROGRAM, "NM_BECAUSE_PROGRAM";
        "because.CLASS" = library::because::CLASS, "NM_BECAUSE_CLASS";
        "because.UNKNOWN" = library::because::UNKNOWN, "NM_BECAUSE_UNKNOWN";
        "message.MAGIC" = attach::MAGIC, "NM_MESSAGE_MAGIC";
        "message.VERSION" = attach::VERSION, "NM_MESSAGE_VERSION";
        "kind.HELLO" = Kind::Hello as u16, "NM_HELLO";
        "kind.WELCOME" = Kind::Welcome as u16, "NM_WELCOME";
        "kind.ADOPTED" = Kind::Adopted as u16, "NM_ADOPTED";
        "kind.BUSY" = Kind::Busy as u16, "NM_BUSY";
        "kind.REQUEST" = Kind::Request as u16, "NM_REQUEST";
        "kind.DEMAND" = Kind::Demand as u16, "NM_DEMAND";
        "kind.SPEEDUP" = Kind::Speedup as u16, "NM_SPEEDUP";
        "kind.ADVISE" = Kind::Advise as u16, "NM_ADVISE";
        "kind.ADVICE" = Kind::Advice as u16, "NM_ADVICE";
        "kind.TEAM" = Kind::Team as u16, "NM_TEAM";
        "kind.ALIVE" = Kind::Alive as u16, "NM_ALIVE";
        "kind.BEGINS" = Kind::Begins as u16, "NM_BEGINS";
        "advice.SHARED" = advice::SHARED, "NM_ADVICE_SHARED";
        "advice.WAITS" = advice::WAITS, "NM_ADVICE_WAITS";
        "code.OK" = code::OK, "NM_CODE_OK";
        "code.MALFORMED" = code::MALFORMED, "";
        "code.VERSION" = code::VERSION, "";
        "code.PERMISSION" = code::PERMISSION, "";
        "code.EXHAUSTED" = code::EXHAUSTED, "";
        "code.STOPPING" = code::STOPPING, "";
        "code.REFUSED" = code::REFUSED, "NM_CODE_REFUSED";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_fields_overlap() {
        for structure in ["page.", "hello.", "welcome.", "notice.", "query.", "advised."] {
            let mut fields: Vec<Field> = fields().into_iter().filter(|f| f.name.starts_with(structure)).collect();
            fields.sort_by_key(|field| field.offset);
            for pair in fields.windows(2) {
                assert!(pair[0].offset + pair[0].size <= pair[1].offset, "{pair:?}");
            }
        }
    }

    #[test]
    fn no_atomic_word_crosses_a_cache_line() {
        for field in fields().iter().filter(|field| field.name.starts_with("page.") && field.size <= 8) {
            assert_eq!(field.offset / 64, (field.offset + field.size - 1) / 64, "{field:?}");
            assert_eq!(field.offset % field.size, 0, "{field:?}");
        }
    }
}
