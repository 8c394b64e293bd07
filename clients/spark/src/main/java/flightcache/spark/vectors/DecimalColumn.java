package flightcache.spark.vectors;

import flightcache.spark.FlightcacheException;
import java.math.BigDecimal;
import java.math.BigInteger;
import org.apache.arrow.vector.FieldVector;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.Platform;

/** Two's complement integers of 4, 8, 16 or 32 bytes with a scale, and unsigned integers of 8 bytes. */
final class DecimalColumn extends FixedColumns.Fixed {
  private final String path;
  private final int width;
  private final int scale;
  private final boolean unsigned;

  DecimalColumn(DataType type, FieldVector vector, String path, int width, int scale, boolean unsigned) {
    super(type, vector, width);
    this.path = path;
    this.width = width;
    this.scale = scale;
    this.unsigned = unsigned;
  }

  @Override
  public Decimal getDecimal(int row, int precision, int wanted) {
    long at = values + (long) width * row;
    long low = width == 4 ? Platform.getInt(null, at) : Platform.getLong(null, at);
    // Up to 18 digits are in the low word alone: the type promises that the others repeat its sign.
    if (precision <= Decimal.MAX_LONG_DIGITS() && wanted == scale && !unsigned) {
      return Decimal.createUnsafe(low, precision, wanted);
    }
    BigInteger unscaled;
    if (width <= 8) {
      unscaled = BigInteger.valueOf(low);
      if (unsigned && low < 0) {
        unscaled = unscaled.add(BigInteger.ONE.shiftLeft(64));
      }
    } else {
      byte[] bytes = new byte[width];
      for (int i = 0; i < width; i++) {
        bytes[width - 1 - i] = Platform.getByte(null, at + i);
      }
      unscaled = new BigInteger(bytes);
    }
    BigDecimal value = new BigDecimal(unscaled, scale);
    if (value.setScale(wanted).precision() > precision) {
      throw new FlightcacheException(
          "column " + path + " has the value " + value + ", beyond Spark's decimals: leave the column out");
    }
    return Decimal.apply(value, precision, wanted);
  }
}
