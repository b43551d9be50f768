//! Users that only the programs of a run know, without any right to change users.
//!
//! `HANSA_USERS` is the path of a file in the form of `/etc/passwd`, and `HANSA_USER` the name of the user of a
//! process, root if it is not set. The process is told that it has that user, and that it has become any other user
//! that it asks to become; files stay with the user of the run. Without `HANSA_USERS`, the functions are those of the
//! system.

use core::cell::UnsafeCell;
use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use core::ptr::null_mut;
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::SeqCst;

use crate::sys::*;

/// A `struct passwd`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Passwd {
    name: *mut c_char,
    password: *mut c_char,
    user: c_uint,
    group: c_uint,
    about: *mut c_char,
    home: *mut c_char,
    shell: *mut c_char,
}

impl Passwd {
    const NONE: Passwd = Passwd {
        name: null_mut(),
        password: null_mut(),
        user: 0,
        group: 0,
        about: null_mut(),
        home: null_mut(),
        shell: null_mut(),
    };
}

/// Bytes of the file that are read: room for some 20,000 users.
const FILE_MAX: usize = 1 << 20;
const ERANGE: c_int = 34;
/// `O_RDONLY | O_CLOEXEC`.
const READ_ONLY: usize = 0o2_000_000;

/// State of `TEXT`: not looked for yet, and not there.
const UNKNOWN: usize = 0;
const ABSENT: usize = 1;

/// Address of the bytes of the file, or one of the states above, and their number.
static TEXT: AtomicUsize = AtomicUsize::new(UNKNOWN);
static LENGTH: AtomicUsize = AtomicUsize::new(0);

/// The text of the file. None if this process has the users of the system.
fn users() -> Option<&'static [u8]> {
    if TEXT.load(SeqCst) == UNKNOWN {
        // Two threads may read the file at once: the content is one.
        read_users();
    }
    match TEXT.load(SeqCst) {
        UNKNOWN | ABSENT => None,
        // SAFETY: the address is that of so many bytes, which are never freed or written again.
        text => Some(unsafe { core::slice::from_raw_parts(text as *const u8, LENGTH.load(SeqCst)) }),
    }
}

fn read_users() {
    let error = errno();
    // SAFETY: the name ends with a zero. Programs that change their environment meanwhile break the contract of getenv.
    let path = unsafe { getenv(c"HANSA_USERS".as_ptr()) };
    let file = match path.is_null() {
        true => -1,
        // SAFETY: texts of the environment end with a zero.
        false => open_file(unsafe { CStr::from_ptr(path) }, READ_ONLY),
    };
    if file < 0 {
        TEXT.store(ABSENT, SeqCst);
        set_errno(error);
        return;
    }
    let bytes = malloc(FILE_MAX) as usize;
    let mut length = 0;
    while bytes != 0 && length < FILE_MAX {
        // SAFETY: the system writes to the rest of the bytes alone.
        let read = unsafe { call(READ, file as usize, bytes + length, FILE_MAX - length, 0, 0, 0) };
        if read <= 0 {
            break;
        }
        length += read as usize;
    }
    close_descriptor(file as c_int);
    LENGTH.store(length, SeqCst);
    TEXT.store(if bytes == 0 { ABSENT } else { bytes }, SeqCst);
    set_errno(error);
}

/// A line of the file.
#[derive(Clone, Copy)]
struct User {
    /// Name, password, numbers of user and group, about, home and shell.
    fields: [&'static [u8]; 7],
}

impl User {
    fn of_line(line: &'static [u8]) -> Option<User> {
        let mut fields: [&[u8]; 7] = [b""; 7];
        let mut parts = line.split(|byte| *byte == b':');
        for field in &mut fields {
            *field = parts.next()?;
        }
        Some(User { fields })
    }

    fn all(text: &'static [u8]) -> impl Iterator<Item = User> {
        text.split(|byte| *byte == b'\n').filter_map(User::of_line)
    }

