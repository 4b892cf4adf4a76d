// SPDX-License-Identifier: Apache-2.0
// Which images are chosen. Nothing here looks at the page.
"use strict";

/** Whether `image` has what was chosen of every facet but `except`, and every word. */
function fits(image, wish, except = "") {
  return (
    wish.words.every((word) => image.words.includes(word)) &&
    Object.entries(wish.facets).every(
      ([facet, values]) =>
        facet === except || values.length === 0 || values.includes(image.facets[facet]),
    )
  );
}

/** How many images there would be of each value of `facet`, whatever else is chosen of it. */
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

/** The images that fit, in the order that was asked for. */
function select(images, wish) {
  const place = (image) => image.places[wish.sort] ?? 0;
  return images
    .filter((image) => fits(image, wish))
    .sort((a, b) => place(a) - place(b) || a.places.matrix - b.places.matrix);
}

/** What a form's entries ask for: `pairs` are its [name, value]s. */
function wishOf(pairs, facets) {
  const entries = [...pairs];
  const first = (name) => entries.find(([key]) => key === name)?.[1] ?? "";
  return {
    words: first("q").toLowerCase().split(/\s+/).filter(Boolean),
    sort: first("sort"),
    facets: Object.fromEntries(
      facets.map((facet) => [
        facet,
        entries.filter(([key]) => key === facet).map(([, value]) => value),
      ]),
    ),
  };
}
