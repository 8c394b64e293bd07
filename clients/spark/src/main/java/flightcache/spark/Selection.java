package flightcache.spark;

import com.fasterxml.jackson.databind.node.ArrayNode;
import java.util.List;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** The columns that a read asks the server for: the wanted ones, and of structs the wanted fields, in Spark's order. */
final class Selection {
  private Selection() {}

  /** The {@code columns} of a read command: ordinals of whole columns, dotted paths to fields of structs. */
  static ArrayNode columns(Dataset dataset, StructType wanted) {
    ArrayNode columns = Json.array();
    boolean byPath = !dataset.hasDots();
    for (StructField c : wanted.fields()) {
      int ordinal = dataset.ordinal(c.name());
      Field field = dataset.arrow().getFields().get(ordinal);
      if (byPath && isPruned(field, c)) {
        paths(columns, field, c, c.name());
      } else {
        columns.add(ordinal);
      }
    }
    return columns;
  }

  /** Whether a struct lacks fields that it has in the dataset. Dictionaries are whole, and so is what lists hold. */
  private static boolean isPruned(Field field, StructField wanted) {
    if (!(wanted.dataType() instanceof StructType struct)
        || !(field.getType() instanceof ArrowType.Struct)
        || field.getDictionary() != null
        || struct.isEmpty()) {
      return false;
    }
    List<Field> children = field.getChildren();
    if (struct.size() < children.size()) {
      return true;
    }
    for (int i = 0; i < struct.size(); i++) {
      if (isPruned(children.get(i), struct.fields()[i])) {
        return true;
      }
    }
    return false;
  }

  private static void paths(ArrayNode columns, Field field, StructField wanted, String path) {
    if (!isPruned(field, wanted)) {
      columns.add(path);
      return;
    }
    for (StructField child : ((StructType) wanted.dataType()).fields()) {
      for (Field f : field.getChildren()) {
        if (f.getName().equals(child.name())) {
          paths(columns, f, child, path + "." + child.name());
          break;
        }
      }
    }
  }

  /** The plain size of the columns that are at least touched. */
  static long bytes(Dataset dataset, Facts facts, StructType wanted) {
    long bytes = 0;
    for (StructField c : wanted.fields()) {
      bytes += facts.columns().get(dataset.ordinal(c.name())).decodedBytes();
    }
    return bytes;
  }
}
