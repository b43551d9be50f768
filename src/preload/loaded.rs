//! Parts of the shared library that an ordinary crate must not have: they concern the program as a whole.

use core::ffi::c_int;

#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn() = crate::own::constructed;
#[used]
#[unsafe(link_section = ".fini_array")]
static DESTRUCTOR: extern "C" fn() = crate::own::destructed;

#[panic_handler]
fn panicked(_: &core::panic::PanicInfo) -> ! {
    crate::sys::fail(&[b"internal error in the preloaded library; please report it"])
}

/// Called for frames of this library when a thread is cancelled, or left by `pthread_exit`: they have nothing to clean
/// up.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() -> c_int {
    const CONTINUE: c_int = 8;
    CONTINUE
}
