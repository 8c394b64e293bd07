package flightcache.spark;

import org.apache.arrow.vector.compression.CompressionCodec;
import org.apache.arrow.vector.compression.CompressionUtil.CodecType;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What compressed buffers are decoded by: Arrow's own codecs, and the zstd library that Spark has. */
final class Compression {
  private static final Logger LOG = LoggerFactory.getLogger(Compression.class);
  private static final String CODECS = find();

  private Compression() {}

  /**
   * The codecs that batches may come in, as the server is told; empty where there are none. LZ4 is not among them: its decoder is
   * written in Java, and slower than the server's.
   */
  static String codecs() {
    return CODECS;
  }

  /** Arrow looks for its codecs by the thread's class loader, once, which need not be the one that has them. */
  private static String find() {
    Thread thread = Thread.currentThread();
    ClassLoader before = thread.getContextClassLoader();
    thread.setContextClassLoader(Compression.class.getClassLoader());
    try {
      CompressionCodec.Factory.INSTANCE.createCodec(CodecType.ZSTD);
      com.github.luben.zstd.util.Native.load();
      return "zstd";
    } catch (RuntimeException | LinkageError e) {
      LOG.warn("batches are asked for without compression: {}", e.toString());
      return "";
    } finally {
      thread.setContextClassLoader(before);
    }
  }
}
