package procession.spark;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The classes of another loader, whose class path stays as it is. What it lacks is looked for once: for each name of a
 * variable in the code that Spark makes of a plan, its compiler asks for classes of that name in several packages, and
 * each of them was looked for in some 300 jars.
 */
final class KnownMisses extends ClassLoader {
  private static final int MOST = 20_000;

  static {
    registerAsParallelCapable();
  }

  private final Set<String> missing = ConcurrentHashMap.newKeySet();

  KnownMisses(ClassLoader parent) {
    super(parent);
  }

  @Override
  protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
    if (missing.contains(name)) {
      throw new Missing(name);
    }
    try {
      return getParent().loadClass(name);
    } catch (ClassNotFoundException e) {
      if (e.getCause() == null) { // else a jar could not be read
        if (missing.size() >= MOST) {
          missing.clear();
        }
        missing.add(name);
      }
      throw e;
    }
  }

  /** Who asks goes on without the class: the place in the code, which takes time to find, is of no use. */
  private static final class Missing extends ClassNotFoundException {
    private static final long serialVersionUID = 1;

    Missing(String name) {
      super(name);
    }

    @Override
    public Throwable fillInStackTrace() {
      return this;
    }
  }
}
