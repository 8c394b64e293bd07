package flightcache.spark;

import org.apache.spark.SparkContext;
import org.apache.spark.sql.SparkSession;

/** What is asked of the running Spark, on the driver. */
final class Session {
  private Session() {}

  static SparkContext context() {
    return SparkSession.active().sparkContext();
  }

  /** The id of the query that this thread plans or runs, or null outside of one. */
  static String execution() {
    return context().getLocalProperty("spark.sql.execution.id");
  }

  /**
   * How many partitions a read of so many bytes has, after Spark's rule for files: none larger than
   * spark.sql.files.maxPartitionBytes, as many as there are cores where they are not very small, and then a multiple of that,
   * so that no core waits for the last one.
   */
  static int partitions(long bytes) {
    return partitions(bytes, maxPartitionBytes(), context().defaultParallelism());
  }

  static int partitions(long bytes, long most, int cores) {
    final long least = 4L << 20;
    long size = Math.min(most, Math.max(least, bytes / cores));
    long n = Math.max(1, (bytes + size - 1) / size);
    if (n > cores) {
      n = (n + cores - 1) / cores * cores;
    }
    return (int) Math.min(n, 65_536);
  }

  private static long maxPartitionBytes() {
    String text = SparkSession.active().conf().get("spark.sql.files.maxPartitionBytes", "134217728");
    return org.apache.spark.network.util.JavaUtils.byteStringAsBytes(text.replaceFirst("(?<=\\d)$", "b"));
  }
}
