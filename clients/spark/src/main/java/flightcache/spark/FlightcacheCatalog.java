package flightcache.spark;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.TableAlreadyExistsException;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.NamespaceChange;
import org.apache.spark.sql.connector.catalog.StagedTable;
import org.apache.spark.sql.connector.catalog.StagingTableCatalog;
import org.apache.spark.sql.connector.catalog.SupportsNamespaces;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * A server's datasets as the tables of a catalog: {@code sales/2024} is the table {@code 2024} of the namespace {@code sales}.
 * A namespace is there as long as there is a dataset in it.
 */
public final class FlightcacheCatalog implements StagingTableCatalog, SupportsNamespaces {
  private String name;
  private Options options;

  /** Made by Spark. */
  public FlightcacheCatalog() {}

  @Override
  public void initialize(String name, CaseInsensitiveStringMap options) {
    this.name = name;
    this.options = Options.of(options);
  }

  @Override
  public String name() {
    return name;
  }

  private String qualified(Identifier table) {
    return name + "." + Datasets.of(table).replace('/', '.');
  }

  // Tables.

  @Override
  public Identifier[] listTables(String[] namespace) throws NoSuchNamespaceException {
    List<List<String>> names = below(namespace);
    if (names.isEmpty() && namespace.length > 0) {
      throw new NoSuchNamespaceException(namespace);
    }
    return names.stream()
        .filter(n -> n.size() == namespace.length + 1)
        .map(Datasets::identifier)
        .toArray(Identifier[]::new);
  }

  private List<List<String>> below(String[] namespace) {
    String prefix = namespace.length == 0 ? "" : String.join("/", namespace) + "/";
    return Connection.first(options, c -> c.list(prefix));
  }

  @Override
  public Table loadTable(Identifier table) throws NoSuchTableException {
    return loaded(table);
  }

  private CatalogTable loaded(Identifier table) throws NoSuchTableException {
    try {
      return new CatalogTable(Dataset.load(options, Datasets.of(table), null), qualified(table));
    } catch (FlightcacheException e) {
      if (e.kind() == FlightcacheException.Kind.NOT_FOUND) {
        throw new NoSuchTableException(table);
      }
      throw e;
    }
  }

  @Override
  @SuppressWarnings("deprecation") // the later ones have their defaults in it
  public Table createTable(Identifier table, StructType schema, Transform[] partitions, Map<String, String> properties)
      throws TableAlreadyExistsException {
    refuse(table, partitions);
    String dataset = Datasets.of(table);
    ObjectNode command = Json.object().put("dataset", dataset).put("mode", "create");
    try {
      Connection.first(options, c -> Put.nothing(c, dataset, command, SparkToArrow.schema(dataset, schema)));
      return loaded(table);
    } catch (FlightcacheException e) {
      if (e.kind() == FlightcacheException.Kind.EXISTS) {
        throw new TableAlreadyExistsException(table);
      }
      throw e;
    } catch (NoSuchTableException e) {
      throw new FlightcacheException("dataset " + dataset + " was dropped as soon as it was created", e);
    }
  }

  private static void refuse(Identifier table, Transform[] partitions) {
    if (partitions.length > 0) {
      throw new FlightcacheException(
          "dataset " + Datasets.of(table) + ": datasets have no partition columns; leave PARTITIONED BY out: batches have statistics instead");
    }
  }

  @Override
  public Table alterTable(Identifier table, TableChange... changes) {
    throw new FlightcacheException(
        "dataset " + Datasets.of(table) + ": a dataset's columns and properties do not change; write it anew: CREATE OR REPLACE TABLE … AS SELECT");
  }

  @Override
  public boolean dropTable(Identifier table) {
    String dataset = Datasets.of(table);
    ObjectNode body = Json.object().put("dataset", dataset).put("if_exists", true);
    return Connection.first(options, c -> c.act("drop", dataset, body)).path("dropped").asBoolean();
  }

  @Override
  public void renameTable(Identifier from, Identifier to) {
    throw new FlightcacheException(
        "dataset " + Datasets.of(from) + ": a dataset keeps its name; CREATE TABLE … AS SELECT makes a copy under another");
  }

  // Tables that are there when their rows are.

  @Override
  @SuppressWarnings("deprecation") // the later ones have their defaults in it
  public StagedTable stageCreate(Identifier table, StructType schema, Transform[] partitions, Map<String, String> properties)
      throws TableAlreadyExistsException {
    if (tableExists(table)) {
      throw new TableAlreadyExistsException(table);
    }
    return staged(table, schema, partitions, "create");
  }

  @Override
  @SuppressWarnings("deprecation") // the later ones have their defaults in it
  public StagedTable stageReplace(Identifier table, StructType schema, Transform[] partitions, Map<String, String> properties)
      throws NoSuchTableException {
    if (!tableExists(table)) {
      throw new NoSuchTableException(table);
    }
    return staged(table, schema, partitions, "replace");
  }

  @Override
  @SuppressWarnings("deprecation") // the later ones have their defaults in it
  public StagedTable stageCreateOrReplace(
      Identifier table, StructType schema, Transform[] partitions, Map<String, String> properties) {
    return staged(table, schema, partitions, "replace");
  }

  private StagedTable staged(Identifier table, StructType schema, Transform[] partitions, String mode) {
    refuse(table, partitions);
    return new StagedDataset(options, Datasets.of(table), qualified(table), mode, schema);
  }

  // Namespaces.

  @Override
  public String[][] listNamespaces() {
    return children(new String[0]);
  }

  @Override
  public String[][] listNamespaces(String[] namespace) throws NoSuchNamespaceException {
    String[][] found = children(namespace);
    if (found.length == 0) {
      loadNamespaceMetadata(namespace);
    }
    return found;
  }

  private String[][] children(String[] namespace) {
    Set<List<String>> found = new LinkedHashSet<>();
    for (List<String> n : below(namespace)) {
      if (n.size() > namespace.length + 1) {
        found.add(n.subList(0, namespace.length + 1));
      }
    }
    return found.stream().map(n -> n.toArray(String[]::new)).toArray(String[][]::new);
  }

  @Override
  public Map<String, String> loadNamespaceMetadata(String[] namespace) throws NoSuchNamespaceException {
    if (namespace.length > 0 && below(namespace).isEmpty()) {
      throw new NoSuchNamespaceException(namespace);
    }
    return Map.of();
  }

  @Override
  public void createNamespace(String[] namespace, Map<String, String> metadata) {
    throw new FlightcacheException("a namespace is there as soon as it has a dataset: create a table in it");
  }

  @Override
  public void alterNamespace(String[] namespace, NamespaceChange... changes) {
    throw new FlightcacheException("a namespace has no properties");
  }

  @Override
  public boolean dropNamespace(String[] namespace, boolean cascade) {
    throw new FlightcacheException("a namespace is gone with its last dataset: drop its tables");
  }
}
