package flightcache.spark;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.arrow.flight.FlightInfo;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.FieldType;
import org.apache.arrow.vector.types.pojo.Schema;

/**
 * The schema of a dataset of which Arrow's Java library cannot read all: it then reads none of it. So each column is asked for
 * by itself, and one that cannot be read is as one of nulls, with a note of what it is.
 */
final class ReadableSchema {
  /** The key of that note. */
  static final String NOTE = "flightcache:not-readable";

  private ReadableSchema() {}

  /** The schema by the columns of a read command; the reason is thrown where even a read of no columns is none. */
  static Schema of(Connection c, String dataset, ObjectNode command, FlightcacheException reason) {
    List<Facts.Column> columns;
    try {
      FlightInfo none = c.info(dataset, Json.bytes(command.deepCopy().set("columns", Json.array())));
      c.cancel(none);
      columns = Facts.of(dataset, none.getAppMetadata()).columns();
    } catch (FlightcacheException e) {
      throw reason;
    }
    List<Field> fields = new ArrayList<>();
    for (int i = 0; i < columns.size(); i++) {
      fields.add(field(c, dataset, command.deepCopy().set("columns", Json.array().add(i)), columns.get(i)));
    }
    return new Schema(fields);
  }

  private static Field field(Connection c, String dataset, ObjectNode command, Facts.Column column) {
    try {
      FlightInfo info = c.info(dataset, Json.bytes(command));
      c.cancel(info);
      return info.getSchemaOptional().orElseThrow().getFields().get(0);
    } catch (FlightcacheException e) {
      if (e.kind() != FlightcacheException.Kind.UNREADABLE) {
        throw e;
      }
      FieldType type = new FieldType(true, ArrowType.Null.INSTANCE, null, Map.of(NOTE, column.type()));
      return new Field(column.name(), type, null);
    }
  }
}
