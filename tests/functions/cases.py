# ruff: noqa: E501
# A table: one case beside the other reads better than one below the other.
"""What Presto answers: an expression and its JSON cell, or its error's name and text.

From the examples of Presto's documentation and the assertions of its function tests (TestStringFunctions,
TestMathFunctions, TestUrlFunctions, TestVarbinaryFunctions, TestIpPrefixFunctions, TestProbabilityFunctions …); published
test vectors for hashes. None is this project's own output.
"""

from __future__ import annotations

from typing import Any

Case = tuple[str, Any]

TEXT: tuple[Case, ...] = (
    ("upper('aé')", "AÉ"), ("lower('AÉ')", "aé"), ("reverse('abc')", "cba"), ("length('añb')", 3),
    ("replace('hello', 'l', 'L')", "heLLo"), ("replace('hello', 'l')", "heo"), ("concat('a', 'b', 'c')", "abc"),
    ("split('a.b.c', '.')", ["a", "b", "c"]), ("split('a.b.c', '.', 2)", ["a", "b.c"]), ("split('a..b', '..')", ["a", "b"]),
    ("split_part('abc-@-def-@-ghi', '-@-', 2)", "def"), ("split_part('abc', '', 2)", "b"), ("split_part('abc', '-', 4)", None),
    ("split_to_map('a=1,b=2', ',', '=')", {"a": "1", "b": "2"}), ("split_to_map('', ',', '=')", {}),
    ("split_to_map('a:1;b:2;a:3', ';', ':', (k, v1, v2) -> v1 || v2)", {"a": "13", "b": "2"}),
    ("split_to_multimap('a=1,b=2,a=3', ',', '=')", {"a": ["1", "3"], "b": ["2"]}),
    ("strpos('high', 'ig')", 2), ("strpos('high', '')", 1), ("strpos('abc/xyz/foo/bar', '/', 2)", 8), ("strpos('a', 'b')", 0),
    ("strrpos('high and high', 'ig')", 11), ("strrpos('abc/xyz/foo/bar', '/', 2)", 8), ("strrpos('a', 'b')", 0),
    ("position('b' IN 'abc')", 2), ("trim('  x ')", "x"), ("ltrim('  x ')", "x "), ("rtrim('  x ')", "  x"),
    ("trim('abcba', 'ab')", "c"), ("ltrim('foobar', 'of')", "bar"), ("rtrim('foobar', 'rab')", "foo"),
    ("lpad('text', 5, 'x')", "xtext"), ("lpad('text', 8, 'xy')", "xyxytext"), ("rpad('text', 6, 'xy')", "textxy"), ("rpad('text', 2, 'x')", "te"),
    ("substr('Quadratically', 5)", "ratically"), ("substr('Quadratically', 5, 6)", "ratica"), ("substr('Quadratically', -7)", "tically"), ("substr('abc', 0)", ""),
    ("chr(65)", "A"), ("chr(128512)", "😀"), ("codepoint('A')", 65), ("levenshtein_distance('kitten', 'sitting')", 3),
    ("levenshtein_distance('', 'hello')", 5), ("hamming_distance('hello', 'jello')", 1), ("jarowinkler_similarity('DIXON', 'DICKSONX')", 0.81),
    ("normalize('schön')", "schön"), ("normalize('schön', NFD)", "scho\u0308n"), ("normalize('Ⅳ', NFKC)", "IV"),
    ("longest_common_prefix('ABCDEF', 'ABZZ')", "AB"), ("starts_with('abc', 'ab')", True), ("ends_with('abc', 'bc')", True),
    ("bit_length('aé')", 24), ("to_utf8('é')", "w6k="), ("from_utf8(X'C3A9')", "é"),
    ("from_utf8(X'58BF')", "X\ufffd"), ("from_utf8(X'58BF', '#')", "X#"), ("from_utf8(X'58BF', '')", "X"), ("from_utf8(X'58BF', 35)", "X#"),
    ("word_stem('greatness')", "great"), ("word_stem('maîtresses', 'fr')", "maîtress"),
    ("'a' || 'b'", "ab"), ("typeof('abc')", "varchar(3)"),
    ("lower(CAST(NULL AS varchar))", None), ("length(CAST('ab' AS char(4)))", 4),
)  # fmt: skip

REGEXP: tuple[Case, ...] = (
    (r"regexp_like('1a 2b 14m', '\d+b')", True), (r"regexp_extract('1a 2b 14m', '\d+')", "1"), (r"regexp_extract('1a 2b 14m', '(\d+)([a-z]+)', 2)", "a"),
    ("regexp_extract('abc', 'x')", None), ("regexp_extract('abc', 'x*')", ""), ("regexp_extract('foo', '(x)?foo', 1)", None),
    (r"regexp_extract_all('1a 2b 14m', '\d+')", ["1", "2", "14"]), (r"regexp_extract_all('1a 2b 14m', '(\d+)([a-z]+)', 2)", ["a", "b", "m"]),
    (r"regexp_replace('1a 2b 14m', '\d+[ab] ')", "14m"), (r"regexp_replace('1a 2b 14m', '(\d+)([ab]) ', '3c$2 ')", "3ca 3cb 14m"),
    (r"regexp_replace('new york', '(\w)(\w*)', x -> upper(x[1]) || lower(x[2]))", "New York"), (r"regexp_replace('a.b', '\.', '\$')", "a$b"),
    (r"regexp_split('1a 2b 14m', '\s*[a-z]+\s*')", ["1", "2", "14", ""]), ("regexp_replace('abc', '(?<first>a)', '${first}x')", "axbc"),
    ("regexp_like('Stephen', 'ste(v|ph)en')", False), ("regexp_like('Stephen', '(?i)ste(v|ph)en')", True),
    ("'x_y' LIKE 'x!_%' ESCAPE '!'", True), ("'abc' LIKE 'a%c'", True), ("'abc' NOT LIKE 'a_'", True),
)  # fmt: skip

