package flightcache.spark;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.concurrent.locks.LockSupport;
import org.apache.arrow.flight.AsyncPutListener;
import org.apache.arrow.flight.FlightClient;
import org.apache.arrow.flight.FlightRuntimeException;
import org.apache.arrow.flight.PutResult;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.types.pojo.Schema;
import org.apache.spark.TaskContext;

/** One put. What is sent is visible to nobody until it is finished, and the transaction that it is in is committed. */
final class Put implements AutoCloseable {
  private static final long FIRST_PAUSE_NANOS = 20_000;
  private static final long LAST_PAUSE_NANOS = 2_000_000;

  private final Connection connection;
  private final String dataset;
  private final Answer answer = new Answer();
  private final FlightClient.ClientStreamListener stream;
  private boolean over;

  /** The one result of a put. */
  private static final class Answer extends AsyncPutListener {
    private volatile byte[] facts;

    @Override
    public void onNext(PutResult result) {
      byte[] bytes = new byte[(int) result.getApplicationMetadata().readableBytes()];
      result.getApplicationMetadata().getBytes(0, bytes);
      facts = bytes;
    }
  }

  /** Opens a put of the batches that the root will hold. */
  Put(Connection connection, String dataset, ObjectNode command, VectorSchemaRoot root) {
    this.connection = connection;
    this.dataset = dataset;
    stream = connection.put(Json.bytes(command), answer);
    stream.start(root);
  }

  /** Puts a schema without rows. */
  static JsonNode nothing(Connection connection, String dataset, ObjectNode command, Schema schema) {
    try (VectorSchemaRoot root = VectorSchemaRoot.create(schema, connection.allocator());
        Put put = new Put(connection, dataset, command, root)) {
      return put.finish(0);
    }
  }

  /** Sends what the root holds, once the connection takes more: the library would wait for that without a pause. */
  void send() {
    for (long pause = FIRST_PAUSE_NANOS; !stream.isReady() && !answer.isCancelled(); ) {
      LockSupport.parkNanos(pause);
      pause = Math.min(2 * pause, LAST_PAUSE_NANOS);
      TaskContext task = TaskContext.get();
      if (Thread.currentThread().isInterrupted() || task != null && task.isInterrupted()) {
        throw new FlightcacheException("dataset " + dataset + ": the task was killed while it put");
      }
    }
    if (answer.isCancelled()) {
      result(); // the server has ended the call: it says why
      throw new FlightcacheException("dataset " + dataset + ": the server ended the put before its end");
    }
    stream.putNext();
  }

  /** Ends the put; gives the server's facts, which have to count the same rows. */
  JsonNode finish(long rows) {
    over = true;
    stream.completed();
    result();
    try {
      JsonNode facts = Json.parse(answer.facts == null ? new byte[0] : answer.facts);
      if (facts.path("rows").asLong(-1) != rows) {
        throw new FlightcacheException(
            "dataset " + dataset + ": the server took " + facts.path("rows") + " rows of " + rows + " that were sent");
      }
      return facts;
    } catch (JsonProcessingException e) {
      throw new FlightcacheException("dataset " + dataset + ": the answer to a put is not that of a flightcache server", e);
    }
  }

  private void result() {
    try {
      stream.getResult();
    } catch (FlightRuntimeException e) {
      over = true;
      throw Connection.failure(Connection.about(dataset), connection.address(), e);
    }
  }

  /** Gives the put up: nothing of it stays. */
  void cancel() {
    if (!over) {
      over = true;
      stream.error(new FlightcacheException("dataset " + dataset + ": the writer gave the put up"));
    }
  }

  @Override
  public void close() {
    cancel();
  }
}
