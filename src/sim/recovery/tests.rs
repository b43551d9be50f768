use proptest::prelude::*;

use super::Repeats;
use super::journal::{Item, JournalReader, JournalWriter, Next, Turn, parse_record};
use crate::kernel::Contact;

/// An item that owns its frame.
#[derive(Clone, Debug, PartialEq)]
enum Owned {
    Head(Vec<u8>),
    Turn(u64, Turn),
    Down(usize, Vec<u8>),
    Up(u64, usize, Vec<u8>),
}

impl Owned {
    fn item(&self) -> Item<'_> {
        match self {
            Owned::Head(piece) => Item::Head(piece),
            Owned::Turn(after, turn) => Item::Turn { after: *after, turn: *turn },
            Owned::Down(leaf, frame) => Item::Down { leaf: *leaf, frame },
            Owned::Up(after, leaf, frame) => Item::Up { after: *after, leaf: *leaf, frame },
        }
    }

    fn of(item: Item<'_>) -> Owned {
        match item {
            Item::Head(piece) => Owned::Head(piece.to_vec()),
            Item::Turn { after, turn } => Owned::Turn(after, turn),
            Item::Down { leaf, frame } => Owned::Down(leaf, frame.to_vec()),
            Item::Up { after, leaf, frame } => Owned::Up(after, leaf, frame.to_vec()),
        }
    }
}

fn items() -> impl Strategy<Value = Vec<Owned>> {
    let frame = || prop::collection::vec(any::<u8>(), 0..40);
    let number = || prop_oneof![0u64..300, any::<u64>()];
    let turn = prop_oneof![Just(Turn::Ask), Just(Turn::Flush(Contact::All)), Just(Turn::Flush(Contact::Blockers))];
    let item = prop_oneof![
        frame().prop_map(Owned::Head),
        (number(), turn).prop_map(|(after, turn)| Owned::Turn(after, turn)),
        (0usize..1000, frame()).prop_map(|(leaf, frame)| Owned::Down(leaf, frame)),
        (number(), 0usize..1000, frame()).prop_map(|(after, leaf, frame)| Owned::Up(after, leaf, frame)),
    ];
    prop::collection::vec(item, 1..12)
}

/// All items that a reader finds, and their end.
fn read(bytes: &[u8]) -> (Vec<Owned>, usize, JournalReader) {
    let mut found = Vec::new();
    let mut at = 0;
    let mut reader = JournalReader::default();
    while let Next::Record(length) = reader.next(&bytes[at..]) {
        found.push(Owned::of(parse_record(&bytes[at..at + length])));
        at += length;
    }
    (found, at, reader)
}

fn write(items: &[Owned]) -> (Vec<u8>, Vec<usize>) {
    let mut writer = JournalWriter::default();
    let mut bytes = Vec::new();
    let mut ends = vec![0];
    for item in items {
        writer.write(item.item(), &mut bytes);
        ends.push(bytes.len());
    }
    (bytes, ends)
}

proptest! {
    /// Cut off at any point and followed by any bytes, a journal reads as a prefix of itself, and can be continued.
    #[test]
    fn a_damaged_journal_reads_as_a_prefix(
        items in items(),
        cut: prop::sample::Index,
        tail in prop_oneof![Just(Vec::new()), Just(vec![0; 64]), prop::collection::vec(any::<u8>(), 1..64)],
        more in items(),
    ) {
        let (bytes, ends) = write(&items);
        prop_assert_eq!(&read(&bytes).0, &items);

        let cut = cut.index(bytes.len());
        let whole = ends.iter().filter(|end| **end <= cut).count() - 1;
        let mut torn = bytes[..cut].to_vec();
        torn.extend_from_slice(&tail);
        // A tail that equals the rest is no tear.
        prop_assume!(!torn.starts_with(&bytes[..ends[whole + 1]]));
        let (found, at, reader) = read(&torn);
        prop_assert_eq!(&found[..], &items[..whole]);
        prop_assert_eq!(at, ends[whole]);

        torn.truncate(at);
        let mut writer = reader.into_writer();
        more.iter().for_each(|item| writer.write(item.item(), &mut torn));
        prop_assert_eq!(read(&torn).0, [&items[..whole], &more[..]].concat());
    }

    #[test]
    fn a_flipped_bit_is_noticed(items in items(), at: prop::sample::Index, bit in 0u8..8) {
        let (mut bytes, ends) = write(&items);
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        let whole = ends.iter().filter(|end| **end <= at).count() - 1;
        prop_assert_eq!(&read(&bytes).0[..], &items[..whole]);
    }

    /// In any interleaving, frame by frame.
    #[test]
    fn repeated_frames_are_recognised_in_any_interleaving(
        had in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..6), 0..12),
        news in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..6), 0..4),
        order in prop::collection::vec(any::<bool>(), 32),
        wrong: Option<prop::sample::Index>,
    ) {
        let mut sent = [had.clone(), news.clone()].concat();
        let wrong = wrong.filter(|_| !had.is_empty()).map(|wrong| wrong.index(had.len()));
        if let Some(wrong) = wrong {
            sent[wrong].push(7);
        }
        let mut known = had.iter();
        let mut sent = sent.iter();
        let mut repeats = Repeats::default();
        let mut different = None;
        for known_first in order.into_iter().chain([true; 12]).chain([false; 16]) {
            let end = match known_first {
                true => known.next().map(|frame| repeats.push_expected(frame)),
                false => sent.next().map(|frame| repeats.push_sent(frame)),
            };
            if let Some(Err(found)) = end {
                different = Some(found);
                break;
            }
        }
        match wrong {
            Some(wrong) => {
                let different = different.expect("it is different");
                prop_assert_eq!(different.frame, wrong as u64 + 1);
                prop_assert_eq!((different.at, different.has), (had[wrong].len(), had[wrong].len() + 1));
            }
            None => {
                prop_assert!(different.is_none() && repeats.has_caught_up());
                prop_assert_eq!(repeats.repeated(), had.len() as u64);
                prop_assert!(repeats.into_new_frames().iter().eq(news.iter()));
            }
        }
    }
}

#[test]
fn a_reader_requests_at_most_the_longest_record() {
    let mut bytes = vec![0xff, 0xff, 0xff, 0x7f];
    bytes.extend([0; 8]);
    assert_eq!(JournalReader::default().next(&bytes), Next::Torn);
    assert_eq!(JournalReader::default().next(&[]), Next::More(12));
    assert_eq!(JournalReader::default().next(&[0; 12]), Next::Torn);
}
