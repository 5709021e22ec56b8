// The model of `ask` in a browser: what model.py computes, from the same file, and the page's fields, curves and link.
// A test holds both to the same figures.
(() => {
  "use strict";
  const GROUPS = { all: () => true, "many alive": (q) => alive(q) > 10000, small: (q) => q.bytes <= 1024 };
  const OBJECT_BYTES = 64, BASE_MB = 24, AMPLE = 8, NEAR = 8, OF_ALL = 0.2, HEAP_USED = 0.85, MIB = 2 ** 20;
  const STEPS = 60, TURNING = ["bytes", "in_flight", "kept_share", "temporaries", "live_mb", "heap_mb"];
  const WHOLE = new Set(["bytes", "in_flight", "temporaries", "heap_mb"]);

  const alive = (q) => q.in_flight + q.kept_count + 1;
  const liveInMb = (q) => {
    const results = (q.kept_count + 1) * q.temporaries * q.temporary_bytes;
    return (alive(q) * ((q.direct ? 0 : q.bytes) + OBJECT_BYTES) + results) / MIB + q.live_mb;
  };
  const wasted = (q) => (q.direct ? 0 : 2 ** Math.ceil(Math.log2(q.bytes)) - q.bytes);
  const poolLiveInMb = (q) => liveInMb(q) + (alive(q) * wasted(q)) / MIB;
  const FEATURES = {
    bytes: (q) => Math.log2(q.bytes),
    in_flight: (q) => Math.log2(1 + q.in_flight),
    kept_count: (q) => Math.log2(1 + q.kept_count),
    kept_share: (q) => Math.log2(0.002 + (q.kept_count ? q.kept_share : 0)),
    touched_bytes: (q) => Math.log2(16 + (q.bytes * (q.filled_share + q.read_share)) / 2),
    temporary_bytes: (q) => Math.log2(32 + q.temporaries * q.temporary_bytes),
    live_mb: (q) => Math.log2(2 + q.live_mb),
    live_in_mb: (q) => Math.log2(4 + liveInMb(q)),
    heap_over_live: (q) => Math.log2(Math.min(AMPLE, Math.max(q.heap_mb, 1) / (liveInMb(q) + BASE_MB))),
  };
  const matern = (distance) => {
    const scaled = Math.sqrt(5) * distance;
    return (1 + scaled + (scaled * scaled) / 3) * Math.exp(-scaled);
  };
  const sum = (values) => values.reduce((total, value) => total + value, 0);
  const fits = (q) => !q.heap_mb || poolLiveInMb(q) <= HEAP_USED * q.heap_mb;

  class Model {
    constructor(file, configuration) {
      const own = file.configurations[configuration];
      Object.assign(this, file.configurations[own.as], own);
      this.margin = file.margin;
      this.questions = this.workloads.map((row) => Object.fromEntries(file.columns.map((name, i) => [name, row[i]])));
      this.costs = this.workloads.map((row) => row.slice(file.columns.length));
      this.places = this.questions.map((q) => this.place(q));
    }
    place(q) {
      return this.features.map((name, i) => FEATURES[name](q) / this.lengths[i]);
    }
    likenesses(q) {
      const place = this.place(q);
      return this.places.map((other) => matern(Math.hypot(...place.map((value, i) => value - other[i]))));
    }
    predicted(q) {
      const likenesses = this.likenesses(q);
      const mean = this.mean + sum(likenesses.map((k, i) => k * this.weights[i]));
      const weights = likenesses.map((k) => k ** NEAR);
      const near = sum(weights.map((w, i) => w * this.residuals[i])) + (OF_ALL * sum(this.residuals)) / this.residuals.length;
      const quantile = Math.max(...Object.keys(GROUPS).filter((name) => GROUPS[name](q)).map((name) => this.quantiles[name]));
      const half = Math.hypot((quantile * near) / (sum(weights) + OF_ALL), 1.96 * this.host_sd);
      return { ratio: Math.exp(mean), low: Math.exp(mean - half), high: Math.exp(mean + half) };
    }
    outside(q) {
      const found = [];
      for (const [name, [least, most]] of Object.entries(this.ranges)) {
        if ((name === "heap_over_live" && !q.heap_mb) || (name === "kept_share" && !q.kept_count)) continue;
        const value = name === "heap_over_live" ? 2 ** FEATURES[name](q) : name === "live_in_mb" ? liveInMb(q) : q[name];
        if (value < least * 0.99 || value > most * 1.01) found.push({ name, value, bound: value > most ? most : least });
      }
      return found;
    }
    side({ low, high }) {
      if (low > 1 / this.margin && high < this.margin) return "either";
      return high < 1 ? "allocate" : low > 1 ? "pool" : "inconclusive";
    }
    turns(q) {
      const poolNow = this.predicted(q).ratio > 1;
      const found = [];
      for (const name of TURNING) {
        const value = this.turnsAt(q, name, poolNow);
        if (value) found.push({ parameter: name, value, answer: poolNow ? "allocate" : "pool" });
      }
      return found;
    }
    turnsAt(q, name, poolNow) {
      const now = q[name];
      if (!now || (name === "kept_share" && !q.kept_count)) return null;
      const [least, most] = name === "heap_mb" ? [now / 8, now * 8] : this.ranges[name];
      for (let step = 1; step <= STEPS; step++) {
        for (const value of [now * 1.15 ** step, now / 1.15 ** step]) {
          const tried = { ...q, [name]: WHOLE.has(name) ? Math.round(value) : value };
          if (value < least || value > most || !fits(tried) || this.outside(tried).length) continue;
          if (this.predicted(tried).ratio > 1 !== poolNow) return tried[name];
        }
      }
      return null;
    }
    nearest(q, most = 3) {
      const likenesses = this.likenesses(q);
      const order = likenesses.map((_, i) => i).sort((a, b) => likenesses[b] - likenesses[a]);
      return order.slice(0, most).map((i) => ({ question: this.questions[i], costs: this.costs[i], likeness: likenesses[i] }));
    }
    answer(q) {
      const predicted = this.predicted(q), outside = this.outside(q);
      const answer = outside.length ? "inconclusive" : this.side(predicted), nearest = this.nearest(q);
      const weights = nearest.map((each) => each.likeness + 1e-9);
      const share = (i) => sum(nearest.map((each, k) => each.costs[i] * weights[k])) / sum(weights);
      const gc_shares = q.heap_mb ? [share(2), share(3)] : null;
      return { answer, ...predicted, outside, gc_shares, turns_at: this.turns(q), nearest };
    }
    // The answer with one parameter changed, over its range, as far as that was measured and fits.
    curve(q, name, count = 40) {
      const [least, most] = name === "heap_mb" ? [Math.max(32, q.heap_mb / 8), q.heap_mb * 8] : this.ranges[name];
      const from = Math.max(least, { live_mb: 1, in_flight: 1, temporaries: 1 }[name] || least);
      const found = [];
      for (let i = 0; i <= count; i++) {
        const value = from * (most / from) ** (i / count);
        const tried = { ...q, [name]: WHOLE.has(name) ? Math.round(value) : value };
        if (fits(tried) && !this.outside(tried).length) found.push({ x: value, ...this.predicted(tried) });
      }
      return found;
    }
  }

  const start = (root, file) => {
    const models = Object.fromEntries(Object.keys(file.configurations).map((name) => [name, new Model(file, name)]));
    const form = root.querySelector("form"), fields = [...form.querySelectorAll("input[type=number]")];
    const out = (name) => root.querySelector(`[data-out=${name}]`);
    const inPage = Boolean(document.querySelector(".page-facts"));  // and not in JupyterLab, whose address is its own
    const whole = (value) => Math.round(value).toLocaleString("en");
    const few = (value) => value.toFixed(2);
    const NAMES = {
      bytes: "bytes of a message", in_flight: "messages in flight", kept_share: "share kept", temporaries: "temporaries",
      live_mb: "other live data, MiB", heap_mb: "heap, MiB", kept_count: "messages kept", filled_share: "share touched",
      read_share: "share touched", live_in_mb: "MiB alive", heap_over_live: "heap over what is alive",
    };
    const shown = (name, value) => (name.endsWith("_share") ? `${(100 * value).toPrecision(2)}%`
      : name === "heap_over_live" ? few(value) : whole(value));

    const complain = (field, why) => {
      field.setAttribute("aria-invalid", String(Boolean(why)));
      document.getElementById(field.getAttribute("aria-describedby")).textContent = why;
    };
    const numbers = () => {
      const found = {};
      let valid = true;
      for (const field of fields) {
        const value = field.value.trim() === "" ? NaN : Number(field.value), { min, max } = field;
        const ok = value >= Number(min) && value <= Number(max);
        complain(field, ok ? "" : `a number from ${whole(min)} to ${whole(max)}`);
        valid = valid && ok;
        found[field.name] = value;
      }
      return valid ? found : null;
    };
    const question = (n, name) => {
      const share = n.kept / 100;
      return {
        bytes: n.bytes, in_flight: Math.round(n.in_flight), kept_share: share,
        kept_count: share ? Math.max(1, Math.round(n.rate * share * n.kept_for)) : 0, filled_share: n.touched / 100,
        read_share: n.touched / 100, temporaries: Math.round(n.temporaries), temporary_bytes: n.temporary_bytes,
        live_mb: n.live, heap_mb: name === "cpp" ? 0 : n.heap, direct: name === "direct",
      };
    };
    const headline = ({ answer, ratio, low, high }) => {
      if (answer === "allocate") {
        return `A pool costs ${few(1 / ratio)} times as much CPU a message (${few(1 / high)} to ${few(1 / low)}).`;
      }
      return `Allocating costs ${few(ratio)} times as much CPU a message as a pool (${few(low)} to ${few(high)}).`;
    };
    const limit = (shares) => {
      if (!shares) return "Limited by memory and the allocator: there is no collector.";
      const [alloc, pool] = shares.map((share) => `${Math.round(100 * share)}%`);
      const what = shares[0] >= 0.5 ? "the collector" : "memory and the program\u2019s own work";
      return `Limited by ${what}: the collector takes ${alloc} of the CPU allocating, ${pool} with a pool.`;
    };
    const drawn = (points, now, predicted, name) => {
      const W = 240, H = 150, left = 34, right = 8, top = 8, bottom = 30;
      const xs = points.map((p) => p.x);
      const lowest = Math.min(0.5, ...points.map((p) => p.low)), highest = Math.max(2, ...points.map((p) => p.high));
      const [x0, x1] = [Math.min(...xs, now), Math.max(...xs, now)];
      const x = (v) => left + ((W - left - right) * Math.log(v / x0)) / Math.log(x1 / x0 || 2);
      const y = (v) => top + ((H - top - bottom) * Math.log(highest / v)) / Math.log(highest / lowest);
      const line = points.map((p, i) => `${i ? "L" : "M"}${x(p.x).toFixed(1)} ${y(p.ratio).toFixed(1)}`).join("");
      const band = [...points.map((p) => [p.x, p.high]), ...[...points].reverse().map((p) => [p.x, p.low])]
        .map(([v, r], i) => `${i ? "L" : "M"}${x(v).toFixed(1)} ${y(r).toFixed(1)}`).join("");
      const ticks = [0.125, 0.25, 0.5, 1, 2, 4, 8, 16].filter((v) => v >= lowest && v <= highest);
      const ends = [[x0, "start"], [x1, "end"]];
      const at = now >= x0 && now > 0 ? `<circle cx="${x(now).toFixed(1)}" cy="${y(predicted.ratio).toFixed(1)}" r="4"/>` : "";
      const words = `${NAMES[name]}: allocating over a pool from ${few(points[0].ratio)} at ${shown(name, x0)} to ` +
        `${few(points[points.length - 1].ratio)} at ${shown(name, x1)}`;
      return `<figure><svg viewBox="0 0 ${W} ${H}" role="img" aria-label="${words}"><path class="band" d="${band}Z"/>` +
        ticks.map((v) => `<line x1="${left}" x2="${W - right}" y1="${y(v)}" y2="${y(v)}" class="${v === 1 ? "even" : "grid"}"/>` +
          `<text x="${left - 4}" y="${y(v) + 3}" text-anchor="end">${v}</text>`).join("") +
        `<path class="line" d="${line}"/>${at}` +
        ends.map(([v, anchor]) => `<text x="${x(v)}" y="${H - 18}" text-anchor="${anchor}">${shown(name, v)}</text>`).join("") +
        `<text x="${(W + left) / 2}" y="${H - 5}" text-anchor="middle">${NAMES[name]}</text></svg></figure>`;
    };
    const row = ({ question: q, costs: [alloc, pool, allocShare, poolShare], likeness }) => {
      const shares = q.heap_mb ? `${Math.round(100 * allocShare)}% and ${Math.round(100 * poolShare)}%` : "";
      const cells = [whole(q.bytes), whole(q.in_flight), whole(q.kept_count), q.heap_mb ? whole(q.heap_mb) : "",
        whole(alloc), whole(pool), few(alloc / pool), shares, few(likeness)];
      return `<tr>${cells.map((cell) => `<td>${cell}</td>`).join("")}</tr>`;
    };

    const update = () => {
      const name = form.elements.configuration.value, cpp = name === "cpp", n = numbers();
      form.elements.heap.disabled = cpp;
      root.querySelector("input[data-for=heap]").disabled = cpp;
      if (!n) return;
      const q = question(n, name), model = models[name];
      if (inPage) {
        const words = new URLSearchParams({ configuration: name, ...Object.fromEntries(fields.map((f) => [f.name, f.value])) });
        out("link").href = `#ask?${words}`;
        history.replaceState(null, "", `#ask?${words}`);
      }
      if (!fits(q)) {
        const needed = Math.ceil(poolLiveInMb(q) / HEAP_USED);
        complain(form.elements.heap, `${whole(poolLiveInMb(q))} MiB live with a pool: at least ${whole(needed)} MiB`);
        out("answer").textContent = "can't run";
        out("headline").textContent = "What is alive does not fit into this heap.";
        for (const part of ["outside", "limit", "turns", "curves", "nearest"]) out(part).innerHTML = "";
        return;
      }
      const found = model.answer(q);
      out("answer").textContent = found.answer;
      out("answer").dataset.side = found.answer;
      out("headline").textContent = headline(found);
      out("outside").innerHTML = found.outside.map((each) =>
        `<li>Outside what was measured: ${NAMES[each.name]} ${shown(each.name, each.value)}, measured to ` +
        `${shown(each.name, each.bound)}.</li>`).join("");
      out("limit").textContent = limit(found.gc_shares);
      out("turns").innerHTML = found.turns_at.map((turn) =>
        `<li>${turn.answer} would be expected at ${shown(turn.parameter, turn.value)}: ${NAMES[turn.parameter]}</li>`)
        .join("") || "<li>no single parameter turns it within what was measured</li>";
      out("nearest").innerHTML = found.nearest.map(row).join("");
      out("curves").innerHTML = TURNING.filter((each) => q[each] && (each !== "kept_share" || q.kept_count)).map((each) => {
        const points = model.curve(q, each);
        return points.length > 1 ? drawn(points, q[each], found, each) : "";
      }).join("");
    };

    // A slider a field, by logarithm; where 0 is valid it is the left end.
    for (const slider of form.querySelectorAll("input[type=range]")) {
      const field = form.elements[slider.dataset.for], least = Number(field.min) || Number(slider.dataset.from), most = Number(field.max);
      const follow = () => {
        const value = Number(field.value);
        slider.value = value <= least ? 0 : Math.round((1000 * Math.log(value / least)) / Math.log(most / least));
        slider.setAttribute("aria-valuetext", field.value);
      };
      field.addEventListener("input", () => { follow(); update(); });
      slider.addEventListener("input", () => {
        const place = Number(slider.value) / 1000, value = least * (most / least) ** place;
        field.value = place === 0 ? field.min : value >= 100 || field.step === "1" ? Math.round(value) : Number(value.toPrecision(2));
        slider.setAttribute("aria-valuetext", field.value);
        update();
      });
      field.follow = follow;
    }
    form.elements.configuration.addEventListener("change", update);
    form.addEventListener("submit", (event) => event.preventDefault());
    const read = () => {
      if (!inPage || !location.hash.startsWith("#ask?")) return;
      for (const [key, value] of new URLSearchParams(location.hash.slice(5))) {
        const field = form.elements[key];
        if (field && (field.type === "number" || [...field.options].some((option) => option.value === value))) field.value = value;
      }
    };
    const all = () => { read(); fields.forEach((field) => field.follow()); update(); };
    window.addEventListener("hashchange", all);
    all();
    root.hidden = false;
  };

  window.allocpoolAsk = { Model, start };
})();
