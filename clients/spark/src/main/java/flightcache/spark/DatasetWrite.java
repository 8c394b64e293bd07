package flightcache.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.arrow.vector.types.pojo.Schema;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.WriterCommitMessage;

/**
 * One write job: a transaction of the server. Each attempt of a task puts under a name of its own; the commit lists the puts of
 * the attempts that Spark chose, in the order of the partitions, and the server discards all others. Nothing is visible before.
 */
class DatasetWrite implements BatchWrite {
  /** After so many seconds the server discards a transaction whose driver is gone: the longest that it takes. */
  private static final int LIFE = 86_400;

  private final Options options;
  private final String dataset;
  private final String mode;
  private final Schema schema;
  private final int[] ordinals;
  private Connection connection; // to the server that has the transaction
  private String transaction;

  DatasetWrite(Options options, String dataset, String mode, Schema schema, int[] ordinals) {
    this.options = options;
    this.dataset = dataset;
    this.mode = mode;
    this.schema = schema;
    this.ordinals = ordinals;
  }

  /** Opens the transaction, once. */
  void begin() {
    if (transaction != null) {
      return;
    }
    Connection.first(
        options,
        c -> {
          ObjectNode body = Json.object().put("dataset", dataset).put("mode", mode).put("ttl", LIFE);
          transaction = c.act("begin", dataset, body).path("transaction").asText();
          connection = c;
          return null;
        });
  }

  @Override
  public DataWriterFactory createBatchWriterFactory(PhysicalWriteInfo info) {
    RowsToArrow.check(dataset, schema);
    begin();
    return new PutWriterFactory(
        options.at(connection.address()), dataset, transaction, schema.serializeAsMessage(), ordinals);
  }

  @Override
  public void commit(WriterCommitMessage[] messages) {
    ArrayNode puts = Json.array();
    for (WriterCommitMessage m : messages) {
      if (m instanceof PutMessage put && put.id() != null) {
        puts.add(put.id());
      }
    }
    commit(puts);
  }

  /** Makes the listed puts visible, in this order. */
  void commit(ArrayNode puts) {
    begin();
    if (puts.isEmpty()) {
      // No row: the dataset is there with its columns all the same.
      ObjectNode command =
          Json.object().put("dataset", dataset).put("transaction", transaction).put("put_id", "no-rows");
      Put.nothing(connection, dataset, command, schema);
      puts.add("no-rows");
    }
    ObjectNode body = Json.object().put("dataset", dataset).put("transaction", transaction);
    body.set("puts", puts);
    JsonNode facts = connection.act("commit", dataset, body);
    committed(facts);
  }

  /** Hears what the dataset has become. */
  void committed(JsonNode facts) {
    transaction = null;
  }

  @Override
  public void abort(WriterCommitMessage[] messages) {
    abort();
  }

  void abort() {
    if (transaction != null) {
      ObjectNode body = Json.object().put("dataset", dataset).put("transaction", transaction);
      connection.act("abort", dataset, body);
      transaction = null;
    }
  }
}
