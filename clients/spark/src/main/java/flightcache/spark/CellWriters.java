package flightcache.spark;

import flightcache.spark.vectors.LaterLayouts;
import flightcache.spark.vectors.Layouts;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;
import org.apache.arrow.memory.util.Float16;
import org.apache.arrow.vector.*;
import org.apache.arrow.vector.complex.StructVector;
import org.apache.arrow.vector.types.TimeUnit;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.UserDefinedType;
import org.apache.spark.unsafe.types.CalendarInterval;
import org.apache.spark.unsafe.types.VariantVal;

/** Makes the writer of each kind of vector. What they are given has the type in Spark that the vector is read as. */
final class CellWriters {
  private static final long DAY_MILLIS = 86_400_000;
  private static final long DAY_MICROS = 86_400_000_000L;

  private CellWriters() {}

  /** Whether there is a writer for a field; its children are asked for by themselves. */
  static boolean canWrite(Field f) {
    ArrowType t = f.getType();
    switch (t.getTypeID()) {
      case RunEndEncoded:
      case ListView:
      case LargeListView:
      case Union:
        return false;
      case Decimal:
        return ((ArrowType.Decimal) t).getBitWidth() >= 128;
      default:
        return !(t instanceof ArrowType.ExtensionType);
    }
  }

  /** A value of one slot, not null. */
  private interface Setter {
    void set(SpecializedGetters from, int ordinal, int at);
  }

  private static CellWriter writer(FieldVector v, String column, Setter setter) {
    return new CellWriter(v, column) {
      @Override
      void value(SpecializedGetters from, int ordinal, int at) {
        setter.set(from, ordinal, at);
      }
    };
  }

  static CellWriter of(FieldVector vector, DataType given, String column, RowsToArrow.Size size) {
    DataType type = given instanceof UserDefinedType<?> udt ? udt.sqlType() : given;
    if (vector instanceof BitVector v) {
      return writer(v, column, (from, o, at) -> v.setSafe(at, from.getBoolean(o) ? 1 : 0));
    } else if (vector instanceof TinyIntVector v) {
      return writer(v, column, (from, o, at) -> v.setSafe(at, from.getByte(o)));
    } else if (vector instanceof SmallIntVector v) {
      return writer(v, column, (from, o, at) -> v.setSafe(at, from.getShort(o)));
    } else if (vector instanceof IntVector v) {
      return writer(v, column, (from, o, at) -> v.setSafe(at, from.getInt(o)));
    } else if (vector instanceof BigIntVector v) {
      return writer(v, column, (from, o, at) -> v.setSafe(at, from.getLong(o)));
    } else if (vector instanceof Float4Vector v) {
      return writer(v, column, (from, o, at) -> v.setSafe(at, from.getFloat(o)));
    } else if (vector instanceof Float8Vector v) {
      return writer(v, column, (from, o, at) -> v.setSafe(at, from.getDouble(o)));
    } else if (vector instanceof DateDayVector v) {
      return writer(v, column, (from, o, at) -> v.setSafe(at, from.getInt(o)));
    } else if (vector instanceof DateMilliVector v) {
      return writer(v, column, (from, o, at) -> v.setSafe(at, from.getInt(o) * DAY_MILLIS));
    } else if (vector instanceof IntervalYearVector v) {
      return writer(v, column, (from, o, at) -> v.setSafe(at, from.getInt(o)));
    } else if (vector instanceof NullVector v) {
      return writer(v, column, (from, o, at) -> {});
    } else if (vector instanceof StructVector v) {
      return struct(v, type, column, size);
    }
    CellWriter found = unsigned(vector, column);
    found = found != null ? found : decimal(vector, type, column);
    found = found != null ? found : nanos(vector, type, column);
    found = found != null ? found : temporal(vector, column);
    found = found != null ? found : bytes(vector, type, column, size);
    found = found != null ? found : ListWriters.of(vector, type, column, size);
    if (found == null) {
      throw new IllegalStateException(column + ": no writer for " + vector.getField());
    }
    return found;
  }

  private static CellWriter unsigned(FieldVector vector, String column) {
    if (vector instanceof UInt1Vector v) {
      return ranged(v, column, 0xff, (from, o) -> from.getShort(o), (at, n) -> v.setSafe(at, (int) n));
    } else if (vector instanceof UInt2Vector v) {
      return ranged(v, column, 0xffff, (from, o) -> from.getInt(o), (at, n) -> v.setSafe(at, (int) n));
    } else if (vector instanceof UInt4Vector v) {
      return ranged(v, column, 0xffff_ffffL, (from, o) -> from.getLong(o), (at, n) -> v.setSafe(at, (int) n));
    } else if (vector instanceof UInt8Vector v) {
      return new CellWriter(v, column) {
        @Override
        void value(SpecializedGetters from, int ordinal, int at) {
          BigInteger n = from.getDecimal(ordinal, 20, 0).toJavaBigDecimal().toBigIntegerExact();
          if (n.signum() < 0 || n.bitLength() > 64) {
            throw misfit(n);
          }
          v.setSafe(at, n.longValue());
        }
      };
    } else if (vector instanceof Float2Vector v) {
      return new CellWriter(v, column) {
        @Override
        void value(SpecializedGetters from, int ordinal, int at) {
          float f = from.getFloat(ordinal);
          short half = Float16.toFloat16(f);
          if (Float16.toFloat(half) != f && !Float.isNaN(f)) {
            throw misfit(f);
          }
          v.setSafe(at, half);
        }
      };
    }
    return null;
  }

