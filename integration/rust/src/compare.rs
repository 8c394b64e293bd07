//! Equality of tables whose batches may be cut at other rows.

use arrow_array::RecordBatch;

use crate::Failure;
use crate::file::Table;

/// Reports the first difference between `written` and `read`: schema with all metadata, number of rows, values.
pub fn same(written: &Table, read: &Table) -> Result<(), Failure> {
    if written.schema != read.schema {
        return Err(Failure::Schema(format!("wrote {:?}, read {:?}", written.schema, read.schema)));
    }
    let (rows_written, rows_read) = (rows(&written.batches), rows(&read.batches));
    if rows_written != rows_read {
        return Err(Failure::Values(format!("wrote {rows_written} rows, read {rows_read}")));
    }
    let mut ours = Pieces::of(&written.batches);
    let mut theirs = Pieces::of(&read.batches);
    let mut row = 0;
    while row < rows_written {
        let step = ours.left().min(theirs.left());
        let (ours, theirs) = (ours.take(step), theirs.take(step));
        for (i, field) in written.schema.fields().iter().enumerate() {
            if ours.column(i) != theirs.column(i) {
                let why = format!("column {:?} differs in the {step} rows from row {row}", field.name());
                return Err(Failure::Values(why));
            }
        }
        row += step;
    }
    Ok(())
}

fn rows(batches: &[RecordBatch]) -> usize {
    batches.iter().map(RecordBatch::num_rows).sum()
}

/// A walk over batches in steps of any number of rows.
struct Pieces<'a> {
    batches: &'a [RecordBatch],
    at: usize,
}

impl<'a> Pieces<'a> {
    fn of(batches: &'a [RecordBatch]) -> Self {
        Pieces { batches, at: 0 }
    }

    /// Rows left in the batch that the walk has come to; batches that are used up or empty are left behind.
    fn left(&mut self) -> usize {
        while self.batches[0].num_rows() == self.at {
            self.batches = &self.batches[1..];
            self.at = 0;
        }
        self.batches[0].num_rows() - self.at
    }

    /// The next `rows` rows; at most as many as are left.
    fn take(&mut self, rows: usize) -> RecordBatch {
        let piece = self.batches[0].slice(self.at, rows);
        self.at += rows;
        piece
    }
}
