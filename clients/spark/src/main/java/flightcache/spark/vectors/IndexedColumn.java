package flightcache.spark.vectors;

import org.apache.arrow.vector.FieldVector;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/** A column whose slots name values of another one: of a dictionary, or of runs. */
final class IndexedColumn extends ColumnVector {
  /** Finds the value of a slot. */
  interface Index {
    /** Whether the slot names no value. */
    boolean isNull(int row);

    /** The value's place. */
    int at(int row);
  }

  /** The indices of a dictionary-encoded vector, by the width of theirs. */
  static final class Keys extends FixedColumns.Fixed implements Index {
    private final int width;
    private final boolean signed;

    Keys(FieldVector indices, int width, boolean signed) {
      super(org.apache.spark.sql.types.DataTypes.IntegerType, indices, width);
      this.width = width;
      this.signed = signed;
    }

    @Override
    public boolean isNull(int row) {
      return isNullAt(row);
    }

    @Override
    public int at(int row) {
      switch (width) {
        case 1:
          byte b = Platform.getByte(null, values + row);
          return signed ? b : b & 0xff;
        case 2:
          short s = Platform.getShort(null, values + 2L * row);
          return signed ? s : s & 0xffff;
        case 4:
          return Platform.getInt(null, values + 4L * row);
        default:
          return Math.toIntExact(Platform.getLong(null, values + 8L * row));
      }
    }
  }

  /** The ends of runs, ascending: a slot belongs to the first run that ends behind it. */
  record Runs(int[] ends) implements Index {
    @Override
    public boolean isNull(int row) {
      return false;
    }

    @Override
    public int at(int row) {
      int low = 0;
      int high = ends.length - 1;
      while (low < high) {
        int middle = (low + high) >>> 1;
        if (ends[middle] > row) {
          high = middle;
        } else {
          low = middle + 1;
        }
      }
      return low;
    }
  }

  private final Index index;
  private final ColumnVector values;
  private final int rows;

  IndexedColumn(Index index, ColumnVector values, int rows) {
    super(values.dataType());
    this.index = index;
    this.values = values;
    this.rows = rows;
  }

  @Override
  public void close() {
    // The stream owns the memory.
  }

  @Override
  public boolean hasNull() {
    return numNulls() > 0;
  }

  @Override
  public int numNulls() {
    int n = 0;
    for (int row = 0; row < rows; row++) {
      n += isNullAt(row) ? 1 : 0;
    }
    return n;
  }

  @Override
  public boolean isNullAt(int row) {
    return index.isNull(row) || values.isNullAt(index.at(row));
  }

  @Override
  public boolean getBoolean(int row) {
    return values.getBoolean(index.at(row));
  }

  @Override
  public byte getByte(int row) {
    return values.getByte(index.at(row));
  }

  @Override
  public short getShort(int row) {
    return values.getShort(index.at(row));
  }

  @Override
  public int getInt(int row) {
    return values.getInt(index.at(row));
  }

  @Override
  public long getLong(int row) {
    return values.getLong(index.at(row));
  }

  @Override
  public float getFloat(int row) {
    return values.getFloat(index.at(row));
  }

  @Override
  public double getDouble(int row) {
    return values.getDouble(index.at(row));
  }

  @Override
  public ColumnarArray getArray(int row) {
    return values.getArray(index.at(row));
  }

  @Override
  public ColumnarMap getMap(int row) {
    return values.getMap(index.at(row));
  }

  @Override
  public Decimal getDecimal(int row, int precision, int scale) {
    return values.getDecimal(index.at(row), precision, scale);
  }

  @Override
  public UTF8String getUTF8String(int row) {
    return values.getUTF8String(index.at(row));
  }

  @Override
  public byte[] getBinary(int row) {
    return values.getBinary(index.at(row));
  }

  /** Of a struct, and of what Spark reads as one: the child's slots are those of this column. */
  @Override
  public ColumnVector getChild(int ordinal) {
    return new IndexedColumn(index, values.getChild(ordinal), rows);
  }
}
