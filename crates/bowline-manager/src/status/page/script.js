"use strict";
(() => {
  const connection = document.getElementById("connection");
  const lost = document.getElementById("lost");
  const url = connection.dataset.liveUrl;
  let lostSince = null, waiting = null, source = null, pause = 2000;

  const ago = (then) => {
    const seconds = Math.max(0, Math.round((Date.now() - then) / 1000));
    if (seconds < 60) return seconds + " s ago";
    if (seconds < 3600) return Math.floor(seconds / 60) + " min ago";
    if (seconds < 86400) return Math.floor(seconds / 3600) + " h ago";
    return Math.floor(seconds / 86400) + " d ago";
  };
  const tellTimes = (inside) => {
    for (const time of inside.querySelectorAll("time")) {
      const text = ago(Date.parse(time.dateTime));
      if (time.textContent !== text) time.textContent = text;
    }
  };

  // What a person opened stays open, and the focus stays where it is.
  const replace = (element, html) => {
    const open = new Map();
    for (const details of element.querySelectorAll("details[data-key]")) open.set(details.dataset.key, details.open);
    const active = document.activeElement;
    const within = active && element.contains(active) ? active : null;
    const key = within && within.closest("[data-key]") ? within.closest("[data-key]").dataset.key : null;
    const href = within ? within.getAttribute("href") : null;
    element.innerHTML = html;
    for (const details of element.querySelectorAll("details[data-key]")) {
      if (open.has(details.dataset.key)) details.open = open.get(details.dataset.key);
    }
    if (!within) return;
    const same = [...element.querySelectorAll("summary, a")].find((candidate) =>
      href !== null ? candidate.getAttribute("href") === href
        : candidate.parentElement.dataset.key !== undefined && candidate.parentElement.dataset.key === key);
    if (same) same.focus({ preventScroll: true });
  };

  const live = () => {
    clearTimeout(waiting);
    waiting = null;
    lostSince = null;
    pause = 2000;
    lost.hidden = true;
    document.body.classList.remove("stale");
    connection.className = "connection live";
    connection.textContent = "Live";
  };
  const sayLost = (why) => {
    lost.hidden = false;
    document.body.classList.add("stale");
    connection.className = "connection gone";
    connection.textContent = "Not live";
    const since = new Date(lostSince).toLocaleTimeString();
    lost.textContent = "Connection lost since " + since + ", retrying. What is shown is as of then. " + (why || "");
  };
  // A stream that is renewed is back at once: only what lasts is told.
  const broken = (why) => {
    if (lostSince === null) lostSince = Date.now();
    if (why) return sayLost(why);
    if (waiting === null && lost.hidden) waiting = setTimeout(() => sayLost(), 1500);
  };
  // The browser gives up where the answer was a refusal: then the words of it are asked for, and it is tried again.
  const refused = async () => {
    const stop = new AbortController();
    try {
      const answer = await fetch(url, { signal: stop.signal });
      if (!answer.ok) broken("The server says: " + (await answer.text()).slice(0, 300));
    } catch (error) {
      broken();
    }
    stop.abort();
    setTimeout(connect, pause);
    pause = Math.min(pause * 2, 30000);
  };
  const connect = () => {
    source = new EventSource(url);
    source.addEventListener("open", live);
    source.addEventListener("parts", (event) => {
      const parts = JSON.parse(event.data);
      for (const [id, html] of Object.entries(parts)) {
        const element = document.getElementById(id);
        if (element) {
          replace(element, html);
          tellTimes(element);
        }
      }
    });
    source.addEventListener("error", () => {
      broken();
      if (source.readyState === EventSource.CLOSED) refused();
    });
  };

  connection.textContent = "Connecting";
  tellTimes(document);
  setInterval(() => tellTimes(document), 1000);
  connect();
})();
