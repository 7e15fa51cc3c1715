import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Properties;

/**
 * Calls every method of DatabaseMetaData, found by reflection, with names and with nulls: what DBeaver, DataGrip and
 * Metabase may call. Arguments: an address for JDBC, a catalog, a schema, a table. Prints "name|answer", rows as their number.
 */
public final class EveryMethod {
    public static void main(String[] args) throws Exception {
        Properties properties = new Properties();
        properties.setProperty("user", "java");
        try (Connection connection = DriverManager.getConnection(args[0], properties)) {
            DatabaseMetaData metadata = connection.getMetaData();
            Method[] methods = DatabaseMetaData.class.getDeclaredMethods();
            Arrays.sort(methods, Comparator.comparing(Method::getName).thenComparing(Method::toString));
            for (Method method : methods) {
                System.out.println(method.getName() + "|" + answer(metadata, method, args, true));
                if (Arrays.asList(method.getParameterTypes()).contains(String.class)) {
                    System.out.println(method.getName() + " of nulls|" + answer(metadata, method, args, false));
                }
            }
        }
        System.exit(0);
    }

    private static String answer(DatabaseMetaData metadata, Method method, String[] args, boolean named) throws Exception {
        try {
            Object result = method.invoke(metadata, arguments(method, args, named));
            return result instanceof ResultSet ? rows((ResultSet) result) + " rows" : String.valueOf(result);
        }
        catch (InvocationTargetException e) {
            Throwable cause = e.getCause();
            boolean missing = cause.getClass().getSimpleName().equals("NotImplementedException");
            return (missing || cause instanceof SQLFeatureNotSupportedException ? "not supported" : "FAILED " + cause);
        }
    }

    private static Object[] arguments(Method method, String[] args, boolean named) {
        String[] names = {args[1], args[2], args[3], "%", args[2], args[3]};
        Class<?>[] types = method.getParameterTypes();
        Object[] values = new Object[types.length];
        int strings = 0;
        for (int i = 0; i < types.length; i++) {
            if (types[i] == String.class) {
                values[i] = named ? names[strings] : null;
                strings++;
            }
            else if (types[i] == String[].class) {
                values[i] = named ? new String[] {"TABLE", "VIEW"} : null;
            }
            else if (types[i] == int.class) {
                values[i] = 1;
            }
            else if (types[i] == boolean.class) {
                values[i] = true;
            }
        }
        return values;
    }

    private static int rows(ResultSet answer) throws SQLException {
        int count = 0;
        while (answer.next()) {
            for (int i = 1; i <= answer.getMetaData().getColumnCount(); i++) {
                answer.getObject(i);
            }
            count++;
        }
        return count;
    }
}