MATHS: tuple[Case, ...] = (
    ("abs(-3)", 3), ("abs(DECIMAL '-1.5')", "1.5"), ("ceil(DECIMAL '1.2')", "2"), ("ceiling(-1.5e0)", -1.0), ("floor(-1.5e0)", -2.0),
    ("round(2.5e0)", 3.0), ("round(-2.5e0)", -3.0), ("round(3.14159e0, 3)", 3.142), ("round(123, -1)", 123), ("round(BIGINT '9223372036854775807', -3)", 9223372036854775807), ("round(DECIMAL '2.345', 2)", "2.350"),
    ("truncate(-2.7e0)", -2.0), ("truncate(1234.567e0, 1)", 1234.5), ("truncate(1234.567e0, -2)", 1200.0), ("truncate(DECIMAL '12.345', 1)", "12.300"), ("truncate(REAL '2.7')", 2.0),
    ("sign(-2)", -1), ("sign(2.5e0)", 1.0), ("mod(-7, 3)", -1), ("mod(7.5e0, 2e0)", 1.5), ("power(2, 3)", 8.0), ("pow(2, 0.5e0)", 1.4142135623730951),
    ("sqrt(4)", 2.0), ("sqrt(-1e0)", "NaN"), ("cbrt(27)", 3.0), ("exp(0)", 1.0), ("ln(1)", 0.0), ("log2(8)", 3.0), ("log10(1000)", 3.0),
    ("sin(0)", 0.0), ("cos(0)", 1.0), ("tan(0)", 0.0), ("asin(0)", 0.0), ("acos(1)", 0.0), ("atan(0)", 0.0), ("atan2(1, 1)", 0.7853981633974483),
    ("cosh(0)", 1.0), ("tanh(0)", 0.0), ("degrees(pi())", 180.0), ("radians(180)", 3.141592653589793), ("e()", 2.718281828459045), ("pi()", 3.141592653589793),
    ("nan()", "NaN"), ("infinity()", "Infinity"), ("is_nan(nan())", True), ("is_finite(1)", True), ("is_infinite(infinity())", True), ("asin(2e0)", "NaN"), ("ln(0e0)", "-Infinity"), ("ln(-1e0)", "NaN"),
    ("factorial(5)", 120), ("from_base('ff', 16)", 255), ("from_base('-111', 2)", -7), ("to_base(255, 16)", "ff"), ("to_base(-255, 2)", "-11111111"),
    ("width_bucket(3.14e0, 0, 4, 3)", 3), ("width_bucket(2, 0, 4, 3)", 2), ("width_bucket(-1, 0, 4, 3)", 0), ("width_bucket(2, 4, 0, 3)", 2),
    ("width_bucket(3.14e0, ARRAY[0.0e0, 2.0e0, 4.0e0])", 2), ("greatest(1, 3, 2)", 3), ("least('b', 'a')", "a"), ("greatest(1, CAST(NULL AS integer))", None),
    ("bit_count(9, 64)", 2), ("bit_count(-7, 8)", 6), ("bitwise_and(12, 10)", 8), ("bitwise_or(12, 10)", 14), ("bitwise_xor(12, 10)", 6), ("bitwise_not(12)", -13),
    ("bitwise_left_shift(1, 3)", 8), ("bitwise_left_shift(TINYINT '7', 6)", -64), ("bitwise_right_shift(8, 3)", 1), ("bitwise_right_shift(-8, 1)", 2147483644), ("bitwise_right_shift_arithmetic(-8, 1)", -4),
    ("bitwise_arithmetic_shift_right(-8, 1)", -4), ("bitwise_logical_shift_right(-8, 2, 5)", 6), ("bitwise_shift_left(7, 2, 64)", 28), ("bitwise_shift_left(7, 2, 3)", 4),
    ("wilson_interval_lower(1250, 1310, 1.96e0)", 0.9414883725395894), ("wilson_interval_upper(1250, 1310, 1.96e0)", 0.9642524717143908),
    ("parse_presto_data_size('1B')", "1"), ("parse_presto_data_size('1kB')", "1024"), ("parse_presto_data_size('2.3MB')", "2411724"),
    ("rand() BETWEEN 0e0 AND 1e0", True), ("random(10) BETWEEN 0 AND 9", True), ("secure_random() < 1e0", True), ("secure_rand(5, 6)", 5), ("rand(1)", 0),
    ("7 / 2", 3), ("-7 / 2", -3), ("7 % -2", 1), ("1e0 / 0e0", "Infinity"), ("DECIMAL '1.00' / DECIMAL '3'", "0.33"), ("5 / CAST(NULL AS integer)", None),
    ("nan() = nan()", True), ("nan() > infinity()", True), ("0e0 = -0e0", True),
)  # fmt: skip

PROBABILITY: tuple[Case, ...] = (
    ("beta_cdf(3, 3.6e0, 0.3e0)", 0.21764809997679951), ("inverse_beta_cdf(3, 3.6e0, 0.95e0)", 0.7600272463100223), ("binomial_cdf(5, 0.5e0, 5)", 1.0), ("binomial_cdf(20, 1.0e0, 0)", 0.0),
    ("inverse_binomial_cdf(20, 0.5e0, 0.5e0)", 10), ("inverse_binomial_cdf(200, 0.5e0, 0.65e0)", 103), ("cauchy_cdf(0e0, 1e0, 0e0)", 0.5), ("cauchy_cdf(0.0e0, 1.0e0, 1.0e0)", 0.75),
    ("inverse_cauchy_cdf(0.0e0, 1.0e0, 0.5e0)", 0.0), ("inverse_cauchy_cdf(0.0e0, 1.0e0, 0.75e0)", 1.0), ("round(chi_squared_cdf(3, 11.35e0), 2)", 0.99), ("round(inverse_chi_squared_cdf(3, 0.99e0), 4)", 11.3449),
    ("chi_squared_cdf(3, 0.0e0)", 0.0), ("round(f_cdf(2e0, 5e0, 3.7797e0), 4)", 0.9), ("round(inverse_f_cdf(2.0e0, 5.0e0, 0.9e0), 4)", 3.7797), ("f_cdf(2.0e0, 5.0e0, 0.0e0)", 0.0),
    ("round(gamma_cdf(3.0e0, 4.0e0, 10.0e0), 2)", 0.46), ("round(inverse_gamma_cdf(3e0, 3.6e0, 0.99e0), 2)", 30.26), ("laplace_cdf(5, 1, 5)", 0.5), ("inverse_laplace_cdf(0, 1, 0.5e0)", 0.0), ("round(inverse_laplace_cdf(5, 2, 0.99e0), 4)", 12.824),
    ("normal_cdf(0, 1, 1.96e0)", 0.9750021048517796), ("normal_cdf(10, 9, 10)", 0.5), ("inverse_normal_cdf(0, 1, 0.3e0)", -0.52440051270804089), ("inverse_normal_cdf(10, 9, 0.9e0)", 21.533964089901405),
    ("round(poisson_cdf(10, 7), 2)", 0.22), ("inverse_poisson_cdf(3, 0.95e0)", 6), ("inverse_poisson_cdf(3, 0.0e0)", 0), ("round(t_cdf(5, 2.5706e0), 3)", 0.975), ("t_cdf(1000, 0.0e0)", 0.5), ("round(inverse_t_cdf(5, 0.975e0), 4)", 2.5706),
    ("weibull_cdf(1.0e0, 1.0e0, 0.0e0)", 0.0), ("round(weibull_cdf(1e0, 1e0, 40.0e0), 4)", 1.0), ("round(inverse_weibull_cdf(1.0e0, 1.0e0, 0.6321e0), 2)", 1.0),
)  # fmt: skip

