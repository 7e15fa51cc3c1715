package procession.spark;

import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.RLike;
import org.apache.spark.sql.catalyst.expressions.String2TrimExpression;
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Option;

/** The patterns of {@link Texts}, and trims of blanks, by its methods. */
final class PlainTexts extends Rule<LogicalPlan> {
  private static final Map<String, String> CHECKS =
      Map.of(Texts.NUMBER, "number", Texts.DECIMAL, "decimal", Texts.DATE, "date", Texts.TIMESTAMP, "timestamp");
  private static final Map<String, String> TRIMS = Map.of("trim", "trim", "ltrim", "trimLeft", "rtrim", "trimRight");

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    return (LogicalPlan) plan.transformAllExpressions(Rules.of(Expression.class, PlainTexts::changed));
  }

  private static Expression changed(Expression given) {
    if (given instanceof RLike check) {
      String method = constant(check.right()) == null ? null : CHECKS.get(constant(check.right()).toString());
      return method == null ? given : invoked(given, method, DataTypes.BooleanType, List.of(check.left()));
    }
    if (given instanceof String2TrimExpression trim && trim.trimStr().isDefined()) {
      UTF8String cut = constant(trim.trimStr().get());
      String method = cut != null && Texts.isBlank(cut) ? TRIMS.get(given.prettyName()) : null;
      List<Expression> arguments = List.of(trim.srcStr(), trim.trimStr().get());
      return method == null ? given : invoked(given, method, DataTypes.StringType, arguments);
    }
    return given;
  }

  private static UTF8String constant(Expression given) {
    return given instanceof Literal literal && literal.value() instanceof UTF8String text ? text : null;
  }

  /** The method's call; {@code given} itself where the text has a collation. */
  private static Expression invoked(Expression given, String method, DataType type, List<Expression> arguments) {
    if (!DataTypes.StringType.equals(arguments.get(0).dataType())) {
      return given;
    }
    return new StaticInvoke(
        Texts.class, type, method, Rules.seq(arguments), Rules.seq(List.of()), true, false, true, Option.empty());
  }
}
