// SPDX-License-Identifier: Apache-2.0
// Ties the form to the images. What the form holds is all the state there is; it is in the
// address too, so that a choice can be linked.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const form = document.getElementById("choose");
  const root = document.documentElement;
  const controls = [...form.elements].filter((each) => each.name);
  const lists = [document.getElementById("cards"), document.querySelector("#table tbody")];
  const language = () => root.lang.slice(0, 2);

  const say = (key, values = {}) =>
    data.strings[language()][key].replace(/\{(\w+)\}/g, (_, name) => values[name]);

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
  }

  clear();
  const first = new Map(new FormData(form));

  function readAddress() {
    clear();
    for (const [name, value] of new URLSearchParams(location.hash.slice(1))) {
      for (const each of controls.filter((control) => control.name === name)) {
        if (each.type === "search") each.value = value;
        else if (each.type !== "select-one") each.checked ||= each.value === value;
        else if ([...each.options].some((option) => option.value === value)) each.value = value;
      }
    }
  }

  function writeAddress() {
    const other = [...new FormData(form)].filter(([name, value]) => value !== (first.get(name) ?? ""));
    history.replaceState(null, "", `#${new URLSearchParams(other)}`);
  }

  function showCount(n) {
    const all = data.images.length;
    const key = n === all ? "all" : n === 1 ? "one" : "many";
    document.getElementById("count").textContent = say(`js.count.${key}`, { n, all });
    document.getElementById("nothing").hidden = n > 0;
  }

  /** Say at each choice what it would give, and switch off what would give nothing. */
  function showCounts(wish) {
    for (const facet of data.facets) {
      const found = counts(data.images, wish, facet);
      for (const each of form.querySelectorAll(`input[name="${facet}"]`)) {
        const n = found.get(each.value) ?? 0;
        each.parentElement.querySelector("b").textContent = n;
        each.disabled = n === 0 && !each.checked;
      }
    }
  }

  function showImages(images) {
    const ids = new Set(images.map((image) => image.id));
    for (const list of lists) {
      const own = new Map([...list.children].map((each) => [each.dataset.id, each]));
      own.forEach((each, id) => (each.hidden = !ids.has(id)));
      const wanted = images.map((image) => own.get(image.id));
      const shown = [...list.children].filter((each) => !each.hidden);
      if (wanted.some((each, place) => each !== shown[place])) list.append(...wanted);
    }
    for (const each of document.querySelectorAll("svg [data-ids]")) {
      each.classList.toggle("dim", !each.dataset.ids.split(" ").some((id) => ids.has(id)));
    }
  }

  function update() {
    const wish = wishOf(new FormData(form), data.facets);
    const images = select(data.images, wish);
    showCounts(wish);
    showImages(images);
    showCount(images.length);
    root.dataset.view = form.elements.view.value;
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
    if (!update().has(id)) {
      clear();
      update();
    }
    const card = document.getElementById(id);
    card.scrollIntoView();
    card.querySelector("h3 a").focus({ preventScroll: true });
  }

  function speak(name) {
    root.lang = data.languages[name];
    document.title = say("js.title");
    for (const each of document.querySelectorAll("[data-say]")) each.textContent = say(each.dataset.say);
    update();
  }

  form.addEventListener("submit", (event) => event.preventDefault());
  document.addEventListener("input", (event) => {
    if (event.target.name === "language") {
      speak(event.target.value);
      try {
        localStorage.setItem("cannery.language", event.target.value);
      } catch {
        // It is chosen for this time only.
      }
    } else if (event.target.form === form) {
      update();
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
  follow();
  speak(language());
})();