BINARY: tuple[Case, ...] = (
    ("to_hex(X'0aff')", "0AFF"), ("from_hex('0Aff')", "Cv8="), ("to_base64(X'0aff')", "Cv8="), ("from_base64('Cv8=')", "Cv8="), ("to_base64url(X'fbff')", "-_8="), ("from_base64url('-_8=')", "+/8="),
    ("to_base32(to_utf8('hello'))", "NBSWY3DP"), ("from_utf8(from_base32('NBSWY3DP'))", "hello"), ("to_base32(X'ff')", "74======"), ("to_hex(from_base32('74======'))", "FF"),
    ("to_hex(to_big_endian_32(12345678))", "00BC614E"), ("from_big_endian_32(X'ff439eb2')", -12345678), ("to_hex(to_big_endian_64(12345678))", "0000000000BC614E"), ("from_big_endian_64(X'FFFFFFFFFF439EB2')", -12345678),
    ("to_hex(to_ieee754_32(REAL '3.1415926'))", "40490FDA"), ("from_ieee754_32(X'40490FDA')", 3.1415925), ("to_hex(to_ieee754_64(3.1415926535897930e0))", "400921FB54442D18"), ("from_ieee754_64(X'400921FB54442D18')", 3.141592653589793),
    ("to_hex(md5(X'61'))", "0CC175B9C0F1B6A831C399E269772661"), ("to_hex(sha1(to_utf8('abc')))", "A9993E364706816ABA3E25717850C26C9CD0D89D"),
    ("to_hex(sha256(X''))", "E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855"), ("substr(to_hex(sha512(to_utf8('abc'))), 1, 32)", "DDAF35A193617ABACC417349AE204131"),
    ("to_hex(hmac_md5(to_utf8('what do ya want for nothing?'), to_utf8('Jefe')))", "750C783E6AB0B503EAA86E310A5DB738"), ("to_hex(hmac_sha1(to_utf8('what do ya want for nothing?'), to_utf8('Jefe')))", "EFFCDF6AE5EB2FA2D27416D5F184DF9C259A7C79"),
    ("to_hex(hmac_sha256(to_utf8('what do ya want for nothing?'), to_utf8('Jefe')))", "5BDCC146BF60754E6A042426089575C75A003F089D2739839DEC58B964EC3843"),
    ("substr(to_hex(hmac_sha512(to_utf8('what do ya want for nothing?'), to_utf8('Jefe'))), 1, 32)", "164B7A7BFCF819E2E395FBE73B56E0A3"), ("crc32(to_utf8('CRC me!'))", 38028046),
    ("to_hex(xxhash64(X''))", "EF46DB3751D8E999"), ("to_hex(xxhash64(to_utf8('hashme')))", "F9D96E0E1165E892"), ("to_hex(xxhash64(to_utf8('Nobody inspects the spammish repetition')))", "FBCEA83C8A378BF1"),
    ("to_hex(murmur3_x64_128(to_utf8('hashme')))", "93192FE805BE23041C8318F67EC4F2BC"), ("fnv1_32(to_utf8('hello'))", -1225100953), ("fnv1a_32(to_utf8('hello'))", 1335831723), ("fnv1_64(X'')", -3750763034362895579), ("fnv1a_64(to_utf8('hello'))", -6615550055289275125),
    ("to_hex(spooky_hash_v2_32(X''))", "6BF50919"), ("to_hex(spooky_hash_v2_64(X''))", "232706FC6BF50919"), ("to_hex(spooky_hash_v2_32(to_utf8('hello')))", "D382E6CA"), ("to_hex(spooky_hash_v2_64(to_utf8('hello')))", "3768826AD382E6CA"),
    ("length(X'0aff')", 2), ("reverse(X'0aff')", "/wo="), ("substr(X'0a0b0c', 2)", "Cww="), ("to_hex(lpad(X'25', 3, X'00'))", "000025"), ("X'0a' || X'0b'", "Cgs="),
)  # fmt: skip

URLS: tuple[Case, ...] = (
    ("url_extract_protocol('http://example.com:8080/path1/p?k1=v1#Ref1')", "http"), ("url_extract_host('http://example.com:8080/path1/p?k1=v1#Ref1')", "example.com"), ("url_extract_port('http://example.com:8080/x')", 8080), ("url_extract_port('http://example.com/x')", None),
    ("url_extract_path('http://example.com:8080/path1/p?k1=v1#Ref1')", "/path1/p"), ("url_extract_query('http://example.com/p?k1=v1&k2=v2#Ref1')", "k1=v1&k2=v2"), ("url_extract_fragment('http://example.com/p?k1=v1#Ref1')", "Ref1"),
    ("url_extract_parameter('http://example.com/path1/p.php?k1=v1&k2=v2&k3&k4#Ref1', 'k2')", "v2"), ("url_extract_parameter('http://example.com/p?k1=v1&k3#Ref1', 'k3')", ""), ("url_extract_parameter('http://example.com/p?k1=v1', 'k6')", None), ("url_extract_host('foo bar')", None),
    ("url_encode('http://test?a=b&c=d')", "http%3A%2F%2Ftest%3Fa%3Db%26c%3Dd"), ("url_encode('~@:.-*_+ ☃')", "%7E%40%3A.-*_%2B+%E2%98%83"), ("url_decode('http%3A%2F%2Ftest+x')", "http://test x"),
)  # fmt: skip

NETWORK: tuple[Case, ...] = (
    ("ip_prefix(IPADDRESS '1.2.3.4', 24)", "1.2.3.0/24"), ("ip_prefix('1.2.3.4', 32)", "1.2.3.4/32"), ("ip_prefix(IPADDRESS '64:ff9b::17', 64)", "64:ff9b::/64"), ("ip_subnet_min(IPPREFIX '1.2.3.4/24')", "1.2.3.0"),
    ("ip_subnet_max(IPPREFIX '64:ff9b::17/64')", "64:ff9b::ffff:ffff:ffff:ffff"), ("ip_subnet_range(IPPREFIX '1.2.3.160/24')", ["1.2.3.0", "1.2.3.255"]), ("is_subnet_of(IPPREFIX '1.2.3.128/26', IPADDRESS '1.2.3.129')", True),
    ("is_subnet_of(IPPREFIX '64:fa9b::17/64', IPADDRESS '64:ffff::17')", False), ("is_subnet_of(IPPREFIX '192.168.3.131/26', IPPREFIX '192.168.3.144/30')", True), ("ip_prefix_collapse(ARRAY[IPPREFIX '192.168.0.0/24', IPPREFIX '192.168.1.0/24'])", ["192.168.0.0/23"]),
    ("TRY_CAST(json '{\"a\": 1}' AS row(a date, b boolean))", None), ("ip_prefix_subnets(IPPREFIX '192.168.1.0/24', 25)", ["192.168.1.0/25", "192.168.1.128/25"]), ("is_private_ip(IPADDRESS '10.0.0.1')", True), ("is_private_ip(IPADDRESS '157.240.200.99')", False),
    ("CAST('::ffff:1.2.3.4' AS ipaddress)", "1.2.3.4"), ("CAST(IPADDRESS '1.2.3.4' AS ipprefix)", "1.2.3.4/32"),
)  # fmt: skip

