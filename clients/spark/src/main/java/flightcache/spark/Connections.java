package flightcache.spark;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.function.Function;

/**
 * The driver's connections, for metadata: one for each server and way to log in, kept for the life of the process, as planning
 * asks often and little. Tasks have connections of their own.
 */
final class Connections {
  private static final ConcurrentMap<Options, Connection> OPEN = new ConcurrentHashMap<>();

  private Connections() {}

  /** Uses the connection for these options. A token that a user was given may have ended: another is asked for, once. */
  static <T> T use(Options options, Function<Connection, T> use) {
    // What a read or a write wants beyond the login makes no other connection.
    Options login =
        new Options(
            options.addresses(), options.token(), options.username(), options.password(), options.rootCerts(), 0, 1, false, options.plainWire());
    boolean known = OPEN.containsKey(login);
    Connection connection = OPEN.computeIfAbsent(login, Connection::new);
    try {
      return use.apply(connection);
    } catch (FlightcacheException e) {
      if (e.kind() != FlightcacheException.Kind.LOGIN || options.username() == null || !known) {
        throw e;
      }
      OPEN.remove(login, connection); // scans that use it renew their leases by it: it is not closed
      return use.apply(OPEN.computeIfAbsent(login, Connection::new));
    }
  }
}
