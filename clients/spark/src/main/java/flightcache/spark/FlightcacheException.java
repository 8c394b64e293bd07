package flightcache.spark;

/**
 * What went wrong, with which dataset, and what to do. It is one of the exceptions that Spark's Python shows as an exception of
 * its own, with this message and no trace of the JVM.
 */
public final class FlightcacheException extends IllegalArgumentException {
  /** What kind of thing went wrong. */
  enum Kind {
    /** There is no such dataset or generation. */
    NOT_FOUND,
    /** There is one already. */
    EXISTS,
    /** The server does not know who asks, or does not let him. */
    LOGIN,
    /** Arrow's Java library cannot read what the server sent. */
    UNREADABLE,
    /** The server cannot be reached. */
    UNREACHABLE,
    /** All else. */
    OTHER
  }

  private final Kind kind;

  /** Says what was wrong, with what, and what to do. */
  public FlightcacheException(String message) {
    this(message, null);
  }

  FlightcacheException(String message, Throwable cause) {
    this(Kind.OTHER, message, cause);
  }

  FlightcacheException(Kind kind, String message, Throwable cause) {
    super(message, cause);
    this.kind = kind;
  }

  Kind kind() {
    return kind;
  }
}