  private interface Whole {
    long get(SpecializedGetters from, int ordinal);
  }

  private interface Store {
    void set(int at, long n);
  }

  private static CellWriter ranged(FieldVector vector, String column, long most, Whole get, Store set) {
    return new CellWriter(vector, column) {
      @Override
      void value(SpecializedGetters from, int ordinal, int at) {
        long n = get.get(from, ordinal);
        if (n < 0 || n > most) {
          throw misfit(n);
        }
        set.set(at, n);
      }
    };
  }

  private static CellWriter decimal(FieldVector vector, DataType type, String column) {
    if (!(type instanceof DecimalType decimal) || !(vector.getField().getType() instanceof ArrowType.Decimal arrow)) {
      return null;
    }
    int precision = decimal.precision();
    int scale = decimal.scale();
    if (vector instanceof DecimalVector v && precision <= Decimal.MAX_LONG_DIGITS() && scale == arrow.getScale()) {
      return writer(v, column, (from, o, at) -> v.setSafe(at, from.getDecimal(o, precision, scale).toUnscaledLong()));
    }
    return new CellWriter(vector, column) {
      @Override
      void value(SpecializedGetters from, int ordinal, int at) {
        BigDecimal n = from.getDecimal(ordinal, precision, scale).toJavaBigDecimal();
        try {
          n = n.setScale(arrow.getScale());
        } catch (ArithmeticException e) {
          throw misfit(n);
        }
        if (n.precision() > arrow.getPrecision()) {
          throw misfit(n);
        }
        if (vector instanceof DecimalVector v) {
          v.setSafe(at, n);
        } else {
          ((Decimal256Vector) vector).setSafe(at, n);
        }
      }
    };
  }

  /** Times of day come in nanoseconds, timestamps and durations in microseconds. */
  private static CellWriter temporal(FieldVector vector, String column) {
    ArrowType t = vector.getField().getType();
    if (vector instanceof TimeStampVector v) {
      return scaled(v, column, TimeUnit.MICROSECOND, ((ArrowType.Timestamp) t).getUnit(), v::setSafe);
    } else if (vector instanceof DurationVector v) {
      return scaled(v, column, TimeUnit.MICROSECOND, ((ArrowType.Duration) t).getUnit(), v::setSafe);
    } else if (vector instanceof TimeNanoVector v) {
      return scaled(v, column, TimeUnit.NANOSECOND, TimeUnit.NANOSECOND, v::setSafe);
    } else if (vector instanceof TimeMicroVector v) {
      return scaled(v, column, TimeUnit.NANOSECOND, TimeUnit.MICROSECOND, v::setSafe);
    } else if (vector instanceof TimeMilliVector v) {
      return scaled(v, column, TimeUnit.NANOSECOND, TimeUnit.MILLISECOND, (at, n) -> v.setSafe(at, (int) n));
    } else if (vector instanceof TimeSecVector v) {
      return scaled(v, column, TimeUnit.NANOSECOND, TimeUnit.SECOND, (at, n) -> v.setSafe(at, (int) n));
    } else if (vector instanceof IntervalDayVector v) {
      return new CellWriter(v, column) {
        @Override
        void value(SpecializedGetters from, int ordinal, int at) {
          long micros = from.getLong(ordinal);
          long days = micros / DAY_MICROS;
          if (micros % 1000 != 0 || days != (int) days) {
            throw misfit(micros + " microseconds");
          }
          v.setSafe(at, (int) days, (int) (micros % DAY_MICROS / 1000));
        }
      };
    } else if (vector instanceof IntervalMonthDayNanoVector v) {
      return new CellWriter(v, column) {
        @Override
        void value(SpecializedGetters from, int ordinal, int at) {
          CalendarInterval i = from.getInterval(ordinal);
          long nanos = i.microseconds * 1000;
          if (nanos / 1000 != i.microseconds) {
            throw misfit(i);
          }
          v.setSafe(at, i.months, i.days, nanos);
        }
      };
    }
    return null;
  }

  private static long perSecond(TimeUnit unit) {
    return (long) Math.pow(1000, unit.ordinal());
  }

