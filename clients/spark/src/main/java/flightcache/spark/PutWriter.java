package flightcache.spark;

import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.arrow.vector.types.pojo.Schema;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.WriterCommitMessage;

/** One attempt of a task: a put that is opened with its first row, and staged in the transaction when the attempt commits. */
final class PutWriter implements DataWriter<InternalRow> {
  /** A batch is sent when its values come to so much, whatever its rows. */
  private static final long BATCH_BYTES = 8L << 20;

  private final Options options;
  private final String dataset;
  private final String transaction;
  private final String id;
  private final Schema schema;
  private final int[] ordinals;
  private Connection connection;
  private RowsToArrow rows;
  private Put put;
  private long written;

  PutWriter(Options options, String dataset, String transaction, String id, Schema schema, int[] ordinals) {
    this.options = options;
    this.dataset = dataset;
    this.transaction = transaction;
    this.id = id;
    this.schema = schema;
    this.ordinals = ordinals;
  }

  @Override
  public void write(InternalRow row) {
    if (put == null) {
      open();
    }
    rows.add(row);
    written++;
    if (rows.count() >= options.batchRows() || rows.bytes() >= BATCH_BYTES) {
      flush();
    }
  }

  private void open() {
    connection = new Connection(options);
    rows = new RowsToArrow(dataset, schema, ordinals, connection.allocator());
    ObjectNode command =
        Json.object().put("dataset", dataset).put("transaction", transaction).put("put_id", id);
    put = new Put(connection, dataset, command, rows.root());
  }

  private void flush() {
    rows.finish();
    put.send();
    rows.clear();
  }

  @Override
  public WriterCommitMessage commit() {
    if (put == null) {
      return new PutMessage(null, 0);
    }
    if (rows.count() > 0) {
      flush();
    }
    put.finish(written);
    return new PutMessage(id, written);
  }

  @Override
  public void abort() {
    if (put != null) {
      put.cancel();
    }
  }

  @Override
  public void close() {
    if (put != null) {
      put.close();
    }
    if (rows != null) {
      rows.close();
    }
    if (connection != null) {
      connection.close();
      connection = null;
    }
    put = null;
    rows = null;
  }
}
