package flightcache.spark;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.arrow.vector.types.FloatingPointPrecision;
import org.apache.arrow.vector.types.TimeUnit;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.Schema;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.MetadataBuilder;
import org.apache.spark.sql.types.NullType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * The types of Spark that fields of Arrow are read as. A field that Spark cannot hold is a column of type void: it is named and
 * counted, and reading it is an error.
 */
final class ArrowToSpark {
  private static final int MOST_DIGITS = DecimalType.MAX_PRECISION();

  private ArrowToSpark() {}

  static StructType schema(Schema schema) {
    return struct(schema.getFields());
  }

  private static StructType struct(List<Field> fields) {
    List<StructField> out = new ArrayList<>(fields.size());
    for (Field f : fields) {
      out.add(new StructField(f.getName(), type(f), f.isNullable(), metadata(f)));
    }
    return new StructType(out.toArray(StructField[]::new)); // names may repeat, which createStructType refuses
  }

  private static Metadata metadata(Field f) {
    String json = f.getMetadata().get(SparkToArrow.METADATA);
    Metadata metadata = json == null ? Metadata.empty() : parsed(json);
    String refusal = refusal(f);
    if (refusal == null || metadata.contains("comment")) {
      return metadata;
    }
    return new MetadataBuilder().withMetadata(metadata).putString("comment", "not readable: " + refusal).build();
  }

  /** Metadata that is not Spark's is as none: it is a note beside the column, and no part of it. */
  private static Metadata parsed(String json) {
    try {
      return Metadata.fromJson(json);
    } catch (Exception e) { // Scala declares none
      return Metadata.empty();
    }
  }

  /** The type that a field is read as; void if it, or a list's element, cannot be. */
  static DataType type(Field f) {
    DataType noted = SparkToArrow.noted(f);
    if (noted != null) {
      return noted;
    }
    ArrowType t = storage(f.getType());
    switch (t.getTypeID()) {
      case Bool:
        return DataTypes.BooleanType;
      case Int:
        return integer((ArrowType.Int) t);
      case FloatingPoint:
        return ((ArrowType.FloatingPoint) t).getPrecision() == FloatingPointPrecision.DOUBLE
            ? DataTypes.DoubleType
            : DataTypes.FloatType;
      case Decimal:
        return decimal((ArrowType.Decimal) t);
      case Date:
        return DataTypes.DateType;
      case Time:
        return LaterTypes.time(((ArrowType.Time) t).getUnit());
      case Timestamp:
        return ((ArrowType.Timestamp) t).getTimezone() == null ? DataTypes.TimestampNTZType : DataTypes.TimestampType;
      case Duration:
        return DataTypes.createDayTimeIntervalType();
      case Interval:
        switch (((ArrowType.Interval) t).getUnit()) {
          case YEAR_MONTH:
            return DataTypes.createYearMonthIntervalType();
          case DAY_TIME:
            return DataTypes.createDayTimeIntervalType();
          default:
            return DataTypes.CalendarIntervalType;
        }
      case Utf8:
      case LargeUtf8:
      case Utf8View:
        return DataTypes.StringType;
      case Binary:
      case LargeBinary:
      case BinaryView:
        DataType spatial = GeoArrow.type(f);
        return spatial != null ? spatial : DataTypes.BinaryType;
      case FixedSizeBinary:
        return ((ArrowType.FixedSizeBinary) t).getByteWidth() == 0 ? DataTypes.NullType : DataTypes.BinaryType;
      case Struct:
        return SparkToArrow.isVariant(f) ? LaterTypes.variant() : struct(f.getChildren());
      case List:
      case LargeList:
      case FixedSizeList:
      case ListView:
      case LargeListView:
        Field element = f.getChildren().get(0);
        return DataTypes.createArrayType(type(element), element.isNullable());
      case Map:
        List<Field> entry = f.getChildren().get(0).getChildren();
        return DataTypes.createMapType(type(entry.get(0)), type(entry.get(1)), entry.get(1).isNullable());
      case RunEndEncoded:
        return type(f.getChildren().get(1));
      default:
        return DataTypes.NullType;
    }
  }

