package procession.spark;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.EvalMode;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NumericEvalContext;
import org.apache.spark.sql.catalyst.expressions.PythonFuncExpression;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.Sum;
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DecimalType;
import scala.Option;

/**
 * Sums of decimals as sums of {@code long}s. Spark does so up to 8 digits; from there on it makes a {@code BigDecimal}
 * for each row, and for each product of two decimals.
 */
final class LongSums extends Rule<LogicalPlan> {
  private static final NumericEvalContext CHECKED = new NumericEvalContext(EvalMode.ANSI(), true);
  /** Of more digits Spark has no {@code long} for the sum. */
  private static final int SPARKS_DIGITS = 8;

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    return (LogicalPlan) plan.transformUp(Rules.of(Aggregate.class, LongSums::changed));
  }

  private static LogicalPlan changed(Aggregate aggregate) {
    if (aggregate.isStreaming()) {
      return aggregate;
    }
    Below below = new Below(aggregate.child());
    List<NamedExpression> outputs = new ArrayList<>();
    boolean any = false;
    for (NamedExpression output : Rules.list(aggregate.aggregateExpressions())) {
      Expression whole = (Expression) output;
      Expression changed = whole.transformDown(Rules.of(AggregateExpression.class, below::changed));
      any |= changed != whole;
      outputs.add((NamedExpression) changed);
    }
    // Of more columns Spark generates no code, and a sum of a decimal has two of them.
    int columns = aggregate.groupingExpressions().size() + below.sums;
    if (!any || columns > SQLConf.get().wholeStageMaxNumFields()) {
      return aggregate;
    }
    return aggregate.copy(aggregate.groupingExpressions(), Rules.seq(outputs), below.plan(), aggregate.hint());
  }

  /** A call of a method of {@link Limbs}, null where an argument is. */
  static Expression invoked(String method, DataType type, List<Expression> arguments) {
    return new StaticInvoke(
        Limbs.class, type, method, Rules.seq(arguments), Rules.seq(List.of()), true, true, true, Option.empty());
  }

  /** What an aggregate reads, and the limbs that it reads besides. */
  private static final class Below {
    private final LogicalPlan child;
    private final Map<ExprId, Expression> known = new HashMap<>();
    private final List<NamedExpression> limbs = new ArrayList<>();
    private int sums;

    Below(LogicalPlan child) {
      this.child = child;
      if (child instanceof Project project) {
        for (NamedExpression output : Rules.list(project.projectList())) {
          if (output instanceof Alias alias) {
            known.put(alias.exprId(), alias.child());
          }
        }
      }
    }

    LogicalPlan plan() {
      if (limbs.isEmpty()) {
        return child;
      }
      Project project = (Project) child;
      List<NamedExpression> outputs = new ArrayList<>(Rules.list(project.projectList()));
      outputs.addAll(limbs);
      return new Project(Rules.seq(outputs), project.child());
    }

    Expression changed(AggregateExpression call) {
      if (!(call.aggregateFunction() instanceof Sum sum) || call.isDistinct()) {
        return call;
      }
      if (!(sum.child().dataType() instanceof DecimalType type) || type.precision() <= SPARKS_DIGITS) {
        return call;
      }
      List<Expression> summands = summands(sum.child());
      if (summands == null) {
        return call;
      }
      DecimalType result = (DecimalType) sum.dataType();
      List<Expression> sums = new ArrayList<>();
      for (Expression summand : summands) {
        Sum part = new Sum(summand, CHECKED);
        sums.add(call.copy(part, call.mode(), false, call.filter(), NamedExpression.newExprId()));
      }
      this.sums += sums.size();
      boolean orNull = sum.evalContext().evalMode() != EvalMode.ANSI();
      sums.add(new Literal(result.precision(), DataTypes.IntegerType));
      sums.add(new Literal(result.scale(), DataTypes.IntegerType));
      sums.add(new Literal(orNull, DataTypes.BooleanType));
      return invoked("whole", result, sums);
    }

    private List<Expression> summands(Expression decimal) {
      Expression source = decimal.transformUp(Rules.of(AttributeReference.class, this::source));
      boolean apart = source != decimal && WholeNumbers.multiplies(source) && !WholeNumbers.multiplies(decimal);
      List<Expression> found = repeatable(source) && apart ? WholeNumbers.summands(source) : null;
      if (found == null) {
        return repeatable(decimal) ? WholeNumbers.summands(decimal) : null;
      }
      List<Expression> named = new ArrayList<>();
      for (Expression limb : found) {
        Alias alias =
            new Alias(limb, "limb", NamedExpression.newExprId(), Rules.seq(List.of()), Option.empty(), Rules.seq(List.of()));
        limbs.add(alias);
        named.add(alias.toAttribute());
      }
      return named;
    }

    private Expression source(AttributeReference column) {
      return known.getOrDefault(column.exprId(), column);
    }

    /** Whether it may be computed more than once a row. */
    private static boolean repeatable(Expression e) {
      return e.deterministic()
          && !e.exists(
              Rules.each(
                  node -> (Object) (node instanceof PythonFuncExpression || node instanceof SubqueryExpression)));
    }
  }
}
