package flightcache.spark.vectors;

import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.vector.FieldVector;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/** A column with a bitmap of nulls. What a kind of column does not hold cannot be asked of it. */
abstract class ArrowColumn extends ColumnVector {
  private final int nulls;
  private final long validity; // address of the bitmap; not looked at where there are no nulls

  /** A column of as many slots as the vector has. */
  ArrowColumn(DataType type, FieldVector vector) {
    super(type);
    nulls = vector.getNullCount();
    validity = nulls == 0 ? 0 : address(vector, vector.getValidityBuffer(), (vector.getValueCount() + 7L) / 8);
  }

  /** A column whose nulls are found elsewhere. */
  ArrowColumn(DataType type, int nulls) {
    super(type);
    this.nulls = nulls;
    validity = 0;
  }

  /** The address of a buffer that has to have so many bytes. */
  static long address(FieldVector vector, ArrowBuf buffer, long bytes) {
    if (buffer.capacity() < bytes) {
      throw new IllegalStateException(
          "column " + vector.getName() + " came with a buffer of " + buffer.capacity() + " bytes, " + bytes + " are needed");
    }
    return buffer.memoryAddress();
  }

  static boolean bit(long bitmap, int row) {
    return (Platform.getByte(null, bitmap + (row >> 3)) >> (row & 7) & 1) != 0;
  }

  @Override
  public void close() {
    // The stream owns the memory.
  }

  @Override
  public boolean hasNull() {
    return nulls > 0;
  }

  @Override
  public int numNulls() {
    return nulls;
  }

  @Override
  public boolean isNullAt(int row) {
    return nulls > 0 && !bit(validity, row);
  }

  private UnsupportedOperationException not(String what) {
    return new UnsupportedOperationException(getClass().getSimpleName() + " of " + dataType() + " holds no " + what);
  }

  @Override
  public boolean getBoolean(int row) {
    throw not("boolean");
  }

  @Override
  public byte getByte(int row) {
    throw not("byte");
  }

  @Override
  public short getShort(int row) {
    throw not("short");
  }

  @Override
  public int getInt(int row) {
    throw not("int");
  }

  @Override
  public long getLong(int row) {
    throw not("long");
  }

  @Override
  public float getFloat(int row) {
    throw not("float");
  }

  @Override
  public double getDouble(int row) {
    throw not("double");
  }

  @Override
  public ColumnarArray getArray(int row) {
    throw not("array");
  }

  @Override
  public ColumnarMap getMap(int row) {
    throw not("map");
  }

  @Override
  public Decimal getDecimal(int row, int precision, int scale) {
    throw not("decimal");
  }

  @Override
  public UTF8String getUTF8String(int row) {
    throw not("string");
  }

  @Override
  public byte[] getBinary(int row) {
    throw not("binary");
  }

  @Override
  public ColumnVector getChild(int ordinal) {
    throw not("child");
  }
}
