package flightcache.spark.vectors;

import flightcache.spark.FlightcacheException;
import java.util.List;
import org.apache.arrow.vector.BaseVariableWidthViewVector;
import org.apache.arrow.vector.ExtensionTypeVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.complex.LargeListViewVector;
import org.apache.arrow.vector.complex.ListViewVector;
import org.apache.arrow.vector.complex.RunEndEncodedVector;
import org.apache.arrow.vector.dictionary.DictionaryProvider;
import org.apache.arrow.vector.types.DateUnit;
import org.apache.arrow.vector.types.FloatingPointPrecision;
import org.apache.arrow.vector.types.TimeUnit;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.ArrowType.Decimal;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.FieldType;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.UserDefinedType;
import org.apache.spark.sql.vectorized.ColumnVector;

/** Makes columns of vectors. */
public final class Columns {
  private final DictionaryProvider dictionaries;
  private final boolean truncateNanos;

  /**
   * Columns of one batch.
   *
   * @param dictionaries of the batch's stream
   * @param truncateNanos whether timestamps lose their nanoseconds, where otherwise a value that has some is an error
   */
  public Columns(DictionaryProvider dictionaries, boolean truncateNanos) {
    this.dictionaries = dictionaries;
    this.truncateNanos = truncateNanos;
  }

  /**
   * The vector as a column of a type of Spark.
   *
   * @param vector as it came, indices where it is dictionary-encoded
   * @param field of the schema in the stream's form, where a dictionary-encoded field has the type of its values
   * @param type what Spark reads: the field's own type in Spark, or one that lacks some children of structs
   * @param path the column's name, for messages
   */
  public ColumnVector of(FieldVector vector, Field field, DataType type, String path) {
    DataType shown = type instanceof UserDefinedType<?> udt ? udt.sqlType() : type;
    if (field.getDictionary() != null) {
      ArrowType.Int keys = field.getDictionary().getIndexType();
      FieldVector values = dictionaries.lookup(field.getDictionary().getId()).getVector();
      Field plain =
          new Field(
              field.getName(),
              new FieldType(field.isNullable(), field.getType(), null, field.getMetadata()),
              field.getChildren());
      return new IndexedColumn(
          new IndexedColumn.Keys(vector, keys.getBitWidth() / 8, keys.getIsSigned()),
          of(values, plain, type, path),
          vector.getValueCount());
    }
    FieldVector storage =
        vector instanceof ExtensionTypeVector<?> extension ? (FieldVector) extension.getUnderlyingVector() : vector;
    return of(storage, field, field.getType(), shown, path);
  }

