package flightcache.spark;

import org.apache.arrow.vector.types.TimeUnit;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

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

  private static DataType named(String name) {
    try {
      return DataType.fromJson("\"" + name + "\"");
    } catch (Exception e) { // Scala declares none
      return DataTypes.NullType; // this Spark does not know it
    }
  }
}
