package zooclient;

/** One step of a put or a read did not succeed. */
final class Failure extends Exception {
  private static final long serialVersionUID = 1;

  /** The steps, as the report names them in lower case. */
  enum Step {
    FILE,
    CALL,
    SCHEMA,
    VALUES
  }

  final Step step;

  Failure(Step step, String why) {
    super(why);
    this.step = step;
  }

  /** Something that may throw anything at all. */
  interface Work<T> {
    T run() throws Exception;
  }

  /** Runs {@code work}; whatever it throws, errors of the virtual machine included, is the failure of {@code step}. */
  static <T> T in(Step step, Work<T> work) throws Failure {
    try {
      return work.run();
    } catch (Failure e) {
      throw e;
    } catch (Exception | LinkageError | AssertionError e) {
      throw new Failure(step, e.toString());
    }
  }
}
