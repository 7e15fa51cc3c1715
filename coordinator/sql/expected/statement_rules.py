"""Presto's grammar of statements, as its documentation and its refusals show it.

A rule is ``name: alternative | alternative``; words in capitals and quoted signs are tokens; ``?``, ``*`` and ``+``
mean what they do in regular expressions. A token behind ``!`` is ours or Trino's: it is taken, and no list names it.
"""

from __future__ import annotations

STATEMENTS = """
start: statement EOF

statement: query
  | USE identifier
  | USE identifier '.' identifier
  | CREATE SCHEMA (IF NOT EXISTS)? name (WITH properties)?
  | DROP SCHEMA (IF EXISTS)? name (CASCADE | RESTRICT)?
  | ALTER SCHEMA name RENAME TO identifier
  | CREATE TABLE (IF NOT EXISTS)? name aliases? (COMMENT string)? (WITH properties)? AS (query | '(' query ')')
      (WITH NO? DATA)?
  | CREATE TABLE (IF NOT EXISTS)? name '(' element (',' element)* ')' (COMMENT string)? (WITH properties)?
  | DROP TABLE (IF EXISTS)? name
  | INSERT INTO name aliases? query
  | DELETE FROM name (WHERE boolean)?
  | TRUNCATE TABLE name
  | !COMMENT ON (TABLE | VIEW | COLUMN) name IS (NULL | string)
  | MERGE INTO name (AS? identifier)? USING relation ON expression merge_case+
  | ALTER TABLE (IF EXISTS)? name RENAME TO name
  | ALTER TABLE (IF EXISTS)? name RENAME COLUMN (IF EXISTS)? identifier TO identifier
  | ALTER TABLE (IF EXISTS)? name DROP COLUMN (IF EXISTS)? name
  | ALTER TABLE (IF EXISTS)? name ADD COLUMN (IF NOT EXISTS)? column
  | ALTER TABLE (IF EXISTS)? name SET PROPERTIES properties
  | ALTER TABLE (IF EXISTS)? name DROP CONSTRAINT (IF EXISTS)? identifier
  | ALTER TABLE (IF EXISTS)? name ADD constraint
  | ALTER TABLE (IF EXISTS)? name ALTER COLUMN? identifier SET NOT NULL
  | ALTER TABLE (IF EXISTS)? name ALTER COLUMN? identifier DROP NOT NULL
  | ALTER TABLE (IF EXISTS)? name DROP BRANCH (IF EXISTS)? string
  | ALTER TABLE (IF EXISTS)? name DROP TAG (IF EXISTS)? string
  | ANALYZE name (WITH properties)?
  | CREATE TYPE name AS ('(' parameter (',' parameter)* ')' | type)
  | CREATE (OR REPLACE)? VIEW name (SECURITY (DEFINER | INVOKER))? AS query
  | ALTER VIEW (IF EXISTS)? name RENAME TO name
  | DROP VIEW (IF EXISTS)? name
  | CREATE MATERIALIZED VIEW (IF NOT EXISTS)? name (COMMENT string)?
      (SECURITY (DEFINER | INVOKER))? (WITH properties)? AS (query | '(' query ')')
  | DROP MATERIALIZED VIEW (IF EXISTS)? name
  | REFRESH MATERIALIZED VIEW name (WHERE boolean)?
  | CREATE (OR REPLACE)? TEMPORARY? FUNCTION name '(' (parameter (',' parameter)*)? ')' RETURNS type
      (COMMENT string)? characteristics routine_body
  | ALTER FUNCTION name types? called+
  | DROP TEMPORARY? FUNCTION (IF EXISTS)? name types?
  | CALL name '(' (argument (',' argument)*)? ')'
  | CREATE ROLE identifier (WITH ADMIN grantor)?
  | DROP ROLE identifier
  | GRANT roles TO principal (',' principal)* (WITH ADMIN OPTION)? (GRANTED BY grantor)?
  | REVOKE (ADMIN OPTION FOR)? roles FROM principal (',' principal)* (GRANTED BY grantor)?
  | SET ROLE (ALL | NONE | identifier)
  | GRANT (privilege (',' privilege)* | ALL PRIVILEGES) ON TABLE? name TO principal (WITH GRANT OPTION)?
  | REVOKE (GRANT OPTION FOR)? (privilege (',' privilege)* | ALL PRIVILEGES) ON TABLE? name FROM principal
  | SHOW GRANTS (ON TABLE? name)?
  | EXPLAIN ANALYZE? VERBOSE? ('(' explain_option (',' explain_option)* ')')? statement
  | SHOW CREATE TABLE name
  | SHOW CREATE SCHEMA name
  | SHOW CREATE VIEW name
  | SHOW CREATE MATERIALIZED VIEW name
  | SHOW CREATE FUNCTION name types?
  | SHOW TABLES ((FROM | IN) name)? (LIKE string (ESCAPE string)?)?
  | SHOW SCHEMAS ((FROM | IN) identifier)? (LIKE string (ESCAPE string)?)?
  | SHOW CATALOGS (LIKE string (ESCAPE string)?)?
  | SHOW COLUMNS (FROM | IN) name
  | SHOW STATS FOR name
  | SHOW STATS FOR '(' block ')'
  | SHOW CURRENT? ROLES ((FROM | IN) identifier)?
  | SHOW ROLE GRANTS ((FROM | IN) identifier)?
  | DESCRIBE name
  | DESC name
  | SHOW FUNCTIONS (LIKE string (ESCAPE string)?)?
  | SHOW SESSION (LIKE string (ESCAPE string)?)?
  | SET SESSION name '=' expression
  | RESET SESSION name
  | START TRANSACTION (mode (',' mode)*)?
  | COMMIT WORK?
  | ROLLBACK WORK?
  | PREPARE identifier FROM statement
  | DEALLOCATE PREPARE identifier
  | EXECUTE identifier (USING expression (',' expression)*)?
  | DESCRIBE INPUT identifier
  | DESCRIBE OUTPUT identifier
  | UPDATE name SET assignment (',' assignment)* (WHERE boolean)?

element: column | like_clause | constraint
column: identifier type (NOT NULL)? (COMMENT string)? (WITH properties)?
like_clause: LIKE name ((INCLUDING | EXCLUDING) PROPERTIES)?
properties: '(' property (',' property)* ')'
property: identifier (!'.' identifier)* '=' expression
parameter: identifier type
types: '(' (type (',' type)*)? ')'
characteristics: characteristic*
characteristic: LANGUAGE identifier | DETERMINISTIC | NOT DETERMINISTIC | called
called: RETURNS NULL ON NULL INPUT | CALLED ON NULL INPUT
routine_body: RETURN expression | EXTERNAL (NAME identifier)?
constraint: CONSTRAINT identifier unnamed_constraint | unnamed_constraint
unnamed_constraint: constraint_type aliases constraint_qualifier*
constraint_type: UNIQUE | PRIMARY KEY
constraint_qualifier: RELY | NOT RELY | ENABLED | DISABLED | ENFORCED | NOT ENFORCED
merge_case: WHEN MATCHED THEN UPDATE SET identifier '=' expression (',' identifier '=' expression)*
  | WHEN NOT MATCHED THEN INSERT ('(' identifier (',' identifier)* ')')? VALUES '(' expression (',' expression)* ')'
assignment: identifier '=' expression
explain_option: FORMAT (TEXT | GRAPHVIZ | JSON) | TYPE (LOGICAL | DISTRIBUTED | VALIDATE | IO)
mode: ISOLATION LEVEL isolation | READ (ONLY | WRITE)
isolation: READ UNCOMMITTED | READ COMMITTED | REPEATABLE READ | SERIALIZABLE
argument: expression | identifier '=>' expression
privilege: SELECT | DELETE | INSERT | identifier
grantor: CURRENT_USER | CURRENT_ROLE | principal
principal: USER identifier | ROLE identifier | identifier
roles: identifier (',' identifier)*
"""
