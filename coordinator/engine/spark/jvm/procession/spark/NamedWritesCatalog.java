package procession.spark;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.LinkedHashSet;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import org.apache.iceberg.BaseTable;
import org.apache.iceberg.BaseTransaction;
import org.apache.iceberg.Schema;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableOperations;
import org.apache.iceberg.Transaction;
import org.apache.iceberg.Transactions;
import org.apache.iceberg.catalog.Catalog;
import org.apache.iceberg.exceptions.ValidationException;
import org.apache.iceberg.io.LocationProvider;
import org.apache.iceberg.spark.SparkCatalog;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.apache.spark.status.api.v1.JobData;

/**
 * Iceberg's catalog, where the files of a write carry a name that the coordinator knows before the write begins, and
 * where a write that was given up commits nothing any more, nor does one whose table became another meanwhile.
 *
 * <p>A session whose setting {@link #WRITE} is empty gets what Iceberg gives.
 */
public final class NamedWritesCatalog extends SparkCatalog {
  static final String WRITE = "spark.procession.write-id";
  private static final String REPLACED = "spark.procession.replaced-metadata";
  private static final String UUIDS = "spark.procession.uuid-columns";
  private static final String ENDED = "procession_ended_writes";
  private static final String EXECUTORS = "procession_executors";
  private static final String JOBS = "procession_jobs";

  private SparkSession session;

  @Override
  protected Catalog buildIcebergCatalog(String name, CaseInsensitiveStringMap options) {
    session = SparkSession.active();
    Catalog catalog = super.buildIcebergCatalog(name, options);
    return proxy(
        catalog,
        (self, method, arguments) -> {
          switch (method.getName()) {
            case "loadTable":
              Object table = call(catalog, method, arguments);
              return table != null && table.getClass() == BaseTable.class ? named((BaseTable) table) : table;
            case "buildTable":
              Object[] asked = {arguments[0], wanted((Schema) arguments[1])};
              return named((Catalog.TableBuilder) call(catalog, method, asked));
            default:
              return call(catalog, method, arguments);
          }
        });
  }

  /**
   * A table of the namespace {@link #ENDED} is no table: to ask for it ends the write of that name. One of {@link
   * #EXECUTORS} tells how many tasks run at once on the executors that are there now, and one of {@link #JOBS} which
   * jobs ran for the operations of Spark Connect that its name lists.
   */
  @Override
  public Table loadTable(Identifier identifier) throws NoSuchTableException {
    String namespace = identifier.namespace().length == 1 ? identifier.namespace()[0] : "";
    switch (namespace) {
      case ENDED:
        throw new IllegalStateException(Writes.end(identifier.name()) ? "procession: ended" : "procession: commits");
      case EXECUTORS:
        throw new IllegalStateException("procession: " + slots(session.sparkContext()) + " slots");
      case JOBS:
        throw new IllegalStateException("procession: jobs" + jobs(session.sparkContext(), identifier.name()) + ".");
      default:
        return super.loadTable(identifier);
    }
  }

  private static int slots(SparkContext context) {
    return context.maxNumConcurrentTasks(context.resourceProfileManager().defaultResourceProfile());
  }

  /** In the order in which they began. Spark Connect tags jobs with their operation. */
  private static String jobs(SparkContext context, String operations) {
    TreeSet<Integer> found = new TreeSet<>();
    scala.collection.Iterator<JobData> jobs = context.statusStore().jobsList(null).iterator();
    while (jobs.hasNext()) {
      JobData job = jobs.next();
      String tags = job.jobTags().mkString(" ") + " ";
      for (String operation : operations.split(",")) {
        if (tags.contains("_Operation_" + operation + " ")) {
          found.add(job.jobId());
        }
      }
    }
    StringBuilder text = new StringBuilder();
    found.forEach(job -> text.append(' ').append(job));
    return text.toString();
  }

  private Optional<String> write() {
    String id = session.conf().get(WRITE, "");
    return id.isEmpty() ? Optional.empty() : Optional.of(id);
  }

