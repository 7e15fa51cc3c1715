package procession.spark;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermission;
import java.util.EnumSet;
import java.util.Set;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * Hadoop's local files, whose permissions are set by a system call. Without its native library, which pyspark does not
 * bring, Hadoop runs the program chmod for each file and folder that it makes, and for each checksum.
 */
public final class LocalFiles extends LocalFileSystem {
  private static final int BEYOND_RIGHTS = ~0777;

  public LocalFiles() {
    super(new WithoutPrograms());
  }

  static Set<PosixFilePermission> rights(int mode) {
    // In the order of the bits, the owner's right to read first.
    PosixFilePermission[] all = PosixFilePermission.values();
    Set<PosixFilePermission> found = EnumSet.noneOf(PosixFilePermission.class);
    for (int place = 0; place < all.length; place++) {
      if ((mode & (0400 >> place)) != 0) {
        found.add(all[place]);
      }
    }
    return found;
  }

  private static final class WithoutPrograms extends RawLocalFileSystem {
    @Override
    public void setPermission(Path path, FsPermission permission) throws IOException {
      int mode = permission.toShort();
      if ((mode & BEYOND_RIGHTS) == 0) {
        Files.setPosixFilePermissions(pathToFile(path).toPath(), rights(mode));
      } else {
        super.setPermission(path, permission);
      }
    }
  }
}
