package procession.spark;

/**
 * Which writes of this process commit at the moment, and which were given up for good.
 *
 * <p>Where the jar came as an artifact of a session, each session has classes of its own: what they share are the
 * properties of the process, and a constant text, of which there is one in a process.
 */
final class Writes {
  private static final long PATIENCE_MILLIS = 5_000;
  private static final String ENDED = "procession.ended-write.";
  private static final String COMMITTING = "procession.committing-write.";
  private static final Object LOCK = "procession.spark.Writes";

  private Writes() {}

  static boolean beginCommit(String write) {
    synchronized (LOCK) {
      if (isEnded(write)) {
        return false;
      }
      count(write, 1);
      return true;
    }
  }

  static void endCommit(String write) {
    synchronized (LOCK) {
      count(write, -1);
      LOCK.notifyAll();
    }
  }

  static boolean isEnded(String write) {
    return System.getProperty(ENDED + write) != null;
  }

  /** No commit begins from now on; whether none is under way any more. */
  static boolean end(String write) {
    synchronized (LOCK) {
      System.setProperty(ENDED + write, "true");
      long deadline = System.currentTimeMillis() + PATIENCE_MILLIS;
      while (System.getProperty(COMMITTING + write) != null) {
        long left = deadline - System.currentTimeMillis();
        if (left <= 0) {
          return false;
        }
        try {
          LOCK.wait(left);
        } catch (InterruptedException error) {
          Thread.currentThread().interrupt();
          return false;
        }
      }
      return true;
    }
  }

  private static void count(String write, int more) {
    int count = Integer.parseInt(System.getProperty(COMMITTING + write, "0")) + more;
    if (count == 0) {
      System.clearProperty(COMMITTING + write);
    } else {
      System.setProperty(COMMITTING + write, Integer.toString(count));
    }
  }
}
