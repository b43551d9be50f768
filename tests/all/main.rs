//! Everything that needs the world: sockets, files, processes.

mod faults;
mod grid;
mod hostile;
mod identity;
mod layouts;
mod namespaces;
mod sweep;
mod wire;
mod world;