  /** Of a table that a write makes, as the coordinator wants it. */
  private Schema wanted(Schema plain) {
    String uuids = session.conf().get(UUIDS, "");
    return write().isEmpty() || uuids.isEmpty() ? plain : UuidColumns.made(plain, uuids);
  }

  private org.apache.iceberg.Table named(BaseTable table) {
    TableMetadata read = table.operations().current();
    TableOperations operations = named(table.operations(), base -> SameColumns.check(read, base));
    return new FannedTable(operations, table.name(), table.reporter(), () -> write().isPresent());
  }

  /** A builder whose replacements of a table are writes like others. */
  private Catalog.TableBuilder named(Catalog.TableBuilder plain) {
    return proxy(
        plain,
        (self, method, arguments) -> {
          Object result = call(plain, method, arguments);
          if (result instanceof Catalog.TableBuilder) {
            return result == plain ? self : named((Catalog.TableBuilder) result);
          }
          boolean replaces = method.getName().equals("replaceTransaction") && write().isPresent();
          return replaces && result instanceof BaseTransaction ? named((BaseTransaction) result) : result;
        });
  }

  /**
   * Iceberg's own would put its metadata in the place of whatever others committed since it began: their snapshots
   * would be lost, and what they expired would be back without its files.
   */
  private Transaction named(BaseTransaction plain) {
    String replaced = session.conf().get(REPLACED, "");
    TableOperations operations =
        named(
            plain.underlyingOps(),
            base -> {
              if (base == null || !replaced.isEmpty() && !replaced.equals(base.metadataFileLocation())) {
                throw new ValidationException("Found conflicting commits: the table was changed while it was replaced");
              }
            });
    return Transactions.replaceTableTransaction(plain.tableName(), operations, plain.currentMetadata());
  }

  /** {@code check} is asked about the metadata that a commit of a write is based on. */
  private TableOperations named(TableOperations plain, Consumer<TableMetadata> check) {
    return proxy(
        plain,
        (self, method, arguments) -> {
          switch (method.getName()) {
            case "temp":
              // Where a transaction has its files before it is committed.
              return named((TableOperations) call(plain, method, arguments), check);
            case "locationProvider":
              LocationProvider locations = (LocationProvider) call(plain, method, arguments);
              return write().isEmpty() ? locations : new NamedLocations(locations, write().get());
            case "metadataFileLocation":
              // The list of a snapshot's manifests, and manifests.
              String name = (String) arguments[0];
              Object[] named = {write().isEmpty() ? name : NamedLocations.appended(name, write().get())};
              return call(plain, method, named);
            case "commit":
              if (write().isPresent()) {
                check.accept((TableMetadata) arguments[0]);
                commit(write().get(), plain, (TableMetadata) arguments[0], (TableMetadata) arguments[1]);
                return null;
              }
              return call(plain, method, arguments);
            default:
              return call(plain, method, arguments);
          }
        });
  }

  private static void commit(String write, TableOperations operations, TableMetadata base, TableMetadata next) {
    if (!Writes.beginCommit(write)) {
      throw new ValidationException("The write was given up: it commits nothing");
    }
    try {
      operations.commit(base, next);
    } finally {
      Writes.endCommit(write);
    }
  }

  private static Object call(Object target, java.lang.reflect.Method method, Object[] arguments) throws Throwable {
    try {
      return method.invoke(target, arguments);
    } catch (InvocationTargetException error) {
      throw error.getCause();
    }
  }

  @SuppressWarnings("unchecked")
  private static <T> T proxy(T target, InvocationHandler handler) {
    Set<Class<?>> interfaces = new LinkedHashSet<>();
    for (Class<?> type = target.getClass(); type != null; type = type.getSuperclass()) {
      collect(type, interfaces);
    }
    ClassLoader loader = target.getClass().getClassLoader();
    return (T) Proxy.newProxyInstance(loader, interfaces.toArray(new Class<?>[0]), handler);
  }

  private static void collect(Class<?> type, Set<Class<?>> found) {
    for (Class<?> each : type.getInterfaces()) {
      if (java.lang.reflect.Modifier.isPublic(each.getModifiers())) {
        found.add(each);
      }
      collect(each, found);
    }
  }
}
