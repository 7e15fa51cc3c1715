package procession.spark;

import org.apache.spark.sql.SparkSessionExtensions;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/** What Spark's optimizer gets from us; a value of {@code spark.sql.extensions}. */
public final class Extensions extends AbstractFunction1<SparkSessionExtensions, BoxedUnit> {
  @Override
  public BoxedUnit apply(SparkSessionExtensions extensions) {
    extensions.injectOptimizerRule(Rules.each(session -> new Programs()));
    extensions.injectOptimizerRule(Rules.each(session -> new LongSums()));
    extensions.injectOptimizerRule(Rules.each(session -> new PlainTexts()));
    return BoxedUnit.UNIT;
  }
}
