"""Presto's grammar of queries, relations, expressions and types; ``statement_rules`` says how it is written.

``~n`` before an alternative of a rule that begins with itself is how closely its operator binds, as in ``~3 value '+'
value``; the alternatives without it are what the operators stand between.
"""

from __future__ import annotations

QUERIES = """
start_expression: expression EOF

query: with? query_body
with: WITH RECURSIVE? named_query (',' named_query)*
named_query: identifier aliases? AS '(' query ')'
query_body: term (ORDER BY sort_item (',' sort_item)*)? (OFFSET INTEGER_VALUE (ROW | ROWS)?)?
  ((LIMIT (INTEGER_VALUE | ALL)) | (FETCH FIRST INTEGER_VALUE ROWS ONLY))?
term: primary_query
  | ~2 term INTERSECT quantifier? term
  | ~1 term (UNION | EXCEPT) quantifier? term
primary_query: block
  | TABLE name
  | VALUES expression (',' expression)*
  | '(' query_body ')'
sort_item: expression (ASC | DESC)? (NULLS (FIRST | LAST))?
block: SELECT quantifier? select_item (',' select_item)* (FROM relation (',' relation)*)? (WHERE boolean)?
  (GROUP BY group_by)? (HAVING boolean)?
group_by: quantifier? grouping_element (',' grouping_element)*
grouping_element: grouping_set
  | ROLLUP '(' (expression (',' expression)*)? ')'
  | CUBE '(' (expression (',' expression)*)? ')'
  | GROUPING SETS '(' grouping_set (',' grouping_set)* ')'
grouping_set: '(' (expression (',' expression)*)? ')' | expression
quantifier: DISTINCT | ALL
select_item: expression (AS? identifier)? | name '.' '*' | '*'

relation: sampled_relation
  | ~2 relation (CROSS JOIN sampled_relation | join_type JOIN relation join_criteria
      | NATURAL join_type JOIN sampled_relation)
join_type: INNER? | LEFT OUTER? | RIGHT OUTER? | FULL OUTER?
join_criteria: ON boolean | USING '(' identifier (',' identifier)* ')'
sampled_relation: aliased_relation (TABLESAMPLE sample_type '(' expression ')')?
sample_type: BERNOULLI | SYSTEM
aliased_relation: primary_relation (AS? identifier aliases?)?
aliases: '(' identifier (',' identifier)* ')'
primary_relation: name table_version?
  | '(' query ')'
  | UNNEST '(' expression (',' expression)* ')' (WITH ORDINALITY)?
  | LATERAL '(' query ')'
  | TABLE '(' table_function ')'
  | '(' relation ')'
table_version: FOR (SYSTEM_TIME | TIMESTAMP | SYSTEM_VERSION | VERSION) (AS OF | BEFORE) value
table_function: name '(' (table_argument (',' table_argument)*)? (COPARTITION copartition (',' copartition)*)? ')'
table_argument: (identifier '=>')? (whole_table | descriptor | expression)
whole_table: whole_relation (PARTITION BY ('(' (expression (',' expression)*)? ')' | expression))?
  (PRUNE WHEN EMPTY | KEEP WHEN EMPTY)? (ORDER BY ('(' sort_item (',' sort_item)* ')' | sort_item))?
whole_relation: TABLE '(' name ')' (AS? identifier aliases?)? | TABLE '(' query ')' (AS? identifier aliases?)?
descriptor: DESCRIPTOR '(' field (',' field)* ')' | CAST '(' NULL AS DESCRIPTOR ')'
field: identifier type?
copartition: '(' name ',' name (',' name)* ')'

expression: boolean
boolean: value predicate?
  | NOT boolean ~3
  | ~2 boolean AND boolean
  | ~1 boolean OR boolean
predicate: comparison value
  | comparison (ALL | SOME | ANY) '(' query ')'
  | NOT? BETWEEN value AND value
  | NOT? IN '(' expression (',' expression)* ')'
  | NOT? IN '(' query ')'
  | NOT? LIKE value (ESCAPE value)?
  | IS NOT? NULL
  | IS NOT? DISTINCT FROM value
value: primary
  | ~5 value AT time_zone
  | ('-' | '+') value ~4
  | ~3 value ('*' | '/' | '%') value
  | ~2 value ('+' | '-') value
  | ~1 value '||' value
primary: NULL
  | interval
  | identifier string
  | DOUBLE_PRECISION string
  | number
  | TRUE | FALSE
  | string
  | BINARY_LITERAL
  | '?'
  | POSITION '(' value IN value ')'
  | '(' expression (',' expression)+ ')'
  | ROW '(' expression (',' expression)* ')'
  | name '(' '*' ')' filter? over?
  | name '(' (quantifier? expression (',' expression)*)? (ORDER BY sort_item (',' sort_item)*)? ')' filter?
      (null_treatment? over)?
  | identifier '->' expression
  | '(' (identifier (',' identifier)*)? ')' '->' expression
  | '(' query ')'
  | EXISTS '(' query ')'
  | CASE value when_clause+ (ELSE expression)? END
  | CASE when_clause+ (ELSE expression)? END
  | CAST '(' expression AS type ')'
  | TRY_CAST '(' expression AS type ')'
  | ARRAY '[' (expression (',' expression)*)? ']'
  | ~2 primary '[' value ']'
  | identifier
  | ~1 primary '.' identifier
  | CURRENT_DATE
  | CURRENT_TIME ('(' INTEGER_VALUE ')')?
  | CURRENT_TIMESTAMP ('(' INTEGER_VALUE ')')?
  | LOCALTIME ('(' INTEGER_VALUE ')')?
  | LOCALTIMESTAMP ('(' INTEGER_VALUE ')')?
  | CURRENT_USER
  | SUBSTRING '(' value FROM value (FOR value)? ')'
  | NORMALIZE '(' value (',' normal_form)? ')'
  | EXTRACT '(' identifier FROM value ')'
  | '(' expression ')'
  | GROUPING '(' (name (',' name)*)? ')'
string: STRING | UNICODE_STRING (UESCAPE STRING)?
null_treatment: IGNORE NULLS | RESPECT NULLS
time_zone: TIME ZONE interval | TIME ZONE string
comparison: '=' | NEQ | '<' | '<=' | '>' | '>='
interval: INTERVAL ('+' | '-')? string interval_field (TO interval_field)?
interval_field: YEAR | MONTH | DAY | HOUR | MINUTE | SECOND
normal_form: NFD | NFC | NFKD | NFKC
type: ~5 type ARRAY
  | ARRAY '<' type '>'
  | MAP '<' type ',' type '>'
  | ROW '(' identifier type (',' identifier type)* ')'
  | base_type ('(' type_parameter (',' type_parameter)* ')')?
  | INTERVAL interval_field TO interval_field
type_parameter: INTEGER_VALUE | type
base_type: TIME_WITH_TIME_ZONE | TIMESTAMP_WITH_TIME_ZONE | DOUBLE_PRECISION | name
when_clause: WHEN expression THEN expression
filter: FILTER '(' WHERE boolean ')'
over: OVER '(' (PARTITION BY expression (',' expression)*)? (ORDER BY sort_item (',' sort_item)*)? frame? ')'
frame: RANGE bound | ROWS bound | GROUPS bound
  | RANGE BETWEEN bound AND bound | ROWS BETWEEN bound AND bound | GROUPS BETWEEN bound AND bound
bound: UNBOUNDED PRECEDING | UNBOUNDED FOLLOWING | CURRENT ROW | expression (PRECEDING | FOLLOWING)
name: identifier ('.' identifier)*
identifier: IDENTIFIER | QUOTED | OTHER_NAME | other_word
number: DECIMAL_VALUE | DOUBLE_VALUE | INTEGER_VALUE
"""
