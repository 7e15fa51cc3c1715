package procession.spark;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Add;
import org.apache.spark.sql.catalyst.expressions.BinaryArithmetic;
import org.apache.spark.sql.catalyst.expressions.BitwiseAnd;
import org.apache.spark.sql.catalyst.expressions.CaseWhen;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.EvalMode;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Multiply;
import org.apache.spark.sql.catalyst.expressions.NumericEvalContext;
import org.apache.spark.sql.catalyst.expressions.ShiftRight;
import org.apache.spark.sql.catalyst.expressions.Subtract;
import org.apache.spark.sql.catalyst.expressions.UnscaledValue;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import scala.Option;
import scala.Some;
import scala.Tuple2;

/** Decimals as whole numbers: those of a {@code long}, and products of two or three in {@link Limbs}. */
final class WholeNumbers {
  private static final NumericEvalContext UNCHECKED = new NumericEvalContext(EvalMode.LEGACY(), true);
  private static final int LONG_DIGITS = 18;
  private static final int MOST_DIGITS = 38;
  private static final double BITS_OF_DIGIT = Math.log(10) / Math.log(2);

  private WholeNumbers() {}

  /**
   * A decimal times ten to its scale, whose absolute value is below ten to {@code digits}.
   *
   * @param limbs one is the number itself; all are null where the first one is
   * @param factors what it is the product of; the limbs themselves where it is none of a few numbers, as a sum
   */
  record Whole(List<Expression> limbs, List<Expression> factors, int digits, int scale) {
    static Whole of(Expression number, int digits, int scale) {
      return new Whole(List.of(number), List.of(number), digits, scale);
    }

    boolean isLong() {
      return limbs.size() == 1;
    }

    Expression number() {
      return limbs.get(0);
    }

    /** In {@code count} limbs, or more. */
    List<Expression> limbs(int count) {
      List<Expression> found = new ArrayList<>(limbs);
      if (isLong()) {
        found = split(number(), limbsFor(digits));
      }
      while (found.size() < count) {
        found.add(new BitwiseAnd(found.get(0), literal(0)));
      }
      return found;
    }
  }

  /** What a sum adds up: at least two limbs; null where the decimal is none of those. */
  static List<Expression> summands(Expression decimal) {
    Whole whole = whole(decimal);
    return whole == null ? null : whole.limbs(2);
  }

  /** Whether decimals are multiplied, which Spark does by a {@code BigDecimal} each. */
  static boolean multiplies(Expression decimal) {
    return decimal.exists(Rules.each(node -> (Object) (node instanceof Multiply)));
  }

  private static Whole whole(Expression e) {
    if (!(e.dataType() instanceof DecimalType type)) {
      return null;
    }
    Whole found = null;
    if (e instanceof Literal literal) {
      found = ofLiteral(literal, type);
    } else if (e instanceof Cast cast) {
      found = ofCast(cast, type);
    } else if (e instanceof Multiply product) {
      found = ofProduct(product, type);
    } else if (e instanceof Add || e instanceof Subtract) {
      found = ofSum((BinaryArithmetic) e, type);
    } else if (e instanceof CaseWhen choice) {
      found = ofCase(choice);
    } else if (e instanceof If choice) {
      found = ofIf(choice);
    }
    if (found == null && type.precision() <= LONG_DIGITS) {
      found = Whole.of(new UnscaledValue(e), type.precision(), type.scale());
    }
    return found;
  }

  private static Whole ofLiteral(Literal literal, DecimalType type) {
    if (literal.value() == null) {
      return Whole.of(new Literal(null, DataTypes.LongType), 1, type.scale());
    }
    BigInteger unscaled = ((Decimal) literal.value()).toJavaBigDecimal().setScale(type.scale()).unscaledValue();
    int digits = unscaled.abs().toString().length();
    return digits > LONG_DIGITS ? null : Whole.of(literal(unscaled.longValueExact()), digits, type.scale());
  }

  private static Whole ofCast(Cast cast, DecimalType type) {
    Whole given;
    DataType from = cast.child().dataType();
    if (from instanceof DecimalType) {
      given = whole(cast.child());
    } else if (from == DataTypes.LongType) {
      given = Whole.of(cast.child(), 19, 0);
    } else if (from == DataTypes.IntegerType) {
      given = Whole.of(asLong(cast.child()), 10, 0);
    } else {
      return null;
    }
    if (given == null || given.scale > type.scale() || given.digits + type.scale() - given.scale > type.precision()) {
      return null;
    }
    return scaled(given, type.scale());
  }

  /** With more digits behind the point. */
  private static Whole scaled(Whole given, int scale) {
    int more = scale - given.scale;
    if (more == 0) {
      return given;
    }
    return more > LONG_DIGITS - 1 ? null : product(given, Whole.of(literal((long) Math.pow(10, more)), more + 1, more), more);
  }

  private static Whole ofProduct(Multiply e, DecimalType type) {
    Whole left = whole(e.left());
    Whole right = whole(e.right());
    if (left == null || right == null || type.scale() != left.scale + right.scale) {
      return null;
    }
    int digits = left.digits + right.digits;
    if (digits > type.precision() && (type.precision() < MOST_DIGITS || e.evalContext().evalMode() != EvalMode.ANSI())) {
      return null;
    }
    return product(left, right, digits - Math.max(left.digits, right.digits));
  }

