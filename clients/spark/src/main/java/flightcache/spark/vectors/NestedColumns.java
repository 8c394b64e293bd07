package flightcache.spark.vectors;

import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.Platform;

/** Structs, lists of every kind, and maps. */
final class NestedColumns {
  private NestedColumns() {}

  /** A struct shows the children that are wanted, in the order in which they are. */
  static final class Structs extends ArrowColumn {
    private final ColumnVector[] children;

    Structs(DataType type, FieldVector vector, ColumnVector... children) {
      super(type, vector);
      this.children = children;
    }

    @Override
    public ColumnVector getChild(int ordinal) {
      return children[ordinal];
    }
  }

  /** Where the elements of a slot are among all elements. */
  interface Places {
    int start(int row);

    int length(int row);
  }

  /** Offsets of 4 bytes. */
  record Small(long offsets) implements Places {
    @Override
    public int start(int row) {
      return Platform.getInt(null, offsets + 4L * row);
    }

    @Override
    public int length(int row) {
      return Platform.getInt(null, offsets + 4L * row + 4) - Platform.getInt(null, offsets + 4L * row);
    }
  }

  /** Offsets of 8 bytes; vectors in Java have fewer elements than an int counts. */
  record Large(long offsets) implements Places {
    @Override
    public int start(int row) {
      return Math.toIntExact(Platform.getLong(null, offsets + 8L * row));
    }

    @Override
    public int length(int row) {
      return Math.toIntExact(
          Platform.getLong(null, offsets + 8L * row + 8) - Platform.getLong(null, offsets + 8L * row));
    }
  }

  /** Views: an offset and a size for each slot, in any order. */
  record SmallViews(long offsets, long sizes) implements Places {
    @Override
    public int start(int row) {
      return Platform.getInt(null, offsets + 4L * row);
    }

    @Override
    public int length(int row) {
      return Platform.getInt(null, sizes + 4L * row);
    }
  }

  /** Views of 8 bytes. */
  record LargeViews(long offsets, long sizes) implements Places {
    @Override
    public int start(int row) {
      return Math.toIntExact(Platform.getLong(null, offsets + 8L * row));
    }

    @Override
    public int length(int row) {
      return Math.toIntExact(Platform.getLong(null, sizes + 8L * row));
    }
  }

  /** As many elements in every slot. */
  record Equal(int size) implements Places {
    @Override
    public int start(int row) {
      return row * size;
    }

    @Override
    public int length(int row) {
      return size;
    }
  }

  /** The address of a buffer of a nested vector: 0 for one without slots, whose buffers may be empty. */
  static long slots(FieldVector vector, ArrowBuf buffer, int width, int extra) {
    int rows = vector.getValueCount();
    return rows == 0 ? 0 : ArrowColumn.address(vector, buffer, (long) width * (rows + extra));
  }

  static final class Lists extends ArrowColumn {
    private final Places places;
    private final ColumnVector elements;

    Lists(DataType type, FieldVector vector, Places places, ColumnVector elements) {
      super(type, vector);
      this.places = places;
      this.elements = elements;
    }

    @Override
    public ColumnarArray getArray(int row) {
      return new ColumnarArray(elements, places.start(row), places.length(row));
    }

    @Override
    public ColumnVector getChild(int ordinal) {
      return elements;
    }
  }

  static final class Maps extends ArrowColumn {
    private final Places places;
    private final ColumnVector keys;
    private final ColumnVector values;

    Maps(DataType type, FieldVector vector, Places places, ColumnVector keys, ColumnVector values) {
      super(type, vector);
      this.places = places;
      this.keys = keys;
      this.values = values;
    }

    @Override
    public ColumnarMap getMap(int row) {
      return new ColumnarMap(keys, values, places.start(row), places.length(row));
    }

    @Override
    public ColumnVector getChild(int ordinal) {
      return ordinal == 0 ? keys : values;
    }
  }
}
