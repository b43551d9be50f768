//! Tables as Parquet, for programs that read millions of rows at once.
//!
//! Only the part of the format for flat tables is written: columns of integers, floating numbers and texts, with
//! optional cells; plain values, one page per column and group of rows. The caller chooses the compression. The crate
//! `parquet` would take a minute of compiling. Costs grow with the cells; one group of rows is in memory at a time.

/// Number of rows that are written together.
const GROUP: usize = 1 << 17;

const MAGIC: &[u8] = b"PAR1";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Int,
    Float,
    Text,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    pub kind: Kind,
}

/// The content of a cell, of its column's kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    Int(i64),
    Float(f64),
    Text(&'a str),
}

/// Compression of pages: the format's number for it, and the function.
pub struct Packing {
    pub codec: i64,
    pub pack: fn(&[u8]) -> Vec<u8>,
}

/// Writes a table, row by row, and returns the bytes of the file in pieces.
pub struct Writer {
    columns: Vec<Column>,
    packing: Packing,
    buffers: Vec<Buffer>,
    /// Number of rows in the present group.
    rows: usize,
    groups: Vec<Group>,
    /// Number of bytes that have been returned.
    offset: usize,
    ready: Vec<u8>,
}

/// A column's cells of one group of rows.
#[derive(Clone, Default)]
struct Buffer {
    /// True for each row with a value, up to the last such row.
    filled: Vec<bool>,
    values: Vec<u8>,
}

struct Group {
    rows: usize,
    chunks: Vec<Chunk>,
}

struct Chunk {
    offset: usize,
    unpacked: usize,
    packed: usize,
}

impl Writer {
    pub fn new(columns: Vec<Column>, packing: Packing) -> Writer {
        let buffers = vec![Buffer::default(); columns.len()];
        let ready = MAGIC.to_vec();
        Writer { columns, packing, buffers, rows: 0, groups: Vec::new(), offset: 0, ready }
    }

    /// Takes a cell of the present row, by its column; each column has one at most.
    pub fn put_cell(&mut self, column: usize, cell: Cell<'_>) {
        self.buffers[column].put_cell(self.rows, self.columns[column].kind, cell);
    }

    /// Ends the present row. Columns without a cell in it are empty there, at no cost.
    pub fn end_row(&mut self) {
        self.rows += 1;
        if self.rows == GROUP {
            self.close_group();
        }
    }

    /// The next bytes to write.
    pub fn take_ready(&mut self) -> Vec<u8> {
        self.offset += self.ready.len();
        std::mem::take(&mut self.ready)
    }

    /// The last bytes to write.
    pub fn finish(mut self) -> Vec<u8> {
        if self.rows > 0 {
            self.close_group();
        }
        let footer = self.encode_footer();
        self.ready.extend_from_slice(&footer);
        self.ready.extend_from_slice(&(footer.len() as u32).to_le_bytes());
        self.ready.extend_from_slice(MAGIC);
        self.ready
    }

    fn close_group(&mut self) {
        let rows = std::mem::take(&mut self.rows);
        let mut chunks = Vec::new();
        for buffer in &mut self.buffers {
            let page = std::mem::take(buffer).page(rows);
            let packed = (self.packing.pack)(&page);
            let header = page_header(rows, page.len(), packed.len());
            chunks.push(Chunk {
                offset: self.offset + self.ready.len(),
                unpacked: header.len() + page.len(),
                packed: header.len() + packed.len(),
            });
            self.ready.extend_from_slice(&header);
            self.ready.extend_from_slice(&packed);
        }
        self.groups.push(Group { rows, chunks });
    }

    fn encode_footer(&self) -> Vec<u8> {
        let mut root = Thrift::default();
        root.text(4, "table");
        root.put_int(5, I32, self.columns.len() as i64);
        let schema = [root]
            .into_iter()
            .chain(self.columns.iter().map(|column| {
                let mut leaf = Thrift::default();
                leaf.put_int(1, I32, column.kind.physical_type());
                leaf.put_int(3, I32, OPTIONAL);
                leaf.text(4, &column.name);
                if column.kind == Kind::Text {
                    leaf.put_int(6, I32, UTF8);
                }
                leaf
            }))
            .collect();
        let groups: Vec<Thrift> = self.groups.iter().map(|group| self.encode_group(group)).collect();

        let mut footer = Thrift::default();
        footer.put_int(1, I32, 1);
        footer.put_structs(2, schema);
        footer.put_int(3, I64, self.groups.iter().map(|group| group.rows as i64).sum());
        footer.put_structs(4, groups);
        footer.text(6, concat!("hansa ", env!("CARGO_PKG_VERSION")));
        footer.end()
    }

