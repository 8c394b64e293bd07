package zooclient;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.arrow.flight.FlightClient;
import org.apache.arrow.flight.FlightDescriptor;
import org.apache.arrow.flight.FlightEndpoint;
import org.apache.arrow.flight.FlightInfo;
import org.apache.arrow.flight.FlightStream;
import org.apache.arrow.flight.PutResult;
import org.apache.arrow.flight.SyncPutListener;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.dictionary.Dictionary;
import org.apache.arrow.vector.ipc.ArrowStreamReader;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.Schema;
import org.apache.arrow.vector.util.DictionaryUtility;

/** The calls, as the library's documentation makes them: no option of the connection is changed. */
final class Service {
  private final FlightClient client;
  private final BufferAllocator allocator;

  Service(FlightClient client, BufferAllocator allocator) {
    this.client = client;
    this.allocator = allocator;
  }

  /** Puts the file as the dataset at {@code place}, replacing what is there. */
  void put(List<String> place, Path file) throws Failure {
    Failure.in(
        Failure.Step.FILE,
        () -> {
          try (ArrowStreamReader reader = Table.open(file, allocator)) {
            // The first batch before the call: that is where the dictionaries come from.
            boolean more = reader.loadNextBatch();
            return Failure.in(Failure.Step.CALL, () -> put(place, reader, more));
          }
        });
  }

  private Void put(List<String> place, ArrowStreamReader reader, boolean more) throws Exception {
    try (SyncPutListener answers = new SyncPutListener()) {
      FlightDescriptor descriptor = FlightDescriptor.path(place);
      FlightClient.ClientStreamListener writer =
          client.startPut(descriptor, reader.getVectorSchemaRoot(), reader, answers);
      for (boolean filled = more; filled; filled = reader.loadNextBatch()) {
        writer.putNext();
      }
      writer.completed();
      int count = 0;
      for (PutResult answer = answers.read(); answer != null; answer = answers.read()) {
        answer.close();
        count++;
      }
      writer.getResult();
      if (count != 1) {
        throw new IllegalStateException("the put was answered " + count + " times; one answer is promised");
      }
      return null;
    }
  }

  /**
   * Reads the dataset at {@code place} by the tickets of its FlightInfo, whose schema must be that of the streams, and
   * compares it with the file.
   */
  void get(List<String> place, Path file) throws Failure {
    Failure.in(
        Failure.Step.FILE,
        () -> {
          try (ArrowStreamReader reader = Table.open(file, allocator);
              Table written = Table.read(reader)) {
            return Failure.in(Failure.Step.CALL, () -> get(place, written));
          }
        });
  }

  private Void get(List<String> place, Table written) throws Exception {
    FlightInfo info = client.getInfo(FlightDescriptor.path(place));
    Schema promised = info.getSchemaOptional().orElseThrow();
    if (info.getEndpoints().size() != 1) {
      throw new IllegalStateException(info.getEndpoints().size() + " endpoints; one is the default");
    }
    FlightEndpoint endpoint = info.getEndpoints().get(0);
    try (FlightStream stream = client.getStream(endpoint.getTicket());
        Table read = new Table(stream.getSchema(), stream.getDictionaryProvider())) {
      Schema inMemory = asReadersHold(promised);
      if (!inMemory.equals(read.schema)) {
        throw new IllegalStateException("FlightInfo promised " + inMemory + ", the stream has " + read.schema);
      }
      while (stream.next()) {
        read.take(stream.getRoot());
      }
      Comparison.check(written, read);
      return null;
    }
  }

  /** The schema as readers hold it: a dictionary's field has the type of the indices, not that of the values. */
  private Schema asReadersHold(Schema schema) {
    List<Field> fields = new ArrayList<>();
    Map<Long, Dictionary> dictionaries = new HashMap<>();
    for (Field field : schema.getFields()) {
      fields.add(DictionaryUtility.toMemoryFormat(field, allocator, dictionaries));
    }
    dictionaries.values().forEach(dictionary -> dictionary.getVector().close());
    return new Schema(fields, schema.getCustomMetadata());
  }
}
