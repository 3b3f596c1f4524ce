//! The number of processors of each program in each group, while they are arranged. It names no
//! processor.

use std::ops::Range;

/// The wish of a program, for [`Board::enter`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seat {
    /// Processors it shall have.
    pub wanted: u16,
    /// The order in which programs came: of equals, the smaller one comes first.
    pub number: u32,
}

/// Counts by program and group.
#[derive(Debug, Clone, Default)]
pub struct Board {
    groups: usize,
    seats: Vec<Seat>,
    /// By program and group: processors it has in the arrangement, and processors it had before.
    have: Vec<u16>,
    held: Vec<u16>,
    /// By program: the groups it is in, as bits.
    places: Vec<u64>,
    /// By program: the groups it was in, as bits.
    was_in: Vec<u64>,
    /// By group: the programs that are in it, as bits, and how many they are.
    members: Vec<u64>,
    crowd: Vec<u16>,
    /// By program: sum of `have`.
    total: Vec<u16>,
    /// By group: processors that no program has.
    room: Vec<u16>,
    /// Sum of `room`.
    free: u32,
    /// By program: the group that the others of its processors are measured from.
    main: Vec<u16>,
}

const WORD: usize = 64;

impl Board {
    /// Begins with so many groups and programs; nobody has anything, and there is no room.
    pub fn reset(&mut self, groups: usize, programs: usize) {
        (self.groups, self.free) = (groups, 0);
        self.seats.clear();
        for (array, len) in [
            (&mut self.have, groups * programs),
            (&mut self.held, groups * programs),
            (&mut self.total, programs),
            (&mut self.room, groups),
            (&mut self.main, programs),
            (&mut self.crowd, groups),
        ] {
            array.clear();
            array.resize(len, 0);
        }
        for (bits, len) in [
            (&mut self.places, programs * groups.div_ceil(WORD)),
            (&mut self.was_in, programs * groups.div_ceil(WORD)),
            (&mut self.members, groups * programs.div_ceil(WORD)),
        ] {
            bits.clear();
            bits.resize(len, 0);
        }
    }

    /// The next program, of those that [`Self::reset`] counted.
    pub fn enter(&mut self, seat: Seat) {
        self.seats.push(seat);
    }

    /// A processor that a program has now.
    #[inline]
    pub fn holds(&mut self, program: usize, group: usize) {
        self.give(program, group, 1);
        self.held[program * self.groups + group] += 1;
        self.was_in[program * self.groups.div_ceil(WORD) + group / WORD] |= 1 << (group % WORD);
    }

    /// Adds processors that no program has.
    pub fn add_room(&mut self, group: usize, processors: u16) {
        self.room[group] += processors;
        self.free += u32::from(processors);
    }

    /// Says whether there is room in any group.
    pub fn has_room(&self) -> bool {
        self.free > 0
    }

    /// Number of programs.
    pub fn programs(&self) -> usize {
        self.seats.len()
    }

    /// Number of groups.
    pub fn groups(&self) -> usize {
        self.groups
    }

    /// The wish of a program.
    pub fn seat(&self, program: usize) -> Seat {
        self.seats[program]
    }

    /// Processors that a program has in a group.
    #[inline]
    pub fn have(&self, program: usize, group: usize) -> u16 {
        self.have[program * self.groups + group]
    }

    /// Processors that it had there before.
    #[inline]
    pub fn held(&self, program: usize, group: usize) -> u16 {
        self.held[program * self.groups + group]
    }

    /// Processors that it has in all.
    pub fn total(&self, program: usize) -> u16 {
        self.total[program]
    }

    /// Processors that no program has, by group.
    pub fn room(&self) -> &[u16] {
        &self.room
    }

    /// The group from which a program's processors are measured.
    pub fn main(&self, program: usize) -> usize {
        usize::from(self.main[program])
    }

    /// Measures them from another one.
    pub fn set_main(&mut self, program: usize, group: usize) {
        self.main[program] = group as u16;
    }