    fn encode_group(&self, group: &Group) -> Thrift {
        let chunk = |(column, chunk): (&Column, &Chunk)| {
            let mut data = Thrift::default();
            data.put_int(1, I32, column.kind.physical_type());
            data.put_ints(2, &[PLAIN, RLE]);
            data.put_texts(3, &[&column.name]);
            data.put_int(4, I32, self.packing.codec);
            data.put_int(5, I64, group.rows as i64);
            data.put_int(6, I64, chunk.unpacked as i64);
            data.put_int(7, I64, chunk.packed as i64);
            data.put_int(9, I64, chunk.offset as i64);
            let mut whole = Thrift::default();
            whole.put_int(2, I64, chunk.offset as i64);
            whole.put_struct(3, data);
            whole
        };
        let mut group_facts = Thrift::default();
        group_facts.put_structs(1, self.columns.iter().zip(&group.chunks).map(chunk).collect());
        group_facts.put_int(2, I64, group.chunks.iter().map(|chunk| chunk.unpacked as i64).sum());
        group_facts.put_int(3, I64, group.rows as i64);
        group_facts
    }
}

impl Kind {
    fn physical_type(self) -> i64 {
        match self {
            Kind::Int => 2,
            Kind::Float => 5,
            Kind::Text => 6,
        }
    }
}

impl Buffer {
    fn put_cell(&mut self, row: usize, kind: Kind, cell: Cell<'_>) {
        assert!(self.filled.len() <= row, "a column has one cell in a row");
        self.filled.resize(row, false);
        self.filled.push(true);
        match (kind, cell) {
            (Kind::Int, Cell::Int(number)) => self.values.extend_from_slice(&number.to_le_bytes()),
            (Kind::Float, Cell::Float(number)) => self.values.extend_from_slice(&number.to_le_bytes()),
            (Kind::Text, Cell::Text(text)) => {
                self.values.extend_from_slice(&(text.len() as u32).to_le_bytes());
                self.values.extend_from_slice(text.as_bytes());
            }
            (kind, cell) => panic!("{cell:?} is in a column of {kind:?}"),
        }
    }

    /// Encodes a page of this many rows: one bit per cell for its presence, then the values.
    fn page(mut self, rows: usize) -> Vec<u8> {
        self.filled.resize(rows, false);
        let mut levels = Vec::new();
        let bytes = self.filled.len().div_ceil(8);
        put_varint(&mut levels, (bytes as u64) << 1 | 1);
        levels.extend(
            self.filled.chunks(8).map(|eight| {
                eight.iter().enumerate().fold(0_u8, |byte, (bit, filled)| byte | u8::from(*filled) << bit)
            }),
        );
        let mut page = (levels.len() as u32).to_le_bytes().to_vec();
        page.extend(levels);
        page.extend(self.values);
        page
    }
}

const OPTIONAL: i64 = 1;
const UTF8: i64 = 0;
const PLAIN: i64 = 0;
const RLE: i64 = 3;

fn page_header(rows: usize, unpacked: usize, packed: usize) -> Vec<u8> {
    let mut data = Thrift::default();
    data.put_int(1, I32, rows as i64);
    data.put_int(2, I32, PLAIN);
    data.put_int(3, I32, RLE);
    data.put_int(4, I32, RLE);
    let mut header = Thrift::default();
    header.put_int(1, I32, 0);
    header.put_int(2, I32, unpacked as i64);
    header.put_int(3, I32, packed as i64);
    header.put_struct(5, data);
    header.end()
}

const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// A struct in Thrift's compact protocol, in which the format's metadata is written. Fields come in order of their
/// numbers.
#[derive(Default)]
struct Thrift {
    bytes: Vec<u8>,
    last: u8,
}

impl Thrift {
    fn put_field(&mut self, number: u8, kind: u8) {
        let ahead = number - self.last;
        assert!((1..16).contains(&ahead), "fields come in order, and not far apart");
        self.bytes.push(ahead << 4 | kind);
        self.last = number;
    }

