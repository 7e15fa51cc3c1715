"""``procession demo`` with the class path of all tests, for which an archive of classes is there: half of its CPU time.

One planner, as other services of the tests have.
"""

from coordinator.cli import demo
from coordinator.cli.main import main
from tests.spark_packages import PACKAGES

demo._ETC["config.properties"] += f"spark.packages={','.join(PACKAGES)}\neager-plan-validation-thread-pool-size=1\n"

if __name__ == "__main__":
    main()
