//! Spoiling good inputs. Everything follows from one number, so that any input can be made again.

use numaestro_topology::{MemTree, Tree};

/// `SplitMix64` (Steele, Lea, Flood 2014).
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// The dice of one input of one seed.
    pub const fn new(seed: u64, input: u64) -> Self {
        Self(seed.wrapping_mul(0xd134_2543_de82_ef95) ^ input)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 to below `end`; 0 if `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % (end.max(1) as u64)) as usize
    }

    /// One of these.
    pub fn of<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }
}

/// Numbers at the edges of what is accepted, of types, and of nothing.
const NUMBERS: [&str; 24] = [
    "0",
    "1",
    "-1",
    "2",
    "7",
    "10",
    "31",
    "32",
    "33",
    "63",
    "64",
    "65",
    "255",
    "1023",
    "1024",
    "16383",
    "16384",
    "1048575",
    "1048576",
    "2147483648",
    "4294967295",
    "4294967296",
    "18446744073709551615",
    "99999999999999999999999",
];
/// Texts that some kernel or hand has written where another was expected.
const TEXTS: [&str; 16] = [
    "",
    "\n",
    "(null)",
    "nan",
    "0-",
    "-",
    "3-1",
    "0-1048575",
    "0,0,0",
    "0--1",
    ",",
    "0x",
    "K",
    "18014398509481984K",
    "Node 0 MemTotal: kB",
    "Node 0 MemTotal: 18446744073709551615 kB",
];
const LETTERS: [char; 24] = [
    '0', '1', '9', '-', ',', ' ', '\n', '\t', 'K', 'x', '*', ':', '(', ')', '[', ']', '<', '>', '"', '&', ';', '\0',
    'é', '\u{1f}',
];

/// Spoils a text in a few places.
pub fn text(dice: &mut Dice, good: &str) -> String {
    let mut out = good.to_owned();
    for _ in 0..=dice.below(4) {
        out = once(dice, &out);
    }
    out
}

fn once(dice: &mut Dice, text: &str) -> String {
    let place = boundary(text, dice.below(text.len() + 1));
    let (before, after) = text.split_at(place);
    match dice.below(9) {
        0 => before.to_owned(),
        1 => after.to_owned(),
        2 => [before, &dice.of(&LETTERS).to_string(), after].concat(),
        3 => [before, after.get(after.chars().next().map_or(0, char::len_utf8)..).unwrap_or("")].concat(),
        4 => number(dice, text),
        5 => [before, *dice.of(&TEXTS), after].concat(),
        6 => lines(dice, text),
        7 => {
            // A part again, somewhere else.
            let end = boundary(text, (place + dice.below(200)).min(text.len()));
            let elsewhere = boundary(text, dice.below(text.len() + 1));
            [&text[..elsewhere], &text[place..end], &text[elsewhere..]].concat()
        }
        _ => (*dice.of(&TEXTS)).to_owned(),
    }
}

/// The next place between characters at or before `place`.
fn boundary(text: &str, mut place: usize) -> usize {
    while !text.is_char_boundary(place) {
        place -= 1;
    }
    place
}

/// Another number in place of one.
fn number(dice: &mut Dice, text: &str) -> String {
    let from = boundary(text, dice.below(text.len() + 1));
    let Some(begin) = text[from..].find(|c: char| c.is_ascii_digit()).map(|at| from + at) else {
        return text.to_owned();
    };
    let end = text[begin..].find(|c: char| !c.is_ascii_digit()).map_or(text.len(), |at| begin + at);
    [&text[..begin], *dice.of(&NUMBERS), &text[end..]].concat()
}

/// Takes a line away, doubles it, or exchanges two.
fn lines(dice: &mut Dice, text: &str) -> String {
    let mut lines: Vec<&str> = text.split('\n').collect();
    let (a, b) = (dice.below(lines.len()), dice.below(lines.len()));
    match dice.below(3) {
        0 => drop(lines.remove(a)),
        1 => lines.insert(b, lines[a]),
        _ => lines.swap(a, b),
    }
    lines.join("\n")
}

/// Spoils a tree in a few places.
pub fn tree(dice: &mut Dice, good: &MemTree) -> MemTree {
    let mut out = good.clone();
    for _ in 0..=dice.below(6) {
        spoil(dice, &mut out);
    }
    out
}

fn spoil(dice: &mut Dice, tree: &mut MemTree) {
    let paths: Vec<String> = tree.iter().map(|(path, _)| path.to_owned()).collect();
    let Some(path) = paths.get(dice.below(paths.len())) else { return };
    let content = tree.read(path).unwrap_or_default();
    match dice.below(9) {
        0 => _ = tree.remove(path),
        1 => _ = tree.remove(above(dice, path)),
        2 | 3 => tree.insert(path, text(dice, &content)),
        4 => {
            // What stands in another file of the same name: plausible, and wrong.
            let name = path.rsplit('/').next().unwrap_or(path);
            let twins: Vec<&String> = paths.iter().filter(|other| other.rsplit('/').next() == Some(name)).collect();
            let other = tree.read(twins[dice.below(twins.len())]).unwrap_or_default();
            tree.insert(path, other);
        }
        5 => {
            let other = dice.of(&paths);
            let theirs = tree.read(other).unwrap_or_default();
            tree.insert(other.clone(), content);
            tree.insert(path, theirs);
        }
        6 => renumber(dice, tree, path),
        7 => grow(dice, tree),
        // The same everywhere: a kernel without these files, or one that says the same of every
        // processor.
        _ => {
            let name = path.rsplit('/').next().unwrap_or(path).to_owned();
            let gone = dice.below(2) == 0;
            for other in paths.iter().filter(|other| other.ends_with(&format!("/{name}"))) {
                if gone { _ = tree.remove(other) } else { tree.insert(other, content.clone()) }
            }
        }
    }
}

/// A directory that holds the file.
fn above<'a>(dice: &mut Dice, path: &'a str) -> &'a str {
    let slashes: Vec<usize> = path.match_indices('/').map(|(at, _)| at).collect();
    slashes.get(dice.below(slashes.len())).map_or(path, |&at| &path[..at])
}

/// Gives the directory of a processor, node or cache another number, which may be taken.
fn renumber(dice: &mut Dice, tree: &mut MemTree, path: &str) {
    let directory = above(dice, path).to_owned();
    let stem = directory.trim_end_matches(|c: char| c.is_ascii_digit());
    if stem.len() == directory.len() {
        return;
    }
    let new = format!("{stem}{}", dice.of(&NUMBERS));
    let moved: Vec<(String, String)> = tree
        .iter()
        .filter_map(|(path, content)| Some((format!("{new}{}", path.strip_prefix(&directory)?), content.to_owned())))
        .collect();
    tree.remove(&directory);
    for (path, content) in moved {
        tree.insert(path, content);
    }
}

/// Many more processors or nodes, with little said of them.
fn grow(dice: &mut Dice, tree: &mut MemTree) {
    let count = *dice.of(&[1, 3, 70, 1100, 2000]);
    let first = *dice.of(&[0, 2, 900, 16_000, 1_048_000]);
    for number in first..first + count {
        match dice.below(3) {
            0 => tree.insert(format!("sys/devices/system/node/node{number}/cpulist"), number.to_string()),
            1 => tree.insert(format!("sys/devices/system/cpu/cpu{number}/topology/core_id"), "0"),
            _ => tree.insert(format!("sys/devices/system/cpu/cpu{number}/online"), "1"),
        }
    }
    if dice.below(2) == 0 {
        tree.insert("sys/devices/system/cpu/online", format!("0-{}", first + count));
    }
}
