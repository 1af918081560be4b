//! The one way to SQLite inside an operation: cached statements, values in both directions, and the place where tests
//! make a step fail.

use assize_core::id::Digest;
use rusqlite::{Connection, OptionalExtension, Params, Row};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::Fault;

/// Where tests interrupt an operation. It is empty in the program.
#[derive(Default)]
pub(crate) struct FaultPoint {
    /// Called before every statement; an error ends the operation there.
    #[cfg(test)]
    pub(crate) before: std::cell::RefCell<Option<Interruption>>,
}

/// What a test does before a statement: nothing, look, or fail it.
#[cfg(test)]
pub(crate) type Interruption = Box<dyn FnMut(&str) -> Result<(), Fault> + Send>;

impl FaultPoint {
    #[cfg(test)]
    pub(crate) fn pass(&self, statement: &str) -> Result<(), Fault> {
        match self.before.borrow_mut().as_mut() {
            Some(before) => before(statement),
            None => Ok(()),
        }
    }

    #[cfg(not(test))]
    #[inline]
    pub(crate) fn pass(&self, _statement: &str) -> Result<(), Fault> {
        Ok(())
    }
}

/// A connection inside one operation.
pub(crate) struct Sql<'c> {
    pub(crate) conn: &'c Connection,
    pub(crate) faults: &'c FaultPoint,
}

impl Sql<'_> {
    /// Runs a statement and gives the number of rows that it changed.
    pub(crate) fn execute(&self, statement: &str, params: impl Params) -> Result<usize, Fault> {
        self.faults.pass(statement)?;
        Ok(self.conn.prepare_cached(statement)?.execute(params)?)
    }

    /// The first row, if there is one.
    pub(crate) fn first<T>(
        &self,
        statement: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> Result<T, Fault>,
    ) -> Result<Option<T>, Fault> {
        self.faults.pass(statement)?;
        self.conn.prepare_cached(statement)?.query_row(params, |row| Ok(read(row))).optional()?.transpose()
    }

    /// Every row, in the statement's order.
    pub(crate) fn every<T>(
        &self,
        statement: &str,
        params: impl Params,
        mut read: impl FnMut(&Row<'_>) -> Result<T, Fault>,
    ) -> Result<Vec<T>, Fault> {
        self.faults.pass(statement)?;
        let mut prepared = self.conn.prepare_cached(statement)?;
        let mut rows = prepared.query(params)?;
        let mut out = Vec::new();
        while let Some(row) = rows.next()? {
            out.push(read(row)?);
        }
        Ok(out)
    }
}

/// An unsigned number as SQLite keeps it; what does not fit becomes the largest that does.
pub(crate) fn to_sql(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// An unsigned number of a column.
pub(crate) fn unsigned(row: &Row<'_>, column: usize) -> Result<u64, Fault> {
    let value: i64 = row.get(column)?;
    u64::try_from(value).map_err(|_| Fault::Row(format!("negative number {value} in column {column}")))
}

/// An unsigned number of a column that may be null.
pub(crate) fn unsigned_option(row: &Row<'_>, column: usize) -> Result<Option<u64>, Fault> {
    let value: Option<i64> = row.get(column)?;
    value
        .map(|value| {
            u64::try_from(value).map_err(|_| Fault::Row(format!("negative number {value} in column {column}")))
        })
        .transpose()
}

/// A small unsigned number of a column.
pub(crate) fn small(row: &Row<'_>, column: usize) -> Result<u32, Fault> {
    Ok(row.get::<_, u32>(column)?)
}

/// A digest of a column.
pub(crate) fn digest(row: &Row<'_>, column: usize) -> Result<Digest, Fault> {
    let bytes: [u8; 32] = row.get(column)?;
    Ok(Digest::from_bytes(bytes))
}

/// A value of a JSON column.
pub(crate) fn json<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> Result<T, Fault> {
    let text = row.get_ref(column)?.as_str().map_err(|error| Fault::Row(error.to_string()))?;
    decode(text)
}

/// A value of JSON text that the store wrote.
pub(crate) fn decode<T: DeserializeOwned>(text: &str) -> Result<T, Fault> {
    serde_json::from_str(text).map_err(|error| Fault::Row(format!("a row does not read back: {error}")))
}

/// JSON text of a value.
pub(crate) fn encode<T: Serialize + ?Sized>(value: &T) -> Result<String, Fault> {
    serde_json::to_string(value).map_err(Fault::Encode)
}

/// A value that is one word in JSON, such as an outcome or a lens.
pub(crate) fn decode_word<T: DeserializeOwned>(word: &str) -> Result<T, Fault> {
    serde_json::from_value(serde_json::Value::String(word.to_owned()))
        .map_err(|error| Fault::Row(format!("a row does not read back: {error}")))
}
