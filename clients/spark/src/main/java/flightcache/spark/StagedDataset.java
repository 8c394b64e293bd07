package flightcache.spark;

import java.util.Set;
import org.apache.arrow.vector.types.pojo.Schema;
import org.apache.spark.sql.connector.catalog.StagedTable;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.SupportsTruncate;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.types.StructType;

/** A dataset that is created or replaced when its rows have been written, in one step. */
final class StagedDataset implements StagedTable, SupportsWrite {
  private final Options options;
  private final String dataset;
  private final String name;
  private final String mode;
  private final StructType schema;
  private final Schema arrow;
  private Staged write;

  StagedDataset(Options options, String dataset, String name, String mode, StructType schema) {
    this.options = options;
    this.dataset = dataset;
    this.name = name;
    this.mode = mode;
    this.schema = schema;
    arrow = SparkToArrow.schema(dataset, schema);
  }

  /** The write whose commit waits for the table's. */
  private static final class Staged extends DatasetWrite {
    private WriterCommitMessage[] messages = new WriterCommitMessage[0];

    Staged(Options options, String dataset, String mode, Schema schema, int[] ordinals) {
      super(options, dataset, mode, schema, ordinals);
    }

    @Override
    public void commit(WriterCommitMessage[] messages) {
      this.messages = messages;
    }

    void publish() {
      super.commit(messages);
    }
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  @SuppressWarnings("deprecation") // columns() is made of it, and has its default
  public StructType schema() {
    return schema;
  }

  @Override
  public Set<TableCapability> capabilities() {
    return Set.of(TableCapability.BATCH_WRITE, TableCapability.TRUNCATE);
  }

  @Override
  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    int[] ordinals = DatasetWriteBuilder.ordinals(dataset, arrow, info.schema());
    write = new Staged(options, dataset, mode, arrow, ordinals);
    return new Builder(write);
  }

  /** Rows that are written to a staged table are all that it has, whether it is asked for or not. */
  private record Builder(BatchWrite write) implements WriteBuilder, SupportsTruncate {
    @Override
    public WriteBuilder truncate() {
      return this;
    }

    @Override
    public Write build() {
      return new Write() {
        @Override
        public BatchWrite toBatch() {
          return write;
        }
      };
    }
  }

  @Override
  public void commitStagedChanges() {
    if (write == null) {
      write = new Staged(options, dataset, mode, arrow, new int[0]);
    }
    write.publish();
  }

  @Override
  public void abortStagedChanges() {
    if (write != null) {
      write.abort();
    }
  }
}
