//! Reader, syntax objects, source positions, hygienic expander
