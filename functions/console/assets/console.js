// The console's own script: Trusted Types for htmx, and buttons that copy. Pages work without it.
"use strict";
(() => {
  const own = new Set([location.origin]);
  const policy = window.trustedTypes
    ? window.trustedTypes.createPolicy("mcpist", {
        createHTML: (text) => text,
        createScript: () => {
          throw new TypeError("pages bring no scripts");
        },
        createScriptURL: (url) => {
          if (own.has(new URL(url, location.href).origin)) return url;
          throw new TypeError("scripts come from this site only");
        },
      })
    : null;
  if (window.htmx && policy) {
    window.htmx.registerExtension("mcpist", { init: (api) => api.initSecurity(policy) });
  }
  const showCopyButtons = (root) => {
    for (const button of root.querySelectorAll("button.copy[hidden]")) button.hidden = !navigator.clipboard;
  };
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button.copy");
    if (!button) return;
    await navigator.clipboard.writeText(button.closest(".code-block").querySelector("code").textContent);
    const label = button.textContent;
    button.textContent = button.dataset.copied;
    button.setAttribute("aria-live", "polite");
    setTimeout(() => { button.textContent = label; }, 2000);
  });
  // Ctrl-K or Cmd-K opens the search above the page; the arrows go through what it found.
  const palette = document.getElementById("palette");
  document.addEventListener("keydown", (event) => {
    if (palette && (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      if (!palette.open) palette.showModal();
      return palette.querySelector("input").select();
    }
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!palette?.open || !step) return;
    const stops = [...palette.querySelectorAll("input, a")];
    stops[stops.indexOf(document.activeElement) + step]?.focus();
    event.preventDefault();
  });
  // A low window does not show the whole navigation.
  document.querySelector(".bar [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  document.addEventListener("htmx:after:swap", () => showCopyButtons(document));
  showCopyButtons(document);
})();
