package flightcache.spark;

import java.util.List;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.spark.sql.connector.expressions.NamedReference;

/** Finds the columns that predicates name. */
final class FilterColumns {
  private final Dataset dataset;
  private final boolean byPath;

  FilterColumns(Dataset dataset) {
    this.dataset = dataset;
    byPath = !dataset.hasDots();
  }

  /** The column, or null if the server cannot be asked for it. */
  FilterColumn find(NamedReference ref) {
    List<String> path = List.of(ref.fieldNames());
    if (path.size() > 1 && !byPath) {
      return null;
    }
    List<Field> level = dataset.arrow().getFields();
    Field found = null;
    for (String name : path) {
      if (found != null && (!(found.getType() instanceof ArrowType.Struct) || found.getDictionary() != null)) {
        return null;
      }
      found = only(level, name);
      if (found == null) {
        return null;
      }
      level = found.getChildren();
    }
    boolean whole = path.size() == 1;
    boolean mayHaveNaN =
        !whole || dataset.facts().columns().get(dataset.ordinal(path.get(0))).hasNaN() || !isMeasured(path.get(0));
    return FilterColumn.of(path, found, mayHaveNaN, dataset.options().truncateNanos());
  }

  /** Whether there are statistics, without which it is not known that there is no NaN. */
  private boolean isMeasured(String column) {
    return dataset.facts().columns().get(dataset.ordinal(column)).min() != null;
  }

  private static Field only(List<Field> fields, String name) {
    Field found = null;
    for (Field f : fields) {
      if (f.getName().equals(name)) {
        if (found != null) {
          return null;
        }
        found = f;
      }
    }
    return found;
  }
}
