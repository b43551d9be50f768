//! What others hand us, in memory: leaves that lie, files that are broken; and what either may cost.

mod budgets;
mod corpus;
mod grids;
mod leaves;
mod lies;
mod memory;
mod mutation;
mod readers;
mod twin;
