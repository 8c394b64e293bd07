package flightcache.spark;

import org.apache.arrow.vector.types.TimeUnit;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** Types that came to Spark after 3.5: where the running one has none of them, they are void. They are found by their names. */
final class LaterTypes {
  private LaterTypes() {}

  /** A time of day with as many digits as a unit has; Spark has 6 at most. */
  static DataType time(TimeUnit unit) {
    int digits = Math.min(3 * unit.ordinal(), 6);
    return named("time(" + digits + ")");
  }

  static DataType variant() {
    return named("variant");
  }

  static boolean isTime(DataType type) {
    return type.typeName().startsWith("time(");
  }

  static boolean isVariant(DataType type) {
    return type.typeName().equals("variant");
  }

  /** Whether this Spark has geometries and geographies, in the form that it has them in from 4.2 on. */
  static boolean hasSpatial() {
    return Spatial.IS_THERE;
  }

  private static final class Spatial {
    private static final boolean IS_THERE = isThere();

    private static boolean isThere() {
      try {
        Class.forName("org.apache.spark.unsafe.types.BinaryView");
        return true;
      } catch (ClassNotFoundException e) {
        return false;
      }
    }
  }

  /** The type of a column's declaration in SQL, or void. */
  static DataType declared(String sql) {
    try {
      return StructType.fromDDL("c " + sql).fields()[0].dataType();
    } catch (Exception e) { // Scala declares none
      return DataTypes.NullType;
    }
  }

  /** The type of a name as JSON has it, or void. */
  static DataType named(String name) {
    try {
      return DataType.fromJson("\"" + name + "\"");
    } catch (Exception e) { // Scala declares none
      return DataTypes.NullType; // this Spark does not know it
    }
  }
}
