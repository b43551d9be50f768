//! Everything that needs the world: sockets, files, processes.

mod faults;
mod grid;
mod hostile;
mod identity;
mod layouts;
mod namespaces;
mod report;
mod wire;
mod world;