  private ColumnVector of(FieldVector v, Field field, ArrowType arrow, DataType type, String path) {
    if (arrow instanceof ArrowType.ExtensionType extension) {
      return of(v, field, extension.storageType(), type, path);
    }
    switch (arrow.getTypeID()) {
      case Null:
        return new FixedColumns.Nulls(type, v.getValueCount());
      case Bool:
        return new FixedColumns.Booleans(type, v);
      case Int:
        return integers(v, (ArrowType.Int) arrow, type, path);
      case FloatingPoint:
        return floats(v, ((ArrowType.FloatingPoint) arrow).getPrecision(), type);
      case Decimal:
        Decimal decimal = (Decimal) arrow;
        return new DecimalColumn(type, v, path, decimal.getBitWidth() / 8, decimal.getScale(), false);
      case Date:
        return ((ArrowType.Date) arrow).getUnit() == DateUnit.DAY
            ? new FixedColumns.Ints(type, v)
            : new FixedColumns.MilliDates(type, v, path);
      case Time:
        ArrowType.Time time = (ArrowType.Time) arrow;
        return scaled(v, time.getUnit(), time.getBitWidth() == 32, TimeUnit.NANOSECOND, type, path, false);
      case Timestamp:
        if (LaterLayouts.isNanos(type)) {
          return new NanosColumn(type, v);
        }
        return scaled(
            v, ((ArrowType.Timestamp) arrow).getUnit(), false, TimeUnit.MICROSECOND, type, path, truncateNanos);
      case Duration:
        return scaled(v, ((ArrowType.Duration) arrow).getUnit(), false, TimeUnit.MICROSECOND, type, path, false);
      case Interval:
        switch (((ArrowType.Interval) arrow).getUnit()) {
          case YEAR_MONTH:
            return new FixedColumns.Ints(type, v);
          case DAY_TIME:
            return new IntervalColumn.DayMillis(type, v);
          default:
            return new IntervalColumn.MonthDayNanos(type, v, path);
        }
      case Binary:
      case LargeBinary:
      case BinaryView:
        if (LaterLayouts.isSpatial(type)) {
          return new SpatialColumns.OfOneSystem(type, v, of(v, field, arrow, DataTypes.BinaryType, path));
        }
        return binary(v, arrow, type, path);
      case Utf8:
      case LargeUtf8:
      case Utf8View:
        return binary(v, arrow, type, path);
      case FixedSizeBinary:
        return new BinaryColumns.FixedWidth(type, v, ((ArrowType.FixedSizeBinary) arrow).getByteWidth());
      case Struct:
        return struct(v, field, type, path);
      case Map:
        return map(v, field, (MapType) type, path);
      case RunEndEncoded:
        return runs((RunEndEncodedVector) v, field, type, path);
      default:
        return new NestedColumns.Lists(type, v, places(v, arrow), elements(v, field, type, path));
    }
  }

  private static ColumnVector integers(FieldVector v, ArrowType.Int arrow, DataType type, String path) {
    boolean signed = arrow.getIsSigned();
    switch (arrow.getBitWidth()) {
      case 8:
        return signed ? new FixedColumns.Bytes(type, v) : new FixedColumns.UnsignedBytes(type, v);
      case 16:
        return signed ? new FixedColumns.Shorts(type, v) : new FixedColumns.UnsignedShorts(type, v);
      case 32:
        return signed ? new FixedColumns.Ints(type, v) : new FixedColumns.UnsignedInts(type, v);
      default:
        return signed ? new FixedColumns.Longs(type, v) : new DecimalColumn(type, v, path, 8, 0, true);
    }
  }

  private static ColumnVector binary(FieldVector v, ArrowType arrow, DataType type, String path) {
    switch (arrow.getTypeID()) {
      case Utf8:
      case Binary:
        return new BinaryColumns.Small(type, v);
      case LargeUtf8:
      case LargeBinary:
        return new BinaryColumns.Large(type, v, path);
      default:
        return new BinaryColumns.Views(type, (BaseVariableWidthViewVector) v);
    }
  }

  private static ColumnVector floats(FieldVector v, FloatingPointPrecision precision, DataType type) {
    switch (precision) {
      case HALF:
        return new FixedColumns.Halves(type, v);
      case SINGLE:
        return new FixedColumns.Floats(type, v);
      default:
        return new FixedColumns.Doubles(type, v);
    }
  }

  private static long perSecond(TimeUnit unit) {
    switch (unit) {
      case SECOND:
        return 1;
      case MILLISECOND:
        return 1000;
      case MICROSECOND:
        return 1_000_000;
      default:
        return 1_000_000_000;
    }
  }

  private static ColumnVector scaled(
      FieldVector v, TimeUnit unit, boolean narrow, TimeUnit wanted, DataType type, String path, boolean truncate) {
    if (unit == wanted && !narrow) {
      return new FixedColumns.Longs(type, v);
    }
    long from = perSecond(unit);
    long to = perSecond(wanted);
    return new FixedColumns.Scaled(type, v, path, narrow, Math.max(to / from, 1), Math.max(from / to, 1), truncate);
  }