  private static CellWriter scaled(FieldVector vector, String column, TimeUnit comes, TimeUnit goes, Store set) {
    long factor = Math.max(1, perSecond(goes) / perSecond(comes));
    long divisor = Math.max(1, perSecond(comes) / perSecond(goes));
    return new CellWriter(vector, column) {
      @Override
      void value(SpecializedGetters from, int ordinal, int at) {
        long n = from.getLong(ordinal);
        long scaled = n * factor;
        if (n % divisor != 0 || scaled / factor != n) {
          throw misfit(n + " " + comes.name().toLowerCase(java.util.Locale.ROOT) + "s");
        }
        set.set(at, scaled / divisor);
      }
    };
  }

  private interface Sink {
    void set(int at, byte[] value);
  }

  private static CellWriter bytes(FieldVector vector, DataType type, String column, RowsToArrow.Size size) {
    Sink sink = null;
    if (vector instanceof BaseVariableWidthVector v) {
      sink = v::setSafe;
    } else if (vector instanceof BaseLargeVariableWidthVector v) {
      sink = v::setSafe;
    } else if (vector instanceof BaseVariableWidthViewVector v) {
      sink = v::setSafe;
    } else if (vector instanceof FixedSizeBinaryVector v) {
      return new CellWriter(v, column) {
        @Override
        void value(SpecializedGetters from, int ordinal, int at) {
          byte[] value = from.getBinary(ordinal);
          if (value.length != v.getByteWidth()) {
            throw misfit(value.length + " bytes");
          }
          size.bytes += value.length;
          v.setSafe(at, value);
        }
      };
    }
    if (sink == null) {
      return null;
    }
    Sink to = sink;
    if (LaterLayouts.isSpatial(type)) {
      return spatial(vector, LaterLayouts.srid(type), column, size, to);
    }
    boolean text = Types.isText(type);
    return writer(
        vector,
        column,
        (from, o, at) -> {
          byte[] value = text ? from.getUTF8String(o).getBytes() : from.getBinary(o);
          size.bytes += value.length;
          to.set(at, value);
        });
  }

  /** Geometries of one reference system, which is not written with each: a value of another is none of the column's. */
  private static CellWriter spatial(FieldVector v, int srid, String column, RowsToArrow.Size size, Sink to) {
    return new CellWriter(v, column) {
      @Override
      void value(SpecializedGetters from, int ordinal, int at) {
        byte[] value = LaterValues.spatial(from, ordinal);
        if (srid(value) != srid) {
          throw misfit("a value of SRID " + srid(value) + " beside those of " + srid);
        }
        size.bytes += value.length;
        to.set(at, wkb(value));
      }
    };
  }

  private static int srid(byte[] value) {
    return ByteBuffer.wrap(value).order(ByteOrder.LITTLE_ENDIAN).getInt();
  }

  private static byte[] wkb(byte[] value) {
    return Arrays.copyOfRange(value, Integer.BYTES, value.length);
  }

  /** Timestamps of Spark with nanoseconds, or null for others. */
  private static CellWriter nanos(FieldVector vector, DataType type, String column) {
    if (!LaterLayouts.isNanos(type) || !(vector instanceof TimeStampVector v)) {
      return null;
    }
    boolean zoned = LaterLayouts.isZoned(type);
    return new CellWriter(v, column) {
      @Override
      void value(SpecializedGetters from, int ordinal, int at) {
        try {
          v.setSafe(at, LaterValues.nanos(from, ordinal, zoned));
        } catch (ArithmeticException e) {
          throw misfit(e.getMessage());
        }
      }
    };
  }

  private static CellWriter struct(StructVector v, DataType type, String column, RowsToArrow.Size size) {
    List<FieldVector> children = v.getChildrenFromFields();
    CellWriter[] writers = new CellWriter[children.size()];
    if (type instanceof StructType struct) {
      for (int i = 0; i < writers.length; i++) {
        writers[i] =
            of(children.get(i), struct.fields()[i].dataType(), column + "." + struct.fields()[i].name(), size);
      }
      return writer(
          v,
          column,
          (from, o, at) -> {
            v.setIndexDefined(at);
            InternalRow row = from.getStruct(o, writers.length);
            for (int i = 0; i < writers.length; i++) {
              writers[i].write(row, i, at);
            }
          });
    }
    Layouts.parts(type); // it complains of a type that has none
    if (LaterLayouts.isMixed(type)) {
      IntVector srids = (IntVector) children.get(0);
      VarBinaryVector wkb = (VarBinaryVector) children.get(1);
      return writer(
          v,
          column,
          (from, o, at) -> {
            byte[] geometry = LaterValues.spatial(from, o);
            v.setIndexDefined(at);
            srids.setSafe(at, srid(geometry));
            wkb.setSafe(at, wkb(geometry));
            size.bytes += geometry.length;
          });
    }
    VarBinaryVector value = (VarBinaryVector) children.get(0);
    VarBinaryVector metadata = (VarBinaryVector) children.get(1);
    return writer(
        v,
        column,
        (from, o, at) -> {
          VariantVal variant = from.getVariant(o);
          v.setIndexDefined(at);
          value.setSafe(at, variant.getValue());
          metadata.setSafe(at, variant.getMetadata());
          size.bytes += variant.getValue().length + variant.getMetadata().length;
        });
  }
}
