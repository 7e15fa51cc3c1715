import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;

/** Makes a folder, two files and a folder of its own rights, by the file system that the first argument names. */
public final class MakesFiles {
  public static void main(String[] arguments) throws Exception {
    Configuration settings = new Configuration();
    settings.set("fs.file.impl", arguments[0]);
    Path home = new Path("file://" + arguments[1]);
    FileSystem files = FileSystem.get(home.toUri(), settings);
    files.mkdirs(new Path(home, "folder"));
    files.create(new Path(home, "folder/file")).close();
    FsPermission mine = new FsPermission((short) 0640);
    files.create(new Path(home, "mine"), mine, true, 4096, (short) 1, 1 << 20, null).close();
    FileSystem.mkdirs(files, new Path(home, "closed"), new FsPermission((short) 0711));
    System.out.println(files.getFileStatus(new Path(home, "folder/file")).getLen());
  }
}
