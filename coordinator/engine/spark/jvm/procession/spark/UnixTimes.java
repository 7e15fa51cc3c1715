package procession.spark;

import java.io.Serializable;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.Collections;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/** {@code FROM_UNIXTIME} of {@code kernels/functions/dates.py}. */
public record UnixTimes(ZoneId zone, String type, boolean attempt) implements Serializable {
  /** The years 1 to 9999 in milliseconds. */
  private static final long FIRST = -62_135_596_800_000L;
  private static final long LAST = 253_402_300_800_000L;
  /** So many milliseconds are whole numbers of a double times 1000, a thousandth more or less. */
  private static final double SURE = 8e12;

  /** The expression of a call, with or without the name of a zone, which must be a constant. */
  static Expression of(Call call) {
    boolean zoned = "timestamp with time zone".equals(call.result());
    String name = call.size() == 1 ? call.program().zone : call.size() == 2 ? call.text(1) : null;
    ZoneId zone = name == null ? null : ShownTimestamps.zoneOf(name);
    if (zone == null) {
      return null;
    }
    DataType type = zoned ? DataTypes.TimestampType : DataTypes.TimestampNTZType;
    // What is in the zone's clock of a time with a zone is its instant.
    UnixTimes owner = new UnixTimes(zoned ? ZoneOffset.UTC : zone, call.result(), call.attempt());
    Expression whole = call.castFrom(0, "bigint");
    return whole != null
        ? Call.invoke(owner, "whole", type, List.of(whole))
        : Call.invoke(owner, "seconds", type, Collections.singletonList(call.argument(0)));
  }

  public Long whole(long seconds) {
    return seconds < FIRST / 1000 || seconds > LAST / 1000 ? outOfRange() : micros(seconds * 1000);
  }

  public Long seconds(double seconds) {
    if (Double.isNaN(seconds)) {
      return Failures.of(attempt, Failures.INVALID, "NaN is not a time");
    }
    if (Math.abs(seconds) > LAST / 1000.0) {
      return outOfRange();
    }
    double millis = seconds * 1000;
    double rounded = Math.rint(millis);
    // Near the middle of two the exact value decides.
    boolean sure = Math.abs(millis) < SURE && Math.abs(millis - rounded) < 0.499;
    return micros(sure ? (long) rounded : exact(seconds));
  }

  private static long exact(double seconds) {
    return new BigDecimal(seconds).movePointRight(3).setScale(0, RoundingMode.HALF_UP).longValueExact();
  }

  private Long micros(long millis) {
    if (millis < FIRST || millis >= LAST) {
      return outOfRange();
    }
    if (zone == ZoneOffset.UTC) {
      return millis * 1000;
    }
    long moved = millis + zone.getRules().getOffset(Instant.ofEpochMilli(millis)).getTotalSeconds() * 1000L;
    return moved < FIRST || moved >= LAST ? outOfRange() : (Long) (moved * 1000);
  }

  private Long outOfRange() {
    return Failures.of(attempt, Failures.OUT_OF_RANGE, "Value of " + type + " out of range");
  }
}
