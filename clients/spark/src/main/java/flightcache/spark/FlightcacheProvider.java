package flightcache.spark;

import java.util.Map;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** The format {@code flightcache} of {@code spark.read} and {@code DataFrame.write}. */
public final class FlightcacheProvider implements TableProvider, DataSourceRegister {
  /** Made by Spark. */
  public FlightcacheProvider() {}

  @Override
  public String shortName() {
    return "flightcache";
  }

  /** Spark asks for the schema, and then for the table: what the first found serves the second. */
  private Dataset inferred;

  @Override
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    inferred = Dataset.load(Options.of(options), Datasets.of(options), options.get(Options.GENERATION));
    return inferred.schema();
  }

  /**
   * Spark gives the schema of what is to be written, or one that a user gave for a read: a write may be to a dataset that is
   * not there yet.
   */
  @Override
  public boolean supportsExternalMetadata() {
    return true;
  }

  @Override
  public Table getTable(StructType schema, Transform[] partitioning, Map<String, String> properties) {
    if (partitioning.length > 0) {
      throw new FlightcacheException("datasets have no partition columns: leave partitionBy out; batches have statistics instead");
    }
    CaseInsensitiveStringMap options = new CaseInsensitiveStringMap(properties);
    return new FormatTable(
        Options.of(options), Datasets.of(options), options.get(Options.GENERATION), schema, inferred);
  }
}
