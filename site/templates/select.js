// SPDX-License-Identifier: Apache-2.0
// Which images are chosen. Nothing here looks at the page.
"use strict";

/** Whether `image` has what was chosen of every facet but `except`, and every word. */
function fits(image, wish, except = "") {
  return (
    wish.words.every((word) => image.words.includes(word)) &&
    Object.entries(wish.facets).every(
      ([facet, value]) => facet === except || value === "" || value === image.facets[facet],
    )
  );
}

/** How many images there would be of each value of `facet`, whatever is chosen of it now. */
function counts(images, wish, facet) {
  const found = new Map();
  for (const image of images) {
    if (fits(image, wish, facet)) {
      const value = image.facets[facet];
      found.set(value, (found.get(value) ?? 0) + 1);
    }
  }
  return found;
}

/**
 * The images that fit, in the order that was asked for. Of equal ones, those that have the words as
 * they were written, one after the other, go first: "torch 2.7" is torch 2.7.1 before any other 2.7.
 */
function select(images, wish) {
  const phrase = wish.words.join(" ");
  const place = (image) => (image.places[wish.sort] ?? 0) * 2 + !image.words.includes(phrase);
  return images.filter((image) => fits(image, wish)).sort((a, b) => place(a) - place(b));
}

/** What a form's entries ask for: `pairs` are its [name, value]s. */
function wishOf(pairs, facets) {
  const found = Object.fromEntries(pairs);
  return {
    words: (found.q ?? "").toLowerCase().split(/\s+/).filter(Boolean),
    sort: found.sort ?? "",
    facets: Object.fromEntries(facets.map((facet) => [facet, found[facet] ?? ""])),
  };
}

/**
 * The facets of `wish` that must be cleared for any image to fit. `recent` are its facets, the
 * last choice first: of two choices that no image has both of, the later one stays.
 */
function conflicting(images, wish, recent) {
  const kept = {};
  return recent.filter((facet) => {
    kept[facet] = wish.facets[facet];
    if (images.some((image) => fits(image, { words: [], facets: kept }))) return false;
    delete kept[facet];
    return true;
  });
}
