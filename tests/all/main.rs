//! Everything that needs the world: sockets, files, processes.

mod hostile;
mod identity;
mod wire;
mod world;
