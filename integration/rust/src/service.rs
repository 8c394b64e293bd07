//! The calls, as the library's documentation makes them: no option of the connection is changed.

use arrow_flight::encode::DictionaryHandling;
use arrow_flight::encode::FlightDataEncoderBuilder;
use arrow_flight::error::FlightError;
use arrow_flight::{FlightClient, FlightDescriptor};
use futures::{StreamExt, TryStreamExt, stream};
use tonic::transport::{Channel, Endpoint};

use crate::file::Table;

/// Connects to `grpc://HOST:PORT`.
pub async fn connect(address: &str) -> Result<Channel, Box<dyn std::error::Error>> {
    let place = address.strip_prefix("grpc://").ok_or("the address must begin with grpc://")?;
    Ok(Endpoint::from_shared(format!("http://{place}"))?.connect().await?)
}

/// Puts the table as the dataset at `place`, replacing what is there. Dictionaries are sent as such.
pub async fn put(channel: Channel, place: [String; 2], table: Table) -> Result<(), FlightError> {
    let messages = FlightDataEncoderBuilder::new()
        .with_schema(table.schema)
        .with_flight_descriptor(Some(FlightDescriptor::new_path(place.to_vec())))
        .with_dictionary_handling(DictionaryHandling::Resend)
        .build(stream::iter(table.batches.into_iter().map(Ok)));
    let answers: Vec<_> = FlightClient::new(channel).do_put(messages).await?.try_collect().await?;
    match answers.len() {
        1 => Ok(()),
        n => Err(FlightError::ProtocolError(format!("the put was answered {n} times; one answer is promised"))),
    }
}

/// Reads the dataset at `place` by the tickets of its FlightInfo, whose schema must be that of the streams.
pub async fn get(channel: Channel, place: [String; 2]) -> Result<Table, FlightError> {
    let mut client = FlightClient::new(channel);
    let info = client.get_flight_info(FlightDescriptor::new_path(place.to_vec())).await?;
    let mut batches = Vec::new();
    for endpoint in &info.endpoint {
        let ticket = endpoint.ticket.clone().ok_or_else(|| FlightError::protocol("an endpoint without a ticket"))?;
        let mut stream = client.do_get(ticket).await?;
        while let Some(batch) = stream.next().await {
            batches.push(batch?);
        }
    }
    let schema = info.try_decode_schema()?;
    if let Some(other) = batches.iter().find(|b| *b.schema() != schema) {
        let why = format!("FlightInfo promised {schema:?}, the stream has {:?}", other.schema());
        return Err(FlightError::ProtocolError(why));
    }
    Ok(Table { schema: schema.into(), batches })
}
