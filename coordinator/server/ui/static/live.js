// Keeps a page fresh: asks for its own address as a fragment and changes what is different, so that the focus, open
// details and what was typed stay as they are.
"use strict";

(() => {
  const slowest = 30;
  let delay = 0;
  let intervals = 1;
  let tag = "";

  function attributes(old, fresh) {
    for (const { name } of [...old.attributes]) {
      if (!fresh.hasAttribute(name) && name !== "open") old.removeAttribute(name);
    }
    for (const { name, value } of fresh.attributes) {
      if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    }
  }

  function update(old, fresh) {
    if (old.nodeType !== fresh.nodeType || old.nodeName !== fresh.nodeName) {
      old.replaceWith(document.importNode(fresh, true));
    } else if (old.nodeType !== Node.ELEMENT_NODE) {
      if (old.data !== fresh.data) old.data = fresh.data;
    } else if (!old.hasAttribute("data-keep")) {
      attributes(old, fresh);
      const theirs = [...fresh.childNodes];
      const ours = [...old.childNodes];
      theirs.forEach((node, i) => {
        if (i < ours.length) update(ours[i], node);
        else old.append(document.importNode(node, true));
      });
      ours.slice(theirs.length).forEach((node) => node.remove());
    }
  }

  function say(text) {
    const place = document.getElementById("fresh");
    if (place.textContent !== text) place.textContent = text;
  }

  async function refresh() {
    const main = document.getElementById("main");
    const every = Number(main.dataset.every);
    if (!every) return;
    if (document.hidden) {
      setTimeout(refresh, 1000);
      return;
    }
    try {
      const headers = { "X-Fragment": "1" };
      if (tag) headers["If-None-Match"] = tag;
      const answer = await fetch(location.href, { headers, credentials: "same-origin", redirect: "error" });
      if (answer.status === 401) {
        location.reload();
        return;
      }
      intervals = Number(answer.headers.get("X-Refresh-Intervals")) || 1;
      if (answer.status !== 304) {
        if (!answer.ok) throw new Error(String(answer.status));
        tag = answer.headers.get("ETag") || "";
        const parsed = new DOMParser().parseFromString(await answer.text(), "text/html");
        update(main, parsed.getElementById("main"));
      }
      delay = 0;
      say("");
    } catch {
      delay = Math.min(slowest, 2 * delay + 1);
      say("The server does not answer; trying again");
    }
    const next = Number(document.getElementById("main").dataset.every);
    if (next) setTimeout(refresh, 1000 * (next * intervals + delay));
  }

  const first = Number(document.getElementById("main").dataset.every);
  if (first) setTimeout(refresh, 1000 * first);
})();
