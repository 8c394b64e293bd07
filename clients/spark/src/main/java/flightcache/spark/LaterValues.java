package flightcache.spark;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;

/**
 * Values of types that came to Spark after 4.0. Nothing here is touched in a Spark without them: a method of a later Spark than
 * this is compiled against is found by name.
 */
final class LaterValues {
  private LaterValues() {}

  /** A geometry or a geography: 4 bytes of the reference system's number, little-endian, and WKB. */
  static byte[] spatial(SpecializedGetters from, int ordinal) {
    return from.getBinaryView(ordinal).getBytes();
  }

  /**
   * A timestamp with nanoseconds, as nanoseconds since 1970.
   *
   * @throws ArithmeticException if these are more than a long holds; it says how many microseconds they are
   */
  static long nanos(SpecializedGetters from, int ordinal, boolean zoned) {
    try {
      Object value = (zoned ? Nanos.ZONED : Nanos.PLAIN).invokeExact(from, ordinal);
      long micros = (long) Nanos.MICROS.invokeExact(value);
      short below = (short) Nanos.BELOW.invokeExact(value);
      long n = micros * 1000 + below;
      if (Math.floorDiv(n, 1000) != micros) {
        throw new ArithmeticException(micros + " microseconds");
      }
      return n;
    } catch (RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new IllegalStateException(e); // the methods declare none
    }
  }

  private static final class Nanos {
    private static final MethodHandle PLAIN;
    private static final MethodHandle ZONED;
    private static final MethodHandle MICROS;
    private static final MethodHandle BELOW;

    static {
      try {
        MethodHandles.Lookup lookup = MethodHandles.publicLookup();
        Class<?> type = Class.forName("org.apache.spark.unsafe.types.TimestampNanosVal");
        MethodType get = MethodType.methodType(type, int.class);
        MethodType got = MethodType.methodType(Object.class, SpecializedGetters.class, int.class);
        PLAIN = lookup.findVirtual(SpecializedGetters.class, "getTimestampNTZNanos", get).asType(got);
        ZONED = lookup.findVirtual(SpecializedGetters.class, "getTimestampLTZNanos", get).asType(got);
        MICROS = lookup.findGetter(type, "epochMicros", long.class).asType(MethodType.methodType(long.class, Object.class));
        BELOW = lookup.findGetter(type, "nanosWithinMicro", short.class).asType(MethodType.methodType(short.class, Object.class));
      } catch (ReflectiveOperationException e) {
        throw new ExceptionInInitializerError(e);
      }
    }
  }
}
