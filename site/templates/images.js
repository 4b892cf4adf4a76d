// SPDX-License-Identifier: Apache-2.0
// What is shown of an image. The texts are values of elements, and never markup.

const data = JSON.parse(document.getElementById("data").textContent);
const language = () => document.documentElement.lang.slice(0, 2);
const has = (key) => Object.hasOwn(data.strings.en, key);
const say = (key, values = {}) =>
  data.strings[language()][key].replace(/\{(\w+)\}/g, (_, name) => values[name]);
const pooled = (numbers) => numbers.map((number) => data.pool[number]);

/** An element; an attribute that is false is left out, and so is a child that is empty. */
function h(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== false) made.setAttribute(name, value);
  }
  made.append(...children.flat(Infinity).filter((child) => child || child === 0));
  return made;
}

/** A sentence that is said again when the language changes. */
const sentence = (key) => h("span", { "data-say": key }, say(key));

const link = (url, text) => h("a", { href: url, rel: "noreferrer" }, text);
const inRepository = (path, text) =>
  data.website ? link(`${data.website}/${path}`, text) : text;

/** What a value of a facet is called: a sentence, or a name that is the same in every language. */
function valueName(facet, value) {
  const key = `value.${facet}.${value}`;
  if (has(key)) return sentence(key);
  if (facet === "chip") return value.toUpperCase();
  return (facet === "application" && data.labels[value]) || value;
}

/** Details of which the content is made when they are opened. */
function folded(summary, attributes, content) {
  const made = h("details", attributes, h("summary", {}, summary));
  made.addEventListener("toggle", () => made.append(...content()), { once: true });
  return made;
}

function copyable(text, what, id, attributes = {}) {
  return h(
    "div",
    { class: "copyable", ...attributes },
    h("pre", {}, h("code", {}, pooled(text.lines).join("\n"))),
    h(
      "button",
      { type: "button", "data-copy": "" },
      h("span", { class: "ready" }, say("copy")),
      h("span", { class: "done" }, say("copied")),
      h("span", { class: "unseen" }, say("copy.what", { what, id })),
    ),
  );
}

function basisOf(each) {
  const moved = each.moved.length ? ` (${each.moved.join(", ")})` : "";
  return say(`basis.${each.basis}`) + moved;
}

function verdict(each) {
  const kind = each.failed ? "failed" : each.device;
  const device = say(`verified.${each.where}`);
  const basis = each.basis !== "current" && h("small", {}, ` ${basisOf(each)}`);
  const where = each.failed ? say("verified.failed", { device }) : device;
  const on = each.device === "npu" && ` ${each.hardware},`;
  return h("p", {}, h("span", { class: `verdict ${kind}` }, where), on, " ", h("time", {}, each.date), basis);
}

const verdicts = (image) =>
  image.verdicts.length
    ? image.verdicts.map(verdict)
    : h("p", {}, h("span", { class: "verdict nothing" }, say("verified.nothing")));

function recommended({ recommended }) {
  const key = `recommended.${recommended}`;
  const use = has(key) ? say(key) : recommended;
  return recommended && h("small", { class: "badge" }, say("recommended", { use }));
}

const published = ({ release }) => release && h("p", {}, h("code", {}, release.tag));

/** The versions as one text, which breaks between them only. */
const versions = (image) =>
  [
    ...image.components.map((pair) => pair.join("\u00a0")),
    image.facets.chip.toUpperCase(),
    image.facets.platform,
  ].join(" · ");

function card(image) {
  const summary = [
    h("h3", {}, image.id, recommended(image)),
    h("p", {}, image.summary[language()]),
    h("p", { class: "versions" }, versions(image)),
    h("div", { class: "state" }, verdicts(image), published(image)),
  ];
  return folded(summary, { class: "card", id: image.id }, () => opened(image));
}

