package flightcache.spark.vectors;

import org.apache.arrow.vector.FieldVector;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.vectorized.ColumnVector;

/** Geometries and geographies: WKB, before which Spark has the number of the reference system, little-endian. */
final class SpatialColumns {
  private static final int HEADER = 4;

  private SpatialColumns() {}

  private static byte[] value(int srid, byte[] wkb) {
    byte[] value = new byte[HEADER + wkb.length];
    for (int i = 0; i < HEADER; i++) {
      value[i] = (byte) (srid >> 8 * i);
    }
    System.arraycopy(wkb, 0, value, HEADER, wkb.length);
    return value;
  }

  /** All values have one reference system, which is the type's. */
  static final class OfOneSystem extends ArrowColumn {
    private final int srid;
    private final ColumnVector wkb;

    OfOneSystem(DataType type, FieldVector vector, ColumnVector wkb) {
      super(type, vector);
      srid = LaterLayouts.srid(type);
      this.wkb = wkb;
    }

    @Override
    public byte[] getBinary(int row) {
      return isNullAt(row) ? null : value(srid, wkb.getBinary(row));
    }
  }

  /** Each value has its own, in a column beside that of the WKB. */
  static final class OfMany extends ArrowColumn {
    private final ColumnVector srids;
    private final ColumnVector wkb;

    OfMany(DataType type, FieldVector vector, ColumnVector srids, ColumnVector wkb) {
      super(type, vector);
      this.srids = srids;
      this.wkb = wkb;
    }

    @Override
    public byte[] getBinary(int row) {
      return isNullAt(row) ? null : value(srids.getInt(row), wkb.getBinary(row));
    }
  }
}
