package flightcache.spark;

import org.apache.arrow.vector.FieldVector;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;

/** Writes one column's cells: its nulls here, its values by kind. */
abstract class CellWriter {
  final FieldVector vector;
  final String column;
  private final boolean nullable;

  /** Of a vector; the column's name is for messages. */
  CellWriter(FieldVector vector, String column) {
    this.vector = vector;
    this.column = column;
    nullable = vector.getField().isNullable();
  }

  final void write(SpecializedGetters from, int ordinal, int at) {
    if (!from.isNullAt(ordinal)) {
      value(from, ordinal, at);
    } else if (nullable) {
      vector.setNull(at);
    } else {
      throw new FlightcacheException(column + " takes no nulls, and a row has one; replace it, or overwrite the dataset");
    }
  }

  /** Writes a value that is not null. */
  abstract void value(SpecializedGetters from, int ordinal, int at);

  /** A value that the dataset's type cannot hold. */
  final FlightcacheException misfit(Object value) {
    return new FlightcacheException(
        column + " is " + vector.getField().getType() + ", which cannot hold " + value + "; cast it, or overwrite the dataset");
  }
}
