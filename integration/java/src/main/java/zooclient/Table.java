package zooclient;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.dictionary.DictionaryEncoder;
import org.apache.arrow.vector.dictionary.DictionaryProvider;
import org.apache.arrow.vector.ipc.ArrowStreamReader;
import org.apache.arrow.vector.types.pojo.DictionaryEncoding;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.Schema;
import org.apache.arrow.vector.util.TransferPair;

/**
 * A schema, its batches in order, and the dictionaries of the last batch. Its owner closes it; the provider of the
 * dictionaries stays with the reader that it came from.
 *
 * <p>Columns that are dictionaries are kept as their values, because the dictionary may change between batches.
 * Dictionaries within another type are kept as indices.
 */
final class Table implements AutoCloseable {
  final Schema schema;
  final List<VectorSchemaRoot> batches = new ArrayList<>();
  final DictionaryProvider dictionaries;

  Table(Schema schema, DictionaryProvider dictionaries) {
    this.schema = schema;
    this.dictionaries = dictionaries;
  }

  /** Takes over the vectors that a reader has just filled: it fills the same ones again for its next batch. */
  void take(VectorSchemaRoot filled) {
    List<FieldVector> vectors = new ArrayList<>();
    for (FieldVector vector : filled.getFieldVectors()) {
      DictionaryEncoding encoding = vector.getField().getDictionary();
      if (encoding != null) {
        vectors.add((FieldVector) DictionaryEncoder.decode(vector, dictionaries.lookup(encoding.getId())));
        continue;
      }
      TransferPair pair = vector.getTransferPair(vector.getAllocator());
      pair.transfer();
      vectors.add((FieldVector) pair.getTo());
    }
    List<Field> fields = vectors.stream().map(FieldVector::getField).toList();
    batches.add(new VectorSchemaRoot(fields, vectors, filled.getRowCount()));
  }

  /** The dictionaries that lie within other types, by their ids. The reader owns them. */
  List<FieldVector> innerDictionaries() {
    Set<Long> ids = new TreeSet<>(dictionaries.getDictionaryIds());
    for (Field field : schema.getFields()) {
      if (field.getDictionary() != null) {
        ids.remove(field.getDictionary().getId());
      }
    }
    return ids.stream().map(id -> dictionaries.lookup(id).getVector()).toList();
  }

  long rows() {
    return batches.stream().mapToLong(VectorSchemaRoot::getRowCount).sum();
  }

  @Override
  public void close() {
    batches.forEach(VectorSchemaRoot::close);
  }

  /** Opens a stream file. */
  static ArrowStreamReader open(Path file, BufferAllocator allocator) throws IOException {
    return new ArrowStreamReader(new BufferedInputStream(Files.newInputStream(file)), allocator);
  }

  /** Reads all that is left of a stream file. The dictionaries are the reader's. */
  static Table read(ArrowStreamReader reader) throws IOException {
    VectorSchemaRoot root = reader.getVectorSchemaRoot();
    Table table = new Table(root.getSchema(), reader);
    while (reader.loadNextBatch()) {
      table.take(root);
    }
    return table;
  }
}
