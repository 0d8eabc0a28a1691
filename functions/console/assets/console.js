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
  // On a phone the navigation is one line that is wider than the page.
  document.querySelector(".bar [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  document.addEventListener("htmx:after:swap", () => showCopyButtons(document));
  showCopyButtons(document);
})();