ARRAYS: tuple[Case, ...] = (
    ("all_match(ARRAY[1, 2], x -> x > 0)", True), ("all_match(ARRAY[1, NULL], x -> x > 0)", None), ("any_match(ARRAY[1, NULL], x -> x > 5)", None), ("any_match(ARRAY[1, NULL], x -> x > 0)", True), ("none_match(ARRAY[1, 2], x -> x > 5)", True), ("any_match(ARRAY[1, 0], x -> 1 / x = 1)", True), ("all_match(ARRAY[1, 0], x -> 1 / x > 1)", False), ("none_match(ARRAY[1, NULL], x -> x > 5)", None),
    ("array_cum_sum(ARRAY[1, 2, NULL, 3])", [1, 3, None, None]), ("array_distinct(ARRAY[1, 2, NULL, NULL, 2])", [1, 2, None]), ("array_except(ARRAY[1, 3, 3, 2, NULL], ARRAY[1, 2, 2, 4])", [3, None]), ("array_intersect(ARRAY[5, 1, NULL], ARRAY[1, NULL])", [1, None]),
    ("array_join(ARRAY[1, NULL, 2], ',')", "1,2"), ("array_join(ARRAY[1, NULL, 2], ',', 'x')", "1,x,2"), ("array_join(ARRAY[1e0, 2e10], '|')", "1.0|2.0E10"), ("array_join(ARRAY[true, false], ',')", "true,false"), ("array_max(ARRAY[1, 3, 2])", 3), ("array_max(ARRAY[1, NULL])", None), ("array_min(ARRAY['b', 'a'])", "a"),
    ("array_normalize(ARRAY[3.0e0, 4.0e0], 2e0)", [0.6, 0.8]), ("array_position(ARRAY[10, 20, 30, 40], 30)", 3), ("array_position(ARRAY[1, 2, 1], 1, 2)", 3), ("array_position(ARRAY[1, 2, 1], 1, -1)", 3), ("array_remove(ARRAY['foo', NULL, 'bar'], 'foo')", [None, "bar"]),
    ("array_sort(ARRAY[2, NULL, 1])", [1, 2, None]), ("array_sort(ARRAY[3, 2, 5, 1, 2], (x, y) -> IF(x < y, 1, IF(x = y, 0, -1)))", [5, 3, 2, 2, 1]), ("array_sort(ARRAY['a', 'abcd', 'abc'], x -> length(x))", ["a", "abc", "abcd"]),
    ("array_sort_desc(ARRAY['a', 'abcd', 'abc'], x -> length(x))", ["abcd", "abc", "a"]), ("array_sum(ARRAY[1, 2, NULL])", 3), ("array_sum(ARRAY[1.5e0, 2e0])", 3.5), ("array_union(ARRAY[10, 20], ARRAY[20, 30])", [10, 20, 30]),
    ("arrays_overlap(ARRAY[1, NULL], ARRAY[1])", True), ("arrays_overlap(ARRAY[1, NULL], ARRAY[2])", None), ("arrays_overlap(ARRAY[1], ARRAY[2])", False), ("cardinality(ARRAY[1, 2])", 2), ("cardinality(MAP(ARRAY[1], ARRAY[2]))", 1),
    ("combinations(ARRAY[1, 2, 3, 4], 2)", [[1, 2], [1, 3], [2, 3], [1, 4], [2, 4], [3, 4]]), ("combinations(ARRAY[1, 2, 2], 2)", [[1, 2], [1, 2], [2, 2]]), ("contains(ARRAY[1, 2], 2)", True), ("contains(ARRAY[1, NULL], 3)", None), ("concat(ARRAY[1], ARRAY[2], ARRAY[3])", [1, 2, 3]),
    ("ARRAY[1] || 2", [1, 2]), ("1 || ARRAY[2]", [1, 2]), ("element_at(ARRAY[1, 2], -1)", 2), ("element_at(ARRAY[1, 2], 3)", None), ("filter(ARRAY[5, -6, NULL, 7], x -> x > 0)", [5, 7]), ("find_first(ARRAY[3, 4, 5, 6], 2, x -> x > 0)", 4), ("find_first(ARRAY[3, 4, 5, 6], -2, x -> x > 0)", 5),
    ("find_first(ARRAY[3, 4], x -> x > 9)", None), ("find_first_index(ARRAY[3, 4, 5, 6], 2, x -> x > 0)", 2), ("find_first_index(ARRAY[3, 4], x -> x = 4)", 2), ("flatten(ARRAY[ARRAY[1], NULL, ARRAY[2]])", [1, 2]), ("ngrams(ARRAY['a', 'b', 'c'], 2)", [["a", "b"], ["b", "c"]]), ("ngrams(ARRAY['a', 'b'], 5)", [["a", "b"]]),
    ("reduce(ARRAY[5, 20, 50], 0, (s, x) -> s + x, s -> s)", 75), ("reduce(ARRAY[5, NULL], 0, (s, x) -> s + x, s -> s)", None), ("reduce(ARRAY[5, 6, 10, 20], CAST(ROW(0.0, 0) AS row(sum double, count integer)), (s, x) -> CAST(ROW(x + s.sum, s.count + 1) AS row(sum double, count integer)), s -> IF(s.count = 0, NULL, s.sum / s.count))", 10.25),
    ("repeat('x', 2)", ["x", "x"]), ("repeat(CAST(NULL AS integer), 2)", [None, None]), ("reverse(ARRAY[1, 2])", [2, 1]), ("sequence(1, 5, 2)", [1, 3, 5]), ("sequence(3, 1)", [3, 2, 1]), ("sequence(DATE '2020-01-31', DATE '2020-03-31', INTERVAL '1' MONTH)", ["2020-01-31", "2020-02-29", "2020-03-31"]), ("sequence(DATE '2020-01-01', DATE '2020-01-03')", ["2020-01-01", "2020-01-02", "2020-01-03"]),
    ("cardinality(shuffle(ARRAY[1, 2, 3]))", 3), ("slice(ARRAY[1, 2, 3, 4], -2, 2)", [3, 4]), ("slice(ARRAY[1, 2], 5, 1)", []), ("slice(ARRAY[1, 2, 3], 2, 9)", [2, 3]), ("transform(ARRAY[5, NULL, 6], x -> COALESCE(x, 0) + 1)", [6, 1, 7]), ("transform(ARRAY['x', 'abc'], x -> levenshtein_distance(x, 'abd'))", [3, 1]),
    ("trim_array(ARRAY[1, 2, 3, 4], 1)", [1, 2, 3]), ("zip(ARRAY[1, 2], ARRAY['1b', NULL, '3b'])", [[1, "1b"], [2, None], [None, "3b"]]), ("zip_with(ARRAY[1, 3, 5], ARRAY['a', 'b', 'c'], (x, y) -> (y, x))", [["a", 1], ["b", 3], ["c", 5]]), ("zip_with(ARRAY[1, 2], ARRAY[3, 4], (x, y) -> x + y)", [4, 6]),
    ("cosine_similarity(ARRAY[1.0e0, 2.0e0], ARRAY[1.0e0, 2.0e0])", 1.0), ("cosine_similarity(MAP(ARRAY['a'], ARRAY[1.0e0]), MAP(ARRAY['a'], ARRAY[2.0e0]))", 1.0), ("dot_product(ARRAY[1.0e0, 2.0e0], ARRAY[3.0e0, 4.0e0])", 11.0), ("l2_squared(ARRAY[1.0e0, 2.0e0], ARRAY[4.0e0, 6.0e0])", 25.0),
    ("ARRAY[1, 2][2]", 2), ("ARRAY[nan()] = ARRAY[nan()]", True), ("ARRAY[1, 2] < ARRAY[1, 3]", True), ("ARRAY[1, NULL] = ARRAY[1, NULL]", None), ("ARRAY[1, NULL] = ARRAY[2, NULL]", False), ("ROW(1, NULL) = ROW(1, 2)", None),
)  # fmt: skip

