package flightcache.spark;

import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.NullOrdering;
import org.apache.spark.sql.connector.expressions.SortDirection;
import org.apache.spark.sql.connector.expressions.SortOrder;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.StructType;

/**
 * The order in which a dataset's rows come, as far as Spark has the same one: not beyond a key that is not read, and not of
 * floats, whose NaNs have another place.
 */
final class Ordering {
  private Ordering() {}

  static SortOrder[] of(Dataset dataset, Facts facts, StructType wanted) {
    List<SortOrder> orders = new ArrayList<>();
    for (String key : facts.sortedBy()) {
      boolean descending = key.startsWith("-");
      String name = descending || key.startsWith("+-") ? key.substring(1) : key;
      Field field = dataset.fields().get(name);
      boolean read = List.of(wanted.fieldNames()).contains(name);
      if (field == null || !read || !isComparedAlike(field)) {
        break;
      }
      orders.add(
          Expressions.sort(
              Expressions.column("`" + name.replace("`", "``") + "`"),
              descending ? SortDirection.DESCENDING : SortDirection.ASCENDING,
              NullOrdering.NULLS_LAST));
    }
    return orders.toArray(SortOrder[]::new);
  }

  private static boolean isComparedAlike(Field field) {
    ArrowType t = ArrowToSpark.storage(field.getType());
    switch (t.getTypeID()) {
      case Bool:
      case Int:
      case Decimal:
      case Date:
      case Time:
      case Timestamp:
      case Duration:
        return true;
      case Utf8:
      case LargeUtf8:
      case Utf8View:
        return SparkToArrow.noted(field) == null; // a collation has an order of its own
      case Binary:
      case LargeBinary:
      case BinaryView:
      case FixedSizeBinary:
        return ArrowToSpark.type(field) instanceof BinaryType; // geometries have no order in Spark
      default:
        return false;
    }
  }
}
