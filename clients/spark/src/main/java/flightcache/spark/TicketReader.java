package flightcache.spark;

import flightcache.spark.vectors.Columns;
import java.io.IOException;
import java.util.List;
import org.apache.arrow.flight.FlightRuntimeException;
import org.apache.arrow.flight.FlightStatusCode;
import org.apache.arrow.flight.FlightStream;
import org.apache.arrow.flight.Ticket;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.Schema;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/**
 * One partition's stream, on a connection of its own: streams that share one wait for each other. A batch is valid until the
 * next one is asked for.
 */
final class TicketReader implements PartitionReader<ColumnarBatch> {
  private final String dataset;
  private final StructType wanted;
  private final List<Field> fields;
  private final boolean truncateNanos;
  private final Connection connection;
  private final FlightStream stream;
  private ColumnarBatch batch;

  TicketReader(Options options, String dataset, StructType wanted, Schema schema, byte[] ticket) {
    this.dataset = dataset;
    this.wanted = wanted;
    this.fields = schema.getFields();
    this.truncateNanos = options.truncateNanos();
    connection = new Connection(options);
    try {
      stream = connection.stream(new Ticket(ticket));
    } catch (RuntimeException e) {
      connection.close();
      throw e;
    }
  }

  @Override
  public boolean next() {
    try {
      while (stream.next()) {
        VectorSchemaRoot root = stream.getRoot();
        if (root.getRowCount() > 0) {
          batch = new ColumnarBatch(columns(root), root.getRowCount());
          return true;
        }
      }
      return false;
    } catch (FlightRuntimeException e) {
      FlightcacheException failure = Connection.failure(Connection.about(dataset), connection.address(), e);
      if (e.status().code() == FlightStatusCode.NOT_FOUND) {
        throw new FlightcacheException(
            FlightcacheException.Kind.NOT_FOUND,
            failure.getMessage() + "; what was planned is gone: make the DataFrame anew",
            e);
      }
      throw failure;
    }
  }

  private ColumnVector[] columns(VectorSchemaRoot root) {
    Columns columns = new Columns(stream.getDictionaryProvider(), truncateNanos);
    ColumnVector[] out = new ColumnVector[fields.size()];
    for (int i = 0; i < out.length; i++) {
      StructField c = wanted.fields()[i];
      out[i] = columns.of(root.getVector(i), fields.get(i), c.dataType(), c.name());
    }
    return out;
  }

  @Override
  public ColumnarBatch get() {
    return batch;
  }

  @Override
  public void close() throws IOException {
    try {
      stream.close();
    } catch (Exception e) {
      // A stream that is given up ends with the status of that; nothing is read from it any more.
    } finally {
      connection.close();
    }
  }
}