MAPS: tuple[Case, ...] = (
    ("map()", {}), ("map(ARRAY['a'], ARRAY[1])", {"a": 1}), ("map_concat(MAP(ARRAY['a', 'b'], ARRAY[1, 2]), MAP(ARRAY['b'], ARRAY[3]))", {"a": 1, "b": 3}), ("map_entries(MAP(ARRAY[1, 2], ARRAY['x', 'y']))", [[1, "x"], [2, "y"]]),
    ("map_filter(MAP(ARRAY[10, 20, 30], ARRAY['a', NULL, 'c']), (k, v) -> v IS NOT NULL)", {"10": "a", "30": "c"}), ("map_from_entries(ARRAY[(1, 'x'), (2, 'y')])", {"1": "x", "2": "y"}), ("map_keys(MAP(ARRAY['a'], ARRAY[1]))", ["a"]), ("map_values(MAP(ARRAY['a'], ARRAY[1]))", [1]),
    ("map_subset(MAP(ARRAY[1, 2], ARRAY['a', 'b']), ARRAY[1, 9])", {"1": "a"}), ("map_zip_with(MAP(ARRAY[1, 2, 3], ARRAY['a', 'b', 'c']), MAP(ARRAY[1, 2, 3], ARRAY['d', 'e', 'f']), (k, v1, v2) -> concat(v1, v2))", {"1": "ad", "2": "be", "3": "cf"}),
    ("multimap_from_entries(ARRAY[(1, 'x'), (2, 'y'), (1, 'z')])", {"1": ["x", "z"], "2": ["y"]}), ("transform_keys(MAP(ARRAY['a', 'b'], ARRAY[1, 2]), (k, v) -> k || CAST(v AS varchar))", {"a1": 1, "b2": 2}), ("transform_values(MAP(ARRAY[1, 2], ARRAY[10, 20]), (k, v) -> v + k)", {"1": 11, "2": 22}),
    ("element_at(MAP(ARRAY['a'], ARRAY[1]), 'z')", None), ("MAP(ARRAY['a'], ARRAY[1])['a']", 1),
)  # fmt: skip

JSON_CASES: tuple[Case, ...] = (
    ("""json_presto_query_plan_ids(JSON '{"id": "1", "children": [{"id": "2", "children": []}]}')""", ["1", "2"]), ("""json_presto_query_plan_node_children(JSON '{"id": "1", "children": [{"id": "2", "children": []}]}', '1')""", ["2"]),
    ("cardinality(empty_approx_set())", 0), ("cardinality(create_hll(1))", 1),
    ("""json_extract('{"a": {"b": [1, 2.50, "x"]}}', '$.a.b')""", '[1,2.5,"x"]'), ("""json_extract('{"a": null}', '$.a')""", "null"), ("""json_extract('{"a": 1}', '$.b')""", None), ("""json_extract('{"a b": 1}', '$["a b"]')""", "1"), ("json_extract('[1, 2, 3]', '$[1]')", "2"), ("json_extract('x', '$.a')", None),
    ("""json_extract('{"a": [{"b": 1}, {"b": 2}]}', '$.a[*].b')""", "[1,2]"), ("json_extract_scalar('[1, 2, 3]', '$[2]')", "3"), ("""json_extract_scalar('{"a": true}', '$.a')""", "true"), ("""json_extract_scalar('{"a": {"b": 1}}', '$.a')""", None), ("""json_extract_scalar('{"a": "x\\ny"}', '$.a')""", "x\ny"),
    ("""json_extract_scalar('{"a": null}', '$.a')""", None), ("json_array_length('[1, 2]')", 2), ("json_array_length('{}')", None), ("""json_array_get('["a", [3, 9], "c"]', 1)""", "[3,9]"), ("json_array_get('[1, 2]', -1)", "2"), ("json_array_get('[1]', 5)", None), ("json_array_contains('[1, 2, 3]', 2)", True),
    ("""json_array_contains('["a"]', 'a')""", True), ("json_array_contains('[true]', true)", True), ("json_array_contains('[1.5]', 1.5e0)", True), ("json_size('[1, 2, 3]', '$')", 3), ("""json_size('{"x": {"a": 1, "b": 2}}', '$.x')""", 2), ("""json_size('{"x": 1}', '$.x')""", 0), ("""json_size('{"x": 1}', '$.y')""", None),
    ("is_json_scalar('1')", True), ("is_json_scalar('[1]')", False), ("json_format(JSON '[1, 2]')", "[1,2]"), ("""json_extract('{"a": 1, "a": 2}', '$.a')""", "1"), ("""json_extract('[{"a": 1, "a": 2}]', '$[0]')""", '{"a":1,"a":2}'), ("""json_size('{"a": 1, "a": 2}', '$')""", 2), ("""json_parse('{"a": 1, "a": 2}')""", '{"a":2}'), ("json_format(json_presto_query_plan_scrub(JSON '{\"0\": {\"plan\": {\"id\": \"3\", \"name\": \"Aggregate(FINAL)[x]\", \"identifier\": \"[]\", \"details\": \"d\", \"children\": [{\"id\": \"4\", \"name\": \"ScanProject\", \"identifier\": \"[table = TableHandle {layout=x, tableName=r}]\", \"details\": \"\", \"children\": [], \"remoteSources\": [\"1\", \"2\"], \"estimates\": [1]}], \"remoteSources\": [], \"estimates\": []}}}'))", '{\n  "0" : {\n    "plan" : {\n      "id" : "PLANID",\n      "name" : "Aggregate(FINAL)",\n      "identifier" : "IDENTIFIER",\n      "details" : "DETAILS",\n      "children" : [ {\n        "id" : "PLANID",\n        "name" : "ScanProject",\n        "identifier" : "tableName=r",\n        "details" : "DETAILS",\n        "children" : [ ],\n        "remoteSources" : [ "1", "2" ],\n        "estimates" : [ ]\n      } ],\n      "remoteSources" : [ ],\n      "estimates" : [ ]\n    }\n  }\n}'), ("json_presto_query_plan_scrub(JSON '[1]')", None), ("""json_parse('{"b": 1, "a": [1, null, true, "x"]}')""", '{"a":[1,null,true,"x"],"b":1}'), ("""json_parse('["\U0001f600", "\\ud83d\\ude00", "\\ude2dau", "\\u001f", "\\\\u001f"]')""", r'["\uD83D\uDE00","\uD83D\uDE00","\uDE2Dau","\u001F","\\u001f"]'), ("CAST(JSON '[1, 2]' AS array(bigint))", [1, 2]), ("""CAST(JSON '{"a": 1}' AS map(varchar, bigint))""", {"a": 1}),
    ("""CAST(JSON '{"x": 1, "y": "z"}' AS row(x bigint, y varchar))""", [1, "z"]), ("CAST(JSON '1.5' AS double)", 1.5), ("CAST(JSON '\"x\"' AS varchar)", "x"), ("CAST(JSON 'null' AS bigint)", None), ("CAST(ARRAY[1, NULL] AS json)", "[1,null]"), ("CAST(MAP(ARRAY['b', 'a'], ARRAY[1, 2]) AS json)", '{"a":2,"b":1}'), ("CAST(ROW(1, 'x') AS json)", '[1,"x"]'),
    ("CAST('x' AS json)", '"x"'), ("CAST(1.5e0 AS json)", "1.5"), ("CAST(DECIMAL '1.50' AS json)", "1.50"), ("CAST(true AS json)", "true"), ("CAST(TIMESTAMP '2020-01-02 03:04:05' AS json)", '"2020-01-02 03:04:05.000"'),
)  # fmt: skip

