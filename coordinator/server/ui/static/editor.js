// Runs a statement over the statement protocol, shows its first rows as text, and offers them as files.
"use strict";

(() => {
  const most = 1000;
  const form = document.getElementById("editor");
  const part = (id) => document.getElementById(id);
  const sql = part("sql");
  let running = null;
  let columns = [];
  let rows = [];

  function headers(more) {
    const found = { "X-Procession-Form-Token": form.dataset.token, "X-Presto-Source": "procession-editor", ...more };
    const name = (value) => encodeURIComponent(value).replaceAll("%2D", "-");
    if (form.catalog.value) found["X-Presto-Catalog"] = name(form.catalog.value);
    if (form.catalog.value && form.schema.value) found["X-Presto-Schema"] = name(form.schema.value);
    return found;
  }

  // Answers name the protocol's own address; these pages reach it below theirs.
  const below = (uri) => "v1/statement/" + uri.split("/v1/statement/")[1];

  function shown(value) {
    if (value === null) return "NULL";
    return typeof value === "object" ? JSON.stringify(value) : String(value);
  }

  function problem(error) {
    const place = part("problem");
    place.hidden = !error;
    place.textContent = "";
    if (!error) return;
    place.textContent = `${error.errorName || "Error"}: ${error.message}\n`;
    const at = error.errorLocation;
    const line = at && sql.value.split("\n")[at.lineNumber - 1];
    if (line === undefined || line === null) return;
    const mark = document.createElement("mark");
    mark.textContent = /^\w+|^./.exec(line.slice(at.columnNumber - 1))?.[0] || " ";
    const before = line.slice(0, at.columnNumber - 1);
    place.append(before, mark, line.slice(before.length + mark.textContent.length));
  }

  function addRow(row) {
    const line = document.createElement("tr");
    row.forEach((value, i) => {
      const cell = document.createElement("td");
      cell.textContent = shown(value);
      if (value === null) cell.className = "null";
      else if (/^(tinyint|smallint|integer|bigint|real|double|decimal)/.test(columns[i].type)) cell.className = "number";
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
    return answer.json();
  }

  async function run() {
    if (running) return;
    reset();
    const own = { next: null, stopped: false };
    running = own;
    part("run").disabled = true;
    part("cancel").disabled = false;
    try {
      let found = await page("v1/statement", { method: "POST", body: sql.value.trim().replace(/;$/, ""), headers: headers() });
      part("detail").href = "query.html?" + encodeURIComponent(found.id);
      for (;;) {
        if (found.columns && !columns.length) addColumns(found.columns);
        for (const row of found.data || []) {
          if (rows.length >= most) break;
          rows.push(row);
          addRow(row);
        }
        const done = found.stats.progressPercentage;
        part("status").textContent = `${found.stats.state}${done ? ` ${Math.round(done)} %` : ""}, ${rows.length} rows`;
        problem(found.error);
        own.next = found.nextUri ? below(found.nextUri) : null;
        if (!own.next) break;
        if (rows.length >= most) {
          part("status").textContent = `The first ${most} rows`;
          await stop(own);
          break;
        }
        found = await page(own.next, {});
        if (own.stopped) break;
      }
      part("downloads").hidden = !columns.length;
    } catch (error) {
      if (!own.stopped) problem({ message: error.message });
    }
    running = null;
    part("run").disabled = false;
    part("cancel").disabled = true;
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

  // A leading sign would make a spreadsheet take a text for a formula.
  function quoted(value) {
    if (value === null) return "";
    const text = shown(value);
    return `"${(typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? "'" + text : text).replaceAll('"', '""')}"`;
  }

  async function explain() {
    const body = new URLSearchParams({ form_token: form.dataset.token, sql: sql.value, catalog: form.catalog.value, schema: form.schema.value });
    const answer = await fetch("plan", { method: "POST", body, credentials: "same-origin" });
    const parsed = new DOMParser().parseFromString(await answer.text(), "text/html");
    part("plan").replaceChildren(...parsed.body.childNodes);
  }

  let waiting = 0;
  async function validate() {
    const text = sql.value.trim().replace(/;$/, "");
    const place = part("verdict");
    if (!text) {
      place.textContent = "";
      return;
    }
    try {
      const found = await page("v1/validate", { method: "POST", body: text, headers: headers({ "Content-Type": "text/plain" }) });
      if (text !== sql.value.trim().replace(/;$/, "")) return;
      const at = found.error?.errorLocation;
      place.textContent = found.ok
        ? `✓ ${found.queryType || ""}${found.nativeVerdict ? `, native: ${found.nativeVerdict.replace("_", " ")}` : ""}`
        : `✗ ${at ? `line ${at.lineNumber}:${at.columnNumber}: ` : ""}${found.error?.message || found.verdict}`;
      place.className = found.ok ? "ok" : "bad";
    } catch {
      place.textContent = "";
    }
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    run();
  });
  sql.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      run();
    }
  });
  sql.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(validate, 700);
  });
  part("cancel").addEventListener("click", () => running && stop(running));
  part("graph").addEventListener("click", explain);
  part("csv").addEventListener("click", () =>
    download([columns.map((c) => quoted(c.name)), ...rows.map((r) => r.map(quoted))].map((r) => r.join(",")).join("\r\n") + "\r\n", "text/csv", "result.csv"));
  part("json").addEventListener("click", () =>
    download(JSON.stringify(rows.map((r) => Object.fromEntries(r.map((v, i) => [columns[i].name, v]))), null, 1), "application/json", "result.json"));
  if (sql.value) validate();
})();
