//! The ledger: what happened, one entry after the other, each bound to the one before it by its hash.
//!
//! It shows change, loss, insertion and reordering by anything that does not rewrite all later hashes and the head as
//! well. Against that, keep the head that [`Store::verify_ledger`] gives somewhere else and compare.

use assize_core::id::Digest;
use rusqlite::Row;
use rusqlite::types::ValueRef;
use serde_json::Value;

use crate::error::{Fault, StoreError};
use crate::sql::{self, Sql};
use crate::store::Store;

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerEntry {
    /// Place, from 1, without gaps.
    pub seq: u64,
    /// When, milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// What happened, such as `slot-leased`.
    pub kind: String,
    /// To what: ids, digests, counts and words as JSON; never a prompt, an argument list or source text.
    pub subject: String,
    /// Hash of the entry before; zeros for the first.
    pub prev: Digest,
    /// Hash of `prev` and of everything above.
    pub hash: Digest,
}

/// What reading the whole ledger said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verified {
    /// Every entry follows from the one before, and the last one is the head.
    Whole {
        /// How many there are.
        entries: u64,
        /// Hash of the last; zeros when there is none.
        head: Digest,
    },
    /// It was changed.
    Broken {
        /// The first entry that does not fit.
        seq: u64,
        /// What is wrong with it.
        why: String,
    },
}

impl Store {
    /// Up to `limit` entries from `from` on, in order.
    ///
    /// # Errors
    /// What SQLite says, and rows that are not entries.
    pub fn ledger(&self, from: u64, limit: u64) -> Result<Vec<LedgerEntry>, StoreError> {
        self.read("read the ledger", |sql| {
            let statement =
                "SELECT seq, at_ms, kind, subject, prev, hash FROM ledger WHERE seq >= ?1 ORDER BY seq LIMIT ?2";
            sql.every(statement, [sql::to_sql(from), sql::to_sql(limit)], |row| {
                Ok(LedgerEntry {
                    seq: sql::unsigned(row, 0)?,
                    at_ms: sql::unsigned(row, 1)?,
                    kind: row.get(2)?,
                    subject: row.get(3)?,
                    prev: sql::digest(row, 4)?,
                    hash: sql::digest(row, 5)?,
                })
            })
        })
    }

    /// Hash of the last entry; zeros when there is none. It differs whenever anything of the audit has changed.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn ledger_head(&self) -> Result<Digest, StoreError> {
        self.read("read the head of the ledger", |sql| {
            let head = sql.first("SELECT hash FROM ledger_head WHERE only = 1", [], |row| sql::digest(row, 0))?;
            Ok(head.unwrap_or_else(|| Digest::from_bytes([0; 32])))
        })
    }

    /// Reads every entry and says whether the ledger is as it was written.
    ///
    /// # Errors
    /// What SQLite says; damage to the entries themselves is not an error but [`Verified::Broken`].
    pub fn verify_ledger(&self) -> Result<Verified, StoreError> {
        self.read("verify the ledger", |sql| {
            let mut chain = Chain { entries: 0, hash: Digest::from_bytes([0; 32]), broken: None };
            let statement = "SELECT seq, at_ms, kind, subject, prev, hash FROM ledger ORDER BY seq";
            sql.every(statement, [], |row| chain.follow(row))?;
            if let Some((seq, why)) = chain.broken {
                return Ok(Verified::Broken { seq, why });
            }
            let head = sql.first("SELECT entries, hash FROM ledger_head WHERE only = 1", [], |row| {
                Ok((row.get::<_, i64>(0)?, bytes(row, 1)?.to_vec()))
            })?;
            let broken = |why: &str| Ok(Verified::Broken { seq: chain.entries, why: why.to_owned() });
            match head {
                None => broken("the head is missing"),
                Some((entries, _)) if entries != sql::to_sql(chain.entries) => {
                    broken(&format!("the head counts {entries} entries, there are {}", chain.entries))
                }
                Some((_, hash)) if hash != chain.hash.as_bytes() => broken("the head is not the last entry's hash"),
                Some(_) => Ok(Verified::Whole { entries: chain.entries, head: chain.hash }),
            }
        })
    }
}

impl Sql<'_> {
    /// Appends one entry. It is part of the operation's transaction, so that a step and its entry stay or go together.
    pub(crate) fn note(&self, at_ms: u64, kind: &str, subject: &Value) -> Result<(), Fault> {
        let head = self.first("SELECT entries, hash FROM ledger_head WHERE only = 1", [], |row| {
            Ok((sql::unsigned(row, 0)?, sql::digest(row, 1)?))
        })?;
        let (entries, prev) = head.ok_or_else(|| Fault::Row("the ledger has no head".to_owned()))?;
        let seq = entries.saturating_add(1);
        let subject = sql::encode(subject)?;
        let at = sql::to_sql(at_ms);
        let hash = hash_entry(prev.as_bytes(), sql::to_sql(seq), at, kind.as_bytes(), subject.as_bytes());
        self.execute(
            "INSERT INTO ledger (seq, at_ms, kind, subject, prev, hash) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            (sql::to_sql(seq), at, kind, &subject, prev.as_bytes(), hash.as_bytes()),
        )?;
        self.execute(
            "UPDATE ledger_head SET entries = ?1, hash = ?2 WHERE only = 1",
            (sql::to_sql(seq), hash.as_bytes()),
        )?;
        Ok(())
    }
}

/// The state of a verification.
struct Chain {
    entries: u64,
    hash: Digest,
    broken: Option<(u64, String)>,
}

impl Chain {
    /// Takes the next row. Values are read as raw bytes: a tampered row need not be well-formed.
    fn follow(&mut self, row: &Row<'_>) -> Result<(), Fault> {
        if self.broken.is_some() {
            return Ok(());
        }
        let expected = self.entries + 1;
        let seq: i64 = row.get(0)?;
        let at_ms: i64 = row.get(1)?;
        let hash = hash_entry(self.hash.as_bytes(), seq, at_ms, bytes(row, 2)?, bytes(row, 3)?);
        let why = if seq != sql::to_sql(expected) {
            format!("entry {expected} is missing; {seq} comes instead")
        } else if bytes(row, 4)? != self.hash.as_bytes() {
            "it does not follow from the entry before".to_owned()
        } else if bytes(row, 5)? != hash.as_bytes() {
            "its content does not match its hash".to_owned()
        } else {
            self.entries = expected;
            self.hash = hash;
            return Ok(());
        };
        self.broken = Some((expected, why));
        Ok(())
    }
}

/// Text or blob of a column as bytes; anything else as none.
fn bytes<'r>(row: &'r Row<'_>, column: usize) -> Result<&'r [u8], Fault> {
    Ok(match row.get_ref(column)? {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes,
        _ => &[],
    })
}

/// The hash of an entry: each part goes in with its length, so that no two entries share one input.
fn hash_entry(prev: &[u8], seq: i64, at_ms: i64, kind: &[u8], subject: &[u8]) -> Digest {
    Digest::of_parts([prev, &seq.to_le_bytes(), &at_ms.to_le_bytes(), kind, subject])
}
