package procession.spark;

import java.math.BigDecimal;
import java.math.BigInteger;
import org.apache.spark.sql.types.Decimal;

/**
 * Whole numbers in limbs of 29 bits, the least significant one first and the last one with the sign: the sums of each
 * limb over 2^33 rows fit into a {@code long}. Generated code calls the methods.
 */
public final class Limbs {
  static final int BITS = 29;
  static final long MASK = (1L << BITS) - 1;
  private static final BigInteger MOST = BigInteger.TEN.pow(38);

  private Limbs() {}

  /** Limb {@code k} of the product; {@code last}: with the sign. */
  public static long ofProduct(long a, long b, int k, boolean last) {
    long high = Math.multiplyHigh(a, b);
    return limb(a * b, high, high >> 63, k, last);
  }

  /**
   * Limb {@code k} of a product of three.
   *
   * @throws org.apache.spark.SparkArithmeticException if the product has more than 38 digits
   */
  public static long ofProduct(long a, long b, long c, int k, boolean last, int scale) {
    long low = a * b;
    long high = Math.multiplyHigh(a, b);
    long first = low * c;
    // The high half of an unsigned factor by a signed one.
    long carry = Math.multiplyHigh(low, c) + (low < 0 ? c : 0);
    long second = high * c + carry;
    long third = Math.multiplyHigh(high, c) + (carry >> 63) + (Long.compareUnsigned(second, carry) < 0 ? 1 : 0);
    if (third != second >> 63 || Math.abs(second >> 1) >= HALF_OF_MOST) {
      check(a, b, c, scale);
    }
    return limb(first, second, third, k, last);
  }

  /** Half of what the upper 64 bits of 10^38 are: what is below needs no closer look. */
  private static final long HALF_OF_MOST = MOST.shiftRight(65).longValueExact();

  private static void check(long a, long b, long c, int scale) {
    BigInteger product = BigInteger.valueOf(a).multiply(BigInteger.valueOf(b)).multiply(BigInteger.valueOf(c));
    if (product.abs().compareTo(MOST) >= 0) {
      decimal(product, 38, scale, false);
    }
  }

  private static long limb(long low, long high, long sign, int k, boolean last) {
    int from = k * BITS;
    long found;
    if (from < 64) {
      found = from == 0 ? low : low >>> from | high << 64 - from;
    } else if (from == 64) {
      found = high;
    } else {
      found = high >>> from - 64 | sign << 128 - from;
    }
    return last ? found : found & MASK;
  }

  /**
   * The decimal, of a precision from 19 on, whose limbs these are the sums of.
   *
   * @param orNull whether what has too many digits is null
   * @throws org.apache.spark.SparkArithmeticException if it has too many digits
   */
  public static Decimal whole(long a, long b, int precision, int scale, boolean orNull) {
    long high = b << BITS;
    long sum = high + a;
    if (high >> BITS == b && ((high ^ sum) & (a ^ sum)) >= 0) {
      return Decimal.apply(sum, precision, scale);
    }
    return decimal(BigInteger.valueOf(b).shiftLeft(BITS).add(BigInteger.valueOf(a)), precision, scale, orNull);
  }

  public static Decimal whole(long a, long b, long c, int precision, int scale, boolean orNull) {
    return decimal(joined(a, b, c), precision, scale, orNull);
  }

  public static Decimal whole(long a, long b, long c, long d, int precision, int scale, boolean orNull) {
    return decimal(joined(a, b, c, d), precision, scale, orNull);
  }

  public static Decimal whole(long a, long b, long c, long d, long e, int precision, int scale, boolean orNull) {
    return decimal(joined(a, b, c, d, e), precision, scale, orNull);
  }

  private static BigInteger joined(long... limbs) {
    BigInteger sum = BigInteger.ZERO;
    for (int i = limbs.length - 1; i >= 0; i--) {
      sum = sum.shiftLeft(BITS).add(BigInteger.valueOf(limbs[i]));
    }
    return sum;
  }

  private static Decimal decimal(BigInteger unscaled, int precision, int scale, boolean orNull) {
    if (unscaled.bitLength() < 63) {
      return Decimal.apply(unscaled.longValueExact(), precision, scale);
    }
    Decimal exact = Decimal.apply(new BigDecimal(unscaled, scale));
    return exact.toPrecision(precision, scale, Decimal.ROUND_HALF_UP(), orNull, null);
  }
}
