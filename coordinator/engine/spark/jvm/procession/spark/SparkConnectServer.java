package procession.spark;

/** Spark's server of the same name, whose threads find their classes through a loader that knows what there is not. */
public final class SparkConnectServer {
  private SparkConnectServer() {}

  public static void main(String[] arguments) {
    Thread.currentThread().setContextClassLoader(new KnownMisses(ClassLoader.getSystemClassLoader()));
    org.apache.spark.sql.connect.service.SparkConnectServer.main(arguments);
  }
}
