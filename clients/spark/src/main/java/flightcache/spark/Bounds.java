package flightcache.spark;

import com.fasterxml.jackson.databind.JsonNode;
import java.math.BigDecimal;
import java.time.DateTimeException;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.util.Base64;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.unsafe.types.UTF8String;

/** The least and the greatest value of a column as Spark has them. */
final class Bounds {
  private Bounds() {}

  /** An answer, which may be null; no answer is null itself. */
  record Answer(Object value) {}

  /** The bound of a column whose facts are exact, or null where it may not be Spark's. */
  static Answer of(Field field, DataType type, Facts.Column c, boolean greatest) {
    JsonNode bound = greatest ? c.max() : c.min();
    if (ArrowToSpark.storage(field.getType()) instanceof ArrowType.FloatingPoint) {
      if (c.hasNaN() && greatest) {
        return new Answer(type instanceof DoubleType ? (Object) Double.NaN : (Object) Float.NaN);
      }
      if (bound.decimalValue().signum() == 0 && bound.isNumber()) {
        return null; // of two zeros, Spark gives the one that it meets first
      }
    }
    try {
      Object value = value(bound, type);
      return value == null ? null : new Answer(value);
    } catch (ArithmeticException | DateTimeException e) {
      return null; // more than Spark holds: the read of the rows says so
    }
  }

  private static Object value(JsonNode bound, DataType type) {
    if (type instanceof BooleanType) {
      return bound.booleanValue();
    } else if (type instanceof ByteType) {
      return (byte) bound.intValue();
    } else if (type instanceof ShortType) {
      return (short) bound.intValue();
    } else if (type instanceof IntegerType) {
      return bound.intValue();
    } else if (type instanceof LongType) {
      return bound.longValue();
    } else if (type instanceof DecimalType d) {
      BigDecimal value = new BigDecimal(bound.asText()).setScale(d.scale());
      return value.precision() > d.precision() ? null : Decimal.apply(value, d.precision(), d.scale());
    } else if (type instanceof FloatType) {
      return Float.parseFloat(bound.asText());
    } else if (type instanceof DoubleType) {
      return Double.parseDouble(bound.asText());
    } else if (type instanceof DateType) {
      return Math.toIntExact(LocalDate.parse(bound.asText()).toEpochDay());
    } else if (type instanceof TimestampType || type instanceof TimestampNTZType) {
      return micros(bound.asText());
    } else if (type.equals(DataTypes.StringType)) {
      return UTF8String.fromString(bound.asText());
    } else if (type instanceof BinaryType) {
      return Base64.getDecoder().decode(bound.asText());
    }
    return null;
  }

  /** Microseconds, or null where there are digits below them. */
  private static Long micros(String text) {
    LocalDateTime t = LocalDateTime.parse(text.endsWith("Z") ? text.substring(0, text.length() - 1) : text);
    if (t.getNano() % 1000 != 0) {
      return null;
    }
    return Math.addExact(Math.multiplyExact(t.toEpochSecond(ZoneOffset.UTC), 1_000_000L), t.getNano() / 1000);
  }
}