    /// The groups a program is in, in order.
    #[inline]
    pub fn places(&self, program: usize) -> Bits<'_> {
        let words = self.groups.div_ceil(WORD);
        Bits::new(&self.places[program * words..][..words])
    }

    /// The groups a program was in, in order.
    pub fn was_in(&self, program: usize) -> Bits<'_> {
        let words = self.groups.div_ceil(WORD);
        Bits::new(&self.was_in[program * words..][..words])
    }

    /// The programs in a group, in order.
    #[inline]
    pub fn members(&self, group: usize) -> Bits<'_> {
        let words = self.seats_words();
        Bits::new(&self.members[group * words..][..words])
    }

    /// Number of programs in a group.
    #[inline]
    pub fn crowd(&self, group: usize) -> u32 {
        u32::from(self.crowd[group])
    }

    /// Gives room of a group to a program.
    pub fn take(&mut self, program: usize, group: usize, processors: u16) {
        self.room[group] -= processors;
        self.free -= u32::from(processors);
        self.give(program, group, processors);
    }

    /// Makes processors of a program in a group room.
    pub fn leave(&mut self, program: usize, group: usize, processors: u16) {
        self.lose(program, group, processors);
        self.add_room(group, processors);
    }

    /// Two programs change processors: the first gives some in `here` for as many of the second in
    /// `there`.
    pub fn exchange(&mut self, (first, here): (usize, usize), (second, there): (usize, usize), processors: u16) {
        self.lose(first, here, processors);
        self.lose(second, there, processors);
        self.give(first, there, processors);
        self.give(second, here, processors);
    }

    /// Processors that a program has and had not before.
    pub fn gained(&self, program: usize) -> u32 {
        let groups = self.places(program);
        groups.map(|group| u32::from(self.have(program, group).saturating_sub(self.held(program, group)))).sum()
    }

    fn seats_words(&self) -> usize {
        self.total.len().div_ceil(WORD)
    }

    #[inline]
    fn give(&mut self, program: usize, group: usize, processors: u16) {
        let entry = &mut self.have[program * self.groups + group];
        if *entry == 0 && processors > 0 {
            let words = self.groups.div_ceil(WORD);
            self.places[program * words + group / WORD] |= 1 << (group % WORD);
            let words = self.total.len().div_ceil(WORD);
            self.members[group * words + program / WORD] |= 1 << (program % WORD);
            self.crowd[group] += 1;
        }
        *entry += processors;
        self.total[program] += processors;
    }

    #[inline]
    fn lose(&mut self, program: usize, group: usize, processors: u16) {
        let entry = &mut self.have[program * self.groups + group];
        *entry -= processors;
        if *entry == 0 && processors > 0 {
            let words = self.groups.div_ceil(WORD);
            self.places[program * words + group / WORD] &= !(1 << (group % WORD));
            let words = self.total.len().div_ceil(WORD);
            self.members[group * words + program / WORD] &= !(1 << (program % WORD));
            self.crowd[group] -= 1;
        }
        self.total[program] -= processors;
    }

    /// The row of a program, for [`Self::put_back`].
    pub fn copy_row(&self, program: usize, row: &mut Vec<u16>) {
        row.clear();
        row.extend_from_slice(&self.have[self.row(program)]);
    }

    /// Makes all processors of a program room.
    pub fn take_up(&mut self, program: usize) {
        for group in 0..self.groups {
            let processors = self.have(program, group);
            if processors > 0 {
                self.leave(program, group, processors);
            }
        }
    }

    /// Gives a program that has none its former processors back.
    pub fn put_back(&mut self, program: usize, row: &[u16]) {
        for (group, &processors) in row.iter().enumerate().filter(|&(_, &processors)| processors > 0) {
            self.take(program, group, processors);
        }
    }

    fn row(&self, program: usize) -> Range<usize> {
        program * self.groups..(program + 1) * self.groups
    }
}

/// The numbers of the bits that are set.
#[derive(Debug, Clone)]
pub struct Bits<'a> {
    words: &'a [u64],
    at: usize,
    word: u64,
}

impl<'a> Bits<'a> {
    fn new(words: &'a [u64]) -> Self {
        Self { words, at: 0, word: words.first().copied().unwrap_or(0) }
    }
}

impl Iterator for Bits<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        while self.word == 0 {
            self.at += 1;
            self.word = *self.words.get(self.at)?;
        }
        let bit = self.word.trailing_zeros() as usize;
        self.word &= self.word - 1;
        Some(self.at * WORD + bit)
    }
}
