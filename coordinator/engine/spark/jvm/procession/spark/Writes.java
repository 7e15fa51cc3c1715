package procession.spark;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/** Which writes of this process commit at the moment, and which were given up for good. */
final class Writes {
  private static final long PATIENCE_MILLIS = 5_000;
  private static final Set<String> ENDED = new HashSet<>();
  private static final Map<String, Integer> COMMITTING = new HashMap<>();

  private Writes() {}

  static synchronized boolean beginCommit(String write) {
    if (ENDED.contains(write)) {
      return false;
    }
    COMMITTING.merge(write, 1, Integer::sum);
    return true;
  }

  static synchronized void endCommit(String write) {
    COMMITTING.merge(write, -1, (count, less) -> count + less == 0 ? null : count + less);
    Writes.class.notifyAll();
  }

  static synchronized boolean isEnded(String write) {
    return ENDED.contains(write);
  }

  /** No commit begins from now on; whether none is under way any more. */
  static synchronized boolean end(String write) {
    ENDED.add(write);
    long deadline = System.currentTimeMillis() + PATIENCE_MILLIS;
    while (COMMITTING.containsKey(write)) {
      long left = deadline - System.currentTimeMillis();
      if (left <= 0) {
        return false;
      }
      try {
        Writes.class.wait(left);
      } catch (InterruptedException error) {
        Thread.currentThread().interrupt();
        return false;
      }
    }
    return true;
  }
}
