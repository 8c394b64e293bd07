package flightcache.spark.vectors;

import org.apache.spark.sql.types.DataType;

/** Types that came to Spark late, told by their names, as this is compiled for versions that lack some of them. */
public final class LaterLayouts {
  private LaterLayouts() {}

  /** Geometry or geography: to Spark, 4 bytes of the reference system's number and then WKB. */
  public static boolean isSpatial(DataType type) {
    String name = type.typeName();
    return name.startsWith("geometry(") || name.startsWith("geography(");
  }

  /** Geometry or geography of which each value has a reference system of its own. */
  public static boolean isMixed(DataType type) {
    return isSpatial(type) && type.typeName().endsWith("(any)");
  }

  /** The number of the reference system that all values of a type have. */
  public static int srid(DataType type) {
    String name = type.typeName();
    return Integer.parseInt(name.substring(name.indexOf('(') + 1, name.length() - 1));
  }

  /** A timestamp of more than 6 digits: to Spark, microseconds and the nanoseconds within them. */
  public static boolean isNanos(DataType type) {
    String name = type.typeName();
    return name.startsWith("timestamp_ntz(") || isZoned(type);
  }

  /** Such a timestamp that is an instant, and not a time of day anywhere. */
  public static boolean isZoned(DataType type) {
    return type.typeName().startsWith("timestamp_ltz(");
  }
}
