package flightcache.spark;

import java.io.IOException;
import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * The options of a read, a write or a catalog. Names are not case-sensitive. Certificates are read where the options are, on
 * the driver: tasks get what is in the file.
 *
 * @param addresses servers, tried in this order
 * @param token sent as a bearer token, or null
 * @param username for the handshake that gives a bearer token, or null
 * @param password of that user, or null
 * @param rootCerts PEM of the authorities that the server's certificate is checked against, or null for the JDK's
 * @param partitions how many partitions a read has at most, 0 for as many as its size asks for
 * @param batchRows the most rows of a batch that is written
 * @param truncateNanos whether timestamps lose their nanoseconds, where otherwise a value that has some is an error
 * @param plainWire whether the server decodes all that it sends, where otherwise what is stored as zstd is sent so
 */
record Options(
    List<String> addresses,
    String token,
    String username,
    String password,
    String rootCerts,
    int partitions,
    int batchRows,
    boolean truncateNanos,
    boolean plainWire)
    implements Serializable {
  static final String ADDRESS = "address";
  static final String DATASET = "dataset";
  static final String TOKEN = "token";
  static final String USERNAME = "username";
  static final String PASSWORD = "password";
  static final String ROOT_CERTS = "tls.root-certs";
  static final String PARTITIONS = "partitions";
  static final String BATCH_ROWS = "batch.rows";
  static final String GENERATION = "generation";
  static final String NANOS = "timestamp.nanos";
  static final String WIRE = "wire";

  static final String DEFAULT_ADDRESS = "grpc://127.0.0.1:8815";
  static final int DEFAULT_BATCH_ROWS = 65_536;

  static Options of(Map<String, String> given) {
    Map<String, String> options = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
    options.putAll(given);
    List<String> addresses = new ArrayList<>();
    for (String address : options.getOrDefault(ADDRESS, DEFAULT_ADDRESS).split(",")) {
      if (!address.isBlank()) {
        addresses.add(checked(address.strip()));
      }
    }
    if (addresses.isEmpty()) {
      throw new FlightcacheException("the option address names no server: give one such as " + DEFAULT_ADDRESS);
    }
    String token = options.get(TOKEN);
    String username = options.get(USERNAME);
    if ((username == null) != (options.get(PASSWORD) == null)) {
      throw new FlightcacheException("the options username and password belong together: give both or neither");
    }
    if (token != null && username != null) {
      throw new FlightcacheException("the options token and username exclude each other: give one of them");
    }
    String roots = options.get(ROOT_CERTS);
    return new Options(
        List.copyOf(addresses),
        token,
        username,
        options.get(PASSWORD),
        roots == null ? null : file(roots),
        number(options, PARTITIONS, 0, 65_536),
        number(options, BATCH_ROWS, DEFAULT_BATCH_ROWS, Integer.MAX_VALUE),
        chooses(options, NANOS, "exact", "truncate"),
        chooses(options, WIRE, "stored", "none"));
  }

  static Options of(CaseInsensitiveStringMap options) {
    return of(options.asCaseSensitiveMap());
  }

  private static String checked(String address) {
    for (String scheme : List.of("grpc://", "grpc+tcp://", "grpc+tls://")) {
      if (address.startsWith(scheme)) {
        return address;
      }
    }
    throw new FlightcacheException(
        "the address " + address + " is none that can be connected to: begin it with grpc:// or grpc+tls://");
  }

  private static String file(String path) {
    try {
      return Files.readString(Path.of(path), StandardCharsets.US_ASCII);
    } catch (IOException e) {
      throw new FlightcacheException("the file of the option " + ROOT_CERTS + ", " + path + ", cannot be read: " + e, e);
    }
  }

  private static int number(Map<String, String> options, String name, int absent, int most) {
    String text = options.get(name);
    if (text == null) {
      return absent;
    }
    try {
      int n = Integer.parseInt(text.strip());
      if (n >= 1 && n <= most) {
        return n;
      }
    } catch (NumberFormatException e) {
      // Told below, with what is wanted.
    }
    throw new FlightcacheException("the option " + name + " is " + text + ": give a number from 1 to " + most);
  }

  /** Whether an option that has two values has the second; the first is meant where it is absent. */
  private static boolean chooses(Map<String, String> options, String name, String first, String second) {
    String text = options.getOrDefault(name, first);
    if (text.equalsIgnoreCase(first)) {
      return false;
    }
    if (text.equalsIgnoreCase(second)) {
      return true;
    }
    throw new FlightcacheException("the option " + name + " is " + text + ": give " + first + " or " + second);
  }

  /** These options with one server only, the one that made the tickets. */
  Options at(String address) {
    return new Options(
        List.of(address), token, username, password, rootCerts, partitions, batchRows, truncateNanos, plainWire);
  }

  /** Secrets stay out of logs and plans. */
  @Override
  public String toString() {
    return "address " + String.join(",", addresses);
  }
}
