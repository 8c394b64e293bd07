//! Tables as Arrow IPC stream files.

use std::error::Error;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_schema::{ArrowError, SchemaRef};

/// A schema and its record batches, in order.
pub struct Table {
    pub schema: SchemaRef,
    pub batches: Vec<RecordBatch>,
}

/// The names and paths of the tables in `folder`, ordered by name.
pub fn tables(folder: &str) -> Result<Vec<(String, PathBuf)>, Box<dyn Error>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|n| n.to_str()).and_then(|n| n.strip_suffix(".arrows"));
        if let Some(name) = name {
            found.push((name.to_string(), path));
        }
    }
    found.sort();
    if found.is_empty() {
        return Err(format!("no .arrows file in {folder}").into());
    }
    Ok(found)
}

/// All of the stream file at `path`.
pub fn read(path: &Path) -> Result<Table, ArrowError> {
    let reader = StreamReader::try_new(BufReader::new(File::open(path)?), None)?;
    let schema = reader.schema();
    Ok(Table { schema, batches: reader.collect::<Result<_, _>>()? })
}
