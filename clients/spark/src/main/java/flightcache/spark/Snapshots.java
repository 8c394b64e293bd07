package flightcache.spark;

import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * What a query reads of each dataset, as in a join with itself or in a subquery: all of it is of one generation. A scan is planned
 * at the server when Spark asks for its size, and a dataset may be replaced between two of them: before the first gives out its
 * partitions, those that found an older generation are planned again. What statistics answered cannot be: where rows of another
 * generation would be read beside it, the query fails, and says so.
 */
final class Snapshots {
  private static final int MOST_QUERIES = 1000;
  private static final int MOST_TRIES = 100;

  /** A dataset in a query. */
  record Key(String execution, Options options, String dataset) {}

  private static final class Reads {
    final List<WeakReference<DatasetScan>> scans = new ArrayList<>();
    WeakReference<AggregateScan> answer = new WeakReference<>(null); // the last

    List<DatasetScan> present() {
      return scans.stream().map(WeakReference::get).filter(Objects::nonNull).toList();
    }
  }

  private static final Map<Key, Reads> READS =
      new LinkedHashMap<>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<Key, Reads> eldest) {
          return size() > MOST_QUERIES;
        }
      };

  private Snapshots() {}

  /** The dataset in the query that this thread plans, or null outside of one: there, reads are by themselves. */
  static Key key(Dataset dataset) {
    String execution = Session.execution();
    return execution == null ? null : new Key(execution, dataset.options(), dataset.name());
  }

  /** Notes a scan. */
  static void note(Key key, DatasetScan scan) {
    if (key != null) {
      synchronized (READS) {
        READS.computeIfAbsent(key, k -> new Reads()).scans.add(new WeakReference<>(scan));
      }
    }
  }

  /** Notes what statistics answered. */
  static void note(Key key, AggregateScan answer) {
    if (key != null) {
      synchronized (READS) {
        READS.computeIfAbsent(key, k -> new Reads()).answer = new WeakReference<>(answer);
      }
    }
  }

  /** The generation that the query has found so far, or null. */
  static String found(Key key) {
    Reads reads = reads(key);
    AggregateScan answer = reads.answer.get();
    if (answer != null) {
      return answer.generation();
    }
    return reads.present().stream().map(DatasetScan::found).filter(Objects::nonNull).findFirst().orElse(null);
  }

  /** A copy of what is noted. */
  private static Reads reads(Key key) {
    Reads copy = new Reads();
    synchronized (READS) {
      Reads reads = key == null ? null : READS.get(key);
      if (reads != null) {
        copy.scans.addAll(reads.scans);
        copy.answer = reads.answer;
      }
    }
    return copy;
  }

  /** Has all scans of the query read the generation that this one reads, which is about to be read. */
  static void agree(Key key, DatasetScan scan) {
    Reads reads = reads(key);
    List<DatasetScan> scans = reads.present();
    AggregateScan answer = reads.answer.get();
    for (int i = 0; i < MOST_TRIES; i++) {
      String generation = scan.generation();
      if (answer != null && !answer.generation().equals(generation)) {
        throw new FlightcacheException(
            "dataset " + key.dataset + " was replaced while a query was planned that reads it by statistics and by rows: try again");
      }
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
        "dataset " + key.dataset + " is replaced again and again while a query is planned that reads it more than once: try again");
  }
}
