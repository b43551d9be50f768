//! Hostile input, in memory: lying leaves and broken files, and their costs.

mod budgets;
mod corpus;
mod grids;
mod leaves;
mod lies;
mod memory;
mod mutation;
mod readers;
mod twin;