    fn number(&self, field: usize) -> c_uint {
        self.fields[field].iter().fold(0, |number: c_uint, digit| {
            number.wrapping_mul(10).wrapping_add(c_uint::from(digit.wrapping_sub(b'0')))
        })
    }

    fn id(&self) -> c_uint {
        self.number(2)
    }

    fn group(&self) -> c_uint {
        self.number(3)
    }

    /// Bytes of the texts, with a zero behind each.
    fn length(&self) -> usize {
        self.fields.iter().map(|field| field.len() + 1).sum()
    }

    /// Writes the entry, with its texts at `to`.
    ///
    /// # Safety
    /// `to` has room for all texts.
    unsafe fn write(&self, to: *mut c_char, entry: &mut Passwd) {
        let mut texts = [null_mut(); 7];
        let mut at = to;
        for (field, text) in self.fields.iter().zip(&mut texts) {
            *text = at;
            // SAFETY: the room is that of all texts and of a zero behind each.
            unsafe {
                core::ptr::copy_nonoverlapping(field.as_ptr().cast(), at, field.len());
                at.add(field.len()).write(0);
                at = at.add(field.len() + 1);
            }
        }
        let [name, password, _, _, about, home, shell] = texts;
        *entry = Passwd { name, password, user: self.id(), group: self.group(), about, home, shell };
    }
}

/// The user of this process. None if it has a user of the system.
fn own_user() -> Option<User> {
    let text = users()?;
    // SAFETY: the name ends with a zero, and texts of the environment do.
    let name = unsafe {
        let name = getenv(c"HANSA_USER".as_ptr());
        if name.is_null() { c"root" } else { CStr::from_ptr(name) }
    };
    User::all(text).find(|user| user.fields[0] == name.to_bytes())
}

fn user_by_name(name: *const c_char) -> Option<User> {
    let text = users()?;
    // SAFETY: callers of these functions pass a name that ends with a zero.
    let name = unsafe { CStr::from_ptr(name) };
    User::all(text).find(|user| user.fields[0] == name.to_bytes())
}

fn user_by_id(id: c_uint) -> Option<User> {
    User::all(users()?).find(|user| user.id() == id)
}

/// Writes a user's entry into the memory that the caller of `getpwnam_r` or `getpwuid_r` provides.
///
/// # Safety
/// As `getpwnam_r` demands of its arguments.
unsafe fn write_entry(
    user: &User,
    entry: *mut Passwd,
    room: *mut c_char,
    length: usize,
    result: *mut *mut Passwd,
) -> c_int {
    // SAFETY: the caller passes an entry, room of this length and a place for the result.
    unsafe {
        result.write(null_mut());
        if length < user.length() {
            return ERANGE;
        }
        user.write(room, &mut *entry);
        result.write(entry);
    }
    0
}

/// Room for the result of the functions that are not for threads.
struct Static {
    entry: UnsafeCell<Passwd>,
    room: UnsafeCell<[c_char; Static::ROOM]>,
}

impl Static {
    const ROOM: usize = 4096;

