//! Exact copies of parts whose type is not known, state and random stream included. Knows nothing of what they answer.
//!
//! Every part is `Clone`; these traits carry that over to `Box<dyn Part>`. Nobody implements them by hand.

use crate::part::{Admission, Pages, Placement, Share, Turns};

macro_rules! copyable {
    ($($part:ident $copyable:ident)*) => {$(
        /// A part that can be copied behind a pointer. Every part that is `Clone` can.
        pub trait $copyable {
            /// Another one in the same state, which answers the same from here on.
            fn copied(&self) -> Box<dyn $part>;
        }

        impl<T: $part + Clone + 'static> $copyable for T {
            fn copied(&self) -> Box<dyn $part> {
                Box::new(self.clone())
            }
        }

        impl Clone for Box<dyn $part> {
            fn clone(&self) -> Self {
                (**self).copied()
            }
        }
    )*};
}

copyable! {
    Share CopyShare
    Placement CopyPlacement
    Turns CopyTurns
    Pages CopyPages
    Admission CopyAdmission
}
