//! Writes and reads tables of every Arrow type with the stock Rust Flight client, built with its defaults.
//!
//! `zooclient ADDRESS FOLDER put PREFIX` puts each Arrow IPC stream FOLDER/NAME.arrows as the dataset PREFIX/NAME.
//! `zooclient ADDRESS FOLDER get PREFIX...` reads PREFIX/NAME for each of the prefixes and compares it with the file.
//!
//! It prints one JSON object a line for each dataset, as the clients in other languages do:
//! `{"dataset": "...", "outcome": "ok"}`. Another outcome is the step that failed, and `why` tells its error: `file`
//! (this library cannot read the file), `call` (the put or the read failed), `schema` or `values` (what was read is not
//! what the file holds).

mod compare;
mod file;
mod service;

use std::error::Error;
use std::path::PathBuf;

use serde_json::json;

/// The step of a put or a read that failed, and its error.
pub enum Failure {
    File(String),
    Call(String),
    Schema(String),
    Values(String),
}

impl Failure {
    /// The words for `outcome` and `why`.
    fn words(self) -> (&'static str, String) {
        match self {
            Failure::File(why) => ("file", why),
            Failure::Call(why) => ("call", why),
            Failure::Schema(why) => ("schema", why),
            Failure::Values(why) => ("values", why),
        }
    }
}

#[derive(Clone, Copy)]
enum Action {
    Put,
    Get,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, folder, action, prefixes @ ..] = arguments.as_slice() else {
        return Err("usage: zooclient ADDRESS FOLDER put|get PREFIX...".into());
    };
    let action = match action.as_str() {
        "put" => Action::Put,
        "get" => Action::Get,
        other => return Err(format!("the action is put or get, not {other:?}").into()),
    };
    let tables = file::tables(folder)?;
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
        let channel = service::connect(address).await?;
        for prefix in prefixes {
            for (name, path) in &tables {
                let place = [prefix.clone(), name.clone()];
                // A task of its own: where the library panics, that is this dataset's outcome.
                let step = tokio::spawn(attempt(action, channel.clone(), place, path.clone()));
                let ended = step.await.unwrap_or_else(|e| Err(Failure::Call(format!("panic: {e}"))));
                report(prefix, name, ended);
            }
        }
        Ok(())
    })
}

async fn attempt(
    action: Action,
    channel: tonic::transport::Channel,
    place: [String; 2],
    path: PathBuf,
) -> Result<(), Failure> {
    let written = file::read(&path).map_err(|e| Failure::File(e.to_string()))?;
    match action {
        Action::Put => service::put(channel, place, written).await.map_err(|e| Failure::Call(e.to_string())),
        Action::Get => {
            let read = service::get(channel, place).await.map_err(|e| Failure::Call(e.to_string()))?;
            compare::same(&written, &read)
        }
    }
}

fn report(prefix: &str, name: &str, ended: Result<(), Failure>) {
    let dataset = format!("{prefix}/{name}");
    match ended.map_err(Failure::words) {
        Ok(()) => println!("{}", json!({"dataset": dataset, "outcome": "ok"})),
        Err((outcome, why)) => println!("{}", json!({"dataset": dataset, "outcome": outcome, "why": why})),
    }
}
