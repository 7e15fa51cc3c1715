package procession.spark;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.PythonUDF;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;

/**
 * Programs in Java, where Spark would hand each row to Python: those whose every function is one of {@link Forms}. A
 * program is a call of a Python function whose first argument tells in JSON what it computes of the others.
 */
final class Programs extends Rule<LogicalPlan> {
  private static final String NAMES = "procession_eval_";
  private static final ObjectMapper JSON = new ObjectMapper();

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    return (LogicalPlan) plan.transformAllExpressions(Rules.of(PythonUDF.class, Programs::changed));
  }

  private static Expression changed(PythonUDF call) {
    List<Expression> given = Rules.list(call.children());
    if (!call.name().regionMatches(true, 0, NAMES, 0, NAMES.length()) || given.isEmpty()) {
      return call;
    }
    if (!(given.get(0) instanceof Literal program) || program.value() == null) {
      return call;
    }
    try {
      JsonNode source = JSON.readTree(program.value().toString());
      Program made = new Program(source.path("zone").asText(), given.subList(1, given.size()));
      Expression found = made.expression(source.path("expression"), false);
      return found != null && found.dataType().equals(call.dataType()) ? found : call;
    } catch (JsonProcessingException noProgram) {
      return call;
    }
  }
}
