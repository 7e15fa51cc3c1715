package procession.spark;

import java.util.ArrayList;
import java.util.List;

/** Asks a loader of ours for classes; prints what became of each, and what its parent was asked for. */
public final class AsksForClasses {
  public static void main(String[] names) {
    List<String> asked = new ArrayList<>();
    ClassLoader parent =
        new ClassLoader(AsksForClasses.class.getClassLoader()) {
          @Override
          public Class<?> loadClass(String name) throws ClassNotFoundException {
            asked.add(name);
            if (name.startsWith("unreadable.")) {
              throw new ClassNotFoundException(name, new java.io.IOException("too many open files"));
            }
            return super.loadClass(name);
          }
        };
    ClassLoader ours = new KnownMisses(parent);
    for (String name : names) {
      try {
        System.out.println("found " + ours.loadClass(name).getName());
      } catch (ClassNotFoundException e) {
        System.out.println("missing " + e.getMessage());
      }
    }
    System.out.println("asked " + String.join(" ", asked));
  }
}