  /** {@code more} digits are those by which the product has more than the longer one of the two. */
  private static Whole product(Whole left, Whole right, int more) {
    int digits = Math.max(left.digits, right.digits) + more;
    int scale = left.scale + right.scale;
    if (left.isLong() && right.isLong() && digits <= LONG_DIGITS) {
      return Whole.of(new Multiply(left.number(), right.number(), UNCHECKED), digits, scale);
    }
    List<Expression> factors = new ArrayList<>(left.factors);
    factors.addAll(right.factors);
    if (factors.size() > 3 || isSum(left) || isSum(right)) {
      return null;
    }
    int least = Math.min(digits, MOST_DIGITS);
    List<Expression> limbs = new ArrayList<>();
    int count = limbsFor(least);
    for (int k = 0; k < count; k++) {
      List<Expression> arguments = new ArrayList<>(factors);
      arguments.add(new Literal(k, DataTypes.IntegerType));
      arguments.add(new Literal(k == count - 1, DataTypes.BooleanType));
      if (factors.size() == 3) {
        arguments.add(new Literal(scale, DataTypes.IntegerType));
      }
      limbs.add(LongSums.invoked("ofProduct", DataTypes.LongType, arguments));
    }
    return new Whole(limbs, factors, least, scale);
  }

  private static Whole ofSum(BinaryArithmetic e, DecimalType type) {
    Whole left = whole(e.left());
    Whole right = whole(e.right());
    if (left == null || right == null || type.scale() != Math.max(left.scale, right.scale)) {
      return null;
    }
    left = scaled(left, type.scale());
    right = scaled(right, type.scale());
    if (left == null || right == null) {
      return null;
    }
    int digits = Math.max(left.digits, right.digits) + 1;
    if (left.isLong() && right.isLong() && digits <= LONG_DIGITS) {
      return Whole.of(added(e, left.number(), right.number()), digits, type.scale());
    }
    // A sum of more than two has larger limbs than those that may be summed up.
    if (digits > type.precision() || isSum(left) || isSum(right)) {
      return null;
    }
    int count = Math.max(left.limbs(0).size(), right.limbs(0).size());
    List<Expression> limbs = new ArrayList<>();
    for (int k = 0; k < count; k++) {
      limbs.add(added(e, left.limbs(count).get(k), right.limbs(count).get(k)));
    }
    return new Whole(limbs, limbs, digits, type.scale());
  }

  private static boolean isSum(Whole number) {
    return !number.isLong() && number.limbs == number.factors;
  }

  private static Expression added(BinaryArithmetic e, Expression left, Expression right) {
    return e instanceof Add ? new Add(left, right, UNCHECKED) : new Subtract(left, right, UNCHECKED);
  }

  private static Whole ofCase(CaseWhen e) {
    List<Whole> values = new ArrayList<>();
    List<Tuple2<Expression, Expression>> branches = Rules.list(e.branches());
    branches.forEach(branch -> values.add(whole(branch._2())));
    boolean otherwise = e.elseValue().isDefined();
    if (otherwise) {
      values.add(whole(e.elseValue().get()));
    }
    return chosen(
        values,
        found -> {
          List<Tuple2<Expression, Expression>> with = new ArrayList<>();
          for (int i = 0; i < branches.size(); i++) {
            with.add(new Tuple2<>(branches.get(i)._1(), found.get(i)));
          }
          Option<Expression> last = otherwise ? new Some<>(found.get(found.size() - 1)) : Option.empty();
          return new CaseWhen(Rules.seq(with), last);
        });
  }

  private static Whole ofIf(If e) {
    List<Whole> values = new ArrayList<>();
    values.add(whole(e.trueValue()));
    values.add(whole(e.falseValue()));
    return chosen(values, found -> new If(e.predicate(), found.get(0), found.get(1)));
  }

  private interface Choice {
    Expression of(List<Expression> values);
  }

  private static Whole chosen(List<Whole> values, Choice choice) {
    if (values.contains(null)) {
      return null;
    }
    int scale = values.stream().mapToInt(Whole::scale).max().orElse(0);
    int digits = values.stream().mapToInt(Whole::digits).max().orElse(0);
    if (values.stream().anyMatch(v -> v.scale != scale || isSum(v))) {
      return null;
    }
    if (values.stream().allMatch(Whole::isLong)) {
      return Whole.of(choice.of(values.stream().map(Whole::number).toList()), digits, scale);
    }
    int count = values.stream().mapToInt(v -> v.limbs(0).size()).max().orElse(0);
    List<Expression> limbs = new ArrayList<>();
    for (int k = 0; k < count; k++) {
      int limb = k;
      limbs.add(choice.of(values.stream().map(v -> v.limbs(count).get(limb)).toList()));
    }
    return new Whole(limbs, limbs, digits, scale);
  }

  private static int limbsFor(int digits) {
    return (int) Math.ceil(digits * BITS_OF_DIGIT / Limbs.BITS);
  }

  private static List<Expression> split(Expression number, int count) {
    List<Expression> found = new ArrayList<>();
    for (int k = 0; k < count; k++) {
      Expression from = k == 0 ? number : new ShiftRight(number, new Literal(k * Limbs.BITS, DataTypes.IntegerType));
      found.add(k == count - 1 ? from : new BitwiseAnd(from, literal(Limbs.MASK)));
    }
    return found;
  }

  private static Literal literal(long value) {
    return new Literal(value, DataTypes.LongType);
  }

  private static Expression asLong(Expression number) {
    return new Cast(number, DataTypes.LongType, Option.empty(), EvalMode.LEGACY());
  }
}
