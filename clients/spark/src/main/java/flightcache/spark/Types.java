package flightcache.spark;

import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.UserDefinedType;

/** Compares types of Spark by their values. */
final class Types {
  private Types() {}

  /** Whether both hold the same values: nullability, collations and lengths of text, and digits of times of day apart. */
  static boolean same(DataType a, DataType b) {
    if (a instanceof UserDefinedType<?> udt) {
      return same(udt.sqlType(), b);
    }
    if (b instanceof UserDefinedType<?> udt) {
      return same(a, udt.sqlType());
    }
    if (isText(a) && isText(b) || LaterTypes.isTime(a) && LaterTypes.isTime(b)) {
      return true;
    }
    if (a instanceof ArrayType x && b instanceof ArrayType y) {
      return same(x.elementType(), y.elementType());
    }
    if (a instanceof MapType x && b instanceof MapType y) {
      return same(x.keyType(), y.keyType()) && same(x.valueType(), y.valueType());
    }
    if (a instanceof StructType x && b instanceof StructType y) {
      if (x.size() != y.size()) {
        return false;
      }
      for (int i = 0; i < x.size(); i++) {
        if (!x.fields()[i].name().equals(y.fields()[i].name())
            || !same(x.fields()[i].dataType(), y.fields()[i].dataType())) {
          return false;
        }
      }
      return true;
    }
    return a.equals(b);
  }

  /** Strings of every collation, char and varchar. */
  static boolean isText(DataType t) {
    String name = t.typeName();
    return t instanceof StringType || name.startsWith("char(") || name.startsWith("varchar(");
  }
}
