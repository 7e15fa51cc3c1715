import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.util.Properties;

/** Logs in with each line of its input, an address and properties between tabs, and prints who it is or what it is told. */
public final class LoginProbe {
    public static void main(String[] args) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] parts = line.split("\t");
            Properties properties = new Properties();
            for (int i = 1; i < parts.length; i++) {
                int end = parts[i].indexOf('=');
                properties.setProperty(parts[i].substring(0, end), parts[i].substring(end + 1));
            }
            try (Connection connection = DriverManager.getConnection(parts[0], properties);
                    ResultSet rows = connection.createStatement().executeQuery("SELECT current_user")) {
                rows.next();
                System.out.println(rows.getString(1));
            } catch (Exception error) {
                StringBuilder told = new StringBuilder("error");
                for (Throwable cause = error; cause != null; cause = cause.getCause()) {
                    told.append(": ").append(String.valueOf(cause.getMessage()).replace('\n', ' '));
                }
                System.out.println(told);
            }
        }
        // The drivers' HTTP threads would keep the JVM for another minute.
        System.exit(0);
    }
}
