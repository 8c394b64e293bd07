package flightcache.spark;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

/**
 * The driver's connections, for metadata: one for each server and way to log in, kept for the life of the process, as planning
 * asks often and little. Tasks have connections of their own.
 */
final class Connections {
  private static final ConcurrentMap<Options, Connection> OPEN = new ConcurrentHashMap<>();

  private Connections() {}

  static Connection of(Options options) {
    // What a read or a write wants beyond the login makes no other connection.
    Options login =
        new Options(
            options.addresses(), options.token(), options.username(), options.password(), options.rootCerts(), 0, 1, false);
    return OPEN.computeIfAbsent(login, Connection::new);
  }
}
