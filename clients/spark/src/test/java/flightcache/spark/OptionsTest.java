package flightcache.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class OptionsTest {
  @Test
  void defaults() {
    Options o = Options.of(Map.of());
    assertEquals(List.of(Options.DEFAULT_ADDRESS), o.addresses());
    assertEquals(0, o.partitions());
    assertEquals(Options.DEFAULT_BATCH_ROWS, o.batchRows());
    assertFalse(o.truncateNanos());
  }

  @Test
  void severalAddressesInTheirOrder() {
    Options o = Options.of(Map.of("Address", "grpc://b:1, grpc+tls://a:2,"));
    assertEquals(List.of("grpc://b:1", "grpc+tls://a:2"), o.addresses());
    assertEquals(List.of("grpc://c:3"), o.at("grpc://c:3").addresses());
  }

  @Test
  void certificatesAreReadWhereTheOptionsAre(@TempDir Path folder) throws IOException {
    Path pem = Files.writeString(folder.resolve("roots.pem"), "-----BEGIN CERTIFICATE-----");
    assertEquals("-----BEGIN CERTIFICATE-----", Options.of(Map.of("tls.root-certs", pem.toString())).rootCerts());
  }

  @Test
  void secretsAreNotShown() {
    String shown = Options.of(Map.of("token", "abracadabra")).toString();
    assertFalse(shown.contains("abracadabra"));
    String user = Options.of(Map.of("username", "u", "password", "sesame")).toString();
    assertFalse(user.contains("sesame"));
  }

  @ParameterizedTest
  @CsvSource({
    "address,http://h:1,begin it with grpc://",
    "address,',',names no server",
    "username,u,give both or neither",
    "partitions,0,give a number from 1",
    "partitions,many,give a number from 1",
    "batch.rows,-1,give a number from 1",
    "timestamp.nanos,round,give exact or truncate",
    "wire,zstd,give stored or none",
    "tls.root-certs,/nowhere/roots.pem,cannot be read",
  })
  void refusals(String name, String value, String says) {
    FlightcacheException e = assertThrows(FlightcacheException.class, () -> Options.of(Map.of(name, value)));
    assertTrue(e.getMessage().contains(says), e.getMessage());
  }

  @Test
  void oneLoginAtATime() {
    Map<String, String> both = Map.of("token", "t", "username", "u", "password", "p");
    assertThrows(FlightcacheException.class, () -> Options.of(both));
  }

  @Test
  void datasetByOptionOrByPath() {
    assertEquals("a/b", Datasets.of(Map.of("Dataset", "a/b", "path", "c")));
    assertEquals("c", Datasets.of(Map.of("path", "c")));
    assertThrows(FlightcacheException.class, () -> Datasets.of(Map.of()));
    assertThrows(FlightcacheException.class, () -> Datasets.of(Map.of("dataset", "")));
  }
}
