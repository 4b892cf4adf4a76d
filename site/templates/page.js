// SPDX-License-Identifier: Apache-2.0
// Ties the form to the images. What the form holds is all the state there is; it is in the
// address too, so that a choice can be linked.
(() => {
  const form = document.getElementById("choose");
  const list = document.getElementById("list");
  const root = document.documentElement;
  const facets = [...data.facets, ...data.more];
  /** The facets in the order in which they were last chosen by, the latest first. */
  let recent = [...facets];
  /** Card by id, made once in each language. */
  let cards = new Map();

  for (const image of data.images) {
    const packages = Object.values(image.release?.packages ?? { wheels: image.wheels }).flat();
    const components = image.components.map((pair) => pair.join(" "));
    image.words = [image.words, ...components, ...pooled(packages)].join("\n").toLowerCase();
  }

  function facetRow(facet) {
    const option = (value, ...name) =>
      h("label", { class: "pill" },
        h("input", { type: "radio", name: facet, value, ...(value === "" && { checked: "" }) }),
        h("span", {}, name),
        value !== "" && h("b", {}));
    return h("fieldset", { class: "facet" },
      h("legend", {}, sentence(`facet.${facet}`)),
      h("div", {},
        option("", sentence("any")),
        data.choices[facet].map((value) => option(value, valueName(facet, value)))));
  }

  document.getElementById("rows").append(...data.facets.map(facetRow));
  document.getElementById("more").append(...data.more.map(facetRow));
  const controls = [...form.elements].filter((each) => each.name);
  const wished = () => wishOf(new FormData(form), facets);

  function announce(key) {
    const said = document.getElementById("said");
    said.textContent = "";
    // The same text set again is read out only if there was another one between.
    setTimeout(() => (said.textContent = say(key)), 50);
  }

  /** Make every control what it was at first. */
  function clear() {
    for (const each of controls) {
      if (each.type === "select-one") each.selectedIndex = 0;
      else if (each.type === "search") each.value = "";
      else each.checked = each.defaultChecked;
    }
    showDropped([]);
  }

  function readAddress() {
    clear();
    for (const [name, value] of new URLSearchParams(location.hash.slice(1))) {
      for (const each of controls.filter((control) => control.name === name)) {
        if (each.type === "search") each.value = value;
        else if (each.type !== "select-one") each.checked ||= each.value === value;
        else if (data.sorts.includes(value)) each.value = value;
      }
    }
  }

  function writeAddress() {
    const others = [...new FormData(form)].filter(([name, value]) => value !== first.get(name));
    history.replaceState(null, "", `#${new URLSearchParams(others)}`);
  }

  function showDropped(names) {
    const said = names.map((name) => say(`facet.${name}`)).join(", ");
    const dropped = document.getElementById("dropped");
    dropped.textContent = names.length ? say("dropped", { names: said }) : "";
  }

  function showCount(n) {
    const all = data.images.length;
    const key = n === all ? "all" : n === 1 ? "one" : "many";
    document.getElementById("count").textContent = say(`count.${key}`, { n, all });
    document.getElementById("nothing").hidden = n > 0;
  }

  /** Say at each choice how many images it would give. */
  function showCounts(wish) {
    for (const facet of facets) {
      const found = counts(data.images, wish, facet);
      for (const each of form.elements[facet]) {
        if (each.value === "") continue;
        const n = found.get(each.value) ?? 0;
        each.parentElement.querySelector("b").textContent = n;
        each.parentElement.classList.toggle("none", n === 0);
      }
    }
  }

  function cardOf(image) {
    if (!cards.has(image.id)) cards.set(image.id, card(image));
    return cards.get(image.id);
  }

  /** Show the images that fit, the card of `id` or else the first one open. */
  function update(id = "") {
    const wish = wished();
    const images = select(data.images, wish);
    showCounts(wish);
    showCount(images.length);
    if (form.elements.view.value === "table") list.replaceChildren(table(images));
    else {
      const shown = images.map(cardOf);
      for (const each of shown) each.open = each.id === (id || images[0].id);
      list.replaceChildren(...shown);
    }
    return new Set(images.map((image) => image.id));
  }

  /** Show what the address asks for: a choice, an image by its name, or a place on the page. */
  function follow() {
    const id = location.hash.slice(1);
    if (data.images.some((image) => image.id === id)) {
      showImage(id);
      return;
    }
    if (!document.getElementById(id)) readAddress();
    update();
  }

  function showImage(id) {
    form.elements.view.value = "cards";
    if (!update(id).has(id)) {
      clear();
      update(id);
    }
    const shown = document.getElementById(id);
    shown.scrollIntoView();
    shown.querySelector("summary").focus({ preventScroll: true });
  }

  function speak(name) {
    root.lang = data.languages[name];
    document.title = say("title");
    for (const each of document.querySelectorAll("[data-say]")) each.textContent = say(each.dataset.say);
    cards = new Map();
  }

  /** After a choice by `facet`: what no image has with it is cleared. */
  function settle(facet) {
    recent = [facet, ...recent.filter((each) => each !== facet)];
    const cleared = conflicting(data.images, wished(), recent);
    for (const name of cleared) form.querySelector(`[name="${name}"][value=""]`).checked = true;
    showDropped(cleared);
  }

  clear();
  const first = new Map(new FormData(form));

  form.addEventListener("submit", (event) => event.preventDefault());
  document.addEventListener("input", (event) => {
    const { name, value } = event.target;
    if (name === "language") {
      speak(value);
      update();
      try {
        localStorage.setItem("cannery.language", value);
      } catch {
        // It is chosen for this time only.
      }
    } else if (event.target.form === form) {
      if (facets.includes(name)) settle(name);
      if (name !== "cards" && name !== "runtime") update();
      writeAddress();
    }
  });
  document.addEventListener("click", (event) => {
    if (!event.target.closest("button[data-reset]")) return;
    clear();
    update();
    writeAddress();
    document.getElementById("q").focus();
  });
  window.addEventListener("hashchange", follow);
  // Once it has loaded a page, the browser goes to the place itself, and takes the focus away.
  window.addEventListener("load", () => {
    if (document.getElementById(location.hash.slice(1))) setTimeout(follow);
  });

  watchCopies(announce);
  document.getElementById(`language-${language()}`).checked = true;
  speak(language());
  follow();
})();
