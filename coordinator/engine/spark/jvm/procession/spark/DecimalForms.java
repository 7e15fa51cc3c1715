package procession.spark;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.LongType;
import scala.Option;

/** Quotients, remainders and averages of decimals. */
final class DecimalForms {
  private static final Pattern TYPE = Pattern.compile("decimal\\((\\d{1,2}),(\\d{1,2})\\)");

  private DecimalForms() {}

  static void add(Map<String, Function<Call, Expression>> functions) {
    functions.put("$operator$divide", call -> made(call, "quotient", 2));
    functions.put("$operator$modulus", call -> made(call, "remainder", 2));
    functions.put("$average", call -> made(call, "average", 3));
  }

  private static Expression made(Call call, String method, int size) {
    Matcher type = TYPE.matcher(call.result());
    if (!type.matches() || call.size() != size || call.attempt()) {
      return null;
    }
    int precision = Integer.parseInt(type.group(1));
    int scale = Integer.parseInt(type.group(2));
    List<Expression> given = new ArrayList<>();
    for (int i = 0; i < size; i++) {
      Expression argument = call.argument(i);
      Class<?> wanted = i == 2 ? LongType.class : DecimalType.class;
      if (argument == null || !wanted.isInstance(argument.dataType())) {
        return null;
      }
      given.add(argument);
    }
    given.add(new Literal(precision, DataTypes.IntegerType));
    given.add(new Literal(scale, DataTypes.IntegerType));
    // Of an average the higher part of the sum may be null.
    return new StaticInvoke(
        Decimals.class, new DecimalType(precision, scale), method, Rules.seq(given), Rules.seq(List.of()),
        size == 2, true, true, Option.empty());
  }
}
