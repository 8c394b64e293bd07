package flightcache.spark.vectors;

import flightcache.spark.FlightcacheException;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.vector.BaseVariableWidthViewVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/** Texts and binary values: where they lie differs, what is made of them does not. */
final class BinaryColumns {
  private BinaryColumns() {}

  private static byte[] copy(long address, int length) {
    byte[] bytes = new byte[length];
    Platform.copyMemory(null, address, bytes, Platform.BYTE_ARRAY_OFFSET, length);
    return bytes;
  }

  private static void within(FieldVector vector, long end) {
    if (end > vector.getDataBuffer().capacity()) {
      throw new IllegalStateException("column " + vector.getName() + " came with offsets beyond its values");
    }
  }

  /** Offsets of 4 bytes. */
  static final class Small extends ArrowColumn {
    private final long offsets;
    private final long data;

    Small(DataType type, FieldVector vector) {
      super(type, vector);
      int rows = vector.getValueCount();
      data = vector.getDataBuffer().memoryAddress();
      offsets = rows == 0 ? 0 : address(vector, vector.getOffsetBuffer(), 4L * (rows + 1));
      if (rows > 0) {
        within(vector, Platform.getInt(null, offsets + 4L * rows));
      }
    }

    @Override
    public UTF8String getUTF8String(int row) {
      int start = Platform.getInt(null, offsets + 4L * row);
      return UTF8String.fromAddress(null, data + start, Platform.getInt(null, offsets + 4L * row + 4) - start);
    }

    @Override
    public byte[] getBinary(int row) {
      int start = Platform.getInt(null, offsets + 4L * row);
      return copy(data + start, Platform.getInt(null, offsets + 4L * row + 4) - start);
    }
  }

  /** Offsets of 8 bytes. */
  static final class Large extends ArrowColumn {
    private final String path;
    private final long offsets;
    private final long data;

    Large(DataType type, FieldVector vector, String path) {
      super(type, vector);
      this.path = path;
      int rows = vector.getValueCount();
      data = vector.getDataBuffer().memoryAddress();
      offsets = rows == 0 ? 0 : address(vector, vector.getOffsetBuffer(), 8L * (rows + 1));
      if (rows > 0) {
        within(vector, Platform.getLong(null, offsets + 8L * rows));
      }
    }

    private int length(int row) {
      long length = Platform.getLong(null, offsets + 8L * row + 8) - Platform.getLong(null, offsets + 8L * row);
      if (length > Integer.MAX_VALUE - 15) {
        throw new FlightcacheException(
            "column " + path + " has a value of " + length + " bytes, more than Spark can hold: leave the column out");
      }
      return (int) length;
    }

    @Override
    public UTF8String getUTF8String(int row) {
      return UTF8String.fromAddress(null, data + Platform.getLong(null, offsets + 8L * row), length(row));
    }

    @Override
    public byte[] getBinary(int row) {
      return copy(data + Platform.getLong(null, offsets + 8L * row), length(row));
    }
  }

  /** Views: up to 12 bytes are in the slot itself, others in one of several buffers. */
  static final class Views extends ArrowColumn {
    private static final int SLOT = 16;
    private static final int INLINE = 12;
    private final long views;
    private final long[] buffers;

    Views(DataType type, BaseVariableWidthViewVector vector) {
      super(type, vector);
      views = address(vector, vector.getDataBuffer(), (long) SLOT * vector.getValueCount());
      List<ArrowBuf> data = vector.getDataBuffers();
      buffers = data.stream().mapToLong(ArrowBuf::memoryAddress).toArray();
    }

    private int length(int row) {
      return Platform.getInt(null, views + (long) SLOT * row);
    }

    private long place(int row, int length) {
      long slot = views + (long) SLOT * row;
      return length <= INLINE ? slot + 4 : buffers[Platform.getInt(null, slot + 8)] + Platform.getInt(null, slot + 12);
    }

    @Override
    public UTF8String getUTF8String(int row) {
      int length = length(row);
      return UTF8String.fromAddress(null, place(row, length), length);
    }

    @Override
    public byte[] getBinary(int row) {
      int length = length(row);
      return copy(place(row, length), length);
    }
  }

  /** Values of one width. */
  static final class FixedWidth extends FixedColumns.Fixed {
    private final int width;

    FixedWidth(DataType type, FieldVector vector, int width) {
      super(type, vector, width);
      this.width = width;
    }

    @Override
    public byte[] getBinary(int row) {
      return copy(values + (long) width * row, width);
    }
  }
}