  private ColumnVector struct(FieldVector v, Field field, DataType type, String path) {
    List<FieldVector> children = v.getChildrenFromFields();
    if (!(type instanceof StructType struct)) {
      // What Spark keeps as a struct of its own, such as a variant: all of it, in the order that Spark expects.
      ColumnVector[] all = new ColumnVector[children.size()];
      List<Layouts.Part> parts = Layouts.parts(type);
      for (int i = 0; i < all.length; i++) {
        int at = indexOf(field, parts.get(i).name(), path);
        all[i] = of(children.get(at), field.getChildren().get(at), parts.get(i).type(), path);
      }
      return LaterLayouts.isMixed(type)
          ? new SpatialColumns.OfMany(type, v, all[0], all[1])
          : new NestedColumns.Structs(type, v, all);
    }
    ColumnVector[] chosen = new ColumnVector[struct.size()];
    for (int i = 0; i < chosen.length; i++) {
      StructField child = struct.fields()[i];
      int at = struct.size() == children.size() ? i : indexOf(field, child.name(), path);
      if (!field.getChildren().get(at).getName().equals(child.name())) {
        at = indexOf(field, child.name(), path);
      }
      chosen[i] =
          of(children.get(at), field.getChildren().get(at), child.dataType(), path + "." + child.name());
    }
    return new NestedColumns.Structs(type, v, chosen);
  }

  private static int indexOf(Field struct, String name, String path) {
    for (int i = 0; i < struct.getChildren().size(); i++) {
      if (struct.getChildren().get(i).getName().equals(name)) {
        return i;
      }
    }
    throw new FlightcacheException("column " + path + " has no field " + name + " any more: make the DataFrame anew");
  }

  private ColumnVector elements(FieldVector v, Field field, DataType type, String path) {
    return of(v.getChildrenFromFields().get(0), field.getChildren().get(0), ((ArrayType) type).elementType(), path + "[]");
  }

  private static NestedColumns.Places places(FieldVector v, ArrowType arrow) {
    switch (arrow.getTypeID()) {
      case List:
        return new NestedColumns.Small(NestedColumns.slots(v, v.getOffsetBuffer(), 4, 1));
      case LargeList:
        return new NestedColumns.Large(NestedColumns.slots(v, v.getOffsetBuffer(), 8, 1));
      case FixedSizeList:
        return new NestedColumns.Equal(((ArrowType.FixedSizeList) arrow).getListSize());
      case ListView:
        return new NestedColumns.SmallViews(
            NestedColumns.slots(v, v.getOffsetBuffer(), 4, 0),
            NestedColumns.slots(v, ((ListViewVector) v).getSizeBuffer(), 4, 0));
      case LargeListView:
        return new NestedColumns.LargeViews(
            NestedColumns.slots(v, v.getOffsetBuffer(), 8, 0),
            NestedColumns.slots(v, ((LargeListViewVector) v).getSizeBuffer(), 8, 0));
      default:
        throw new IllegalStateException("a list of type " + arrow);
    }
  }

  private ColumnVector map(FieldVector v, Field field, MapType type, String path) {
    FieldVector entries = v.getChildrenFromFields().get(0);
    Field entry = field.getChildren().get(0);
    List<FieldVector> pair = entries.getChildrenFromFields();
    return new NestedColumns.Maps(
        type,
        v,
        new NestedColumns.Small(NestedColumns.slots(v, v.getOffsetBuffer(), 4, 1)),
        of(pair.get(0), entry.getChildren().get(0), type.keyType(), path + ".key"),
        of(pair.get(1), entry.getChildren().get(1), type.valueType(), path + ".value"));
  }

  private ColumnVector runs(RunEndEncodedVector v, Field field, DataType type, String path) {
    FieldVector ends = v.getRunEndsVector();
    int[] last = new int[ends.getValueCount()];
    for (int i = 0; i < last.length; i++) {
      last[i] = ((Number) ends.getObject(i)).intValue();
    }
    return new IndexedColumn(
        new IndexedColumn.Runs(last),
        of(v.getValuesVector(), field.getChildren().get(1), type, path),
        v.getValueCount());
  }
}
