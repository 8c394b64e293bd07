package flightcache.spark;

import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * The scans that a query has of each dataset, as in a join with itself: all of them read one generation. A scan is planned at the
 * server when Spark asks for its size, and a dataset may be replaced between two of them: before the first gives out its
 * partitions, those that found an older generation are planned again.
 */
final class Snapshots {
  private static final int MOST_QUERIES = 1000;
  private static final int MOST_TRIES = 100;

  private record Key(String execution, Options options, String dataset) {}

  private static final Map<Key, List<WeakReference<DatasetScan>>> SCANS =
      new LinkedHashMap<>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<Key, List<WeakReference<DatasetScan>>> eldest) {
          return size() > MOST_QUERIES;
        }
      };

  private Snapshots() {}

  /** Notes a scan of the query that this thread plans; outside of one, scans are by themselves. */
  static void note(DatasetScan scan, Options options, String dataset) {
    String execution = Session.execution();
    if (execution != null) {
      synchronized (SCANS) {
        SCANS.computeIfAbsent(new Key(execution, options, dataset), k -> new ArrayList<>())
            .add(new WeakReference<>(scan));
      }
    }
  }

  private static List<DatasetScan> together(DatasetScan scan, Options options, String dataset) {
    synchronized (SCANS) {
      for (Map.Entry<Key, List<WeakReference<DatasetScan>>> e : SCANS.entrySet()) {
        if (e.getKey().options.equals(options) && e.getKey().dataset.equals(dataset)) {
          List<DatasetScan> scans = e.getValue().stream().map(WeakReference::get).filter(Objects::nonNull).toList();
          if (scans.contains(scan)) {
            return scans;
          }
        }
      }
    }
    return List.of(scan);
  }

  /** Has all scans of the query read the generation that this one reads, which is about to be read. */
  static void agree(DatasetScan scan, Options options, String dataset) {
    List<DatasetScan> scans = together(scan, options, dataset);
    for (int i = 0; i < MOST_TRIES; i++) {
      String generation = scan.generation();
      boolean agreed = true;
      for (DatasetScan other : scans) {
        agreed &= other == scan || other.reads(generation);
      }
      if (agreed) {
        return;
      }
      scan.forget();
    }
    throw new FlightcacheException(
        "dataset " + dataset + " is replaced again and again while a query is planned that reads it more than once: try again");
  }
}
