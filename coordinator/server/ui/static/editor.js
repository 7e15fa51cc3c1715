// Runs a statement over the statement protocol, shows its first rows as text, and offers them as files.
"use strict";

(() => {
  const most = 1000;
  const patience = 30000; // milliseconds
  const form = document.getElementById("editor");
  const part = (id) => document.getElementById(id);
  const sql = part("sql");
  let running = null;
  let columns = [];
  let rows = [];
  // The statement of the result that is shown. A file of all its rows is another run, of what only reads.
  let asked = "";
  const reads = /^(?:\s|--[^\n]*\n|\/\*[^]*?\*\/|\()*(?:SELECT|WITH|VALUES|TABLE|SHOW|DESCRIBE|DESC)\b/i;
  const statement = () => sql.value.trim().replace(/;$/, "");

  const changes = [
    ["X-Presto-Session", "Set-Session", "Clear-Session"],
    ["X-Presto-Role", "Set-Role", "-"],
    ["X-Presto-Prepared-Statement", "Added-Prepare", "Deallocated-Prepare"],
    ["X-Presto-Session-Function", "Added-Session-Functions", "Removed-Session-Function"],
  ];
  const session = new Map(changes.map(([kept]) => [kept, new Map()]));

  function headers(more) {
    const found = { "X-Procession-Form-Token": form.dataset.token, "X-Presto-Source": "procession-editor", ...more };
    const name = (value) => encodeURIComponent(value).replaceAll("%2D", "-");
    if (form.catalog.value) found["X-Presto-Catalog"] = name(form.catalog.value);
    if (form.catalog.value && form.schema.value) found["X-Presto-Schema"] = name(form.schema.value);
    for (const [header, entries] of session) {
      if (entries.size) found[header] = [...entries].map(([key, value]) => `${key}=${value}`).join(",");
    }
    return found;
  }

  // What statements have set for those after them, as it came and as it is sent: encoded.
  function keep(answer) {
    const listed = (name) => (answer.headers.get(`X-Presto-${name}`) || "").split(",").map((each) => each.trim()).filter(Boolean);
    for (const [kept, added, removed] of changes) {
      for (const each of listed(added)) session.get(kept).set(each.slice(0, each.indexOf("=")), each.slice(each.indexOf("=") + 1));
      for (const each of listed(removed)) session.get(kept).delete(each);
    }
    const [catalog, schema] = [answer.headers.get("X-Presto-Set-Catalog"), answer.headers.get("X-Presto-Set-Schema")];
    if (catalog) form.catalog.value = catalog;
    if (schema) form.schema.value = schema;
    tell();
  }

  function tell() {
    const plain = (text) => decodeURIComponent(text.replaceAll("+", " "));
    const named = {
      "X-Presto-Session": ([name, value]) => `${name} = ${plain(value)}`,
      "X-Presto-Role": ([name, value]) => `role ${name} = ${plain(value)}`,
      "X-Presto-Prepared-Statement": ([name]) => `prepared ${plain(name)}`,
      "X-Presto-Session-Function": ([id]) => `function ${JSON.parse(plain(id)).split(";")[0].replace("presto.session.", "")}`,
    };
    const said = [...session].flatMap(([header, entries]) => [...entries].map(named[header]));
    part("kept").textContent = said.length ? `This page's session: ${said.join(", ")}` : "";
    part("forget").hidden = !said.length;
  }

  // Answers name the protocol's own address; these pages reach it below theirs.
  const below = (uri) => "v1/statement/" + uri.split("/v1/statement/")[1];

  // A number that JavaScript would write in another way: digits beyond 2^53 would be others, and 1.0 a whole number.
  class Exact {
    constructor(text) {
      this.text = text;
    }
    valueOf() {
      return Number(this.text);
    }
    toString() {
      return this.text;
    }
  }

  const token = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
  const mark = `${Math.random()}:`;
  function parsed(body) {
    const kept = (found) => (found[0] === '"' || String(Number(found)) === found ? found : `"${mark}${found}"`);
    const exact = (_, value) => (typeof value === "string" && value.startsWith(mark) ? new Exact(value.slice(mark.length)) : value);
    return JSON.parse(body.replace(token, kept), exact);
  }

  const counted = (number) => `${number} row${number === 1 ? "" : "s"}`;

  // JSON as JSON.stringify writes it, with numbers as they came.
  function written(value) {
    if (value instanceof Exact) return value.text;
    if (Array.isArray(value)) return `[${value.map(written).join(",")}]`;
    if (value === null || typeof value !== "object") return JSON.stringify(value);
    return `{${Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}:${written(each)}`).join(",")}}`;
  }

  function shown(value) {
    if (value === null) return "NULL";
    return typeof value === "object" ? written(value) : String(value);
  }

  // The server counts characters where JavaScript counts halves of some.
  const upTo = (line, column) => Array.from(line).slice(0, column - 1).join("");
  const isNumber = (column) => /^(tinyint|smallint|integer|bigint|real|double|decimal)/.test(column.type);

  function problem(error) {
    const place = part("problem");
    place.hidden = !error;
    place.textContent = "";
    if (!error) return;
    place.textContent = `${error.errorName || "Error"}: ${error.message}\n`;
    const at = error.errorLocation;
    const line = at && sql.value.split("\n")[at.lineNumber - 1];
    if (line === undefined || line === null) return;
    const marked = document.createElement("mark");
    const before = upTo(line, at.columnNumber);
    marked.textContent = /^\w+|^./u.exec(line.slice(before.length))?.[0] || " ";
    place.append(before, marked, line.slice(before.length + marked.textContent.length));
  }

  function addRow(row) {
    const line = document.createElement("tr");
    row.forEach((value, i) => {
      const cell = document.createElement("td");
      cell.textContent = shown(value);
      if (value === null) cell.className = "null";
      else if (isNumber(columns[i])) cell.className = "number";
      line.append(cell);
    });
    part("result").tBodies[0].append(line);
  }

  function addColumns(found) {
    columns = found;
    const table = part("result");
    const line = table.createTHead().insertRow();
    table.createTBody();
    for (const column of columns) {
      const cell = document.createElement("th");
      cell.scope = "col";
      cell.textContent = column.name;
      cell.title = column.type;
      if (isNumber(column)) cell.className = "number";
      line.append(cell);
    }
  }

  function reset() {
    columns = [];
    rows = [];
    part("result").textContent = "";
    part("plan").textContent = "";
    part("downloads").hidden = true;
    problem(null);
  }

  async function page(uri, options) {
    const answer = await fetch(uri, { credentials: "same-origin", ...options });
    if (!answer.ok) throw new Error(`${answer.status}: ${(await answer.text()).slice(0, 500)}`);
    if (uri.startsWith("v1/statement")) keep(answer);
    return parsed(await answer.text());
  }

  async function run() {
    if (running) return;
    reset();
    const own = { next: null, stopped: false };
    running = own;
    part("run").disabled = true;
    part("cancel").disabled = false;
    try {
      const text = statement();
      let found = await page("v1/statement", { method: "POST", body: text, headers: headers() });
      part("detail").href = "query.html?" + encodeURIComponent(found.id);
      for (;;) {
        if (found.columns && !columns.length) addColumns(found.columns);
        for (const row of found.data || []) {
          if (rows.length >= most) break;
          rows.push(row);
          addRow(row);
        }
        const done = Number(found.stats.progressPercentage);
        part("status").textContent = `${found.stats.state}${done ? ` ${Math.round(done)} %` : ""}, ${counted(rows.length)}`;
        problem(found.error);
        own.next = found.nextUri ? below(found.nextUri) : null;
        if (!own.next) break;
        if (rows.length >= most) {
          part("status").textContent = `The first ${most} rows`;
          await endEarly(own, found.partialCancelUri);
          break;
        }
        found = await page(own.next, {});
        if (own.stopped) break;
      }
      part("downloads").hidden = !columns.length;
      part("parquet").hidden = !reads.test(text) || Boolean(found.error);
      asked = text;
    } catch (error) {
      if (!own.stopped) problem({ message: error.message });
    }
    if (own.cancelled) part("status").textContent = `Cancelled, ${counted(rows.length)}`;
    running = null;
    part("run").disabled = false;
    part("cancel").disabled = true;
  }

  // The statement ends well with the rows that have come, where the server can do that; it is cancelled otherwise, and
  // where the engine does not stop in time.
  async function endEarly(own, uri) {
    if (uri && own.next) {
      await fetch(below(uri), { method: "DELETE", headers: headers(), credentials: "same-origin" });
      const deadline = Date.now() + patience;
      while (own.next && !own.stopped && Date.now() < deadline) {
        const last = await page(own.next, {});
        own.next = last.nextUri ? below(last.nextUri) : null;
      }
    }
    await stop(own);
  }

  async function stop(own) {
    own.stopped = true;
    if (own.next) await fetch(own.next, { method: "DELETE", headers: headers(), credentials: "same-origin" });
  }

  function download(text, type, name) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  async function parquet() {
    const button = part("parquet");
    button.disabled = true;
    problem(null);
    try {
      const options = { method: "POST", body: asked, headers: headers({ Accept: "application/vnd.apache.parquet" }), credentials: "same-origin" };
      const answer = await fetch("v1/statement", options);
      if (answer.ok) download(await answer.blob(), "application/vnd.apache.parquet", "result.parquet");
      else problem((await answer.json()).error);
    } catch (error) {
      problem({ message: error.message });
    }
    button.disabled = false;
  }

  // A leading sign would make a spreadsheet take a text for a formula.
  function quoted(value) {
    if (value === null) return "";
    const text = shown(value);
    return `"${(typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? "'" + text : text).replaceAll('"', '""')}"`;
  }

  async function explain() {
    const body = new URLSearchParams({ form_token: form.dataset.token, sql: sql.value, catalog: form.catalog.value, schema: form.schema.value });
    const answer = await fetch("plan", { method: "POST", body, headers: headers(), credentials: "same-origin" });
    const parsed = new DOMParser().parseFromString(await answer.text(), "text/html");
    part("plan").replaceChildren(...parsed.body.childNodes);
  }

  const words = new Set(
    ("ADD ALL ALTER ANALYZE AND ANY AS ASC BETWEEN BY CALL CASE CAST COLUMN COMMENT COMMIT CREATE CROSS CUBE CURRENT_DATE " +
      "CURRENT_TIMESTAMP CURRENT_USER DELETE DESC DESCRIBE DISTINCT DROP ELSE END ESCAPE EXCEPT EXECUTE EXISTS EXPLAIN " +
      "FALSE FETCH FILTER FIRST FOR FROM FULL GRANT GROUP GROUPING HAVING IF IN INNER INSERT INTERSECT INTERVAL INTO IS " +
      "JOIN LAST LEFT LIKE LIMIT MATCHED MERGE NATURAL NOT NULL NULLS OFFSET ON OR ORDER OUTER OVER PARTITION PREPARE " +
      "RECURSIVE RENAME REPLACE RESET REVOKE RIGHT ROLLUP ROWS SCHEMA SELECT SESSION SET SETS SHOW TABLE TABLESAMPLE THEN " +
      "TO TRUE TRUNCATE TRY_CAST UNION UNNEST UPDATE USE USING VALUES VIEW WHEN WHERE WINDOW WITH").split(" "),
  );
  const painted = /(--[^\n]*|\/\*[^]*?(?:\*\/|$))|('(?:[^']|'')*'?)|("(?:[^"]|"")*"?)|(\b\d[\w.]*)|([A-Za-z_]\w*)|[^]/g;
  const classes = ["comment", "string", "name", "digits"];
  const longest = 20000;

  function offset(text, place) {
    const lines = text.split("\n");
    if (place.lineNumber > lines.length) return -1;
    const before = lines.slice(0, place.lineNumber - 1).reduce((sum, line) => sum + line.length + 1, 0);
    return before + upTo(lines[place.lineNumber - 1], place.columnNumber).length;
  }

  // What is typed, in colours, lies behind the text area, whose own letters are not painted.
  function paint(place) {
    const text = sql.value;
    const behind = part("paint");
    const coloured = text.length <= longest;
    sql.classList.toggle("painted", coloured);
    behind.textContent = "";
    if (!coloured) return;
    const at = place ? offset(text, place) : -1;
    for (const found of text.matchAll(painted)) {
      const kind = found.slice(1, 5).findIndex((each) => each !== undefined);
      let name = kind >= 0 ? classes[kind] : "";
      if (found[5] && words.has(found[5].toUpperCase())) name = "word";
      if (at >= found.index && at < found.index + found[0].length) name += " wrong";
      if (!name) {
        behind.append(found[0]);
        continue;
      }
      const span = document.createElement("span");
      span.className = name.trim();
      span.textContent = found[0];
      behind.append(span);
    }
    behind.append("\n");
    behind.scrollTop = sql.scrollTop;
  }

  // Names by what they are in: "" has catalogs, schemas and tables, and each table its columns.
  const known = new Map();
  async function names(table) {
    const key = JSON.stringify([form.catalog.value, form.schema.value, table]);
    if (!known.has(key)) {
      const asked = new URLSearchParams({ catalog: form.catalog.value, schema: form.schema.value, table });
      known.set(key, page(`names?${asked}`, {}).catch(() => []));
    }
    return known.get(key);
  }

  // What the grammar lets stand behind a text, which is asked once for each word that is typed.
  const followed = new Map();
  function following(before) {
    if (!followed.has(before)) {
      if (followed.size > 100) followed.clear();
      const body = new URLSearchParams({ form_token: form.dataset.token, before });
      followed.set(before, page("following", { method: "POST", body, headers: headers() }).catch(() => ({ known: false })));
    }
    return followed.get(before);
  }

  const typed = () => /[A-Za-z_]\w*$/.exec(sql.value.slice(0, sql.selectionStart))?.[0] || "";

  async function suggestions() {
    const start = typed();
    const before = sql.value.slice(0, sql.selectionStart - start.length);
    if (!start && !/\s$/.test(before)) return { start, found: [] };
    const next = await following(before);
    const fits = (name) => name.toLowerCase().startsWith(start.toLowerCase()) && name.length > start.length;
    // Between words only what must come next is worth a row of buttons.
    if (!start) return { start, found: next.known && !next.names && next.words.length <= 8 ? next.words : [] };
    if (next.known && !next.names) return { start, found: next.words.filter(fits).slice(0, 8) };
    if (start.length < 2) return { start, found: [] };
    const objects = await names("");
    const used = new Set(sql.value.match(/[A-Za-z_]\w*/g).map((word) => word.toLowerCase()));
    const tables = objects.filter((name) => name.toLowerCase() !== start.toLowerCase() && used.has(name.toLowerCase()));
    const columns = (await Promise.all(tables.slice(0, 5).map(names))).flat();
    // Behind a dot stand names alone.
    const keywords = before.endsWith(".") ? [] : next.known ? next.words : words;
    return { start, found: [...new Set([...columns, ...objects, ...keywords])].filter(fits).slice(0, 8) };
  }

  function take(start, name) {
    const plain = words.has(name) || /^[A-Z_]+$|^[a-z_][a-z0-9_]*$/.test(name);
    const text = plain ? name : `"${name.replaceAll('"', '""')}"`;
    sql.setRangeText(text, sql.selectionStart - start.length, sql.selectionStart, "end");
    sql.focus();
    sql.dispatchEvent(new Event("input"));
  }

  async function suggest() {
    const { start, found } = await suggestions();
    const place = part("suggestions");
    if (start !== typed()) return;
    place.textContent = "";
    for (const name of found) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = name;
      button.addEventListener("click", () => take(start, name));
      place.append(button);
    }
  }

  let waiting = 0;
  async function validate() {
    const text = statement();
    const place = part("verdict");
    if (!text) {
      place.textContent = "";
      return;
    }
    try {
      const found = await page("v1/validate", { method: "POST", body: text, headers: headers({ "Content-Type": "text/plain" }) });
      if (text !== statement()) return;
      const at = found.error?.errorLocation;
      place.textContent = found.ok
        ? `✓ ${found.queryType || ""}${found.nativeVerdict ? `, native: ${found.nativeVerdict.replace("_", " ")}` : ""}`
        : `✗ ${found.error?.message || found.verdict}`;
      place.className = found.ok ? "ok" : "bad";
      paint(at);
    } catch {
      place.textContent = "";
    }
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    run();
  });
  sql.addEventListener("keydown", (event) => {
    if (event.key === " " && event.ctrlKey) {
      event.preventDefault();
      part("suggestions").querySelector("button")?.click();
    }
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      run();
    }
  });
  sql.addEventListener("scroll", () => {
    part("paint").scrollTop = sql.scrollTop;
  });
  sql.addEventListener("input", () => {
    paint(null);
    suggest();
    clearTimeout(waiting);
    waiting = setTimeout(validate, 700);
  });
  part("cancel").addEventListener("click", () => {
    if (!running) return;
    running.cancelled = true;
    stop(running);
  });
  part("forget").addEventListener("click", () => {
    for (const entries of session.values()) entries.clear();
    tell();
  });
  part("graph").addEventListener("click", explain);
  part("csv").addEventListener("click", () =>
    download([columns.map((c) => quoted(c.name)), ...rows.map((r) => r.map(quoted))].map((r) => r.join(",")).join("\r\n") + "\r\n", "text/csv", "result.csv"));
  part("parquet").addEventListener("click", parquet);
  part("json").addEventListener("click", () => {
    const taken = new Map();
    const keys = columns.map(({ name }) => {
      taken.set(name, (taken.get(name) || 0) + 1);
      return JSON.stringify(taken.get(name) > 1 ? `${name}_${taken.get(name)}` : name);
    });
    const lines = rows.map((row) => `{${row.map((value, i) => `${keys[i]}:${written(value)}`).join(",")}}`);
    download(`[${lines.join(",\n")}]\n`, "application/json", "result.json");
  });
  paint(null);
  if (sql.value) validate();
})();
