package flightcache.spark.vectors;

import java.util.List;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/** What types of Spark that are structs in Arrow, but not in Spark, are made of: the order is that of Spark's columns. */
public final class Layouts {
  private Layouts() {}

  /** One part of such a type. */
  public record Part(String name, DataType type) {}

  /** The parts of a type that is such a struct. */
  public static List<Part> parts(DataType type) {
    if (type.typeName().equals("variant")) {
      return List.of(new Part("value", DataTypes.BinaryType), new Part("metadata", DataTypes.BinaryType));
    }
    if (LaterLayouts.isMixed(type)) {
      return List.of(new Part("srid", DataTypes.IntegerType), new Part("wkb", DataTypes.BinaryType));
    }
    throw new IllegalStateException("a struct as " + type);
  }
}
