package procession.spark;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.PythonUDF;
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.LongType;
import scala.Option;

/**
 * Programs of one function of decimals in Java, where Spark would hand each row to Python. A program is a call of a
 * Python function whose first argument tells in JSON what it computes of the others.
 */
final class DecimalPrograms extends Rule<LogicalPlan> {
  private static final String NAMES = "procession_eval_";
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Map<String, String> METHODS =
      Map.of("$operator$divide", "quotient", "$operator$modulus", "remainder", "$average", "average");

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    return (LogicalPlan) plan.transformAllExpressions(Rules.of(PythonUDF.class, DecimalPrograms::changed));
  }

  private static Expression changed(PythonUDF call) {
    List<Expression> given = Rules.list(call.children());
    if (!call.name().regionMatches(true, 0, NAMES, 0, NAMES.length()) || !(call.dataType() instanceof DecimalType type)) {
      return call;
    }
    if (given.isEmpty() || !(given.get(0) instanceof Literal program) || program.value() == null) {
      return call;
    }
    List<Expression> arguments = new ArrayList<>(given.subList(1, given.size()));
    String method = method(program.value().toString(), arguments.size());
    boolean average = "average".equals(method);
    for (int i = 0; i < arguments.size(); i++) {
      Class<?> wanted = average && i == 2 ? LongType.class : DecimalType.class;
      if (!wanted.isInstance(arguments.get(i).dataType())) {
        return call;
      }
    }
    if (method == null || arguments.size() != (average ? 3 : 2)) {
      return call;
    }
    arguments.add(new Literal(type.precision(), DataTypes.IntegerType));
    arguments.add(new Literal(type.scale(), DataTypes.IntegerType));
    // Of an average the higher part of the sum may be null.
    return new StaticInvoke(
        Decimals.class, type, method, Rules.seq(arguments), Rules.seq(List.of()), !average, true, true, Option.empty());
  }

  /** The method for a program that is one call over its columns in their order, else null. */
  private static String method(String program, int columns) {
    try {
      JsonNode expression = JSON.readTree(program).path("expression");
      JsonNode arguments = expression.path(4);
      if (!"call".equals(expression.path(0).asText()) || arguments.size() != columns) {
        return null;
      }
      for (int i = 0; i < columns; i++) {
        if (!"column".equals(arguments.path(i).path(0).asText()) || arguments.path(i).path(1).asInt(-1) != i) {
          return null;
        }
      }
      return METHODS.get(expression.path(1).asText());
    } catch (JsonProcessingException noProgram) {
      return null;
    }
  }
}