DATES: tuple[Case, ...] = (
    ("date_add('second', 86, TIMESTAMP '2020-03-01 00:00:00')", "2020-03-01 00:01:26.000"), ("date_add('hour', 9, TIMESTAMP '2020-03-01 00:00:00')", "2020-03-01 09:00:00.000"), ("date_add('day', -1, DATE '2020-03-01')", "2020-02-29"), ("date_add('quarter', 1, DATE '2020-01-31')", "2020-04-30"), ("date_add('year', 1, DATE '2020-02-29')", "2021-02-28"), ("date_add('week', 1, DATE '2020-01-01')", "2020-01-08"),
    ("date_add('millisecond', 5, TIMESTAMP '2020-03-01 00:00:00')", "2020-03-01 00:00:00.005"), ("date_diff('second', TIMESTAMP '2020-03-01 00:00:00', TIMESTAMP '2020-03-02 00:00:00')", 86400), ("date_diff('hour', TIMESTAMP '2020-03-01 00:00:00', TIMESTAMP '2020-03-02 00:30:00')", 24), ("date_diff('day', DATE '2020-03-01', DATE '2020-02-28')", -2), ("date_diff('week', DATE '2020-01-01', DATE '2020-01-14')", 1),
    # As Joda counts, towards the past too.
    ("date_diff('month', DATE '2024-01-31', DATE '2024-02-29')", 1), ("date_diff('month', DATE '2024-02-29', DATE '2024-01-31')", -1),
    ("date_diff('month', TIMESTAMP '2024-01-31 12:00:00', TIMESTAMP '2024-03-01 10:00:00')", 1),
    ("date_diff('month', TIMESTAMP '2022-03-29 00:00:00', TIMESTAMP '2019-02-28 10:00:00')", -37),
    ("date_diff('quarter', DATE '2024-02-29', DATE '2023-11-30')", -1), ("date_diff('year', DATE '2025-02-28', DATE '2024-02-29')", -1),
    ("date_diff('year', DATE '2020-02-29', DATE '2021-02-28')", 1), ("date_diff('quarter', DATE '2020-01-01', DATE '2020-12-31')", 3), ("date_trunc('week', DATE '2020-03-04')", "2020-03-02"), ("date_trunc('quarter', DATE '2020-05-04')", "2020-04-01"), ("date_trunc('year', TIMESTAMP '2020-05-04 10:11:12')", "2020-01-01 00:00:00.000"), ("date_trunc('minute', TIMESTAMP '2020-05-04 10:11:12')", "2020-05-04 10:11:00.000"),
    ("date_trunc('second', TIMESTAMP '2020-05-04 10:11:12.345')", "2020-05-04 10:11:12.000"), ("date('2020-01-02')", "2020-01-02"), ("last_day_of_month(DATE '2020-02-03')", "2020-02-29"), ("day(DATE '2020-02-03')", 3), ("day_of_month(DATE '2020-02-03')", 3), ("day_of_week(DATE '2020-02-02')", 7), ("dow(DATE '2020-02-03')", 1), ("day_of_year(DATE '2020-03-01')", 61), ("doy(DATE '2020-03-01')", 61),
    ("week(DATE '2021-01-03')", 53), ("week_of_year(DATE '2021-01-04')", 1), ("year_of_week(DATE '2021-01-03')", 2020), ("yow(DATE '2021-01-04')", 2021), ("month(DATE '2020-02-03')", 2), ("quarter(DATE '2020-05-03')", 2), ("year(DATE '2020-05-03')", 2020), ("hour(TIMESTAMP '2020-01-01 10:11:12.345')", 10), ("minute(TIMESTAMP '2020-01-01 10:11:12.345')", 11), ("second(TIMESTAMP '2020-01-01 10:11:12.345')", 12), ("millisecond(TIMESTAMP '2020-01-01 10:11:12.345')", 345),
    ("hour(TIME '10:11:12')", 10), ("hour(INTERVAL '27' HOUR)", 3), ("day(INTERVAL '27' HOUR)", 1), ("year(INTERVAL '15' MONTH)", 1), ("month(INTERVAL '15' MONTH)", 3), ("to_milliseconds(INTERVAL '1' MINUTE)", 60000), ("parse_duration('42.8ms')", "0 00:00:00.043"), ("parse_duration('3.81 d')", "3 19:26:24.000"),
    ("to_unixtime(TIMESTAMP '1970-01-01 00:01:00')", 60.0), ("from_unixtime(60.5e0)", "1970-01-01 00:01:00.500"), ("to_iso8601(DATE '2020-01-02')", "2020-01-02"), ("to_iso8601(TIMESTAMP '2020-01-02 03:04:05')", "2020-01-02T03:04:05.000Z"), ("from_iso8601_date('2020-01-02')", "2020-01-02"), ("from_iso8601_date('2020-W01-3')", "2020-01-01"), ("to_iso8601(from_iso8601_timestamp('2020-01-02T03:04:05Z'))", "2020-01-02T03:04:05.000Z"),
    ("date_format(TIMESTAMP '2020-02-03 04:05:06.789', '%Y-%m-%d %H:%i:%s.%f')", "2020-02-03 04:05:06.789000"), ("date_format(TIMESTAMP '2020-02-03 14:05:06', '%a %b %c %d %e %h %I %j %k %l %M %p %r %S %T %v %W %x %y %%')", "Mon Feb 2 03 3 02 02 034 14 2 February PM 02:05:06 PM 06 14:05:06 06 Monday 2020 20 %"),
    ("date_parse('2020/02/03 14:05', '%Y/%m/%d %H:%i')", "2020-02-03 14:05:00.000"), ("date_parse('3 Feb 2020', '%d %b %Y')", "2020-02-03 00:00:00.000"), ("format_datetime(TIMESTAMP '2020-02-03 04:05:06', 'yyyy-MM-dd''T''HH:mm:ss.SSS')", "2020-02-03T04:05:06.000"), ("format_datetime(TIMESTAMP '2020-02-03 14:05:06', 'EEE, d MMM yyyy h:mm a')", "Mon, 3 Feb 2020 2:05 PM"),
    ("to_unixtime(parse_datetime('2020-02-03 04:05', 'yyyy-MM-dd HH:mm'))", 1580702700.0), ("timezone_hour(TIMESTAMP '2020-01-01 00:00:00 +05:30')", 5), ("timezone_minute(TIMESTAMP '2020-01-01 00:00:00 +05:30')", 30), ("CAST(TIMESTAMP '2020-01-01 00:00:00 UTC' AT TIME ZONE 'America/New_York' AS varchar)", "2019-12-31 19:00:00.000 America/New_York"),
    ("CAST((TIMESTAMP '2026-10-24 12:00:00 UTC' AT TIME ZONE 'Europe/Berlin') + INTERVAL '1' DAY AS varchar)", "2026-10-25 13:00:00.000 Europe/Berlin"),
    ("CAST(TIMESTAMP '2026-10-24 14:00:00 Europe/Berlin' + INTERVAL '1' DAY AS varchar)", "2026-10-25 13:00:00.000 Europe/Berlin"),
    ("TIMESTAMP '2026-10-26 00:00:00 Europe/Berlin' - TIMESTAMP '2026-10-25 00:00:00 Europe/Berlin'", "1 01:00:00.000"),
    # Trino's documentation of with_timezone; the second is what Metabase writes to convert a zone.
    ("CAST(with_timezone(TIMESTAMP '2021-08-01 09:10:11.123', 'America/New_York') AS varchar)", "2021-08-01 09:10:11.123 America/New_York"),
    ("CAST(at_timezone(with_timezone(TIMESTAMP '2022-11-01 09:08:07.321', 'America/Los_Angeles'), 'Asia/Tokyo') AS varchar)", "2022-11-02 01:08:07.321 Asia/Tokyo"),
    ("hour(at_timezone(TIMESTAMP '2020-01-01 00:00:00 UTC', 'America/New_York'))", 19), ("date_trunc('day', TIMESTAMP '2020-01-01 03:00:00 UTC' AT TIME ZONE 'America/New_York') = TIMESTAMP '2019-12-31 05:00:00 UTC'", True),
    ("current_timezone()", "UTC"), ("TIME '01:02:03' < TIME '01:02:04'", True), ("TIME '23:00:00' + INTERVAL '2' HOUR", "01:00:00.000"), ("INTERVAL '1' DAY * 2", "2 00:00:00.000"), ("CAST(TIME '01:02:03.456' AS varchar)", "01:02:03.456"), ("CAST('01:02:03' AS time)", "01:02:03.000"),
    ("DATE '2020-01-31' + INTERVAL '1' MONTH", "2020-02-29"), ("typeof(now())", "timestamp with time zone"), ("current_date = CAST(now() AS date)", True), ("localtimestamp <= now()", True), ("typeof(localtime)", "time"), ("typeof(current_time)", "time with time zone"), ("current_timestamp = now()", True),
)  # fmt: skip

