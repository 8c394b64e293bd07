package flightcache.spark;

import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.complex.FixedSizeListVector;
import org.apache.arrow.vector.complex.LargeListVector;
import org.apache.arrow.vector.complex.ListVector;
import org.apache.arrow.vector.complex.MapVector;
import org.apache.arrow.vector.complex.StructVector;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;

/** Writers of lists and maps. */
final class ListWriters {
  private ListWriters() {}

  /** The writer of a list or a map, or null for any other vector. */
  static CellWriter of(FieldVector vector, DataType type, String column, RowsToArrow.Size size) {
    if (vector instanceof MapVector v) {
      return map(v, (MapType) type, column, size);
    }
    if (!(type instanceof ArrayType array)) {
      return null;
    }
    if (vector instanceof ListVector v) {
      CellWriter element = element(v.getDataVector(), array, column, size);
      return new CellWriter(v, column) {
        @Override
        void value(SpecializedGetters from, int ordinal, int at) {
          ArrayData elements = from.getArray(ordinal);
          int n = elements.numElements();
          int start = v.startNewValue(at);
          for (int i = 0; i < n; i++) {
            element.write(elements, i, start + i);
          }
          v.endValue(at, n);
          size.bytes += 8L * n;
        }
      };
    } else if (vector instanceof LargeListVector v) {
      CellWriter element = element(v.getDataVector(), array, column, size);
      return new CellWriter(v, column) {
        @Override
        void value(SpecializedGetters from, int ordinal, int at) {
          ArrayData elements = from.getArray(ordinal);
          int n = elements.numElements();
          int start = Math.toIntExact(v.startNewValue(at));
          for (int i = 0; i < n; i++) {
            element.write(elements, i, start + i);
          }
          v.endValue(at, n);
          size.bytes += 8L * n;
        }
      };
    } else if (vector instanceof FixedSizeListVector v) {
      CellWriter element = element(v.getDataVector(), array, column, size);
      return new CellWriter(v, column) {
        @Override
        void value(SpecializedGetters from, int ordinal, int at) {
          ArrayData elements = from.getArray(ordinal);
          int n = elements.numElements();
          if (n != v.getListSize()) {
            throw misfit("an array of " + n);
          }
          int start = v.startNewValue(at);
          for (int i = 0; i < n; i++) {
            element.write(elements, i, start + i);
          }
          size.bytes += 8L * n;
        }
      };
    }
    return null;
  }

  private static CellWriter element(FieldVector data, ArrayType array, String column, RowsToArrow.Size size) {
    return CellWriters.of(data, array.elementType(), column + "[]", size);
  }

  private static CellWriter map(MapVector v, MapType type, String column, RowsToArrow.Size size) {
    StructVector entries = (StructVector) v.getDataVector();
    CellWriter key =
        CellWriters.of(entries.getChildrenFromFields().get(0), type.keyType(), column + ".key", size);
    CellWriter value =
        CellWriters.of(entries.getChildrenFromFields().get(1), type.valueType(), column + ".value", size);
    return new CellWriter(v, column) {
      @Override
      void value(SpecializedGetters from, int ordinal, int at) {
        MapData map = from.getMap(ordinal);
        int n = map.numElements();
        int start = v.startNewValue(at);
        for (int i = 0; i < n; i++) {
          entries.setIndexDefined(start + i);
          key.write(map.keyArray(), i, start + i);
          value.write(map.valueArray(), i, start + i);
        }
        v.endValue(at, n);
        size.bytes += 16L * n;
      }
    };
  }
}
