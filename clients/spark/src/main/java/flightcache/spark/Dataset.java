package flightcache.spark;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.arrow.flight.FlightInfo;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.Schema;
import org.apache.spark.sql.types.StructType;

/**
 * What is known of a dataset when it becomes a table.
 *
 * @param options those of the read
 * @param name as written
 * @param generation the only one that is to be read, or null for the newest
 * @param arrow its schema; dictionary-encoded fields have the types of their values
 * @param schema the same in Spark's types
 * @param facts of the generation that was found
 */
record Dataset(Options options, String name, String generation, Schema arrow, StructType schema, Facts facts) {

  /** What a read command of it begins with. */
  ObjectNode command() {
    return command(name, generation);
  }

  private static ObjectNode command(String name, String generation) {
    ObjectNode command = Json.object().put("dataset", name);
    if (generation != null) {
      command.put("generation", generation);
    }
    return command;
  }

  /** Asks for the dataset. Its errors have the kind NOT_FOUND where there is none. */
  static Dataset load(Options options, String name, String generation) {
    ObjectNode command = command(name, generation);
    return Connection.first(
        options,
        c -> {
          FlightInfo info;
          Schema arrow;
          try {
            info = c.info(name, Json.bytes(command));
            arrow = info.getSchemaOptional().orElseThrow();
          } catch (FlightcacheException e) {
            if (e.kind() != FlightcacheException.Kind.UNREADABLE) {
              throw e;
            }
            arrow = ReadableSchema.of(c, name, command, e);
            info = c.info(name, Json.bytes(command.set("columns", Json.array())));
          }
          c.cancel(info); // each scan has a lease of its own
          return new Dataset(
              options, name, generation, arrow, ArrowToSpark.schema(arrow), Facts.of(name, info.getAppMetadata()));
        });
  }

  /** The top-level fields by name; one that has the name of another is not among them. */
  Map<String, Field> fields() {
    Map<String, Field> fields = new LinkedHashMap<>();
    for (Field f : arrow.getFields()) {
      fields.putIfAbsent(f.getName(), f);
    }
    return fields;
  }

  /** The ordinal of a top-level column. Two of one name cannot be told apart. */
  int ordinal(String column) {
    List<Field> fields = arrow.getFields();
    int found = -1;
    for (int i = 0; i < fields.size(); i++) {
      if (fields.get(i).getName().equals(column)) {
        if (found >= 0) {
          throw new FlightcacheException(
              "dataset " + name + " has two columns of the name " + column + ", which Spark cannot tell apart; select the others");
        }
        found = i;
      }
    }
    if (found < 0) {
      throw new FlightcacheException("dataset " + name + " has no column " + column + "; make the DataFrame anew");
    }
    return found;
  }

  /** Whether a name anywhere in the schema has a dot: then a dotted path may mean more than one column. */
  boolean hasDots() {
    return hasDots(arrow.getFields());
  }

  private static boolean hasDots(List<Field> fields) {
    return fields.stream().anyMatch(f -> f.getName().contains(".") || hasDots(f.getChildren()));
  }
}
