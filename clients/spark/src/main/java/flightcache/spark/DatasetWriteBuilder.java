package flightcache.spark;

import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.Schema;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.SupportsTruncate;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/** Decides what a write does to the dataset, and in which schema. */
final class DatasetWriteBuilder implements WriteBuilder, SupportsTruncate {
  private final Options options;
  private final String dataset;
  private final StructType table;
  private final StructType query;
  private final boolean keepsSchema;
  private boolean truncate;

  /**
   * A write of rows.
   *
   * @param table the columns that the table has, or is to have
   * @param query the columns of the rows, which have these names
   * @param keepsSchema whether the dataset keeps its own schema when its rows are replaced
   */
  DatasetWriteBuilder(Options options, String dataset, StructType table, StructType query, boolean keepsSchema) {
    this.options = options;
    this.dataset = dataset;
    this.table = table;
    this.query = query;
    this.keepsSchema = keepsSchema;
  }

  @Override
  public WriteBuilder truncate() {
    truncate = true;
    return this;
  }

  @Override
  public Write build() {
    return new Write() {
      @Override
      public BatchWrite toBatch() {
        Schema present = truncate && !keepsSchema ? null : present();
        Schema target = present != null ? present : SparkToArrow.schema(dataset, table);
        String mode = truncate ? "replace" : "append";
        return new DatasetWrite(options, dataset, mode, target, ordinals(dataset, target, query));
      }

      @Override
      public String description() {
        return (truncate ? "overwrite " : "append to ") + dataset;
      }
    };
  }

  /** The schema that the dataset has, or null if it is not there. */
  private Schema present() {
    try {
      return Dataset.load(options, dataset, null).arrow();
    } catch (FlightcacheException e) {
      if (e.kind() == FlightcacheException.Kind.NOT_FOUND) {
        return null;
      }
      throw e;
    }
  }

  /** Where each of the dataset's columns is in the rows: they are found by name, and have to be all, of the same types. */
  static int[] ordinals(String dataset, Schema target, StructType query) {
    Map<String, Integer> places = new HashMap<>();
    for (int i = 0; i < query.size(); i++) {
      if (places.put(query.fields()[i].name().toLowerCase(Locale.ROOT), i) != null) {
        throw new FlightcacheException(
            "dataset " + dataset + ": the rows have two columns of the name " + query.fields()[i].name() + "; rename one");
      }
    }
    int[] ordinals = new int[target.getFields().size()];
    for (int i = 0; i < ordinals.length; i++) {
      Field f = target.getFields().get(i);
      Integer place = places.remove(f.getName().toLowerCase(Locale.ROOT));
      if (place == null) {
        throw new FlightcacheException("dataset " + dataset + ": the rows have no column " + f.getName() + ", which the dataset has");
      }
      DataType has = ArrowToSpark.type(f);
      DataType comes = query.fields()[place].dataType();
      if (!Types.same(has, comes)) {
        throw new FlightcacheException(
            "dataset " + dataset + ": column " + f.getName() + " is " + has.sql() + ", and " + comes.sql()
                + " in the rows; cast it, or overwrite the dataset");
      }
      ordinals[i] = place;
    }
    if (!places.isEmpty()) {
      throw new FlightcacheException(
          "dataset " + dataset + " has no column " + places.keySet().iterator().next() + ", which the rows have; drop it, or overwrite the dataset");
    }
    return ordinals;
  }
}