OTHER: tuple[Case, ...] = (
    ("typeof(uuid())", "uuid"), ("typeof(1)", "integer"), ("CAST('12151fd2-7586-11e9-8f9e-2a86e4085a59' AS uuid)", "12151fd2-7586-11e9-8f9e-2a86e4085a59"), ("TRY(CAST('x' AS bigint))", None), ("TRY(COALESCE(CAST('x' AS bigint), 1))", None), ("TRY(IF(1 / 0 = 1, 1, 2))", None), ("IF(true, 1, CAST('x' AS bigint))", 1),
    ("COALESCE(NULL, 1)", 1), ("CASE 2 WHEN 1 THEN 'a' WHEN 2 THEN 'b' END", "b"), ("NULLIF(1, 1)", None), ("TRY_CAST('x' AS double)", None), ("CAST('  1.5 ' AS double)", 1.5), ("CAST(1.0e0 AS varchar)", "1.0"), ("CAST(REAL '0.1' AS varchar)", "0.1"), ("CAST(12345678.9e0 AS varchar)", "1.23456789E7"),
    ("CAST(TIMESTAMP '2020-01-02 03:04:05 UTC' AS varchar)", "2020-01-02 03:04:05.000 UTC"), ("CAST(DECIMAL '1.5' AS bigint)", 2), ("CAST(2.5e0 AS integer)", 3), ("CAST('2020-01-02' AS date)", "2020-01-02"), ("CAST(true AS bigint)", 1), ("CAST('ab' AS char(4)) = 'ab'", True), ("CAST(INTERVAL '1' DAY AS varchar)", "1 00:00:00.000"),
)  # fmt: skip

