//! The table from words to rules, made by the compiler so that an instance starts with nothing to build.

use super::{Entry, calls_managed, calls_native, calls_script, settings, shared, signals};

/// Start value of the hash of a word.
pub const HASH_SEED: u32 = 0x811c_9dc5;

/// Slots; a power of two, several times the number of words.
const SLOTS: usize = 4096;

/// All entries, in the order in which they are tried.
const TABLES: [&[Entry]; 6] = [
    calls_script::ENTRIES,
    calls_managed::ENTRIES,
    calls_native::ENTRIES,
    settings::ENTRIES,
    shared::ENTRIES,
    signals::ENTRIES,
];

#[derive(Clone, Copy)]
struct Slot {
    table: u8,
    row: u8,
    /// Index of the word and one; 0 is an empty slot.
    word: u8,
}

static INDEX: [Slot; SLOTS] = build();

/// The hash of a word with one more byte.
pub const fn hash_step(hash: u32, byte: u8) -> u32 {
    (hash ^ byte as u32).wrapping_mul(0x0100_0193)
}

const fn place_of(hash: u32) -> usize {
    ((hash ^ (hash >> 15)) as usize) & (SLOTS - 1)
}

const fn build() -> [Slot; SLOTS] {
    let mut slots = [Slot { table: 0, row: 0, word: 0 }; SLOTS];
    let mut table = 0;
    while table < TABLES.len() {
        let rows = TABLES[table];
        assert!(rows.len() < 256, "a table of rules has too many rows");
        let mut row = 0;
        while row < rows.len() {
            let words = rows[row].words;
            let mut word = 0;
            while word < words.len() {
                let bytes = words[word].as_bytes();
                let mut hash = HASH_SEED;
                let mut at = 0;
                while at < bytes.len() {
                    hash = hash_step(hash, bytes[at]);
                    at += 1;
                }
                let mut place = place_of(hash);
                while slots[place].word != 0 {
                    place = (place + 1) & (SLOTS - 1);
                }
                slots[place] = Slot { table: table as u8, row: row as u8, word: word as u8 + 1 };
                word += 1;
            }
            row += 1;
        }
        table += 1;
    }
    slots
}

/// The entries that a word leads to.
pub fn lookup(word: &[u8], hash: u32) -> impl Iterator<Item = &'static Entry> {
    let mut place = place_of(hash);
    std::iter::from_fn(move || {
        loop {
            let slot = INDEX[place];
            if slot.word == 0 {
                return None;
            }
            place = (place + 1) & (SLOTS - 1);
            let entry = &TABLES[usize::from(slot.table)][usize::from(slot.row)];
            if entry.words[usize::from(slot.word) - 1].as_bytes() == word {
                return Some(entry);
            }
        }
    })
}
