package flightcache.spark;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.SupportsPushDownAggregates;
import org.apache.spark.sql.connector.read.SupportsPushDownLimit;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.connector.read.SupportsPushDownV2Filters;
import org.apache.spark.sql.types.StructType;

/** Gathers what Spark pushes down, and builds a scan of it. */
final class DatasetScanBuilder
    implements ScanBuilder,
        SupportsPushDownV2Filters,
        SupportsPushDownRequiredColumns,
        SupportsPushDownLimit,
        SupportsPushDownAggregates {
  private final Dataset dataset;
  private StructType wanted;
  private Filters.Pushed filter; // null: none
  private Predicate[] pushed = new Predicate[0];
  private int limit = -1;
  private AggregateScan aggregates;

  /** A scan of these columns of the dataset, as long as Spark does not want fewer. */
  DatasetScanBuilder(Dataset dataset, StructType wanted) {
    this.dataset = dataset;
    this.wanted = wanted;
  }

  /** Gives back what Spark has to look at itself: what is not pushed, and what is pushed but not exactly. */
  @Override
  public Predicate[] pushPredicates(Predicate[] predicates) {
    Filters filters = new Filters(new FilterColumns(dataset));
    List<Predicate> left = new ArrayList<>();
    List<Predicate> taken = new ArrayList<>();
    for (Predicate p : predicates) {
      Filters.Pushed one = filters.push(p);
      Filters.Pushed all = one == null || filter == null ? one : Filters.both(filter, one);
      if (all == null) {
        left.add(p);
        continue;
      }
      filter = all;
      taken.add(p);
      if (!one.exact()) {
        left.add(p);
      }
    }
    pushed = taken.toArray(Predicate[]::new);
    return left.toArray(Predicate[]::new);
  }

  @Override
  public Predicate[] pushedPredicates() {
    return pushed;
  }

  @Override
  public void pruneColumns(StructType required) {
    wanted = required;
  }

  @Override
  public boolean pushLimit(int n) {
    limit = n;
    return true;
  }

  /** A read with a limit is one partition, which ends there. */
  @Override
  public boolean isPartiallyPushed() {
    return false;
  }

  @Override
  public boolean supportCompletePushDown(Aggregation aggregation) {
    return answers(aggregation) != null;
  }

  @Override
  public boolean pushAggregation(Aggregation aggregation) {
    aggregates = answers(aggregation);
    return aggregates != null;
  }

  private AggregateScan answers(Aggregation aggregation) {
    if (filter != null && !filter.exact()) {
      return null;
    }
    return aggregates != null && aggregates.answers(aggregation)
        ? aggregates
        : (aggregates = Aggregates.answer(dataset, filter, aggregation));
  }

  @Override
  public Scan build() {
    if (aggregates == null) {
      return new DatasetScan(dataset, wanted, filter, limit);
    }
    Snapshots.note(Snapshots.key(dataset), aggregates);
    return aggregates;
  }
}
