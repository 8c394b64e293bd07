package zooclient;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.arrow.flight.FlightClient;
import org.apache.arrow.flight.Location;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;

/** The command line; the package's documentation describes it. */
final class Main {
  private static final String SUFFIX = ".arrows";

  private Main() {}

  public static void main(String[] arguments) throws Exception {
    if (arguments.length < 4 || !List.of("put", "get").contains(arguments[2])) {
      System.err.println("usage: zooclient.Main ADDRESS FOLDER put|get PREFIX...");
      System.exit(2);
    }
    URI address = URI.create(arguments[0]);
    List<Path> files = tables(Path.of(arguments[1]));
    boolean put = arguments[2].equals("put");
    // Not closed: it would complain of what the library itself lost in a read that failed.
    BufferAllocator allocator = new RootAllocator();
    Location location = Location.forGrpcInsecure(address.getHost(), address.getPort());
    try (FlightClient client = FlightClient.builder(allocator, location).build()) {
      Service service = new Service(client, allocator);
      for (String prefix : Arrays.asList(arguments).subList(3, arguments.length)) {
        for (Path file : files) {
          String name = file.getFileName().toString();
          List<String> place = List.of(prefix, name.substring(0, name.length() - SUFFIX.length()));
          try {
            if (put) {
              service.put(place, file);
            } else {
              service.get(place, file);
            }
            report(place, "ok", null);
          } catch (Failure e) {
            report(place, e.step.name().toLowerCase(Locale.ROOT), e.getMessage());
          }
        }
      }
    }
  }

  private static List<Path> tables(Path folder) throws IOException {
    try (Stream<Path> entries = Files.list(folder)) {
      List<Path> files = entries.filter(f -> f.toString().endsWith(SUFFIX)).sorted().toList();
      if (files.isEmpty()) {
        throw new IOException("no " + SUFFIX + " file in " + folder);
      }
      return files;
    }
  }

  private static void report(List<String> place, String outcome, String why) throws IOException {
    Map<String, String> line = new LinkedHashMap<>();
    line.put("dataset", String.join("/", place));
    line.put("outcome", outcome);
    if (why != null) {
      line.put("why", why);
    }
    System.out.println(new ObjectMapper().writeValueAsString(line));
  }
}
