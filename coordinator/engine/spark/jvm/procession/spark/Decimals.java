package procession.spark;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.RoundingMode;
import org.apache.spark.sql.types.Decimal;

/** What Presto computes of decimals, rounded once and half away from zero. Generated code calls the methods. */
public final class Decimals {
  /** Of a sum in two parts the higher one counts so many: {@code HIGH_DIGITS} of the kernels. */
  private static final BigInteger HIGH = BigInteger.TEN.pow(20);

  private Decimals() {}

  /**
   * The quotient to {@code scale} digits.
   *
   * @throws org.apache.spark.SparkRuntimeException if {@code b} is zero
   * @throws org.apache.spark.SparkArithmeticException if it has more than {@code precision} digits
   */
  public static Decimal quotient(Decimal a, Decimal b, int precision, int scale) {
    checkNotZero(b);
    return decimal(a.toJavaBigDecimal().divide(b.toJavaBigDecimal(), scale, RoundingMode.HALF_UP), precision, scale);
  }

  /**
   * What is left of {@code a}, with its sign.
   *
   * @throws org.apache.spark.SparkRuntimeException if {@code b} is zero
   */
  public static Decimal remainder(Decimal a, Decimal b, int precision, int scale) {
    checkNotZero(b);
    return decimal(a.toJavaBigDecimal().remainder(b.toJavaBigDecimal()), precision, scale);
  }

  /** The average of {@code count} decimals whose sum has so many units; null of none. */
  public static Decimal average(Decimal high, Decimal low, long count, int precision, int scale) {
    if (low == null || count == 0) {
      return null;
    }
    BigInteger units = low.toJavaBigDecimal().toBigInteger();
    if (high != null) {
      units = high.toJavaBigDecimal().toBigInteger().multiply(HIGH).add(units);
    }
    BigDecimal found = new BigDecimal(units).divide(BigDecimal.valueOf(count), 0, RoundingMode.HALF_UP);
    return decimal(new BigDecimal(found.unscaledValue(), scale), precision, scale);
  }

  private static void checkNotZero(Decimal divisor) {
    if (divisor.isZero()) {
      throw Failures.raised("Division by zero");
    }
  }

  private static Decimal decimal(BigDecimal exact, int precision, int scale) {
    return Decimal.apply(exact).toPrecision(precision, scale, Decimal.ROUND_HALF_UP(), false, null);
  }
}
