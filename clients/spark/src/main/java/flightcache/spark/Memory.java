package flightcache.spark;

import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;

/** The memory of all vectors of this process. */
final class Memory {
  private static final BufferAllocator ROOT = new RootAllocator(Long.MAX_VALUE);

  private Memory() {}

  /** An allocator that complains when it is closed before all that it gave. */
  static BufferAllocator child(String name) {
    return ROOT.newChildAllocator(name, 0, Long.MAX_VALUE);
  }
}
