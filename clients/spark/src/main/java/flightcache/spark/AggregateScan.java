package flightcache.spark;

import java.util.Arrays;
import java.util.stream.Collectors;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation;
import org.apache.spark.sql.connector.read.LocalScan;
import org.apache.spark.sql.types.StructType;

/** One row, which statistics gave. */
final class AggregateScan implements LocalScan {
  private final String dataset;
  private final String generation;
  private final Aggregation aggregation;
  private final StructType schema;
  private final Object[] row;

  AggregateScan(String dataset, String generation, Aggregation aggregation, StructType schema, Object[] row) {
    this.dataset = dataset;
    this.generation = generation;
    this.aggregation = aggregation;
    this.schema = schema;
    this.row = row;
  }

  /** The generation whose statistics they are. */
  String generation() {
    return generation;
  }

  boolean answers(Aggregation other) {
    return aggregation == other;
  }

  @Override
  public StructType readSchema() {
    return schema;
  }

  @Override
  public String description() {
    return dataset
        + " PushedAggregates: ["
        + Arrays.stream(aggregation.aggregateExpressions()).map(Object::toString).collect(Collectors.joining(", "))
        + "]";
  }

  @Override
  public InternalRow[] rows() {
    return new InternalRow[] {new GenericInternalRow(row)};
  }
}
