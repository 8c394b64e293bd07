package flightcache.spark;

import java.nio.ByteBuffer;
import org.apache.arrow.vector.types.pojo.Schema;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.DataWriterFactory;

/**
 * Goes to the tasks.
 *
 * @param schema what is put, as an Arrow message
 * @param ordinals where its columns are in the rows
 */
record PutWriterFactory(Options options, String dataset, String transaction, byte[] schema, int[] ordinals)
    implements DataWriterFactory {

  @Override
  public DataWriter<InternalRow> createWriter(int partition, long task) {
    // The id of a task's attempt is never given twice in an application.
    String id = "partition-" + partition + "-task-" + task;
    return new PutWriter(options, dataset, transaction, id, Schema.deserializeMessage(ByteBuffer.wrap(schema)), ordinals);
  }
}
