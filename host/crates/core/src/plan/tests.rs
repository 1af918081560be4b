//! Laws of planning that no single file can show.

mod packing;
mod planning;
mod prompting;
mod structuring;
