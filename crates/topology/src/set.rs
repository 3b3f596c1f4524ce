//! `CpuSet` (numbers Linux uses) and `PuSet` (numbers the tree uses): two types so that they cannot
//! be mixed up.

use crate::bitmap::{Bitmap, Bits};
use crate::id::PuId;
use crate::list;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

macro_rules! set {
    ($(#[$doc:meta])* $name:ident, $iter:ident, $item:ty, $wrap:expr, $unwrap:expr) => {
        $(#[$doc])*
        #[derive(Default, PartialEq, Eq, Hash)]
        pub struct $name(Bitmap);

        impl $name {
            /// The empty set; allocates nothing.
            pub const fn new() -> Self {
                Self(Bitmap::new())
            }

            /// An empty set that can hold indices below `bits` without allocating again.
            pub fn with_capacity(bits: usize) -> Self {
                Self(Bitmap::with_capacity(bits))
            }

            /// Adds an index; true if it was not in the set.
            #[inline]
            pub fn insert(&mut self, item: $item) -> bool {
                self.0.insert($unwrap(item))
            }

            /// Takes an index out; true if it was in the set.
            #[inline]
            pub fn remove(&mut self, item: $item) -> bool {
                self.0.remove($unwrap(item))
            }

            /// Says whether an index is in the set.
            #[inline]
            pub fn contains(&self, item: $item) -> bool {
                self.0.contains($unwrap(item))
            }

            /// Takes all indices out and keeps the capacity.
            #[inline]
            pub fn clear(&mut self) {
                self.0.clear();
            }

            /// Says whether the set is empty.
            #[inline]
            pub fn is_empty(&self) -> bool {
                self.0.is_empty()
            }

            /// Number of indices.
            #[inline]
            pub fn len(&self) -> usize {
                self.0.len()
            }

            /// The lowest index.
            #[inline]
            pub fn first(&self) -> Option<$item> {
                self.iter().next()
            }

            /// The highest index.
            pub fn last(&self) -> Option<$item> {
                self.0.last().map($wrap)
            }

            /// All indices, in rising order.
            #[inline]
            pub fn iter(&self) -> $iter<'_> {
                $iter(self.0.iter())
            }

            /// Indices in either set.
            #[must_use]
            pub fn union(&self, other: &Self) -> Self {
                let mut out = self.clone();
                out.or_with(other);
                out
            }

            /// Indices in both sets.
            #[must_use]
            pub fn intersection(&self, other: &Self) -> Self {
                let mut out = self.clone();
                out.and_with(other);
                out
            }

            /// Indices in this set and not in `other`.
            #[must_use]
            pub fn difference(&self, other: &Self) -> Self {
                let mut out = self.clone();
                out.subtract(other);
                out
            }

            /// Adds all of `other`.
            pub fn or_with(&mut self, other: &Self) {
                self.0.or_with(&other.0);
            }

            /// Keeps only indices that are in `other` too.
            pub fn and_with(&mut self, other: &Self) {
                self.0.and_with(&other.0);
            }

            /// Takes out all of `other`.
            pub fn subtract(&mut self, other: &Self) {
                self.0.subtract(&other.0);
            }

            /// Says whether all of this set is in `other`.
            pub fn is_subset(&self, other: &Self) -> bool {
                self.0.is_subset(&other.0)
            }

            /// Says whether some index is in both.
            pub fn intersects(&self, other: &Self) -> bool {
                self.0.intersects(&other.0)
            }

            /// Number of indices in both; allocates nothing.
            pub fn common(&self, other: &Self) -> usize {
                self.0.common(&other.0)
            }

            /// Bit `i % 64` of word `i / 64` is index `i`; no zero words at the end.
            pub fn words(&self) -> &[u64] {
                self.0.words()
            }
        }

        impl Clone for $name {
            fn clone(&self) -> Self {
                Self(self.0.clone())
            }

            /// Reuses the allocation.
            fn clone_from(&mut self, source: &Self) {
                self.0.clone_from(&source.0);
            }
        }

        impl fmt::Display for $name {
            /// The format of Linux's lists: `0-3,8`; empty is the empty string.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                list::write(self.0.iter(), f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }

        impl FromStr for $name {
            type Err = list::ListError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                list::parse(text).map(Self)
            }
        }

        impl Serialize for $name {
            /// As its list.
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                list::deserialize(deserializer).map(Self)
            }
        }

        impl FromIterator<$item> for $name {
            fn from_iter<T: IntoIterator<Item = $item>>(items: T) -> Self {
                let mut out = Self::new();
                out.extend(items);
                out
            }
        }

        impl Extend<$item> for $name {
            fn extend<T: IntoIterator<Item = $item>>(&mut self, items: T) {
                for item in items {
                    self.insert(item);
                }
            }
        }

        impl<'a> IntoIterator for &'a $name {
            type Item = $item;
            type IntoIter = $iter<'a>;

            fn into_iter(self) -> $iter<'a> {
                self.iter()
            }
        }

        #[doc = concat!("Members of a [`", stringify!($name), "`] in rising order.")]
        #[derive(Debug, Clone)]
        pub struct $iter<'a>(Bits<'a>);

        impl Iterator for $iter<'_> {
            type Item = $item;

            #[inline]
            fn next(&mut self) -> Option<$item> {
                self.0.next().map($wrap)
            }
        }
    };
}

set! {
    /// Processors by OS index, as in affinity masks, cpusets and sysfs lists.
    ///
    /// ```
    /// use numaestro_topology::CpuSet;
    /// let set: CpuSet = "0-3,8".parse().unwrap();
    /// assert_eq!(set.len(), 5);
    /// assert_eq!(set.to_string(), "0-3,8");
    /// ```
    CpuSet, CpuSetIter, u32, |bit| bit, |item: u32| item
}

set! {
    /// Processors by logical index ([`PuId`]), as policies and the engine use them.
    PuSet, PuSetIter, PuId, PuId, |item: PuId| item.0
}

impl CpuSet {
    /// From hwloc's bitmap text: words of 32 bits in hexadecimal, highest first
    /// (`0x00000003,0xffffffff`).
    ///
    /// # Errors
    /// The first word that is not one, or one beyond [`list::LARGEST`].
    pub fn from_mask(text: &str) -> Result<Self, list::ListError> {
        list::parse_mask(text).map(Self)
    }
}
