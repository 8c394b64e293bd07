package flightcache.spark.vectors;

import flightcache.spark.FlightcacheException;
import org.apache.arrow.vector.FieldVector;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.unsafe.Platform;

/** Intervals of several parts. */
final class IntervalColumn {
  private IntervalColumn() {}

  /** Days and milliseconds of 4 bytes each, as microseconds. */
  static final class DayMillis extends FixedColumns.Fixed {
    DayMillis(DataType type, FieldVector vector) {
      super(type, vector, 8);
    }

    @Override
    public long getLong(int row) {
      long at = values + 8L * row;
      return Platform.getInt(null, at) * 86_400_000_000L + Platform.getInt(null, at + 4) * 1000L;
    }
  }

  /** Months, days and nanoseconds: Spark reads each as a child of its own, the last in microseconds. */
  static final class MonthDayNanos extends ArrowColumn {
    private final ColumnVector[] parts;

    MonthDayNanos(DataType type, FieldVector vector, String path) {
      super(type, vector);
      parts = new ColumnVector[] {new Part(vector, 0), new Part(vector, 4), new Micros(vector, path)};
    }

    @Override
    public ColumnVector getChild(int ordinal) {
      return parts[ordinal];
    }
  }

  private static final class Part extends FixedColumns.Fixed {
    private final int offset;

    Part(FieldVector vector, int offset) {
      super(DataTypes.IntegerType, vector, 16);
      this.offset = offset;
    }

    @Override
    public int getInt(int row) {
      return Platform.getInt(null, values + 16L * row + offset);
    }
  }

  private static final class Micros extends FixedColumns.Fixed {
    private final String path;

    Micros(FieldVector vector, String path) {
      super(DataTypes.LongType, vector, 16);
      this.path = path;
    }

    @Override
    public long getLong(int row) {
      long nanos = Platform.getLong(null, values + 16L * row + 8);
      if (nanos % 1000 != 0) {
        throw new FlightcacheException(
            "column " + path + " has an interval of " + nanos + " ns, which Spark cannot hold in microseconds: leave the column out");
      }
      return nanos / 1000;
    }
  }
}
