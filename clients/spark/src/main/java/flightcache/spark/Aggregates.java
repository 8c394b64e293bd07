package flightcache.spark;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.flight.FlightInfo;
import org.apache.arrow.vector.types.pojo.ArrowType.ArrowTypeID;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.aggregate.AggregateFunc;
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation;
import org.apache.spark.sql.connector.expressions.aggregate.Count;
import org.apache.spark.sql.connector.expressions.aggregate.CountStar;
import org.apache.spark.sql.connector.expressions.aggregate.Max;
import org.apache.spark.sql.connector.expressions.aggregate.Min;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Answers COUNT, MIN and MAX of all rows from statistics, where these are exact, and COUNT(*) under a filter by the server. */
final class Aggregates {
  private Aggregates() {}

  /** The scan that has the answers, or null where rows have to be read. */
  static AggregateScan answer(Dataset dataset, Filters.Pushed filter, Aggregation aggregation) {
    if (aggregation.groupByExpressions().length > 0) {
      return null;
    }
    boolean onlyRows = true;
    for (AggregateFunc f : aggregation.aggregateExpressions()) {
      onlyRows &= f instanceof CountStar;
      if (!(f instanceof CountStar) && column(dataset, f) < 0) {
        return null;
      }
    }
    if (filter != null && !onlyRows) {
      return null;
    }
    return Connection.first(dataset.options(), c -> answer(c, dataset, filter, aggregation));
  }

  private static AggregateScan answer(Connection c, Dataset dataset, Filters.Pushed filter, Aggregation aggregation) {
    ObjectNode command = dataset.command();
    command.set("columns", Json.array());
    if (filter != null) {
      command.set("filters", Filters.json(filter, dataset::ordinal));
      command.put("count", "exact");
    }
    FlightInfo info = c.info(dataset.name(), Json.bytes(command));
    c.cancel(info);
    return answer(dataset, info, aggregation);
  }

  private static AggregateScan answer(Dataset dataset, FlightInfo info, Aggregation aggregation) {
    Facts facts = Facts.of(dataset.name(), info.getAppMetadata());
    if (!facts.sameColumns(dataset.facts())) {
      return null; // the read of the rows says what is wrong
    }
    String other = Snapshots.found(Snapshots.key(dataset));
    if (other != null && !other.equals(facts.generation())) {
      return null; // reads of rows can be planned again until they are of one generation
    }
    List<StructField> fields = new ArrayList<>();
    List<Object> row = new ArrayList<>();
    for (AggregateFunc f : aggregation.aggregateExpressions()) {
      Bounds.Answer answer =
          f instanceof CountStar ? new Bounds.Answer(info.getRecords()) : answer(dataset, facts, f);
      if (answer == null) {
        return null;
      }
      fields.add(new StructField(f.toString(), type(dataset, f), true, org.apache.spark.sql.types.Metadata.empty()));
      row.add(answer.value());
    }
    return new AggregateScan(dataset.name(), facts.generation(), aggregation, DataTypes.createStructType(fields), row.toArray());
  }

  private static Bounds.Answer answer(Dataset dataset, Facts facts, AggregateFunc f) {
    int ordinal = column(dataset, f);
    Field field = dataset.arrow().getFields().get(ordinal);
    Facts.Column c = facts.columns().get(ordinal);
    boolean knowsNulls = hasItsNulls(field) || c.exact();
    if (f instanceof Count) {
      return knowsNulls ? new Bounds.Answer(facts.rows() - c.nulls()) : null;
    }
    if (knowsNulls && c.nulls() == facts.rows()) {
      return new Bounds.Answer(null);
    }
    return c.exact() ? Bounds.of(field, type(dataset, f), c, f instanceof Max) : null;
  }

  /** Whether the nulls of a column are those of its own bitmap: not in a dictionary, nor in runs. */
  private static boolean hasItsNulls(Field field) {
    ArrowTypeID id = field.getType().getTypeID();
    return field.getDictionary() == null && id != ArrowTypeID.RunEndEncoded && id != ArrowTypeID.Union;
  }

  /** The ordinal of the column of a function that statistics may answer, or -1. */
  private static int column(Dataset dataset, AggregateFunc f) {
    Expression of = null;
    if (f instanceof Count count && !count.isDistinct()) {
      of = count.column();
    } else if (f instanceof Min min) {
      of = min.column();
    } else if (f instanceof Max max) {
      of = max.column();
    }
    if (!(of instanceof NamedReference ref) || ref.fieldNames().length != 1) {
      return -1;
    }
    return dataset.ordinal(ref.fieldNames()[0]);
  }

  private static DataType type(Dataset dataset, AggregateFunc f) {
    return f instanceof Min || f instanceof Max
        ? ArrowToSpark.type(dataset.arrow().getFields().get(column(dataset, f)))
        : DataTypes.LongType;
  }
}
