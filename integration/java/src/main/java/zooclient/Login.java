package zooclient;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.arrow.flight.CallOption;
import org.apache.arrow.flight.FlightClient;
import org.apache.arrow.flight.FlightDescriptor;
import org.apache.arrow.flight.FlightInfo;
import org.apache.arrow.flight.FlightRuntimeException;
import org.apache.arrow.flight.FlightStream;
import org.apache.arrow.flight.Location;
import org.apache.arrow.flight.auth2.BasicAuthCredentialWriter;
import org.apache.arrow.flight.auth2.BearerCredentialWriter;
import org.apache.arrow.flight.auth2.ClientBearerHeaderHandler;
import org.apache.arrow.flight.auth2.ClientIncomingAuthHeaderMiddleware;
import org.apache.arrow.flight.client.ClientCookieMiddleware;
import org.apache.arrow.flight.grpc.CredentialCallOption;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;

/**
 * Logs in over TLS in each of the ways of the library, reads a dataset, and prints a line of JSON: the rows, or the
 * code and the message of what failed. Its arguments are the address, the file of the certificates that it trusts, the
 * dataset's path, and the ways, each with what it needs, after bars.
 */
final class Login {
  private final URI address;
  private final Path roots;
  private final FlightDescriptor dataset;
  private final BufferAllocator allocator = new RootAllocator();

  private Login(URI address, Path roots, List<String> dataset) {
    this.address = address;
    this.roots = roots;
    this.dataset = FlightDescriptor.path(dataset);
  }

  public static void main(String[] arguments) throws Exception {
    if (arguments.length < 4) {
      System.err.println("usage: zooclient.Login ADDRESS ROOTS DATASET WAY[|VALUE]...");
      System.exit(2);
    }
    List<String> dataset = List.of(arguments[2].split("/"));
    Login login = new Login(URI.create(arguments[0]), Path.of(arguments[1]), dataset);
    for (String way : Arrays.asList(arguments).subList(3, arguments.length)) {
      Map<String, Object> line = new LinkedHashMap<>();
      String[] parts = way.split("\\|");
      line.put("way", parts[0]);
      try {
        line.put("rows", login.by(parts));
      } catch (FlightRuntimeException e) {
        line.put("code", e.status().code().name());
        line.put("why", e.getMessage());
      }
      System.out.println(new ObjectMapper().writeValueAsString(line));
    }
  }

  /** Reads the dataset, known by what {@code way} says. */
  private long by(String[] way) throws Exception {
    String user = way.length > 2 ? way[1] : null;
    String password = way.length > 2 ? way[2] : null;
    ClientIncomingAuthHeaderMiddleware.Factory headers =
        new ClientIncomingAuthHeaderMiddleware.Factory(new ClientBearerHeaderHandler());
    FlightClient.Builder builder =
        FlightClient.builder(allocator, Location.forGrpcTls(address.getHost(), address.getPort()));
    builder.trustedCertificates(read(roots));
    if (way[0].equals("certificate")) {
      builder.clientCertificate(read(Path.of(way[1])), read(Path.of(way[2])));
    }
    if (way[0].equals("jdbc")) {
      builder.intercept(headers).intercept(new ClientCookieMiddleware.Factory());
    }
    try (FlightClient client = builder.build()) {
      switch (way[0]) {
        case "none", "certificate":
          return rows(client);
        case "bearer":
          return rows(client, new CredentialCallOption(new BearerCredentialWriter(way[1])));
        case "basic": // with each call, without a handshake
          return rows(client, new CredentialCallOption(new BasicAuthCredentialWriter(user, password)));
        case "token":
          return rows(client, client.authenticateBasicToken(user, password).orElseThrow());
        case "older": // the handshake by payload, with the token in a header of its own
          client.authenticateBasic(user, password);
          return rows(client);
        case "jdbc": // as the JDBC driver logs in
          client.handshake(new CredentialCallOption(new BasicAuthCredentialWriter(user, password)));
          CredentialCallOption login = headers.getCredentialCallOption();
          return rows(client, login);
        default:
          throw new IOException("unknown way: " + way[0]);
      }
    }
  }

  /** The content of a file, which the builder reads when it builds. */
  private static InputStream read(Path file) throws IOException {
    return new ByteArrayInputStream(Files.readAllBytes(file));
  }

  /** Counts the rows of the dataset, as planned and as read. */
  private long rows(FlightClient client, CallOption... options) throws Exception {
    FlightInfo info = client.getInfo(dataset, options);
    long rows = 0;
    try (FlightStream stream = client.getStream(info.getEndpoints().get(0).getTicket(), options)) {
      while (stream.next()) {
        rows += stream.getRoot().getRowCount();
      }
    }
    if (rows != info.getRecords()) {
      throw new IllegalStateException(info.getRecords() + " rows were promised, " + rows + " came");
    }
    return rows;
  }
}
