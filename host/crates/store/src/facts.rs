//! The cache of facts by content. It is only a cache: what is damaged is absent, and the oldest may always go.

use std::collections::{HashMap, HashSet};

use assize_core::id::Digest;
use zstd::bulk::{Compressor, Decompressor};

use crate::error::{Fault, StoreError};
use crate::sql::{self, Sql};
use crate::store::Store;

/// Bodies below this are kept as they are: packing them saves less than it costs.
const PACKED_FROM: usize = 512;

/// Effort of compression: the least, because facts are written by the thousand while a person waits.
const LEVEL: i32 = 1;

/// No analyzer may return more than this, so that a row that claims more is damaged.
const LONGEST: u64 = 64 << 20;

impl Store {
    /// The facts that are known under the keys.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn facts(&self, keys: &[Digest]) -> Result<HashMap<Digest, Vec<u8>>, StoreError> {
        let mut unpacker = Decompressor::new().map_err(|source| StoreError::Io {
            operation: "prepare to unpack facts of",
            path: self.dir().map(|dir| dir.database()).unwrap_or_default(),
            source,
        })?;
        let found = self.read("read facts", |sql| {
            let mut found = HashMap::with_capacity(keys.len());
            for key in keys {
                let statement = "SELECT length, packed, body FROM facts WHERE key = ?1";
                let body = sql.first(statement, [key.as_bytes()], |row| {
                    let length = sql::unsigned(row, 0)?;
                    let packed: bool = row.get(1)?;
                    let body = row.get_ref(2)?.as_blob().unwrap_or_default();
                    Ok(if packed { unpack(&mut unpacker, body, length) } else { Some(body.to_vec()) })
                })?;
                if let Some(body) = body.flatten() {
                    found.insert(*key, body);
                }
            }
            Ok(found)
        })?;
        self.wanted_facts.borrow_mut().extend(found.keys());
        Ok(found)
    }

    /// Keeps facts under their keys, all in one transaction.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn put_facts(&mut self, facts: &[(Digest, Vec<u8>)]) -> Result<(), StoreError> {
        let mut packer = Compressor::new(LEVEL).map_err(|source| StoreError::Io {
            operation: "prepare to pack facts of",
            path: self.dir().map(|dir| dir.database()).unwrap_or_default(),
            source,
        })?;
        self.write("keep facts", |sql| {
            let turn = next_turn(sql)?;
            for (key, body) in facts {
                let packed = if body.len() < PACKED_FROM { None } else { packer.compress(body).ok() };
                let statement = "INSERT INTO facts (key, turn, length, packed, body) VALUES (?1, ?2, ?3, ?4, ?5)
                     ON CONFLICT (key) DO UPDATE SET turn = ?2, length = ?3, packed = ?4, body = ?5";
                let length = sql::to_sql(body.len() as u64);
                let kept = packed.as_deref().unwrap_or(body);
                sql.execute(statement, (key.as_bytes(), turn, length, packed.is_some(), kept))?;
            }
            Ok(())
        })
    }

    /// Brings the cache down to `max_bytes` of bodies and gives the number of rows that went. What this process asked
    /// for goes last, then what was written or asked for least recently goes first.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn prune_facts(&mut self, max_bytes: u64) -> Result<u64, StoreError> {
        let wanted = self.wanted_facts.take();
        let pruned = self.write("prune facts", |sql| prune(sql, &wanted, max_bytes));
        if pruned.is_err() {
            self.wanted_facts.replace(wanted);
        }
        pruned
    }
}

fn prune(sql: &Sql<'_>, wanted: &HashSet<Digest>, max_bytes: u64) -> Result<u64, Fault> {
    let sum = "SELECT coalesce(sum(length(body)), 0) FROM facts";
    let mut bytes = sql.first(sum, [], |row| sql::unsigned(row, 0))?.unwrap_or(0);
    if bytes <= max_bytes {
        return Ok(0);
    }
    let turn = next_turn(sql)?;
    for key in wanted {
        sql.execute("UPDATE facts SET turn = ?1 WHERE key = ?2", (turn, key.as_bytes()))?;
    }
    let by_age = "SELECT rowid, length(body) FROM facts ORDER BY turn, key";
    let rows = sql.every(by_age, [], |row| Ok((row.get::<_, i64>(0)?, sql::unsigned(row, 1)?)))?;
    let mut gone = 0;
    for (row, length) in rows {
        if bytes <= max_bytes {
            break;
        }
        sql.execute("DELETE FROM facts WHERE rowid = ?1", [row])?;
        bytes = bytes.saturating_sub(length);
        gone += 1;
    }
    Ok(gone)
}

fn next_turn(sql: &Sql<'_>) -> Result<i64, Fault> {
    let last = sql.first("SELECT coalesce(max(turn), 0) FROM facts", [], |row| Ok(row.get::<_, i64>(0)?))?;
    Ok(last.unwrap_or(0).saturating_add(1))
}

fn unpack(unpacker: &mut Decompressor<'_>, packed: &[u8], length: u64) -> Option<Vec<u8>> {
    let capacity = usize::try_from(length).ok().filter(|_| length <= LONGEST)?;
    unpacker.decompress(packed, capacity).ok().filter(|body| body.len() == capacity)
}
