package flightcache.spark;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.protobuf.ByteString;
import flightcache.spark.FlightcacheException.Kind;
import io.grpc.ManagedChannel;
import io.grpc.StatusRuntimeException;
import java.io.ByteArrayInputStream;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.apache.arrow.flight.Action;
import org.apache.arrow.flight.CallHeaders;
import org.apache.arrow.flight.CallOption;
import org.apache.arrow.flight.CallOptions;
import org.apache.arrow.flight.CancelFlightInfoRequest;
import org.apache.arrow.flight.FlightCallHeaders;
import org.apache.arrow.flight.FlightClient;
import org.apache.arrow.flight.FlightDescriptor;
import org.apache.arrow.flight.FlightEndpoint;
import org.apache.arrow.flight.FlightGrpcUtils;
import org.apache.arrow.flight.FlightInfo;
import org.apache.arrow.flight.FlightRuntimeException;
import org.apache.arrow.flight.FlightStatusCode;
import org.apache.arrow.flight.FlightStream;
import org.apache.arrow.flight.HeaderCallOption;
import org.apache.arrow.flight.Location;
import org.apache.arrow.flight.RenewFlightEndpointRequest;
import org.apache.arrow.flight.Result;
import org.apache.arrow.flight.Ticket;
import org.apache.arrow.flight.grpc.CredentialCallOption;
import org.apache.arrow.flight.grpc.NettyClientBuilder;
import org.apache.arrow.flight.grpc.StatusUtils;
import org.apache.arrow.flight.impl.Flight;
import org.apache.arrow.flight.impl.FlightServiceGrpc;
import org.apache.arrow.memory.BufferAllocator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One connection to one server, with the calls that the connector makes. Errors are {@link FlightcacheException}s that name
 * the dataset. It may be shared by threads.
 */
