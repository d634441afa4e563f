//! Allocation, collection, barriers, safepoints
