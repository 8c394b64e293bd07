package flightcache.spark;

import flightcache.spark.vectors.LaterLayouts;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.arrow.vector.types.DateUnit;
import org.apache.arrow.vector.types.FloatingPointPrecision;
import org.apache.arrow.vector.types.IntervalUnit;
import org.apache.arrow.vector.types.TimeUnit;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.FieldType;
import org.apache.arrow.vector.types.pojo.Schema;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.CalendarIntervalType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DayTimeIntervalType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.NullType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.sql.types.UserDefinedType;
import org.apache.spark.sql.types.YearMonthIntervalType;

/**
 * The fields of Arrow that columns of Spark are written as. A type that Arrow's does not tell apart, such as varchar(5) from
 * string, is noted in the field's metadata, so that it comes back; other clients read past that.
 */
final class SparkToArrow {
  /** Spark's own key for the metadata of a column. */
  static final String METADATA = "SPARK::metadata::json";

  /** The type in Spark, as the JSON of a struct with this one column. */
  static final String TYPE = "flightcache:spark-type";

  private static final String VARIANT = "variant";

  private SparkToArrow() {}

  static Schema schema(String dataset, StructType columns) {
    List<Field> fields = new ArrayList<>();
    for (StructField c : columns.fields()) {
      fields.add(field(dataset, c.name(), c.name(), c.dataType(), c.nullable(), c.metadata()));
    }
    return new Schema(fields);
  }

  private static Field field(
      String dataset, String path, String name, DataType type, boolean nullable, Metadata metadata) {
    Map<String, String> notes = new HashMap<>();
    if (!metadata.equals(Metadata.empty())) {
      notes.put(METADATA, metadata.json());
    }
    Field f = bare(dataset, path, name, type, nullable, notes);
    if (!ArrowToSpark.type(f).equals(type)) {
      notes.put(TYPE, note(type));
      f = bare(dataset, path, name, type, nullable, notes);
    }
    return f;
  }

  private static Field bare(
      String dataset, String path, String name, DataType type, boolean nullable, Map<String, String> notes) {
    if (type instanceof UserDefinedType<?> udt) {
      return bare(dataset, path, name, udt.sqlType(), nullable, notes);
    }
    List<Field> children = new ArrayList<>();
    ArrowType arrow;
    if (type instanceof StructType struct) {
      arrow = ArrowType.Struct.INSTANCE;
      for (StructField c : struct.fields()) {
        children.add(field(dataset, path + "." + c.name(), c.name(), c.dataType(), c.nullable(), c.metadata()));
      }
    } else if (type instanceof ArrayType array) {
      arrow = ArrowType.List.INSTANCE;
      children.add(
          field(dataset, path + "[]", "element", array.elementType(), array.containsNull(), Metadata.empty()));
    } else if (type instanceof MapType map) {
      arrow = new ArrowType.Map(false);
      Field key = field(dataset, path + ".key", "key", map.keyType(), false, Metadata.empty());
      Field value = field(dataset, path + ".value", "value", map.valueType(), map.valueContainsNull(), Metadata.empty());
      children.add(new Field("entries", FieldType.notNullable(ArrowType.Struct.INSTANCE), List.of(key, value)));
    } else if (LaterTypes.isVariant(type)) {
      arrow = ArrowType.Struct.INSTANCE;
      children.add(new Field("value", FieldType.notNullable(ArrowType.Binary.INSTANCE), null));
      children.add(
          new Field(
              "metadata", new FieldType(false, ArrowType.Binary.INSTANCE, null, Map.of(VARIANT, "true")), null));
    } else if (LaterLayouts.isSpatial(type) && LaterTypes.hasSpatial()) {
      boolean mixed = LaterLayouts.isMixed(type);
      arrow = mixed ? ArrowType.Struct.INSTANCE : ArrowType.Binary.INSTANCE;
      if (mixed) {
        children.addAll(GeoArrow.mixed(type));
      } else {
        notes.putAll(GeoArrow.metadata(type));
      }
    } else {
      arrow = leaf(dataset, path, type);
    }
    return new Field(name, new FieldType(nullable, arrow, null, notes), children);
  }

