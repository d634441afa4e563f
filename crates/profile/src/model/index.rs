//! Indices of rows: a type for each table, so that the number of a frame is no number of a stack.

macro_rules! indices {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u32);

        impl $name {
            /// The index of a row; the last possible one for a row that no table can have.
            pub fn new(row: usize) -> $name {
                $name(u32::try_from(row).unwrap_or(u32::MAX))
            }

            /// The row in its table.
            pub fn row(self) -> usize {
                self.0 as usize
            }

            /// The row as it stands in files.
            pub fn number(self) -> u32 {
                self.0
            }
        }

        impl From<u32> for $name {
            fn from(row: u32) -> $name {
                $name(row)
            }
        }
    )*};
}

indices! {
    /// A row of the table of strings.
    StringIndex;
    /// A row of the table of functions.
    FunctionIndex;
    /// A row of the table of frames.
    FrameIndex;
    /// A row of the table of stacks.
    StackIndex;
    /// A row of the table of threads.
    ThreadIndex;
    /// A row of the table of tasks; row 0 is the main program.
    TaskIndex;
    /// A row of the table of label sets; set 0 is empty.
    LabelSetIndex;
}
