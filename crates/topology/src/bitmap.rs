//! A growable bitmap, the common code of [`crate::CpuSet`] and [`crate::PuSet`].
//!
//! In-place operations allocate only when a bit beyond the capacity is set, so the steady state of
//! a decision allocates nothing.

use std::hash::{Hash, Hasher};

const BITS: usize = u64::BITS as usize;

/// Bits 0.. in words of 64, lowest first. Words past the end of the vector are zero.
#[derive(Debug, Default)]
pub(crate) struct Bitmap {
    words: Vec<u64>,
}

impl Bitmap {
    pub(crate) const fn new() -> Self {
        Self { words: Vec::new() }
    }

    pub(crate) fn with_capacity(bits: usize) -> Self {
        Self { words: Vec::with_capacity(bits.div_ceil(BITS)) }
    }

    #[inline]
    pub(crate) fn insert(&mut self, bit: u32) -> bool {
        let (word, mask) = place(bit);
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        let fresh = self.words[word] & mask == 0;
        self.words[word] |= mask;
        fresh
    }

    #[inline]
    pub(crate) fn remove(&mut self, bit: u32) -> bool {
        let (word, mask) = place(bit);
        let Some(w) = self.words.get_mut(word) else { return false };
        let held = *w & mask != 0;
        *w &= !mask;
        held
    }

    #[inline]
    pub(crate) fn contains(&self, bit: u32) -> bool {
        let (word, mask) = place(bit);
        self.words.get(word).is_some_and(|w| w & mask != 0)
    }

    #[inline]
    pub(crate) fn clear(&mut self) {
        self.words.clear();
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.words.iter().map(|w| w.count_ones() as usize).sum()
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.words.iter().all(|&w| w == 0)
    }

    /// The words in use: the last one, if any, is not zero.
    #[inline]
    pub(crate) fn words(&self) -> &[u64] {
        let used = self.words.iter().rposition(|&w| w != 0).map_or(0, |last| last + 1);
        &self.words[..used]
    }

    #[inline]
    pub(crate) fn iter(&self) -> Bits<'_> {
        Bits { words: &self.words, next: 0, current: self.words.first().copied().unwrap_or(0) }
    }

    pub(crate) fn last(&self) -> Option<u32> {
        let words = self.words();
        let top = words.last()?;
        Some(((words.len() - 1) * BITS) as u32 + top.ilog2())
    }

    pub(crate) fn or_with(&mut self, other: &Self) {
        let theirs = other.words();
        if theirs.len() > self.words.len() {
            self.words.resize(theirs.len(), 0);
        }
        for (a, b) in self.words.iter_mut().zip(theirs) {
            *a |= b;
        }
    }

    pub(crate) fn and_with(&mut self, other: &Self) {
        self.words.truncate(other.words.len());
        for (a, b) in self.words.iter_mut().zip(&other.words) {
            *a &= b;
        }
    }

    pub(crate) fn subtract(&mut self, other: &Self) {
        for (a, b) in self.words.iter_mut().zip(&other.words) {
            *a &= !b;
        }
    }

    pub(crate) fn is_subset(&self, other: &Self) -> bool {
        let theirs = other.words.iter().copied().chain(std::iter::repeat(0));
        self.words.iter().zip(theirs).all(|(a, b)| a & !b == 0)
    }

    pub(crate) fn common(&self, other: &Self) -> usize {
        self.words.iter().zip(&other.words).map(|(a, b)| (a & b).count_ones() as usize).sum()
    }

    pub(crate) fn intersects(&self, other: &Self) -> bool {
        self.words.iter().zip(&other.words).any(|(a, b)| a & b != 0)
    }
}

/// Word and mask of a bit.
#[inline]
const fn place(bit: u32) -> (usize, u64) {
    (bit as usize / BITS, 1 << (bit as usize % BITS))
}

impl Clone for Bitmap {
    fn clone(&self) -> Self {
        Self { words: self.words.clone() }
    }

    fn clone_from(&mut self, source: &Self) {
        self.words.clone_from(&source.words);
    }
}

impl PartialEq for Bitmap {
    fn eq(&self, other: &Self) -> bool {
        self.words() == other.words()
    }
}

impl Eq for Bitmap {}

impl Hash for Bitmap {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.words().hash(state);
    }
}

/// Set bits in rising order.
#[derive(Debug, Clone)]
pub(crate) struct Bits<'a> {
    words: &'a [u64],
    next: usize,
    current: u64,
}

impl Iterator for Bits<'_> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        while self.current == 0 {
            self.next += 1;
            self.current = *self.words.get(self.next)?;
        }
        let bit = self.current.trailing_zeros();
        self.current &= self.current - 1;
        Some((self.next * BITS) as u32 + bit)
    }
}
