package flightcache.spark.vectors;

import flightcache.spark.FlightcacheException;
import org.apache.arrow.vector.FieldVector;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.unsafe.Platform;

/** Columns of values of a fixed width that Spark reads as they are, or after a widening that keeps every value. */
final class FixedColumns {
  private FixedColumns() {}

  /** A column whose values lie one behind the other. */
  abstract static class Fixed extends ArrowColumn {
    final long values;

    Fixed(DataType type, FieldVector vector, int width) {
      super(type, vector);
      values = address(vector, vector.getDataBuffer(), (long) width * vector.getValueCount());
    }
  }

  static final class Booleans extends ArrowColumn {
    private final long bits;

    Booleans(DataType type, FieldVector vector) {
      super(type, vector);
      bits = address(vector, vector.getDataBuffer(), (vector.getValueCount() + 7L) / 8);
    }

    @Override
    public boolean getBoolean(int row) {
      return bit(bits, row);
    }
  }

  static final class Bytes extends Fixed {
    Bytes(DataType type, FieldVector vector) {
      super(type, vector, 1);
    }

    @Override
    public byte getByte(int row) {
      return Platform.getByte(null, values + row);
    }
  }

  static final class Shorts extends Fixed {
    Shorts(DataType type, FieldVector vector) {
      super(type, vector, 2);
    }

    @Override
    public short getShort(int row) {
      return Platform.getShort(null, values + 2L * row);
    }
  }

  static final class Ints extends Fixed {
    Ints(DataType type, FieldVector vector) {
      super(type, vector, 4);
    }

    @Override
    public int getInt(int row) {
      return Platform.getInt(null, values + 4L * row);
    }
  }

  static final class Longs extends Fixed {
    Longs(DataType type, FieldVector vector) {
      super(type, vector, 8);
    }

    @Override
    public long getLong(int row) {
      return Platform.getLong(null, values + 8L * row);
    }
  }

  static final class Floats extends Fixed {
    Floats(DataType type, FieldVector vector) {
      super(type, vector, 4);
    }

    @Override
    public float getFloat(int row) {
      return Platform.getFloat(null, values + 4L * row);
    }
  }

  static final class Doubles extends Fixed {
    Doubles(DataType type, FieldVector vector) {
      super(type, vector, 8);
    }

    @Override
    public double getDouble(int row) {
      return Platform.getDouble(null, values + 8L * row);
    }
  }

  /** 16-bit floats, which are all floats of 32 bits too. */
  static final class Halves extends Fixed {
    Halves(DataType type, FieldVector vector) {
      super(type, vector, 2);
    }

    @Override
    public float getFloat(int row) {
      return org.apache.arrow.memory.util.Float16.toFloat(Platform.getShort(null, values + 2L * row));
    }
  }

  /** Unsigned bytes as shorts. */
  static final class UnsignedBytes extends Fixed {
    UnsignedBytes(DataType type, FieldVector vector) {
      super(type, vector, 1);
    }

    @Override
    public short getShort(int row) {
      return (short) (Platform.getByte(null, values + row) & 0xff);
    }
  }

  /** Unsigned shorts as ints. */
  static final class UnsignedShorts extends Fixed {
    UnsignedShorts(DataType type, FieldVector vector) {
      super(type, vector, 2);
    }

    @Override
    public int getInt(int row) {
      return Platform.getShort(null, values + 2L * row) & 0xffff;
    }
  }

  /** Unsigned ints as longs. */
  static final class UnsignedInts extends Fixed {
    UnsignedInts(DataType type, FieldVector vector) {
      super(type, vector, 4);
    }

    @Override
    public long getLong(int row) {
      return Platform.getInt(null, values + 4L * row) & 0xffffffffL;
    }
  }

  /** Dates in milliseconds, which have to be whole days. */
  static final class MilliDates extends Fixed {
    private static final long DAY = 86_400_000;
    private final String path;

    MilliDates(DataType type, FieldVector vector, String path) {
      super(type, vector, 8);
      this.path = path;
    }

    @Override
    public int getInt(int row) {
      long millis = Platform.getLong(null, values + 8L * row);
      if (millis % DAY != 0) {
        throw new FlightcacheException(
            "column " + path + " has a date of " + millis + " ms, which is no whole day: Spark cannot hold it; leave the column out");
      }
      return Math.toIntExact(millis / DAY);
    }
  }

  /** Times, timestamps and durations in another unit than Spark's. */
  static final class Scaled extends Fixed {
    private final String path;
    private final boolean narrow;
    private final long factor;
    private final long divisor;
    private final boolean truncate;

    /** Values of 4 bytes if narrow, else 8; times factor, or by divisor where the rest has to be 0 or is cut off. */
    Scaled(DataType type, FieldVector vector, String path, boolean narrow, long factor, long divisor, boolean truncate) {
      super(type, vector, narrow ? 4 : 8);
      this.path = path;
      this.narrow = narrow;
      this.factor = factor;
      this.divisor = divisor;
      this.truncate = truncate;
    }

    @Override
    public long getLong(int row) {
      long n = narrow ? Platform.getInt(null, values + 4L * row) : Platform.getLong(null, values + 8L * row);
      if (divisor != 1) {
        if (!truncate && n % divisor != 0) {
          throw new FlightcacheException(
              "column " + path + " has the value " + n + " ns, which Spark cannot hold in microseconds: "
                  + "leave the column out, or give the option timestamp.nanos=truncate");
        }
        return Math.floorDiv(n, divisor);
      }
      try {
        return Math.multiplyExact(n, factor);
      } catch (ArithmeticException e) {
        throw new FlightcacheException(
            "column " + path + " has the value " + n + ", beyond what Spark can hold: leave the column out");
      }
    }
  }

  /** A column of nulls. */
  static final class Nulls extends ArrowColumn {
    Nulls(DataType type, int rows) {
      super(type, rows);
    }

    @Override
    public boolean isNullAt(int row) {
      return true;
    }
  }
}
