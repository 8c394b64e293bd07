package zooclient;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.function.BiFunction;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.ValueVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.compare.Range;
import org.apache.arrow.vector.compare.RangeEqualsVisitor;
import org.apache.arrow.vector.compare.VectorEqualsVisitor;
import org.apache.arrow.vector.types.pojo.DictionaryEncoding;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.FieldType;

/** Equality of tables whose batches may be cut at other rows. */
final class Comparison {
  /**
   * Leaves types out when values are compared: they were compared with the schemas, and the library's own comparison
   * tells dictionaries of equal values apart by their ids.
   */
  private static final BiFunction<ValueVector, ValueVector, Boolean> ANY_TYPES = (left, right) -> true;

  private Comparison() {}

  /** Reports the first difference: schema with all metadata, number of rows, dictionaries, values. */
  static void check(Table written, Table read) throws Failure {
    if (!withoutIds(written.schema.getFields()).equals(withoutIds(read.schema.getFields()))
        || !written.schema.getCustomMetadata().equals(read.schema.getCustomMetadata())) {
      throw new Failure(Failure.Step.SCHEMA, "wrote " + written.schema + ", read " + read.schema);
    }
    if (written.rows() != read.rows()) {
      throw new Failure(Failure.Step.VALUES, "wrote " + written.rows() + " rows, read " + read.rows());
    }
    Failure.in(
        Failure.Step.VALUES,
        () -> {
          checkDictionaries(written, read);
          checkValues(written, read);
          return null;
        });
  }

  /** The fields with 0 as the id of every dictionary: ids are the writer's to choose. */
  private static List<Field> withoutIds(List<Field> fields) {
    List<Field> result = new ArrayList<>();
    for (Field field : fields) {
      DictionaryEncoding encoding = field.getDictionary();
      if (encoding != null) {
        encoding = new DictionaryEncoding(0, encoding.isOrdered(), encoding.getIndexType());
      }
      FieldType type = new FieldType(field.isNullable(), field.getType(), encoding, field.getMetadata());
      result.add(new Field(field.getName(), type, withoutIds(field.getChildren())));
    }
    return result;
  }

  private static void checkDictionaries(Table written, Table read) throws Failure {
    List<FieldVector> ours = written.innerDictionaries();
    List<FieldVector> theirs = read.innerDictionaries();
    if (ours.size() != theirs.size()) {
      throw new Failure(Failure.Step.VALUES, "wrote " + ours.size() + " dictionaries, read " + theirs.size());
    }
    for (int i = 0; i < ours.size(); i++) {
      if (!VectorEqualsVisitor.vectorEquals(ours.get(i), theirs.get(i), ANY_TYPES)) {
        throw new Failure(Failure.Step.VALUES, "dictionary " + i + " within another type differs");
      }
    }
  }

  private static void checkValues(Table written, Table read) throws Failure {
    Walk ours = new Walk(written);
    Walk theirs = new Walk(read);
    for (long row = 0; row < written.rows(); ) {
      int step = Math.min(ours.left(), theirs.left());
      for (int column = 0; column < written.schema.getFields().size(); column++) {
        FieldVector left = ours.batch.getVector(column);
        FieldVector right = theirs.batch.getVector(column);
        Range range = new Range(ours.at, theirs.at, step);
        if (!new RangeEqualsVisitor(left, right, ANY_TYPES).rangeEquals(range)) {
          String name = written.schema.getFields().get(column).getName();
          throw new Failure(
              Failure.Step.VALUES, "column \"" + name + "\" differs in the " + step + " rows from row " + row);
        }
      }
      ours.at += step;
      theirs.at += step;
      row += step;
    }
  }

  /** A walk over the batches of a table in steps of any number of rows. */
  private static final class Walk {
    private final Iterator<VectorSchemaRoot> rest;
    VectorSchemaRoot batch;
    int at;

    Walk(Table table) {
      rest = table.batches.iterator();
    }

    /** Rows left in the batch that the walk has come to; batches that are used up or empty are left behind. */
    int left() {
      while (batch == null || batch.getRowCount() == at) {
        batch = rest.next();
        at = 0;
      }
      return batch.getRowCount() - at;
    }
  }
}
