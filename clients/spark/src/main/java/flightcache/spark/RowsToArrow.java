package flightcache.spark;

import java.util.List;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.Schema;
import org.apache.spark.sql.catalyst.InternalRow;

/** Gathers rows of Spark in vectors. The vectors are used again from batch to batch. */
final class RowsToArrow implements AutoCloseable {
  private final VectorSchemaRoot root;
  private final CellWriter[] writers;
  private final int[] ordinals;
  private final Size size = new Size();
  private int count;

  /** What has been written of texts and binary values; other columns grow with the rows. */
  static final class Size {
    long bytes;
  }

  /**
   * Vectors for a schema that {@link #check} has passed.
   *
   * @param ordinals where the schema's columns are in the rows
   */
  RowsToArrow(String dataset, Schema schema, int[] ordinals, BufferAllocator allocator) {
    this.ordinals = ordinals;
    root = VectorSchemaRoot.create(schema, allocator);
    writers = new CellWriter[ordinals.length];
    for (int i = 0; i < writers.length; i++) {
      Field f = schema.getFields().get(i);
      FieldVector v = root.getVector(i);
      writers[i] = CellWriters.of(v, ArrowToSpark.type(f), "dataset " + dataset + ": column " + f.getName(), size);
    }
  }

  /** Complains of columns that cannot be written. */
  static void check(String dataset, Schema schema) {
    check(dataset, schema.getFields(), "");
  }

  private static void check(String dataset, List<Field> fields, String above) {
    for (Field f : fields) {
      String path = above + f.getName();
      String refusal = f.getDictionary() != null ? "dictionary-encoded" : ArrowToSpark.refusal(f);
      if (refusal == null && !CellWriters.canWrite(f)) {
        refusal = f.getType().toString();
      }
      if (refusal != null) {
        throw new FlightcacheException(
            "dataset " + dataset + ": column " + path + " is " + refusal
                + ", which the connector does not write; overwrite the dataset through the format, or append by another client");
      }
      check(dataset, f.getChildren(), path + ".");
    }
  }

  VectorSchemaRoot root() {
    return root;
  }

  /** Rows since the last clear. */
  int count() {
    return count;
  }

  /** About the bytes of them. */
  long bytes() {
    return size.bytes + 8L * count * writers.length;
  }

  void add(InternalRow row) {
    for (int i = 0; i < writers.length; i++) {
      writers[i].write(row, ordinals[i], count);
    }
    count++;
  }

  /** Makes the root a batch of the rows. */
  void finish() {
    root.setRowCount(count);
  }

  void clear() {
    for (FieldVector v : root.getFieldVectors()) {
      v.reset();
    }
    count = 0;
    size.bytes = 0;
  }

  @Override
  public void close() {
    root.close();
  }
}
