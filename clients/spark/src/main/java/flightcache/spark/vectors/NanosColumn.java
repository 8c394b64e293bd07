package flightcache.spark.vectors;

import org.apache.arrow.vector.FieldVector;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.unsafe.Platform;

/** Timestamps in nanoseconds where Spark holds them too: it reads the microseconds and what is below them as two children. */
final class NanosColumn extends ArrowColumn {
  private final ColumnVector[] parts;

  NanosColumn(DataType type, FieldVector vector) {
    super(type, vector);
    parts = new ColumnVector[] {new Micros(vector), new Below(vector)};
  }

  @Override
  public ColumnVector getChild(int ordinal) {
    return parts[ordinal];
  }

  private static final class Micros extends FixedColumns.Fixed {
    Micros(FieldVector vector) {
      super(DataTypes.LongType, vector, 8);
    }

    @Override
    public long getLong(int row) {
      return Math.floorDiv(Platform.getLong(null, values + 8L * row), 1000);
    }
  }

  private static final class Below extends FixedColumns.Fixed {
    Below(FieldVector vector) {
      super(DataTypes.ShortType, vector, 8);
    }

    @Override
    public short getShort(int row) {
      return (short) Math.floorMod(Platform.getLong(null, values + 8L * row), 1000);
    }
  }
}
