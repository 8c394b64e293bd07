package flightcache.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SessionTest {
  @ParameterizedTest
  @CsvSource({
    // bytes, most, cores, partitions
    "0, 134217728, 2, 1",
    "1000000, 134217728, 8, 1",
    "13000000, 134217728, 2, 2", // enough for both cores
    "13000000, 134217728, 64, 4", // and not so many that each has next to nothing
    "330427898, 134217728, 2, 4", // three would leave one core idle at the end
    "10000000000000, 134217728, 2, 65536",
  })
  void partitionsBySize(long bytes, long most, int cores, int expected) {
    assertEquals(expected, Session.partitions(bytes, most, cores));
  }
}