function opened(image) {
  const { id } = image;
  const of = (use) => image.texts.filter((text) => text.use === use);
  const steps = ["pull", "build", "shell", "try"].flatMap(of);
  const commands = steps.map((text, place) => [
    text.use !== steps[place - 1]?.use && [
      h("h4", {}, say(`use.${text.use}`)),
      has(`use.${text.use}.hint`) && h("p", { class: "hint" }, say(`use.${text.use}.hint`)),
    ],
    copyable(text, say(`use.${text.use}`), id, hosts(text)),
  ]);
  return [
    notes(image),
    facts(image),
    commands,
    h("div", { class: "more" }, [...clusters(image, of), ...evidence(image, of)]),
  ].flat(Infinity).filter(Boolean);
}

/** For which hosts a text is: the style sheet shows the ones that are chosen. */
const hosts = ({ cards, runtime }) => ({
  "data-cards": cards > 0 && cards,
  "data-runtime": runtime !== "" && runtime,
});

function notes(image) {
  const { release } = image;
  const warn = (text) => h("p", { class: "note warn" }, text);
  return [
    release?.simulated && warn(say("simulated")),
    image.unverified && warn(say("unverified", { why: image.unverified })),
    image.unjudged.map((what) => warn(say("unjudged", { what }))),
    image.offline > 0 && !release && warn(say("offline", { n: image.offline })),
    image.facets.flavour === "runtime" && warn(say("runtime")),
    release?.outdated.length && warn(say("stale", { names: release.outdated.join(", ") })),
    image.interim &&
      warn(say("interim", { version: image.facets.cann, public: image.interim })),
  ];
}

function facts(image) {
  const { release, trial } = image;
  const fact = (key, ...content) => h("div", {}, h("dt", {}, say(key)), h("dd", {}, content));
  const code = (text) => h("code", {}, text);
  return h("dl", { class: "facts" }, [
    fact("driver", driver(image.driver)),
    release ? [
      fact("tag", code(release.tag)),
      release.tags.length > 0 && fact("also", code(release.tags.join(" "))),
      fact("digest", code(release.digest)),
      fact("published", say("pushed", { date: release.pushed, commit: release.commit })),
      fact("size", Object.entries(release.sizes).map((pair) => pair.join(" ")).join(", ")),
    ] : image.files.length > 0 && fact("files", h("ul", {}, pooled(image.files).map(file))),
    trial && fact("trial", link(trial.url, trial.title)),
    fact(
      "links",
      h("a", { href: `#${image.id}` }, say("links.image")),
      data.website && [", ", inRepository(`tree/HEAD/images/${image.id}`, say("links.dockerfile"))],
    ),
  ]);
}

function driver(range) {
  if (!range) return say("driver.unknown");
  const [from, to, disputed] = range;
  const text = say(to ? "driver.range" : "driver.newer", { from, to });
  return [text, disputed && h("small", {}, ` (${say("driver.disputed")})`)];
}

function file([name, size, origin, supply]) {
  const said = say(`supply.${supply}`, { origin });
  return h("li", {}, h("code", {}, name), size && ` ${size}`, h("small", {}, ` ${said}`));
}

/** A part of an opened card, which is made when it is opened itself. */
const part = (key, content) => folded(say(key), {}, content);

const clusters = (image, of) =>
  ["compose", "k8s", "volcano"].filter((use) => of(use).length).map((use) =>
    part(`use.${use}`, () => [
      ...(use === "compose" || image.release
        ? []
        : [h("p", { class: "hint" }, say("use.future", { image: image.future }))]),
      ...of(use).map((text) => copyable(text, say(`use.${use}`), image.id, hosts(text))),
    ]),
  );

function evidence(image, of) {
  const checks = ["sbom", "provenance", "signature"].filter((use) => of(use).length);
  return [
    part("inside", () => contents(image)),
    part("layers", () => layers(image)),
    part("results", () => results(image)),
    part("fits", () => [h("dl", { class: "findings" }, pooled(image.findings).map(finding))]),
    checks.length > 0 && part("checking", () => checks.flatMap((use) => [
      h("h4", {}, say(`checking.${use}`)),
      copyable(of(use)[0], say(`checking.${use}`), image.id),
    ])),
  ];
}

