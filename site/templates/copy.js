// SPDX-License-Identifier: Apache-2.0
// Copying a text with the button beside it.

/** Copy what `source` shows; whether it worked. Leaves it selected where it did not. */
async function copyText(source) {
  try {
    await navigator.clipboard.writeText(source.textContent);
    return true;
  } catch {
    // No clipboard for pages like this one, or no leave to use it: the old way.
    getSelection().selectAllChildren(source);
    return document.execCommand("copy");
  }
}

function watchCopies(announce) {
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button[data-copy]");
    if (!button) return;
    const done = await copyText(button.parentElement.querySelector("code"));
    announce(done ? "copied" : "copy.failed");
    if (!done) return;
    button.classList.add("copied");
    setTimeout(() => button.classList.remove("copied"), 2000);
  });
}
