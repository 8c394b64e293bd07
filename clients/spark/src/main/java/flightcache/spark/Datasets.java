package flightcache.spark;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.connector.catalog.Identifier;

/** Names of datasets: written {@code sales/2024}, which is the table {@code 2024} of the namespace {@code sales}. */
final class Datasets {
  private Datasets() {}

  /** The dataset that options name, by {@code dataset} or by what {@code load} was given. */
  static String of(Map<String, String> options) {
    String name = null;
    for (Map.Entry<String, String> e : options.entrySet()) {
      if (e.getKey().equalsIgnoreCase(Options.DATASET)) {
        return checked(e.getValue());
      }
      if (e.getKey().equalsIgnoreCase("path")) {
        name = e.getValue();
      }
    }
    if (name == null) {
      throw new FlightcacheException("no dataset is named: give the option dataset, such as sales/2024");
    }
    return checked(name);
  }

  private static String checked(String name) {
    if (name.isEmpty()) {
      throw new FlightcacheException("the option dataset is empty: give a name such as sales/2024");
    }
    return name;
  }

  static String of(Identifier table) {
    List<String> segments = new ArrayList<>(Arrays.asList(table.namespace()));
    segments.add(table.name());
    return String.join("/", segments);
  }

  static Identifier identifier(List<String> segments) {
    int last = segments.size() - 1;
    return Identifier.of(segments.subList(0, last).toArray(String[]::new), segments.get(last));
  }
}