function contents({ release, wheels }) {
  const kinds = release ? Object.entries(release.packages) : [["wheels", wheels]];
  const parts = kinds.filter(([, numbers]) => numbers.length).flatMap(([kind, numbers]) => [
    h("h4", {}, say(`inside.${kind}`), h("small", {}, ` ${numbers.length}`)),
    h("ul", { class: "packages" }, pooled(numbers).map((each) => h("li", {}, each))),
  ]);
  if (!release) return [h("p", { class: "hint" }, say("inside.locked")), ...parts];
  if (!release.since) return parts;
  const change = ([kind, text]) => h("li", {}, `${say(`changes.${kind}`)}: ${text}`);
  const since = h("h4", {}, say("changes", { since: release.since }));
  return [...parts, since, h("ul", {}, release.changes.map(change))];
}

function layers(image) {
  const rows = image.layers.map(([name, n, size]) => {
    const others = n ? say("layers.others", { n }) : say("layers.alone");
    return h("li", {}, [name, size && ` ${size}`, h("small", {}, ` ${others}`)]);
  });
  return [h("p", {}, say("layers.summary")), h("ul", { class: "packages" }, rows)];
}

function results(image) {
  if (!image.results.length) return [h("p", {}, say("results.nothing"))];
  const names = ["device", "image", "hardware", "passed", "failed", "not_run", "date"];
  const heads = names.map((name) => h("th", { scope: "col" }, say(`results.${name}`)));
  const rows = image.results.map((each) => {
    const text = {
      ...each,
      device: say(`verified.${each.where}`),
      image: basisOf(each),
      failed: each.failed ? h("b", { class: "verdict failed" }, each.failed) : "0",
    };
    return h("tr", {}, names.map((name) => h("td", {}, text[name])));
  });
  const made = h("table", {}, h("thead", {}, h("tr", {}, heads)), h("tbody", {}, rows));
  const scroller = { class: "scroller", role: "region", tabindex: 0, "aria-label": say("results") };
  return [h("div", scroller, made), h("p", { class: "hint" }, say("results.simulated"))];
}

function finding([component, verdict, text, rows, against]) {
  const key = `fits.${verdict}`;
  return h("div", {}, h("dt", {}, component), h("dd", {}, [
    h("span", { lang: "en" }, text),
    has(key) && h("em", {}, ` ${say(key)}`),
    rows.map((row) => source(row)),
    against.map((row) => source(row, say("fits.against"))),
  ]));
}

/** A row of compat.yaml, with a link to it and to each of its sources. */
function source([line, sources], before = "") {
  const cited = sources.map(([cite, url]) => [url ? link(url, cite) : cite, "; "]);
  const row = inRepository(`blob/HEAD/cannery/data/compat.yaml#L${line}`, `compat.yaml:${line}`);
  return h("small", {}, [before && `${before} `, cited, row]);
}

/** All of `images` as a table. A narrow screen has the versions below the names. */
function table(images) {
  const columns = ["chip", "platform", "cann", "torch", "python"];
  const narrow = ({ facets }) =>
    `${valueName("chip", facets.chip)} · ${facets.platform} · Python ${facets.python}`;
  const row = (image) =>
    h("tr", {},
      h("th", { scope: "row" },
        h("a", { href: `#${image.id}` }, image.id), recommended(image),
        h("p", {}, image.summary[language()]),
        h("p", { class: "versions" }, narrow(image)),
        published(image)),
      columns.map((name) => h("td", { class: "wide" }, valueName(name, image.facets[name]))),
      h("td", {}, verdicts(image)));
  const head = (key, attributes) => h("th", { scope: "col", ...attributes }, say(key));
  const heads = columns.map((name) => head(`facet.${name}`, { class: "wide" }));
  return h("table", {},
    h("thead", {}, h("tr", {}, head("image"), heads, head("verified"))),
    h("tbody", {}, images.map(row)));
}
