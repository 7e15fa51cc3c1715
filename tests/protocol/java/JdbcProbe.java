import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Properties;

/** Drives a server through presto-jdbc and prints one line for each fact that the test compares. */
public final class JdbcProbe {
    public static void main(String[] args) throws Exception {
        Properties properties = new Properties();
        properties.setProperty("user", "java");
        properties.setProperty("timeZoneId", "UTC");
        try (Connection connection = DriverManager.getConnection("jdbc:presto://" + args[0] + "/iceberg/db", properties)) {
            System.out.println("product " + connection.getMetaData().getDatabaseProductVersion());
            types(connection);
            pages(connection);
            update(connection);
            session(connection);
            failure(connection);
            cancel(connection);
            partial(connection);
            transaction(connection);
        }
        System.out.println("end");
        // The driver's HTTP threads would keep the JVM for another minute.
        System.exit(0);
    }

    private static void types(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery("SELECT all")) {
            ResultSetMetaData meta = rows.getMetaData();
            while (rows.next()) {
                for (int i = 1; i <= meta.getColumnCount(); i++) {
                    Object value = rows.getObject(i);
                    String text = value instanceof byte[] ? "bytes:" + ((byte[]) value).length : String.valueOf(value);
                    if (value instanceof java.sql.Array) {
                        text = java.util.Arrays.toString((Object[]) ((java.sql.Array) value).getArray());
                    }
                    System.out.println(meta.getColumnName(i) + "|" + meta.getColumnTypeName(i) + "|" + text);
                }
            }
        }
    }

    private static void partial(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery("SELECT endless")) {
            int count = 0;
            while (rows.next()) {
                if (count++ == 0) {
                    statement.unwrap(com.facebook.presto.jdbc.PrestoStatement.class).partialCancel();
                }
            }
            System.out.println("partial " + count);
        }
    }

    private static void pages(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery("SELECT many")) {
            long count = 0;
            long sum = 0;
            while (rows.next()) {
                count++;
                sum += rows.getLong("n");
            }
            System.out.println("many " + count + " " + sum);
        }
    }

    private static void update(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            System.out.println("update " + statement.executeUpdate("DELETE FROM t"));
        }
    }

    private static void session(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("USE tpch.sf1");
            statement.execute("SET SESSION a = 'b c'");
            System.out.println("session " + connection.getCatalog() + "." + connection.getSchema());
            statement.execute("SELECT none");
        }
        try (PreparedStatement prepared = connection.prepareStatement("SELECT 1"); ResultSet rows = prepared.executeQuery()) {
            rows.next();
            System.out.println("prepared " + rows.getInt(1));
        }
    }

    private static void failure(Connection connection) {
        try (Statement statement = connection.createStatement()) {
            statement.executeQuery("SELEC 1");
            System.out.println("no failure");
        }
        catch (SQLException e) {
            System.out.println("failure " + e.getErrorCode() + " " + e.getMessage());
        }
    }

    private static void cancel(Connection connection) throws Exception {
        try (Statement statement = connection.createStatement()) {
            Thread canceler = new Thread(() -> {
                try {
                    Thread.sleep(500);
                    statement.cancel();
                }
                catch (Exception e) {
                    System.out.println("cancel failed " + e);
                }
            });
            canceler.start();
            statement.executeQuery("SELECT slow").next();
            System.out.println("not cancelled");
        }
        catch (SQLException e) {
            System.out.println("cancelled");
        }
    }

    private static void transaction(Connection connection) throws SQLException {
        connection.setAutoCommit(false);
        try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery("SELECT 1")) {
            rows.next();
            System.out.println("in transaction " + rows.getInt(1));
        }
        connection.commit();
        connection.setAutoCommit(true);
    }
}
