package flightcache.spark;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The generations that running queries read: two scans of one dataset in one query, as in a join with itself, read the same one.
 * The first to be planned decides, and its lease keeps the generation.
 */
final class Snapshots {
  private static final int MOST = 10_000;

  private record Key(String execution, String address, String dataset) {}

  private static final Map<Key, String> GENERATIONS =
      new LinkedHashMap<>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<Key, String> eldest) {
          return size() > MOST;
        }
      };

  private Snapshots() {}

  /** The generation that this query reads already, or null. */
  static synchronized String of(String execution, String address, String dataset) {
    return execution == null ? null : GENERATIONS.get(new Key(execution, address, dataset));
  }

  static synchronized void note(String execution, String address, String dataset, String generation) {
    if (execution != null) {
      GENERATIONS.put(new Key(execution, address, dataset), generation);
    }
  }
}
