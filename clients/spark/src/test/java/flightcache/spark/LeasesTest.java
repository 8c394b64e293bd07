package flightcache.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.time.Instant;
import org.apache.arrow.flight.FlightEndpoint;
import org.apache.arrow.flight.Ticket;
import org.junit.jupiter.api.Test;

class LeasesTest {
  /** As it comes from the wire, where the library doubles it, and as it would be without that. */
  @Test
  void whenALeaseEnds() throws Exception {
    Instant now = Instant.parse("2026-11-30T12:00:00Z");
    Instant end = now.plusSeconds(60);
    FlightEndpoint plain = FlightEndpoint.builder(new Ticket(new byte[] {1})).setExpirationTime(end).build();
    assertEquals(end, Leases.expiration(plain, now));
    FlightEndpoint received = FlightEndpoint.deserialize(ByteBuffer.wrap(plain.serialize().array()));
    Duration off = Duration.between(end, Leases.expiration(received, now)).abs();
    assertTrue(off.compareTo(Duration.ofSeconds(1)) <= 0, () -> "off by " + off);
  }

  @Test
  void whenALeaseIsRenewed() {
    Instant now = Instant.parse("2026-11-30T12:00:00Z");
    assertEquals(now.plusSeconds(20), Leases.next(now, now.plusSeconds(60)));
    assertEquals(now.plusMillis(100), Leases.next(now, now.plusMillis(30)));
    assertEquals(now.plusMillis(100), Leases.next(now, now.minusSeconds(1)));
  }
}