  static ArrowType storage(ArrowType t) {
    return t instanceof ArrowType.ExtensionType extension ? storage(extension.storageType()) : t;
  }

  private static DataType integer(ArrowType.Int t) {
    boolean signed = t.getIsSigned();
    switch (t.getBitWidth()) {
      case 8:
        return signed ? DataTypes.ByteType : DataTypes.ShortType;
      case 16:
        return signed ? DataTypes.ShortType : DataTypes.IntegerType;
      case 32:
        return signed ? DataTypes.IntegerType : DataTypes.LongType;
      default:
        return signed ? DataTypes.LongType : DataTypes.createDecimalType(20, 0);
    }
  }

  /** More digits than Spark has are cut from the type: a value that needs them is an error when it is read. */
  private static DataType decimal(ArrowType.Decimal t) {
    int scale = t.getScale();
    if (scale > MOST_DIGITS) {
      return DataTypes.NullType;
    }
    int precision = scale < 0 ? t.getPrecision() - scale : t.getPrecision();
    return DataTypes.createDecimalType(Math.min(precision, MOST_DIGITS), Math.max(scale, 0));
  }

  /** Why a field cannot be read, its children apart, or null. */
  static String refusal(Field f) {
    String note = f.getMetadata().get(ReadableSchema.NOTE);
    if (note != null) {
      return note;
    }
    ArrowType t = storage(f.getType());
    switch (t.getTypeID()) {
      case Union:
        return "a union";
      case FixedSizeBinary:
        return ((ArrowType.FixedSizeBinary) t).getByteWidth() == 0 ? "binary of width 0" : null;
      case Decimal:
        int scale = ((ArrowType.Decimal) t).getScale();
        return scale > MOST_DIGITS ? "a decimal of scale " + scale : null;
      case Time:
        return type(f) instanceof NullType ? "a time of day, which Spark has from version 4.1 on" : null;
      default:
        return type(f) instanceof NullType && t.getTypeID() != ArrowType.ArrowTypeID.Null ? t.toString() : null;
    }
  }

  /**
   * Complains of the first column of a read that cannot be read.
   *
   * @param wanted what Spark asks for of these fields
   */
  static void checkReadable(String dataset, Map<String, Field> fields, StructType wanted) {
    for (StructField column : wanted.fields()) {
      check(dataset, fields.get(column.name()), column.dataType(), column.name());
    }
  }

  private static void check(String dataset, Field f, DataType wanted, String path) {
    String refusal = refusal(f);
    if (refusal != null) {
      throw new FlightcacheException(
          "dataset " + dataset + ": column " + path + " is " + refusal + ", which Spark or Arrow's Java library cannot hold; select the other columns");
    }
    if (wanted instanceof StructType struct) {
      for (StructField child : struct.fields()) {
        for (Field c : f.getChildren()) {
          if (c.getName().equals(child.name())) {
            check(dataset, c, child.dataType(), path + "." + child.name());
          }
        }
      }
    } else if (wanted instanceof org.apache.spark.sql.types.ArrayType array) {
      check(dataset, f.getChildren().get(0), array.elementType(), path + "[]");
    } else if (wanted instanceof org.apache.spark.sql.types.MapType map) {
      List<Field> entry = f.getChildren().get(0).getChildren();
      check(dataset, entry.get(0), map.keyType(), path + ".key");
      check(dataset, entry.get(1), map.valueType(), path + ".value");
    }
  }

  /** Whether a field has nanoseconds, which Spark's timestamps lose. */
  static boolean isNanos(Field f) {
    return storage(f.getType()) instanceof ArrowType.Timestamp t && t.getUnit() == TimeUnit.NANOSECOND;
  }
}
