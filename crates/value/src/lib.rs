//! Tagged words and object layouts
