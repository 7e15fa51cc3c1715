package procession.spark;

import java.util.List;
import java.util.function.Function;
import scala.PartialFunction;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractPartialFunction;

/** Scala's functions and sequences out of Java's. */
final class Rules {
  private Rules() {}

  static <A, B> AbstractFunction1<A, B> each(Function<A, B> function) {
    return new AbstractFunction1<>() {
      @Override
      public B apply(A given) {
        return function.apply(given);
      }
    };
  }

  /** A function of those nodes that are {@code T}s. */
  static <A, T extends A> PartialFunction<A, A> of(Class<T> type, Function<T, A> function) {
    return new AbstractPartialFunction<>() {
      @Override
      public boolean isDefinedAt(A given) {
        return type.isInstance(given);
      }

      @Override
      public <G extends A, H> H applyOrElse(G given, scala.Function1<G, H> otherwise) {
        @SuppressWarnings("unchecked")
        H found = type.isInstance(given) ? (H) function.apply(type.cast(given)) : otherwise.apply(given);
        return found;
      }
    };
  }

  static <T> List<T> list(Seq<? extends T> given) {
    return List.copyOf(CollectionConverters.<T>asJava((Seq<T>) given));
  }

  static <T> Seq<T> seq(List<? extends T> given) {
    return CollectionConverters.<T>asScala((List<T>) given).toList();
  }
}