  private static ArrowType leaf(String dataset, String path, DataType type) {
    if (type instanceof BooleanType) {
      return ArrowType.Bool.INSTANCE;
    } else if (type instanceof ByteType) {
      return new ArrowType.Int(8, true);
    } else if (type instanceof ShortType) {
      return new ArrowType.Int(16, true);
    } else if (type instanceof IntegerType) {
      return new ArrowType.Int(32, true);
    } else if (type instanceof LongType) {
      return new ArrowType.Int(64, true);
    } else if (type instanceof FloatType) {
      return new ArrowType.FloatingPoint(FloatingPointPrecision.SINGLE);
    } else if (type instanceof DoubleType) {
      return new ArrowType.FloatingPoint(FloatingPointPrecision.DOUBLE);
    } else if (type instanceof DecimalType decimal) {
      return new ArrowType.Decimal(decimal.precision(), decimal.scale(), 128);
    } else if (type instanceof StringType || isText(type)) {
      return ArrowType.Utf8.INSTANCE;
    } else if (type instanceof BinaryType) {
      return ArrowType.Binary.INSTANCE;
    } else if (type instanceof DateType) {
      return new ArrowType.Date(DateUnit.DAY);
    } else if (type instanceof TimestampType) {
      return new ArrowType.Timestamp(TimeUnit.MICROSECOND, "UTC");
    } else if (type instanceof TimestampNTZType) {
      return new ArrowType.Timestamp(TimeUnit.MICROSECOND, null);
    } else if (LaterLayouts.isNanos(type)) {
      return new ArrowType.Timestamp(TimeUnit.NANOSECOND, LaterLayouts.isZoned(type) ? "UTC" : null);
    } else if (LaterTypes.isTime(type)) {
      return new ArrowType.Time(TimeUnit.NANOSECOND, 64);
    } else if (type instanceof YearMonthIntervalType) {
      return new ArrowType.Interval(IntervalUnit.YEAR_MONTH);
    } else if (type instanceof DayTimeIntervalType) {
      return new ArrowType.Duration(TimeUnit.MICROSECOND);
    } else if (type instanceof CalendarIntervalType) {
      return new ArrowType.Interval(IntervalUnit.MONTH_DAY_NANO);
    } else if (type instanceof NullType) {
      return ArrowType.Null.INSTANCE;
    }
    boolean spatial = LaterLayouts.isSpatial(type);
    throw new FlightcacheException(
        "dataset " + dataset + ": column " + path + " is " + type.sql() + ", which has no type in Arrow that it comes back from; "
            + (spatial ? "write st_asbinary of it" : "cast it") + ", or leave it out");
  }

  /** Char and varchar, which are no strings to Spark's Java types. */
  private static boolean isText(DataType type) {
    return type.typeName().startsWith("char(") || type.typeName().startsWith("varchar(");
  }

  static boolean isVariant(Field f) {
    if (f.getChildren().size() != 2) {
      return false;
    }
    Field metadata = f.getChildren().get(1);
    return f.getChildren().get(0).getName().equals("value")
        && metadata.getName().equals("metadata")
        && "true".equals(metadata.getMetadata().get(VARIANT));
  }

  private static String note(DataType type) {
    return new StructType().add("c", type).json();
  }

  /** The type that a field's metadata notes, if the field has the form that this type is written in; else null. */
  static DataType noted(Field f) {
    String json = f.getMetadata().get(TYPE);
    if (json == null) {
      return null;
    }
    try {
      DataType type = ((StructType) DataType.fromJson(json)).fields()[0].dataType();
      Field written = bare("", "", f.getName(), type, f.isNullable(), new HashMap<>());
      return sameForm(written, f) ? type : null;
    } catch (Exception e) { // Scala declares none
      return null; // another program's, or a later Spark's
    }
  }

  private static boolean sameForm(Field a, Field b) {
    if (!ArrowToSpark.storage(a.getType()).equals(ArrowToSpark.storage(b.getType()))
        || a.getChildren().size() != b.getChildren().size()) {
      return false;
    }
    for (int i = 0; i < a.getChildren().size(); i++) {
      if (!sameForm(a.getChildren().get(i), b.getChildren().get(i))) {
        return false;
      }
    }
    return true;
  }
}
