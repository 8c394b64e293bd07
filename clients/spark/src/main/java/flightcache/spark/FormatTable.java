package flightcache.spark;

import java.util.Map;
import java.util.Set;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** A dataset that options name. A write may create it, or give it other columns. */
final class FormatTable implements SupportsRead, SupportsWrite {
  private final Options options;
  private final String name;
  private final String generation;
  private final StructType declared;
  private Dataset dataset; // null until it is read

  FormatTable(Options options, String name, String generation, StructType declared, Dataset dataset) {
    this.options = options;
    this.name = name;
    this.generation = generation;
    this.declared = declared;
    this.dataset = dataset;
  }

  @Override
  public String name() {
    return "flightcache " + name;
  }

  @Override
  @SuppressWarnings("deprecation") // columns() is made of it, and has its default
  public StructType schema() {
    return declared;
  }

  @Override
  public Set<TableCapability> capabilities() {
    return Set.of(
        TableCapability.BATCH_READ,
        TableCapability.BATCH_WRITE,
        TableCapability.TRUNCATE,
        TableCapability.ACCEPT_ANY_SCHEMA);
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap ignored) {
    if (dataset == null) {
      dataset = Dataset.load(options, name, generation);
    }
    check();
    return new DatasetScanBuilder(dataset, declared);
  }

  /** A schema that a user gave may leave columns out, and may not change them. */
  private void check() {
    Map<String, Field> fields = dataset.fields();
    for (StructField c : declared.fields()) {
      Field field = fields.get(c.name());
      if (field == null) {
        throw new FlightcacheException("dataset " + name + " has no column " + c.name() + ", which the given schema has");
      }
      if (!Types.same(ArrowToSpark.type(field), c.dataType())) {
        throw new FlightcacheException(
            "dataset " + name + ": column " + c.name() + " is " + ArrowToSpark.type(field).sql() + ", and "
                + c.dataType().sql() + " in the given schema; leave the schema out, and cast the column");
      }
    }
  }

  @Override
  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    return new DatasetWriteBuilder(options, name, declared, info.schema(), false);
  }
}