    fn put_int(&mut self, number: u8, kind: u8, value: i64) {
        self.put_field(number, kind);
        put_varint(&mut self.bytes, zigzag_encode(value));
    }

    fn text(&mut self, number: u8, text: &str) {
        self.put_field(number, BINARY);
        put_text(&mut self.bytes, text);
    }

    fn put_struct(&mut self, number: u8, inner: Thrift) {
        self.put_field(number, STRUCT);
        self.bytes.extend(inner.end());
    }

    fn put_list(&mut self, number: u8, kind: u8, length: usize) {
        self.put_field(number, LIST);
        match length {
            0..15 => self.bytes.push((length as u8) << 4 | kind),
            _ => {
                self.bytes.push(0xf0 | kind);
                put_varint(&mut self.bytes, length as u64);
            }
        }
    }

    fn put_ints(&mut self, number: u8, values: &[i64]) {
        self.put_list(number, I32, values.len());
        values.iter().for_each(|value| put_varint(&mut self.bytes, zigzag_encode(*value)));
    }

    fn put_texts(&mut self, number: u8, texts: &[&str]) {
        self.put_list(number, BINARY, texts.len());
        texts.iter().for_each(|text| put_text(&mut self.bytes, text));
    }

    fn put_structs(&mut self, number: u8, all: Vec<Thrift>) {
        self.put_list(number, STRUCT, all.len());
        all.into_iter().for_each(|inner| self.bytes.extend(inner.end()));
    }

    fn end(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }
}

fn put_text(bytes: &mut Vec<u8>, text: &str) {
    put_varint(bytes, text.len() as u64);
    bytes.extend_from_slice(text.as_bytes());
}

fn zigzag_encode(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

fn put_varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNPACKED: Packing = Packing { codec: 0, pack: <[u8]>::to_vec };

    #[test]
    fn numbers_are_written_as_thrift_has_them() {
        let written = |value| {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, zigzag_encode(value));
            bytes
        };
        assert_eq!(written(0), [0]);
        assert_eq!(written(-1), [1]);
        assert_eq!(written(1), [2]);
        assert_eq!(written(-65), [0x81, 0x01]);
        assert_eq!(written(i64::MAX).len(), 10);
    }

    /// A table of one column and two rows, byte by byte as the format's documents have it.
    #[test]
    fn a_small_table_is_what_the_format_says() {
        let mut writer = Writer::new(vec![Column { name: "n".to_owned(), kind: Kind::Int }], UNPACKED);
        writer.put_cell(0, Cell::Int(7));
        writer.end_row();
        writer.end_row();
        let file = writer.finish();
        let page = [&[2, 0, 0, 0, 0b11, 0b01][..], &7_i64.to_le_bytes()].concat();
        let header = [0x15, 0, 0x15, 28, 0x15, 28, 0x2c, 0x15, 4, 0x15, 0, 0x15, 6, 0x15, 6, 0, 0];
        assert_eq!(file[..4], *MAGIC);
        assert_eq!(file[4..21], header);
        assert_eq!(file[21..35], page);
        let footer = u32::from_le_bytes(file[file.len() - 8..file.len() - 4].try_into().unwrap()) as usize;
        assert_eq!(file.len(), 35 + footer + 8);
        assert_eq!(file[file.len() - 4..], *MAGIC);
    }

    #[test]
    fn bytes_come_as_groups_are_full() {
        let column = |name: &str, kind| Column { name: name.to_owned(), kind };
        let table = || Writer::new(vec![column("f", Kind::Float), column("t", Kind::Text)], UNPACKED);
        let mut whole = table();
        let mut pieces = table();
        let mut taken = Vec::new();
        for row in 0..GROUP + 5 {
            let text = row.to_string();
            for writer in [&mut whole, &mut pieces] {
                writer.put_cell(0, Cell::Float(row as f64));
                if row % 3 > 0 {
                    writer.put_cell(1, Cell::Text(&text));
                }
                writer.end_row();
            }
            taken.extend(pieces.take_ready());
        }
        assert!(taken.len() > GROUP * 8);
        taken.extend(pieces.finish());
        assert!(taken == whole.finish(), "where a file is cut makes no difference to it");
    }
}
