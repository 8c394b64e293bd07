package flightcache.spark;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;

/**
 * What the server tells of a generation beside its schema.
 *
 * @param generation its id
 * @param rows all of them
 * @param decodedBytes the plain size of all columns
 * @param storedBytes what the server keeps
 * @param columns in the order of the schema, whatever columns were asked for
 * @param sortedBy the order of the rows, such as {@code x} or {@code -y}; empty if there is none
 * @param mostRows the most rows that a filter keeps, or all
 */
record Facts(
    String generation,
    long rows,
    long decodedBytes,
    long storedBytes,
    List<Column> columns,
    List<String> sortedBy,
    long mostRows) {

  /** A column. Min and max are absent (null) where there are no values, or no such bounds; exact says that both occur. */
  record Column(
      String name, String type, long decodedBytes, long nulls, JsonNode min, JsonNode max, boolean exact, boolean hasNaN) {}

  static Facts of(String dataset, byte[] metadata) {
    try {
      JsonNode j = Json.parse(metadata);
      List<Column> columns = new ArrayList<>();
      for (JsonNode c : j.path("columns")) {
        columns.add(
            new Column(
                c.path("name").asText(),
                c.path("type").asText(),
                c.path("decoded_bytes").asLong(),
                c.path("null_count").asLong(),
                c.get("min"),
                c.get("max"),
                c.path("exact").asBoolean(),
                c.path("has_nan").asBoolean()));
      }
      List<String> sortedBy = new ArrayList<>();
      j.path("sorted_by").forEach(k -> sortedBy.add(k.asText()));
      long rows = j.path("rows").asLong();
      return new Facts(
          j.path("generation").asText(),
          rows,
          j.path("decoded_bytes").asLong(),
          j.path("stored_bytes").asLong(),
          List.copyOf(columns),
          List.copyOf(sortedBy),
          j.path("rows_max").asLong(rows));
    } catch (JsonProcessingException e) {
      throw new FlightcacheException(
          "dataset " + dataset + ": its facts are not those of a flightcache server: " + e.getMessage(), e);
    }
  }

  /** Whether two generations have the same columns: what was resolved against one holds for the other. */
  boolean sameColumns(Facts other) {
    if (columns.size() != other.columns.size()) {
      return false;
    }
    for (int i = 0; i < columns.size(); i++) {
      if (!columns.get(i).name.equals(other.columns.get(i).name)
          || !columns.get(i).type.equals(other.columns.get(i).type)) {
        return false;
      }
    }
    return true;
  }
}
