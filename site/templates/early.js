// SPDX-License-Identifier: Apache-2.0
// Runs before anything is shown: the language, and that there are scripts.
(() => {
  "use strict";
  const tags = { en: "en", zh: "zh-CN" };
  let kept = null;
  try {
    kept = localStorage.getItem("cannery.language");
  } catch {
    // A browser that keeps nothing for files still shows the page.
  }
  const wished = [kept, ...navigator.languages].map((each) => String(each).slice(0, 2));
  const language = wished.find((each) => Object.hasOwn(tags, each)) ?? "en";
  document.documentElement.lang = tags[language];
  document.documentElement.classList.add("js");
})();
