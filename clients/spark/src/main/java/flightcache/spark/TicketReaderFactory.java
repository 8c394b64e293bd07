package flightcache.spark;

import java.nio.ByteBuffer;
import org.apache.arrow.vector.types.pojo.Schema;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/** Goes to the tasks. */
final class TicketReaderFactory implements PartitionReaderFactory {
  private final Options options;
  private final String dataset;
  private final StructType wanted;
  private final byte[] schema;

  /** On the driver, whoever can start tasks keeps the scan, and so its lease. */
  @SuppressWarnings("unused")
  private final transient DatasetScan scan;

  /**
   * Readers of a scan's tickets.
   *
   * @param schema of the stream, as an Arrow message
   */
  TicketReaderFactory(Options options, String dataset, StructType wanted, byte[] schema, DatasetScan scan) {
    this.options = options;
    this.dataset = dataset;
    this.wanted = wanted;
    this.schema = schema;
    this.scan = scan;
  }

  @Override
  public PartitionReader<InternalRow> createReader(InputPartition partition) {
    throw new UnsupportedOperationException("reads of flightcache are columnar");
  }

  @Override
  public PartitionReader<ColumnarBatch> createColumnarReader(InputPartition partition) {
    TicketPartition p = (TicketPartition) partition;
    Schema arrow = Schema.deserializeMessage(ByteBuffer.wrap(schema));
    return new TicketReader(options.at(p.address()), dataset, wanted, arrow, p.ticket());
  }

  @Override
  public boolean supportColumnarReads(InputPartition partition) {
    return true;
  }
}
