use super::Failure;
use crate::topology::Override;
pub fn write(_: &str, _: &[Override], _: Option<&std::path::Path>) -> Result<(), Failure> { todo!() }