final class Connection implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Connection.class);

  /** Metadata only is asked for: what takes longer than this has stopped. */
  private static final CallOption DEADLINE = CallOptions.timeout(300, TimeUnit.SECONDS);

  private final String address;
  private final BufferAllocator allocator;
  private final ManagedChannel channel;
  private final FlightClient client;
  private final List<CallOption> credentials = new ArrayList<>();
  private final List<CallOption> readOptions = new ArrayList<>(); // beside the credentials

  /** Connects to the first address; the handshake for a user name is made at once, everything else at the first call. */
  Connection(Options options) {
    address = options.addresses().get(0);
    NettyClientBuilder builder = new NettyClientBuilder().location(location(address));
    if (options.rootCerts() != null) {
      builder.trustedCertificates(
          new ByteArrayInputStream(options.rootCerts().getBytes(StandardCharsets.US_ASCII)));
    }
    if (!options.plainWire() && !Compression.codecs().isEmpty()) {
      CallHeaders headers = new FlightCallHeaders();
      headers.insert("flightcache-accept-codecs", Compression.codecs());
      readOptions.add(new HeaderCallOption(headers));
    }
    allocator = Memory.child(address);
    FlightClient built = null;
    try {
      channel = builder.allocator(allocator).build().build();
      FlightClient made = FlightGrpcUtils.createFlightClient(allocator, channel); // which closes the channel
      built = made;
      client = made;
      if (options.token() != null) {
        CallHeaders headers = new FlightCallHeaders();
        headers.insert("authorization", "Bearer " + options.token());
        credentials.add(new HeaderCallOption(headers));
      }
      if (options.username() != null) {
        Optional<CredentialCallOption> bearer =
            call("as user " + options.username(),
                () -> made.authenticateBasicToken(options.username(), options.password()));
        bearer.ifPresent(credentials::add);
      }
    } catch (RuntimeException e) {
      if (built != null) {
        closeQuietly(built);
      }
      allocator.close();
      throw e;
    }
  }

  private static Location location(String address) {
    try {
      URI uri = new URI(address);
      if (uri.getHost() == null) {
        throw new URISyntaxException(address, "no host");
      }
      int port = uri.getPort() < 0 ? 8815 : uri.getPort();
      return uri.getScheme().equals("grpc+tls")
          ? Location.forGrpcTls(uri.getHost(), port)
          : Location.forGrpcInsecure(uri.getHost(), port);
    } catch (URISyntaxException e) {
      throw new FlightcacheException("the address " + address + " is none: write grpc://HOST:PORT", e);
    }
  }

  String address() {
    return address;
  }

  BufferAllocator allocator() {
    return allocator;
  }

  /** Plans a read. */
  FlightInfo info(String dataset, byte[] command) {
    return call(
        about(dataset),
        () -> {
          FlightInfo info = client.getInfo(FlightDescriptor.command(command), options(readOptions, List.of(DEADLINE)));
          info.getSchemaOptional(); // is parsed here, where an error names the dataset
          return info;
        });
  }

  /** Lets go of what a read's lease keeps. */
  void cancel(FlightInfo info) {
    call("a lease", () -> client.cancelFlightInfo(new CancelFlightInfoRequest(info), metadataCall()));
  }

  /** Has the lease of an endpoint's ticket run for its whole time again. */
  FlightEndpoint renew(FlightEndpoint endpoint) {
    return call("a lease", () -> client.renewFlightEndpoint(new RenewFlightEndpointRequest(endpoint), metadataCall()));
  }

  /**
   * The datasets whose names begin with a prefix, each as the segments of its name. The messages are read as they come: Arrow's
   * library would parse all schemas, and one that it cannot read would hide all other datasets.
   */
  List<List<String>> list(String prefix) {
    Flight.Criteria criteria = Flight.Criteria.newBuilder().setExpression(ByteString.copyFromUtf8(prefix)).build();
    return call(
        "the datasets",
        () -> {
          FlightServiceGrpc.FlightServiceBlockingStub stub = FlightServiceGrpc.newBlockingStub(channel);
          for (CallOption option : metadataCall()) {
            stub = ((CallOptions.GrpcCallOption) option).wrapStub(stub);
          }
          List<List<String>> names = new ArrayList<>();
          try {
            for (Iterator<Flight.FlightInfo> infos = stub.listFlights(criteria); infos.hasNext(); ) {
              names.add(List.copyOf(infos.next().getFlightDescriptor().getPathList()));
            }
          } catch (StatusRuntimeException e) {
            throw StatusUtils.fromGrpcRuntimeException(e);
          }
          return names;
        });
  }

  /** One action, with a JSON object in and one out. */
  JsonNode act(String name, String dataset, ObjectNode body) {
    return call(
        about(dataset),
        () -> {
          Iterator<Result> results =
              client.doAction(new Action(name, Json.bytes(body)), metadataCall());
          JsonNode answer = Json.parse(results.next().getBody());
          while (results.hasNext()) {
            results.next();
          }
          return answer;
        });
  }

  /** The stream of a ticket. The caller closes it. */
  FlightStream stream(Ticket ticket) {
    return client.getStream(ticket, options(readOptions));
  }

  /** Opens a put. */
  FlightClient.ClientStreamListener put(byte[] command, FlightClient.PutListener answers) {
    return client.startPut(FlightDescriptor.command(command), answers, options());
  }

  private CallOption[] metadataCall() {
    return options(List.of(DEADLINE));
  }

  @SafeVarargs
  private CallOption[] options(List<CallOption>... more) {
    List<CallOption> all = new ArrayList<>(credentials);
    for (List<CallOption> each : more) {
      all.addAll(each);
    }
    return all.toArray(CallOption[]::new);
  }

  static String about(String dataset) {
    return "dataset " + dataset;
  }

  /** A call that may fail with a gRPC status or with broken JSON. */
  interface Call<T> {
    T run() throws JsonProcessingException;
  }

  private <T> T call(String subject, Call<T> call) {
    try {
      return call.run();
    } catch (FlightRuntimeException e) {
      throw failure(subject, address, e);
    } catch (FlightcacheException e) {
      throw e;
    } catch (RuntimeException e) {
      throw new FlightcacheException(
          Kind.UNREADABLE,
          subject + " at " + address + ": Arrow's Java library cannot read the answer: " + e.getMessage(),
          e);
    } catch (JsonProcessingException e) {
      throw new FlightcacheException(
          subject + " at " + address + ": the answer is not that of a flightcache server: " + e.getMessage(), e);
    }
  }

  /** What a status says, of what, and what to do where the server does not say it. */
  static FlightcacheException failure(String subject, String address, FlightRuntimeException e) {
    FlightStatusCode code = e.status().code();
    String text = subject + " at " + address + ": ";
    String description = e.status().description();
    if (code == FlightStatusCode.UNAVAILABLE) {
      return new FlightcacheException(
          Kind.UNREACHABLE,
          text + "the server cannot be reached (" + description + "); is it running, and is the option address right?",
          e);
    }
    if (code == FlightStatusCode.UNAUTHENTICATED || code == FlightStatusCode.UNAUTHORIZED) {
      return new FlightcacheException(
          Kind.LOGIN, text + code + ": " + description + "; give the option token, or username and password", e);
    }
    Kind kind =
        code == FlightStatusCode.NOT_FOUND
            ? Kind.NOT_FOUND
            : code == FlightStatusCode.ALREADY_EXISTS ? Kind.EXISTS : Kind.OTHER;
    return new FlightcacheException(kind, text + code + ": " + description, e);
  }

  /** Gives the connection back; it waits for nothing that is under way. */
  @Override
  public void close() {
    closeQuietly(client);
    try {
      allocator.close();
    } catch (IllegalStateException e) {
      // Rows that are right are no less so for it.
      LOG.warn("a connection to {} did not give all of its memory back: {}", address, e.getMessage());
    }
  }

  private static void closeQuietly(FlightClient client) {
    try {
      client.close();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Tries servers in their order, until one can be reached. */
  static <T> T first(Options options, Function<Connection, T> use) {
    FlightcacheException last = null;
    for (String address : options.addresses()) {
      try {
        return Connections.use(options.at(address), use);
      } catch (FlightcacheException e) {
        if (e.kind() != Kind.UNREACHABLE) {
          throw e;
        }
        if (last != null) {
          e.addSuppressed(last);
        }
        last = e;
      }
    }
    throw last;
  }
}
