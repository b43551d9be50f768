//! The shared page, as a file that is mapped.

use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Deref;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::Ordering::SeqCst;

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use crate::state::{MAGIC, Page};

/// A fresh page of zeros, all slots free.
pub struct MappedPage {
    page: *mut Page,
}

impl MappedPage {
    pub fn create(path: &Path) -> io::Result<MappedPage> {
        let file: File = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)?;
        file.set_len(size_of::<Page>() as u64)?;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the system chooses the address, so the mapping replaces no other one. The file is as long as the page
        // and stays so: its folder belongs to this run alone.
        let page = unsafe { mmap(std::ptr::null_mut(), size_of::<Page>(), access, MapFlags::SHARED, &file, 0) }?;
        let mapped = MappedPage { page: page.cast() };
        mapped.controller.store(std::process::id(), SeqCst);
        mapped.magic.store(MAGIC, SeqCst);
        Ok(mapped)
    }
}

impl Deref for MappedPage {
    type Target = Page;

    fn deref(&self) -> &Page {
        // SAFETY: mapped for as long as `self` lives; all of it is atomic, for which any bytes are valid.
        unsafe { &*self.page }
    }
}

impl Drop for MappedPage {
    fn drop(&mut self) {
        // SAFETY: the page was mapped by `create`, and nothing borrows from it any more.
        let _ = unsafe { munmap(self.page.cast(), size_of::<Page>()) };
    }
}
