package flightcache.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.BooleanNode;
import com.fasterxml.jackson.databind.node.BigIntegerNode;
import com.fasterxml.jackson.databind.node.DoubleNode;
import com.fasterxml.jackson.databind.node.TextNode;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.ZoneOffset;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A column that a filter looks at: how values of Spark are written for it.
 *
 * @param path its names from the top
 * @param kind how it is compared
 * @param zoned of a timestamp, whether it is an instant
 * @param mayHaveNaN of floats, whether it is not known that there is none
 */
record FilterColumn(List<String> path, Kind kind, boolean zoned, boolean mayHaveNaN) {
  /** What the server compares. */
  enum Kind {
    BOOLEAN,
    INTEGER,
    DECIMAL,
    FLOAT,
    DATE,
    TIME,
    TIMESTAMP,
    DURATION,
    TEXT,
    BINARY,
    /** Null or not, and nothing else. */
    OTHER
  }

  static FilterColumn of(List<String> path, Field field, boolean mayHaveNaN, boolean truncateNanos) {
    ArrowType t = ArrowToSpark.storage(field.getType());
    boolean zoned = t instanceof ArrowType.Timestamp ts && ts.getTimezone() != null;
    Kind kind = truncateNanos && ArrowToSpark.isNanos(field) ? Kind.OTHER : kind(t);
    return new FilterColumn(path, kind, zoned, mayHaveNaN);
  }

  private static Kind kind(ArrowType t) {
    switch (t.getTypeID()) {
      case Bool:
        return Kind.BOOLEAN;
      case Int:
        return Kind.INTEGER;
      case Decimal:
        return Kind.DECIMAL;
      case FloatingPoint:
        return Kind.FLOAT;
      case Date:
        return Kind.DATE;
      case Time:
        return Kind.TIME;
      case Timestamp:
        return Kind.TIMESTAMP;
      case Duration:
        return Kind.DURATION;
      case Utf8:
      case LargeUtf8:
      case Utf8View:
        return Kind.TEXT;
      case Binary:
      case LargeBinary:
      case BinaryView:
      case FixedSizeBinary:
        return Kind.BINARY;
      default:
        return Kind.OTHER;
    }
  }

  /** A constant as the server reads it for this column, or null if there is no such form of it. */
  JsonNode value(Literal<?> literal) {
    Object v = literal.value();
    switch (kind) {
      case BOOLEAN:
        return v instanceof Boolean b ? BooleanNode.valueOf(b) : null;
      case INTEGER:
        return integer(v);
      case DECIMAL:
        return v instanceof Decimal d ? TextNode.valueOf(d.toJavaBigDecimal().toPlainString()) : null;
      case FLOAT:
        return floating(v);
      case DATE:
        return v instanceof Integer days ? TextNode.valueOf(LocalDate.ofEpochDay(days).toString()) : null;
      case TIME:
        return v instanceof Long nanos ? TextNode.valueOf(LocalTime.ofNanoOfDay(nanos).toString()) : null;
      case TIMESTAMP:
        return v instanceof Long micros ? TextNode.valueOf(timestamp(micros) + (zoned ? "Z" : "")) : null;
      case DURATION:
        return v instanceof Long micros ? TextNode.valueOf(duration(micros)) : null;
      case TEXT:
        return text(literal, v);
      case BINARY:
        return v instanceof byte[] b ? TextNode.valueOf(Base64.getEncoder().encodeToString(b)) : null;
      default:
        return null;
    }
  }

  private static JsonNode integer(Object v) {
    if (v instanceof Byte || v instanceof Short || v instanceof Integer || v instanceof Long) {
      return BigIntegerNode.valueOf(BigInteger.valueOf(((Number) v).longValue()));
    }
    if (v instanceof Decimal d) {
      BigDecimal n = d.toJavaBigDecimal();
      return n.scale() == 0 ? BigIntegerNode.valueOf(n.unscaledValue()) : null;
    }
    return null;
  }

  /** A float is written as the double that it is: its own shortest form is another number. */
  private static JsonNode floating(Object v) {
    if (!(v instanceof Float || v instanceof Double)) {
      return null;
    }
    double d = ((Number) v).doubleValue();
    if (Double.isNaN(d)) {
      return null; // equal to itself in Spark, and to nothing at the server
    }
    return Double.isInfinite(d) ? TextNode.valueOf(d > 0 ? "Infinity" : "-Infinity") : DoubleNode.valueOf(d);
  }

  /** Only text that is compared byte by byte: a collation may take other texts for the same. */
  private static JsonNode text(Literal<?> literal, Object v) {
    if (!(v instanceof UTF8String s) || !literal.dataType().equals(DataTypes.StringType)) {
      return null;
    }
    String string = s.toString();
    boolean valid = Arrays.equals(string.getBytes(StandardCharsets.UTF_8), s.getBytes());
    return valid ? TextNode.valueOf(string) : null;
  }

  private static String timestamp(long micros) {
    long seconds = Math.floorDiv(micros, 1_000_000);
    int nanos = Math.floorMod(micros, 1_000_000) * 1000;
    return LocalDateTime.ofEpochSecond(seconds, nanos, ZoneOffset.UTC).toString();
  }

  /** Seconds and a fraction, with one sign in front. */
  private static String duration(long micros) {
    BigDecimal seconds = BigDecimal.valueOf(micros, 6).abs();
    return (micros < 0 ? "-" : "") + "PT" + seconds.toPlainString() + "S";
  }
}