    fn write(&self, user: &User) -> *mut Passwd {
        if user.length() > Static::ROOM {
            return null_mut();
        }
        // SAFETY: callers use these functions from one thread at a time, as POSIX demands.
        unsafe { user.write(self.room.get().cast(), &mut *self.entry.get()) };
        self.entry.get()
    }
}

// SAFETY: the functions that use it are for one thread at a time.
unsafe impl Sync for Static {}

static LAST: Static = Static { entry: UnsafeCell::new(Passwd::NONE), room: UnsafeCell::new([0; Static::ROOM]) };

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn getpwnam_r(
    name: *const c_char,
    entry: *mut Passwd,
    room: *mut c_char,
    length: usize,
    result: *mut *mut Passwd,
) -> c_int {
    if let Some(user) = user_by_name(name) {
        // SAFETY: the caller keeps the contract of this function.
        return unsafe { write_entry(&user, entry, room, length, result) };
    }
    pass_on!(getpwnam_r(name: *const c_char, entry: *mut Passwd, room: *mut c_char, length: usize, result: *mut *mut Passwd) -> c_int)
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn getpwuid_r(
    id: c_uint,
    entry: *mut Passwd,
    room: *mut c_char,
    length: usize,
    result: *mut *mut Passwd,
) -> c_int {
    if let Some(user) = user_by_id(id) {
        // SAFETY: the caller keeps the contract of this function.
        return unsafe { write_entry(&user, entry, room, length, result) };
    }
    pass_on!(getpwuid_r(id: c_uint, entry: *mut Passwd, room: *mut c_char, length: usize, result: *mut *mut Passwd) -> c_int)
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn getpwnam(name: *const c_char) -> *mut Passwd {
    match user_by_name(name) {
        Some(user) => LAST.write(&user),
        None => pass_on!(getpwnam(name: *const c_char) -> *mut Passwd),
    }
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn getpwuid(id: c_uint) -> *mut Passwd {
    match user_by_id(id) {
        Some(user) => LAST.write(&user),
        None => pass_on!(getpwuid(id: c_uint) -> *mut Passwd),
    }
}

/// Functions that return a number of the process's user.
macro_rules! numbers {
    ($($name:ident $number:ident)+) => {$(
        #[cfg_attr(preloaded, unsafe(no_mangle))]
        pub unsafe extern "C" fn $name() -> c_uint {
            match own_user() {
                Some(user) => user.$number(),
                None => pass_on!($name() -> c_uint),
            }
        }
    )+};
}

numbers! {
    getuid id
    geteuid id
    getgid group
    getegid group
}

/// Functions that write all three numbers of a kind.
macro_rules! triples {
    ($($name:ident $number:ident)+) => {$(
        #[cfg_attr(preloaded, unsafe(no_mangle))]
        pub unsafe extern "C" fn $name(real: *mut c_uint, effective: *mut c_uint, saved: *mut c_uint) -> c_int {
            if let Some(user) = own_user() {
                // SAFETY: the caller passes places for three numbers.
                unsafe {
                    real.write(user.$number());
                    effective.write(user.$number());
                    saved.write(user.$number());
                }
                return 0;
            }
            pass_on!($name(real: *mut c_uint, effective: *mut c_uint, saved: *mut c_uint) -> c_int)
        }
    )+};
}

triples! {
    getresuid id
    getresgid group
}

/// Functions that change the user of a process or of a file: they succeed, and change nothing.
macro_rules! unchanged {
    ($($name:ident($($argument:ident: $kind:ty),+))+) => {$(
        #[cfg_attr(preloaded, unsafe(no_mangle))]
        pub unsafe extern "C" fn $name($($argument: $kind),+) -> c_int {
            if users().is_some() {
                return 0;
            }
            pass_on!($name($($argument: $kind),+) -> c_int)
        }
    )+};
}

unchanged! {
    setuid(id: c_uint)
    seteuid(id: c_uint)
    setgid(id: c_uint)
    setegid(id: c_uint)
    setreuid(real: c_uint, effective: c_uint)
    setregid(real: c_uint, effective: c_uint)
    setresuid(real: c_uint, effective: c_uint, saved: c_uint)
    setresgid(real: c_uint, effective: c_uint, saved: c_uint)
    setgroups(count: usize, groups: *const c_void)
    initgroups(name: *const c_char, group: c_uint)
    chown(path: *const c_char, user: c_uint, group: c_uint)
    lchown(path: *const c_char, user: c_uint, group: c_uint)
    fchown(fd: c_int, user: c_uint, group: c_uint)
    fchownat(folder: c_int, path: *const c_char, user: c_uint, group: c_uint, flags: c_int)
}
