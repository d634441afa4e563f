//! Machine code from the specializer's graphs, and the memory that holds it.
