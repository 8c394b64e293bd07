package flightcache.spark;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.stream.Collectors;
import org.apache.arrow.flight.FlightEndpoint;
import org.apache.arrow.flight.FlightInfo;
import org.apache.spark.sql.connector.expressions.SortOrder;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.connector.read.SupportsReportOrdering;
import org.apache.spark.sql.connector.read.SupportsReportStatistics;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * One read. It is planned at the server when it is first asked for anything that depends on data, and then reads the generation
 * that was found, as long as the plan is held.
 */
final class DatasetScan implements Scan, Batch, SupportsReportStatistics, SupportsReportOrdering {
  private final Dataset dataset;
  private final StructType wanted;
  private final Filters.Pushed filter; // null: none
  private final int limit; // below 0: none
  private final Snapshots.Key query; // null: none that it is known of
  private Plan plan; // null until it is needed
  private boolean begun; // its partitions are given out: the plan stays

  DatasetScan(Dataset dataset, StructType wanted, Filters.Pushed filter, int limit) {
    this.dataset = dataset;
    this.wanted = wanted;
    this.filter = filter;
    this.limit = limit;
    query = Snapshots.key(dataset);
    Snapshots.note(query, this);
  }

  /** What the server answered, and who it was. */
  private record Plan(String address, FlightInfo info, Facts facts) {}

  private synchronized Plan plan() {
    if (plan == null) {
      plan = Connection.first(dataset.options(), this::plan);
    }
    return plan;
  }

  /** The generation that is read. */
  String generation() {
    return plan().facts.generation();
  }

  /** The generation that was found, or null before that. */
  synchronized String found() {
    return plan == null ? null : plan.facts.generation();
  }

  /** Whether this generation is read, after planning again if need be. */
  boolean reads(String generation) {
    if (!generation().equals(generation)) {
      forget();
    }
    return generation().equals(generation);
  }

  /** Has the read planned anew, on what is newest then, if no task has its plan yet. */
  synchronized void forget() {
    if (!begun) {
      plan = null;
    }
  }

  private Plan plan(Connection c) {
    FlightInfo info;
    try {
      info = c.info(dataset.name(), Json.bytes(command(filter)));
    } catch (FlightcacheException e) {
      if (e.kind() == FlightcacheException.Kind.UNREADABLE) {
        ArrowToSpark.checkReadable(dataset.name(), dataset.fields(), wanted); // says which column it is
      }
      throw e;
    }
    Facts facts = Facts.of(dataset.name(), info.getAppMetadata());
    if (!facts.sameColumns(dataset.facts())) {
      c.cancel(info);
      throw new FlightcacheException(
          "dataset " + dataset.name() + " has other columns than when it was loaded: make the DataFrame anew");
    }
    if (filter != null && !facts.generation().equals(dataset.facts().generation())) {
      c.cancel(info);
      info = c.info(dataset.name(), Json.bytes(command(filter.cautious())));
      facts = Facts.of(dataset.name(), info.getAppMetadata());
    }
    Plan made = new Plan(c.address(), info, facts);
    Leases.keep(made, Session.context(), c, info);
    return made;
  }

  private ObjectNode command(Filters.Pushed filter) {
    ObjectNode command = dataset.command();
    command.set("columns", Selection.columns(dataset, wanted));
    if (filter != null) {
      command.set("filters", Filters.json(filter, dataset::ordinal));
    }
    if (limit >= 0) {
      command.put("limit", limit);
    } else {
      int asked = dataset.options().partitions();
      command.put("partitions", asked > 0 ? asked : Session.partitions(Selection.bytes(dataset, dataset.facts(), wanted)));
    }
    return command;
  }

  @Override
  public StructType readSchema() {
    return wanted;
  }

  @Override
  public String description() {
    String columns = Arrays.stream(wanted.fields()).map(StructField::sql).collect(Collectors.joining(", "));
    return dataset.name()
        + " Columns: [" + columns + "]"
        + ", PushedFilters: [" + (filter == null ? "" : filter) + "]"
        + (limit < 0 ? "" : ", PushedLimit: " + limit);
  }

  @Override
  public Batch toBatch() {
    return this;
  }

  @Override
  public ColumnarSupportMode columnarSupportMode() {
    return ColumnarSupportMode.SUPPORTED;
  }

  @Override
  public InputPartition[] planInputPartitions() {
    ArrowToSpark.checkReadable(dataset.name(), dataset.fields(), wanted);
    Snapshots.agree(query, this);
    Plan p = plan();
    begun = true;
    List<FlightEndpoint> endpoints = p.info.getEndpoints();
    return endpoints.stream()
        .map(e -> new TicketPartition(place(e, p.address), e.getTicket().getBytes()))
        .toArray(InputPartition[]::new);
  }

  /** An endpoint without a location is served by the server that named it. */
  private static String place(FlightEndpoint e, String planner) {
    return e.getLocations().stream()
        .map(l -> l.getUri().toString())
        .filter(uri -> uri.startsWith("grpc"))
        .findFirst()
        .orElse(planner);
  }

  @Override
  public PartitionReaderFactory createReaderFactory() {
    byte[] schema = plan().info.getSchemaOptional().orElseThrow().serializeAsMessage();
    return new TicketReaderFactory(dataset.options(), dataset.name(), wanted, schema, this);
  }

  /** Rows and plain bytes of what is read; where only looking at the rows could tell, the most that it may be. */
  @Override
  public Statistics estimateStatistics() {
    FlightInfo info = plan().info;
    Facts facts = plan().facts;
    long rows = info.getRecords();
    long bytes = info.getBytes();
    if (rows < 0) {
      rows = limit < 0 ? facts.mostRows() : Math.min(limit, facts.mostRows());
    }
    if (bytes < 0) {
      long whole = Selection.bytes(dataset, facts, wanted);
      bytes = facts.rows() == 0 ? 0 : (long) Math.ceil((double) whole * rows / facts.rows());
    }
    return new Sizes(rows, bytes);
  }

  private record Sizes(long rows, long bytes) implements Statistics {
    @Override
    public OptionalLong sizeInBytes() {
      return OptionalLong.of(bytes);
    }

    @Override
    public OptionalLong numRows() {
      return OptionalLong.of(rows);
    }
  }

  @Override
  public SortOrder[] outputOrdering() {
    return Ordering.of(dataset, plan().facts, wanted);
  }

  /** Two scans that read the same rows of the same generation are one to Spark, which then reads them once. */
  @Override
  public boolean equals(Object other) {
    return other instanceof DatasetScan that
        && dataset.name().equals(that.dataset.name())
        && dataset.options().equals(that.dataset.options())
        && wanted.equals(that.wanted)
        && Objects.equals(filter, that.filter)
        && limit == that.limit
        && generation().equals(that.generation());
  }

  @Override
  public int hashCode() {
    return Objects.hash(dataset.name(), wanted, limit);
  }
}
