//! The schema's versions: migrating forward, refusing what is newer, and refusing what somebody else has altered.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use crate::error::{Fault, StoreError};

/// Every step from an empty database to the newest schema. A released step is never edited, only followed by another.
const MIGRATIONS: &[&str] = &[include_str!("migrations/0001.sql"), include_str!("migrations/0002.sql")];

/// Version of the schema that this program writes and reads.
pub const SCHEMA_VERSION: i64 = MIGRATIONS.len() as i64;

/// Marks the database as ours in its header: `aszE`.
pub(crate) const APPLICATION_ID: i32 = 0x6173_7a45;

/// Brings a writable database to the newest version, each step in a transaction of its own.
pub(crate) fn migrate(conn: &mut Connection, path: &Path) -> Result<(), Fault> {
    migrate_through(conn, path, MIGRATIONS)
}

/// As [`migrate`], through the given steps.
pub(crate) fn migrate_through(conn: &mut Connection, path: &Path, steps: &[&str]) -> Result<(), Fault> {
    let known = steps.len() as i64;
    loop {
        // The version is read again inside the transaction: two processes may open a new store at once.
        let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let found = version(&tx)?;
        refuse_newer(path, found, known)?;
        let Some(step) = usize::try_from(found).ok().and_then(|at| steps.get(at)) else { return Ok(()) };
        tx.execute_batch(step)?;
        tx.pragma_update(None, "user_version", found + 1)?;
        tx.commit()?;
    }
}

/// Whether the database is empty or one of ours; asked before anything is written to it.
pub(crate) fn check_ours(conn: &Connection, path: &Path) -> Result<(), Fault> {
    let id: i32 = conn.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let used: bool = conn.query_row("SELECT EXISTS (SELECT 1 FROM sqlite_schema)", [], |row| row.get(0))?;
    if id == APPLICATION_ID || (!used && version(conn)? == 0) {
        return Ok(());
    }
    Err(StoreError::Damaged { path: path.to_owned(), why: "it is a database, but not one of assize".to_owned() }.into())
}

/// Whether a database that is only read has exactly the version that is understood.
pub(crate) fn check_version(conn: &Connection, path: &Path) -> Result<(), Fault> {
    let found = version(conn)?;
    refuse_newer(path, found, SCHEMA_VERSION)?;
    if found < SCHEMA_VERSION {
        return Err(StoreError::Older { path: path.to_owned(), found, known: SCHEMA_VERSION }.into());
    }
    Ok(())
}

/// Whether tables, indexes and triggers are those that the migrations make. A store lies in a repository that is not
/// trusted: one that was brought along with triggers of its own, or without ours, is not used.
pub(crate) fn check_objects(conn: &Connection, path: &Path) -> Result<(), Fault> {
    let mut ours = Connection::open_in_memory()?;
    migrate(&mut ours, Path::new(":memory:"))?;
    if objects(conn)? == objects(&ours)? {
        return Ok(());
    }
    Err(StoreError::Damaged { path: path.to_owned(), why: "its tables or triggers were altered".to_owned() }.into())
}

fn refuse_newer(path: &Path, found: i64, known: i64) -> Result<(), StoreError> {
    if (0..=known).contains(&found) {
        return Ok(());
    }
    Err(StoreError::Newer { path: path.to_owned(), found, known })
}

fn version(conn: &Connection) -> rusqlite::Result<i64> {
    conn.pragma_query_value(None, "user_version", |row| row.get(0))
}

fn objects(conn: &Connection) -> rusqlite::Result<Vec<(String, String, Option<String>)>> {
    let mut statement = conn.prepare(
        "SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_stat%' ESCAPE '\\' ORDER BY type, name",
    )?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    rows.collect()
}
