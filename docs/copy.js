// The button that copies a block leaves out prompts and what is printed, so that the rest can be
// pasted into Python or a shell. A block of Python ends with an empty line, as the prompt wants it.
function typed(text) {
  const shell = text.startsWith("$ ");
  if (!shell && !text.startsWith(">>> ")) return text;
  const lines = [];
  for (const line of text.trimEnd().split("\n")) {
    if (shell && line.startsWith("$ ")) lines.push(line.slice(2));
    if (shell) continue;
    const more = line.startsWith("... ") || line === "...";
    if (line.startsWith(">>> ") && lines.length && /^\s/.test(lines[lines.length - 1])) lines.push("");
    if (more || line.startsWith(">>> ")) lines.push(line.slice(4));
  }
  if (!shell && /^\s/.test(lines[lines.length - 1])) lines.push("");
  return lines.join("\n") + "\n";
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-clipboard-target]");
  if (!button || button.dataset.clipboardText) return;
  const block = document.querySelector(button.dataset.clipboardTarget);
  if (block) button.dataset.clipboardText = typed(block.textContent);
}, true);
