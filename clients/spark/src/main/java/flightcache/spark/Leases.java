package flightcache.spark;

import java.lang.ref.WeakReference;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.arrow.flight.FlightEndpoint;
import org.apache.arrow.flight.FlightInfo;
import org.apache.spark.SparkContext;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps the leases of scans alive, so that every task and every retry reads the generation that was planned: while the plan is
 * held by whoever may run it, and jobs run or ran shortly before. A notebook that is left open thus does not keep old generations
 * forever. A lease whose plan is gone is ended at its next turn.
 */
final class Leases {
  private static final Logger LOG = LoggerFactory.getLogger(Leases.class);

  /** How long after the last job leases are still renewed. */
  private static final Duration IDLE = Duration.ofMinutes(10);

  /** The least time between two turns. */
  private static final Duration SHORTEST = Duration.ofMillis(100);

  /** Longer than any lease. */
  private static final Duration LONGEST = Duration.ofDays(3650);

  private static final List<Held> HELD = new ArrayList<>();
  private static Thread keeper;

  private Leases() {}

  private static final class Held {
    final WeakReference<Object> plan;
    final SparkContext context;
    final Connection connection;
    final FlightInfo info;
    final FlightEndpoint endpoint; // the lease is that of all endpoints
    Instant ends;
    Instant due;
    Instant busy = Instant.now();

    Held(Object plan, SparkContext context, Connection connection, FlightInfo info) {
      this.plan = new WeakReference<>(plan);
      this.context = context;
      this.connection = connection;
      this.info = info;
      this.endpoint = info.getEndpoints().get(0);
      runs(endpoint);
    }

    private void runs(FlightEndpoint renewed) {
      Instant now = Instant.now();
      ends = expiration(renewed, now);
      due = next(now, ends);
    }

    /** Puts the next turn off after one that failed; false: the lease is over. */
    boolean again() {
      Instant now = Instant.now();
      due = next(now, ends);
      return now.isBefore(ends);
    }

    /** Renews or lets go; true: it is still held. */
    boolean turn() {
      if (plan.get() == null || context.isStopped()) {
        connection.cancel(info);
        return false;
      }
      if (context.statusTracker().getActiveJobIds().length > 0) {
        busy = Instant.now();
      } else if (busy.plus(IDLE).isBefore(Instant.now())) {
        return false;
      }
      runs(connection.renew(endpoint));
      return true;
    }
  }

  /** After a third of the time that is left, and not at once again. */
  static Instant next(Instant now, Instant ends) {
    Duration third = Duration.between(now, ends).dividedBy(3);
    return now.plus(third.compareTo(SHORTEST) < 0 ? SHORTEST : third);
  }

  /**
   * When an endpoint's lease ends. flight-core 19.0.0 adds the seconds of the time to themselves, which makes it one of the next
   * century: no lease is that long.
   */
  static Instant expiration(FlightEndpoint endpoint, Instant now) {
    Instant told = endpoint.getExpirationTime().orElse(now);
    boolean doubled = told.isAfter(now.plus(LONGEST));
    return doubled ? Instant.ofEpochMilli(told.toEpochMilli() / 2) : told;
  }

  /** Keeps the lease of a plan for as long as that is reachable. Where there is none, the tickets have no time. */
  static synchronized void keep(Object plan, SparkContext context, Connection connection, FlightInfo info) {
    if (info.getEndpoints().isEmpty() || info.getEndpoints().get(0).getExpirationTime().isEmpty()) {
      return;
    }
    HELD.add(new Held(plan, context, connection, info));
    if (keeper == null) {
      keeper = new Thread(Leases::run, "flightcache-leases");
      keeper.setDaemon(true);
      keeper.start();
    }
    Leases.class.notifyAll();
  }

  private static void run() {
    while (true) {
      for (Held held : due()) {
        boolean keeps = false;
        try {
          keeps = held.turn();
        } catch (RuntimeException e) {
          // A server that cannot be reached now may be reached before the lease is over.
          keeps = held.again() && !(e instanceof FlightcacheException f && f.kind() == FlightcacheException.Kind.NOT_FOUND);
          LOG.warn(
              "a lease could not be renewed; {}: {}",
              keeps ? "it is tried again" : "what is planned may have to be planned again",
              e.getMessage());
        }
        if (keeps) {
          synchronized (Leases.class) {
            HELD.add(held);
          }
        }
      }
    }
  }

  /** Waits for leases whose turn has come, and takes them out. */
  private static synchronized List<Held> due() {
    List<Held> due = new ArrayList<>();
    while (due.isEmpty()) {
      Instant now = Instant.now();
      long wait = 60_000;
      for (Iterator<Held> i = HELD.iterator(); i.hasNext(); ) {
        Held held = i.next();
        long left = Duration.between(now, held.due).toMillis();
        if (left <= 0) {
          due.add(held);
          i.remove();
        } else {
          wait = Math.min(wait, left);
        }
      }
      if (due.isEmpty()) {
        try {
          Leases.class.wait(wait);
        } catch (InterruptedException e) {
          // Nobody interrupts it for a reason: leases are still to be kept.
        }
      }
    }
    return due;
  }
}
