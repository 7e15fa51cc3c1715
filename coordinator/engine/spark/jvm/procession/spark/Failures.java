package procession.spark;

import org.apache.spark.QueryContext;
import org.apache.spark.SparkRuntimeException;
import scala.collection.immutable.Map;
import scala.collection.immutable.Map$;

/** Failures of a statement's data, which the coordinator tells from Spark's own by how their texts begin. */
final class Failures {
  static final String INVALID = "INVALID_FUNCTION_ARGUMENT";
  static final String BAD_CAST = "INVALID_CAST_ARGUMENT";
  static final String OUT_OF_RANGE = "NUMERIC_VALUE_OUT_OF_RANGE";
  static final String NOT_SUPPORTED = "NOT_SUPPORTED";
  /** The coordinator shows no more of a text. */
  private static final int MOST = 10_000;

  private Failures() {}

  /** Null of an attempt, else the failure: {@code code} is one of Presto's. */
  static <T> T of(boolean attempt, String code, String said) {
    if (attempt) {
      return null;
    }
    throw raised("KernelError: " + code + ": " + (said.length() > MOST ? said.substring(0, MOST) : said));
  }

  /** What Spark's {@code raise_error} throws. */
  static SparkRuntimeException raised(String said) {
    Map<String, String> parameters = Map$.MODULE$.<String, String>empty().updated("errorMessage", said);
    return new SparkRuntimeException("USER_RAISED_EXCEPTION", parameters, null, new QueryContext[0], "");
  }
}