FAILURES: tuple[tuple[str, str, str], ...] = (
    ("khyperloglog_agg(1, ST_Point(0, 1))", "NOT_SUPPORTED", "Sketches of values of type geometry are not supported"),
    ("to_spherical_geography(ST_Point(1, 91))", "INVALID_FUNCTION_ARGUMENT", "Latitude must be between -90 and 90"), ("ST_Length(to_spherical_geography(ST_Point(1, 2)))", "INVALID_FUNCTION_ARGUMENT", "When applied to SphericalGeography inputs, ST_Length only supports LINE_STRING or MULTI_LINE_STRING. Input type is: POINT"),
    ("split_to_map('a=1,a=2', ',', '=')", "INVALID_FUNCTION_ARGUMENT", "Duplicate keys (a) are not allowed. Specifying a lambda to resolve conflicts can avoid this error"),
    ("from_base('x', 10)", "INVALID_FUNCTION_ARGUMENT", "Not a valid base-10 number: x"), ("to_base(1, 40)", "INVALID_FUNCTION_ARGUMENT", "Radix must be between 2 and 36"), ("map_from_entries(ARRAY[(1, 2), (1, 3)])", "INVALID_FUNCTION_ARGUMENT", "Duplicate keys (1) are not allowed"),
    ("map(ARRAY[1, 1], ARRAY[2, 3])", "INVALID_FUNCTION_ARGUMENT", "Duplicate map keys (1) are not allowed"), ("map(ARRAY[1], ARRAY[2, 3])", "INVALID_FUNCTION_ARGUMENT", "Key and value arrays must be the same length"), ("ip_prefix('1.2.3.4', 99)", "INVALID_FUNCTION_ARGUMENT", "IPv4 subnet size must be in range [0, 32]"),
    ("sequence(1, 20000)", "INVALID_FUNCTION_ARGUMENT", "result of sequence function must not have more than 10000 entries"), ("element_at(ARRAY[1], 0)", "INVALID_FUNCTION_ARGUMENT", "SQL array indices start at 1"), ("slice(ARRAY[1], 0, 1)", "INVALID_FUNCTION_ARGUMENT", "SQL array indices start at 1"),
    ("hamming_distance('a', 'bc')", "INVALID_FUNCTION_ARGUMENT", "The input strings to hamming_distance function must have the same length"), ("normal_cdf(0, 0, 0.1e0)", "INVALID_FUNCTION_ARGUMENT", "normalCdf Function: standardDeviation must be > 0"), ("json_parse('x')", "INVALID_FUNCTION_ARGUMENT", "Cannot convert 'x' to JSON"),
    ("regexp_extract('a', 'a', 3)", "INVALID_FUNCTION_ARGUMENT", "Pattern has 0 groups. Cannot access group 3"), ("date_trunc('x', DATE '2020-01-01')", "INVALID_FUNCTION_ARGUMENT", "'x' is not a valid DATE field"), ("bit_count(1024, 8)", "INVALID_FUNCTION_ARGUMENT", "Number must be representable with the bits specified. 1024 can not be represented with 8 bits"),
    ("abs(CAST(-128 AS tinyint))", "NUMERIC_VALUE_OUT_OF_RANGE", "Value -128 is out of range for abs(tinyint)"), ("factorial(21)", "INVALID_FUNCTION_ARGUMENT", "The output of the factorial function would overflow for any input over 20"), ("chr(-1)", "INVALID_FUNCTION_ARGUMENT", "Not a valid Unicode code point: -1"), ("split_part('a', 'b', 0)", "INVALID_FUNCTION_ARGUMENT", "Index must be greater than zero"),
    ("ip_prefix_subnets(IPPREFIX '10.0.0.0/8', 32)", "INVALID_FUNCTION_ARGUMENT", "result of ip_prefix_subnets must not have more than 65536 entries"),
    ("color('nope')", "INVALID_FUNCTION_ARGUMENT", "Invalid color: 'nope'"), ("rgb(0, 256, 0)", "INVALID_FUNCTION_ARGUMENT", "green must be between 0 and 255"), ("bar(1e0, 3, color('red'), color('#fff'))", "INVALID_FUNCTION_ARGUMENT", "color is not a valid rgb value"), ("color(1e0, color('red'), color('#fff'))", "INVALID_FUNCTION_ARGUMENT", "lowColor not a valid RGB color"),
    ("lpad('x', 3, '')", "INVALID_FUNCTION_ARGUMENT", "Padding string must not be empty"), ("repeat(1, 20000)", "INVALID_FUNCTION_ARGUMENT", "count argument of repeat function must be less than or equal to 10000"), ("width_bucket(1, 0, 1, 0)", "INVALID_FUNCTION_ARGUMENT", "bucketCount must be greater than 0"),
)  # fmt: skip

COLORS: tuple[Case, ...] = (
    ("color('black')", "black"), ("color('WHITE')", "white"), ("color('#700')", "#770000"), ("rgb(0, 128, 255)", "#0080ff"), ("color(CAST(NULL AS varchar))", None),
    ("render('hello', color('red'))", "\x1b[38;5;1mhello\x1b[0m"), ("render('hello', color('#f00'))", "\x1b[38;5;196mhello\x1b[0m"), ("render('hello', color('#0f0'))", "\x1b[38;5;46mhello\x1b[0m"), ("render('hello', color('#00f'))", "\x1b[38;5;21mhello\x1b[0m"),
    ("render(1234, color('blue'))", "\x1b[38;5;4m1234\x1b[0m"), ("render(1.5e0, color('blue'))", "\x1b[38;5;4m1.5\x1b[0m"), ("render(true)", "\x1b[38;5;2m\u2713\x1b[0m"), ("render(false)", "\x1b[38;5;1m\u2717\x1b[0m"), ("typeof(render('hello', color('red')))", "varchar(20)"),
    ("color(0e0, 0e0, 255e0, color('#000'), color('#fff'))", "#000000"), ("color(128e0, 0e0, 255e0, color('#000'), color('#fff'))", "#808080"), ("color(256e0, 0e0, 255e0, color('#000'), color('#fff'))", "#ffffff"), ("color(0.5e0, color('#f00'), color('#0f0'))", "#ffff00"), ("color(nan(), color('#f00'), color('#0f0'))", "#000000"),
    ("bar(0.5e0, 4)", "\x1b[38;5;196m\u2588\x1b[38;5;214m\u2588\x1b[0m  "), ("bar(2e0, 1, color('#000'), color('#fff'))", "\x1b[38;5;16m\u2588\x1b[0m"), ("bar(-1e0, 3)", "\x1b[0m   "), ("color('red') = color('red')", True), ("cardinality(noisy_empty_approx_set_sfm(infinity()))", 0),
)  # fmt: skip

CASES: tuple[Case, ...] = (
    *TEXT, *REGEXP, *MATHS, *PROBABILITY, *BINARY, *URLS, *NETWORK, *ARRAYS, *MAPS, *JSON_CASES, *DATES, *OTHER, *COLORS,
)  # fmt: skip
