package procession.spark;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.MapType;

/** Presto's functions in Java: those of programs that people use most. */
final class Forms {
  private static final DataType TEXT = DataTypes.StringType;
  private static final DataType LONG = DataTypes.LongType;
  private static final DataType MOMENT = DataTypes.TimestampNTZType;
  private static final Set<String> JSONS = Set.of("varchar", "json");
  private static final Map<String, Function<Call, Expression>> FUNCTIONS = new HashMap<>();
  private static final Map<String, Function<Call, Expression>> CASTS = new HashMap<>();

  static {
    DecimalForms.add(FUNCTIONS);
    FUNCTIONS.put("json_extract_scalar", call -> place(call, "scalar", TEXT));
    FUNCTIONS.put("json_extract", call -> place(call, "extract", TEXT));
    FUNCTIONS.put("json_size", call -> place(call, "size", LONG));
    FUNCTIONS.put("json_parse", call -> json(call, "parse", TEXT, 1));
    FUNCTIONS.put("is_json_scalar", call -> json(call, "isScalar", DataTypes.BooleanType, 1));
    FUNCTIONS.put("json_array_get", call -> json(call, "element", TEXT, 2));
    FUNCTIONS.put("json_array_contains", call -> json(call, "contains", DataTypes.BooleanType, 2));
    FUNCTIONS.put("date_parse", Forms::dateParse);
    FUNCTIONS.put("date_format", call -> shown(call, ShownTimestamps.mysql(call.text(1), call.program().zone)));
    FUNCTIONS.put("format_datetime", call -> shown(call, ShownTimestamps.joda(call.text(1), call.program().zone)));
    FUNCTIONS.put("from_unixtime", UnixTimes::of);
    for (String part : List.of("protocol", "host", "path", "query", "fragment")) {
      FUNCTIONS.put("url_extract_" + part, call -> call.invoke(new Urls(call.attempt()), part, TEXT, 1));
    }
    FUNCTIONS.put("url_extract_port", call -> call.invoke(new Urls(call.attempt()), "port", LONG, 1));
    FUNCTIONS.put("url_extract_parameter", call -> call.invoke(new Urls(call.attempt()), "parameter", TEXT, 2));
    for (JsonCollections.Element element : JsonCollections.Element.values()) {
      String array = "array(" + element.type + ")";
      CASTS.put("json " + array, call -> collection(call, element, array, "array", arrays(element)));
    }
    for (JsonCollections.Element element : JsonCollections.TEXTS) {
      String map = "map(varchar," + element.type + ")";
      CASTS.put("json " + map, call -> collection(call, element, map, "map", new MapType(TEXT, TEXT, true)));
    }
    CASTS.put("json varchar", call -> call.invoke(new JsonScalars(call.forgives()), "text", TEXT, 1));
    CASTS.put("json bigint", call -> call.invoke(new JsonScalars(call.forgives()), "bigint", LONG, 1));
    CASTS.put("json integer", call -> call.invoke(new JsonScalars(call.forgives()), "integer", DataTypes.IntegerType, 1));
    CASTS.put("json double", call -> call.invoke(new JsonScalars(call.forgives()), "number", DataTypes.DoubleType, 1));
    CASTS.put("json boolean", call -> call.invoke(new JsonScalars(call.forgives()), "truth", DataTypes.BooleanType, 1));
  }

  private Forms() {}

  /** What makes the expression of a call, itself null where the arguments are none for it; null of other functions. */
  static Function<Call, Expression> of(Call call) {
    return call.isCast() ? CASTS.get(Call.base(call.name()) + " " + call.result()) : FUNCTIONS.get(call.name());
  }

  private static Expression place(Call call, String method, DataType type) {
    JsonPath path = JSONS.contains(call.type(0)) ? JsonPath.of(call.text(1)) : null;
    return path == null ? null : call.invoke(path, method, type, 1);
  }

  private static Expression json(Call call, String method, DataType type, int arguments) {
    return JSONS.contains(call.type(0)) ? call.invoke(new JsonFunctions(call.attempt()), method, type, arguments) : null;
  }

  private static Expression collection(
      Call call, JsonCollections.Element element, String type, String method, DataType result) {
    return call.invoke(new JsonCollections(element, type, call.forgives()), method, result, 1);
  }

  private static DataType arrays(JsonCollections.Element element) {
    return new ArrayType(element.spark, true);
  }

  private static Expression dateParse(Call call) {
    return call.invoke(TimestampReader.mysql(call.text(1), call.attempt()), "read", MOMENT, 1);
  }

  private static Expression shown(Call call, ShownTimestamps shown) {
    Expression day = call.castFrom(0, "date");
    if (day != null) {
      return Call.invoke(shown, "date", TEXT, List.of(day));
    }
    return call.invoke(shown, call.type(0).replace(' ', '_'), TEXT, 1);
  }
}
