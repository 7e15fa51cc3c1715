"""``/v1/properties/session``: the session properties of Presto C++ workers and this service's own, in Presto's shape.

A coordinator that asks its sidecar knows no other worker properties, so those of the workers must be here although
nothing runs in this service. Names, types and defaults: Presto 0.296 (``NativeWorkerSessionPropertyProvider`` and
``presto_cpp`` SessionProperties).
"""

from __future__ import annotations

import msgspec


class SessionPropertyMetadata(msgspec.Struct, frozen=True):
    """One property; values travel as text."""

    name: str
    description: str
    typeSignature: str
    defaultValue: str
    hidden: bool = False


_WORKER = """
boolean false native_simplified_expression_evaluation_enabled: Evaluate expressions by the simple path
bigint 100000 native_expression_max_array_size_in_reduce: Longest array that reduce() takes
bigint 100 native_expression_max_compiled_regexes: Most compiled patterns of one regular expression function
boolean false native_join_spill_enabled: Spill joins
boolean false native_window_spill_enabled: Spill windows
boolean false native_writer_spill_enabled: Spill writers
boolean false native_row_number_spill_enabled: Spill row numbers
boolean false native_topn_row_number_spill_enabled: Spill first row numbers
integer 4 native_max_spill_level: Deepest level of spilling of a join's build side, -1 for any
integer 0 native_max_spill_file_size: Largest spilled file in bytes, 0 for any
bigint 107374182400 native_max_spill_bytes: Most bytes spilled
varchar zstd native_spill_compression_codec: Codec of spilled data
bigint 1048576 native_spill_write_buffer_size: Bytes buffered before spilled data is written
varchar '' native_spill_file_create_config: Configuration for creating spilled files
tinyint 3 native_spiller_num_partition_bits: Bits of the number of spilled partitions
boolean false native_spill_prefixsort_enabled: Sort spilled rows by prefixes
bigint 100663296 native_writer_flush_threshold_bytes: Memory of a writer from which it can be flushed
boolean false native_debug_validate_output_from_operators: Check the output of every operator
boolean false native_debug_disable_expression_with_peeling: Do not peel dictionaries
boolean false native_debug_disable_common_sub_expressions: Do not reuse common parts of expressions
boolean false native_debug_disable_expression_with_memoization: Do not reuse results between batches
boolean false native_debug_disable_expression_with_lazy_inputs: Load all inputs at once
varchar '' native_debug_memory_pool_name_regex: Memory pools whose allocations are tracked
bigint 0 native_debug_memory_pool_warn_threshold_bytes: Size of a tracked memory pool that is worth a warning
boolean false native_selective_nimble_reader_enabled: Read Nimble files selectively
boolean true row_size_tracking_enabled: Track sizes of rows where a reader cannot tell them
bigint 10485760 preferred_output_batch_bytes: Bytes of a batch of output
integer 1024 preferred_output_batch_rows: Rows of a batch of output whose row size is not known
integer 10000 max_output_batch_rows: Most rows of a batch of output
bigint 16777216 native_max_partial_aggregation_memory: Memory of a partial aggregation that reduces little
bigint 67108864 native_max_extended_partial_aggregation_memory: Memory of a partial aggregation that reduces well
boolean false native_query_trace_enabled: Trace the query
varchar '' native_query_trace_dir: Where traces are written
varchar '' native_query_trace_node_id: The plan node whose input is traced
varchar '' native_query_trace_fragment_id: The fragment of the traced task
varchar '' native_query_trace_shard_id: The shard of the traced task
bigint 0 native_query_trace_max_bytes: Most bytes of traces, 0 for none
varchar '' native_op_trace_directory_create_config: Configuration for creating directories of traces
bigint 209715200 native_max_output_buffer_size: Bytes that a task may buffer
bigint 25165824 native_max_page_partitioning_buffer_size: Bytes that partitioned output may buffer
bigint 4294967295 native_max_local_exchange_partition_count: Most partitions of a local exchange
integer 128 native_prefixsort_normalized_key_max_bytes: Longest key that is sorted by its prefix, 0 for none
integer 130 native_prefixsort_min_rows: Fewest rows that are sorted by prefixes
double 0.7 native_scaled_writer_rebalance_max_memory_usage_ratio: Share of memory in use from which writers do not scale
integer 128 native_scaled_writer_max_partitions_per_writer: Most logical partitions of a writer
bigint 134217728 native_scaled_writer_min_partition_processed_bytes_rebalance_threshold: Bytes of an overloaded one
bigint 268435456 native_scaled_writer_min_processed_bytes_rebalance_threshold: Bytes of all before rebalancing
boolean false native_table_scan_scaled_processing_enabled: Scale the concurrency of scans
double 0.7 native_table_scan_scale_up_memory_usage_ratio: Share of memory in use from which scans do not scale
integer 0 native_streaming_aggregation_min_output_batch_rows: Fewest rows of a batch of a streaming aggregation
integer 10 native_request_data_sizes_max_wait_sec: Longest wait for the sizes of an exchange
integer 2147483647 native_query_memory_reclaimer_priority: Which query gives up memory first; lower comes later
integer 0 native_max_num_splits_listened_to: Most splits that a scan of a worker listens to
integer 0 native_index_lookup_join_max_prefetch_batches: Batches that an index join looks up ahead
boolean true native_index_lookup_join_split_output: Split the output of an index join into batches
boolean true native_unnest_split_output: Split the output of UNNEST into batches
boolean true native_use_velox_geospatial_join: Spatial joins by Velox's own node
boolean true legacy_timestamp: TIME and TIMESTAMP as of old
integer 1000 driver_cpu_time_slice_limit_ms: CPU time after which a driver yields, 0 for any
"""


def session_properties(*, compile_check: bool) -> tuple[SessionPropertyMetadata, ...]:
    """The properties; those of this service with its defaults."""
    return (
        *(_worker_property(line) for line in _WORKER.strip().splitlines()),
        SessionPropertyMetadata(
            "native_plan_compile_check_enabled",
            "Compile every converted fragment over empty inputs: functions, types, lambdas and windows",
            "boolean",
            str(compile_check).lower(),
        ),
        SessionPropertyMetadata(
            "native_max_plan_conversion_time",
            "Longest time that one fragment may take",
            "varchar",
            "10s",
            hidden=True,
        ),
    )


def _worker_property(line: str) -> SessionPropertyMetadata:
    head, _, description = line.partition(": ")
    kind, default, name = head.split(" ")
    return SessionPropertyMetadata(name, f"Workers only. {description}", kind, default.strip("'"))
