//! Everything that needs the world: sockets, files, processes.

mod containers;
mod faults;
mod grid;
mod hostile;
mod identity;
mod layouts;
mod namespaces;
mod wire;
mod world;
