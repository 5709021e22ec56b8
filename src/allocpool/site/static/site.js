// The switches of a page: its code, the campaign, the order of a table. Without this file everything is in sight.
(() => {
  "use strict";
  const root = document.documentElement;

  const button = document.querySelector("button.show-code");
  if (button) {
    const show = (shown) => {
      root.classList.toggle("code-hidden", !shown);
      button.setAttribute("aria-pressed", String(shown));
      button.textContent = shown ? "Hide code" : "Show code";
      localStorage.setItem("code", shown ? "shown" : "hidden");
    };
    show(!root.classList.contains("code-hidden"));
    button.addEventListener("click", () => show(root.classList.contains("code-hidden")));
  }

  // What scrolls sideways is reached by keyboard, too.
  const scrolls = () => {
    for (const region of document.querySelectorAll(".highlight > pre, .table-wrapper")) {
      region.tabIndex = region.scrollWidth > region.clientWidth ? 0 : -1;
    }
  };
  scrolls();
  window.addEventListener("resize", scrolls);
  if (button) button.addEventListener("click", scrolls);

  // campaigns.js, next to the folders of all sites here, lists them: folder, label and pages of each.
  const campaigns = window.allocpoolCampaigns || [];
  const here = location.pathname.split("/").slice(-2);
  const label = document.querySelector("label.campaigns");
  if (label && campaigns.length > 1) {
    const select = label.querySelector("select");
    for (const campaign of campaigns) {
      select.add(new Option(campaign.label, campaign.folder, false, campaign.folder === decodeURIComponent(here[0])));
    }
    label.hidden = false;
    select.addEventListener("change", () => {
      const chosen = campaigns.find((campaign) => campaign.folder === select.value);
      const page = here[1] || "index.html";
      const same = chosen.pages.includes(page) ? page : "index.html";
      location.href = `../${encodeURIComponent(chosen.folder)}/${same}`;
    });
  }

  // Columns sort by the number that a cell begins with, or else by its words.
  const key = (row, column) => {
    const cell = row.cells[column];
    const text = (cell.dataset.sort || cell.textContent).trim();
    const number = parseFloat(text.replace(/,/g, ""));
    return { text, number: Number.isNaN(number) ? Infinity : number };
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    const headings = [...table.tHead.rows[0].cells];
    headings.forEach((heading, column) => {
      const sort = document.createElement("button");
      sort.type = "button";
      sort.append(...heading.childNodes);
      heading.append(sort);
      sort.addEventListener("click", () => {
        const up = heading.getAttribute("aria-sort") !== "ascending";
        headings.forEach((other) => other.removeAttribute("aria-sort"));
        heading.setAttribute("aria-sort", up ? "ascending" : "descending");
        const rows = [...table.tBodies[0].rows].map((row) => [key(row, column), row]);
        const order = ([a], [b]) => a.number - b.number || a.text.localeCompare(b.text);
        rows.sort((a, b) => (up ? order(a, b) || 0 : order(b, a) || 0));
        table.tBodies[0].append(...rows.map(([, row]) => row));
      });
    });
  }
})();
