package flightcache.spark;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TruncatableTable;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** A dataset that is a table of a catalog: its columns are what they are, and Spark casts what is written to them. */
final class CatalogTable implements SupportsRead, SupportsWrite, TruncatableTable {
  private final Dataset dataset;
  private final String name;

  CatalogTable(Dataset dataset, String name) {
    this.dataset = dataset;
    this.name = name;
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  @SuppressWarnings("deprecation") // columns() is made of it, and has its default
  public StructType schema() {
    return dataset.schema();
  }

  @Override
  public Map<String, String> properties() {
    Map<String, String> p = new LinkedHashMap<>();
    p.put("provider", "flightcache");
    p.put("dataset", dataset.name());
    p.put("generation", dataset.facts().generation());
    p.put("rows", Long.toString(dataset.facts().rows()));
    p.put("decoded_bytes", Long.toString(dataset.facts().decodedBytes()));
    p.put("stored_bytes", Long.toString(dataset.facts().storedBytes()));
    return p;
  }

  @Override
  public Set<TableCapability> capabilities() {
    return Set.of(TableCapability.BATCH_READ, TableCapability.BATCH_WRITE, TableCapability.TRUNCATE);
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
    return new DatasetScanBuilder(dataset, dataset.schema());
  }

  @Override
  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    return new DatasetWriteBuilder(dataset.options(), dataset.name(), dataset.schema(), info.schema(), true);
  }

  @Override
  public boolean truncateTable() {
    ObjectNode command = Json.object().put("dataset", dataset.name()).put("mode", "replace");
    Connection.first(dataset.options(), c -> Put.nothing(c, dataset.name(), command, dataset.arrow()));
    return true;
  }
}
